//! Virtual drives in virtual time.
//!
//! A [`DriveSpec`] describes a drive, from a preset or a user's file. A [`Drive`] built from it
//! takes operations with their arrival times and returns their completion times. There is no clock
//! and no I/O here: the same description, seed and operations give the same results on every
//! machine.
//!
//! ```
//! use model::{Drive, DriveSpec};
//! use workload::{Op, OpKind};
//!
//! let spec = DriveSpec::preset("samsung-980-pro-1t")?.with_overrides(&[("capacity", "64GiB")])?;
//! let mut drive = Drive::new(&spec, 1);
//! let write = Op { kind: OpKind::Write, offset: 0, bytes: 4096 };
//! let done = drive.submit(0, &write).done_ns;
//! assert!(done > 0 && done < 100_000);
//! # Ok::<(), model::SpecError>(())
//! ```

#![forbid(unsafe_code)]

mod ahead;
mod alias;
mod classes;
mod content;
mod costs;
mod declared;
mod drive;
mod fault;
mod figure;
mod firmware;
pub mod fit;
pub mod ftl;
mod health;
mod heat;
mod hosts;
mod leap;
mod limit;
mod link;
mod media;
mod nearest;
mod pause;
mod pause_spec;
mod preset;
mod presets;
mod ranges;
mod recording;
mod reduction;
mod shape;
mod spec;
mod vary;

pub use alias::{AliasKind, AliasSpec};
pub use content::BlockContent;
pub use declared::DeclaredSpec;
pub use drive::{CommandStatus, Completion, Drive};
pub use fault::{FaultKind, FaultSpec, Landing};
pub use figure::{Figure, FigureOrigin, Size};
pub use health::{LifetimeCounters, ReportedHealth};
pub use hosts::HOSTS;
pub use leap::{Leap, WorkOfDies};
pub use link::{BUSES, bus};
pub use media::Traffic;
pub use pause_spec::PauseSpec;
pub use preset::{FigureLine, SpecError};
pub use spec::*;

//! From a request to a stored record, and operations on records.
//!
//! The command translates arguments into the types of this crate and prints its results; everything
//! between happens here. A caller therefore needs neither the engine nor the model of virtual
//! drives nor the methods. This crate knows no command line and no screen: progress goes to the
//! caller's [`Watcher`], and failures are a [`LabError`].
//!
//! A run: [`Request::plan`] checks the request and the [`Work`], [`PlannedRun::begin`] enters the run
//! into the store, [`Begun::run`] measures, and [`Recorded`] contains the result. fio jobs are
//! planned by [`fio::CommandLine`], the rest is the same.

#![forbid(unsafe_code)]

mod bands;
mod beside;
pub mod compare;
pub mod drives;
mod error;
pub mod fio;
pub mod fit;
mod fleet;
mod forecast;
mod guesses;
mod history;
pub mod image;
pub mod import;
pub mod io;
pub mod iozone;
pub mod keeper;
mod kept;
mod like;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere/machine.rs")]
pub mod machine;
mod model_name;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere/partition.rs")]
pub mod partition;
mod peers;
mod prepare;
pub mod protocol;
mod public;
pub mod published;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere/real.rs")]
mod real;
mod recording;
#[cfg(target_os = "linux")]
pub mod recover;
mod repeat;
pub mod replicate;
mod reproducible;
mod request;
mod session;
pub mod sheet;
mod simulation;
mod spread;
mod target;
pub mod together;
pub mod twin;
#[cfg(test)]
mod unwatched;
mod usual;
mod virtual_drive;
mod watcher;
pub mod work;

pub use engine::BackendKind;
pub use rig::{Erase, Event, Interval, Pass, Returning};
pub use script::{Declared, Form, MethodInfo, MetricInfo, Options};

pub use self::error::{ErrorKind, LabError, Result};
pub use self::kept::{answered, kept, listed, runs_json, started_ms};
pub use self::public::public;
pub use self::reproducible::reproducible;
pub use self::request::{Instrument, Request, TargetRequest};
pub use self::session::{Begun, Care, PlannedRun};
pub use self::spread::{prior as assumed_spread, prior_of_metric as assumed_spread_of};
pub use self::watcher::{Recorded, Watcher};
pub use self::work::Work;

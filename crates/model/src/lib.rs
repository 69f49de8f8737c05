//! Virtual drives.

#![forbid(unsafe_code)]

mod content;
mod drive;
mod figure;
mod firmware;
pub mod ftl;
mod heat;
mod link;
mod media;
mod preset;
mod presets;
mod shape;
mod spec;

pub use content::Held;
pub use drive::{Completion, Counters, Drive, Health, Status};
pub use figure::{Figure, Origin, Size};
pub use link::{BUSES, Way};
pub use preset::{FigureLine, SpecError};
pub use spec::*;

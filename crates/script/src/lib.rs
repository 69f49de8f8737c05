//! What a method is written in.
//!
//! A method is a script over a [`Session`], described by its [`MethodInfo`]. It sees the drive only
//! through [`rig::Rig`], so it cannot distinguish a real drive from a virtual one. Its cost is known
//! in advance because the same script runs on a planner ([`plan`]). Results go into an [`Outcome`]
//! step by step, so a run that is cut short keeps its measurements; [`draft`] makes the answer from
//! it.

#![forbid(unsafe_code)]

pub mod catalog;
mod cell;
pub mod draft;
mod error;
mod method;
mod options;
mod outcome;
pub mod phase;
mod planner;
pub mod schedule;
mod session;
#[cfg(any(test, feature = "testing"))]
pub mod test_drive;
mod test_region;
mod timed;
pub mod whole;

pub use cell::Cell;
pub use error::{MethodError, Result};
pub use method::{Conclusion, MethodInfo, ScratchUse, plan};
pub use options::{BYTES_MIN, Common, Declared, Form, Given, Opt, Options, Value};
pub use outcome::Outcome;
pub use planner::Planner;
pub use record::MetricInfo;
pub use session::{Budget, Bulk, Part, Patience, Round, Session, complete};
pub use test_region::{ROUNDS, TestRegion, admit, has_slow_link, random_writes_max};
pub use timed::{timed_read, timed_write};

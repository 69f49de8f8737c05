//! The engine: issues workloads on a target and times them.
//!
//! [`Machine`] is the [`rig::Rig`] of real targets. A measurement starts one thread per job. Each
//! thread runs the worker's loop on its own backend, while the calling thread merges the workers'
//! reports interval by interval and samples the device. The hot loop shares nothing.
//!
//! [`Simulator`] is the rig of virtual drives: the same workers, sharing one virtual clock.
//!
//! Two histograms are kept: service time, from the timestamp before submission, and, if operations
//! have due times, response time, from the due time. Response time includes the delay of operations
//! that could not be issued because the drive stalled.

#![deny(unsafe_code)]

mod addressable;
mod admit;
mod backend;
mod borrowed;
mod clock;
mod command;
mod conductor;
mod counts;
mod device;
mod doctor;
mod door;
mod failure;
mod fileset;
mod flow;
mod gate;
mod halt;
mod launch;
mod machine;
mod pacing;
mod patience;
mod perform;
mod prepare;
mod priority;
mod probe;
mod recorder;
mod release;
mod sampler;
mod simulator;
mod standstill;
mod summary;
mod sys;
mod verify;
mod vigil;
mod worker;

pub use admit::admit;
pub use clock::Clock;
pub use device::memory::{Flips, Memory};
pub use fileset::{FileSet, Permissions};
pub use machine::{Machine, Options};
pub use rig::BackendKind;
pub use simulator::Simulator;

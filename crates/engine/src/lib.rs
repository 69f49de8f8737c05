//! The engine: issues a workload against a target and times it.
//!
//! [`Machine`] is the [`rig::Rig`] of real targets. A measurement starts a thread per job; each runs
//! the worker's loop on a backend of its own, while the calling thread merges the workers' reports
//! interval by interval and samples the device. Nothing is shared in the hot loop.
//!
//! [`Simulator`] is the rig of virtual drives: the same workers, conducted in one virtual time.
//!
//! Two histograms are kept: service time from the stamp before submission, and, if operations have
//! due times, response time from the due time, which a stalled drive cannot hide.

#![deny(unsafe_code)]

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
mod worker;

pub use admit::admit;
pub use clock::Clock;
pub use fileset::{FileSet, Permissions};
pub use machine::{Machine, Options};
pub use rig::BackendKind;
pub use simulator::Simulator;

//! The engine: issues a workload against a target and times it.
//!
//! [`Machine`] is the [`rig::Rig`] of real targets. A measurement starts a thread per job; each runs
//! the worker's loop on a backend of its own, while the calling thread watches, merges what the
//! workers report interval by interval, and looks at the device. Nothing is shared in the hot loop.
//!
//! Two histograms are kept: service time from the stamp before submission, and, where operations
//! have due times of their own, response time from the due time, which a stalled drive cannot hide.

#![deny(unsafe_code)]

mod admit;
mod backend;
mod clock;
mod command;
mod counts;
mod doctor;
mod ensemble;
mod files;
mod flow;
mod halt;
mod handles;
mod jobs;
mod loans;
mod machine;
mod patience;
mod prepare;
mod priority;
mod probe;
mod recorder;
mod referee;
mod release;
mod sampler;
mod simulator;
mod summary;
mod sys;
mod verify;
mod worker;

pub use admit::admit;
pub use clock::Clock;
pub use ensemble::{Member, Performance, Performed, Stage};
pub use files::Files;
pub use flow::{Flow, FlowShare};
pub use jobs::{EndsAll, Place};
pub use machine::{Machine, Options};
pub use priority::{Priorities, PriorityRule};
pub use probe::BackendKind;
pub use recorder::Logged;
pub use referee::{Overseer, Referee, Ruling};
pub use sampler::{JobInterval, JobSeen};
pub use simulator::Simulator;
pub use sys::thread::{MemoryPolicy, ThreadUsage};
pub use verify::Dump;
pub use worker::Terms;

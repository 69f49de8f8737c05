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
//!
//! On other systems than Linux, only virtual drives remain: what opens or times real ones is left out,
//! or replaced by a file in `elsewhere/`.

#![deny(unsafe_code)]
// What real and virtual drives share has parts that only real drives use.
#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

mod accounting;
mod addressable;
mod admit;
mod backend;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere/borrowed.rs")]
mod borrowed;
mod clock;
#[cfg(target_os = "linux")]
mod command;
mod conductor;
mod counts;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere/device.rs")]
mod device;
mod doctor;
#[cfg(target_os = "linux")]
mod door;
mod failure;
#[cfg(target_os = "linux")]
mod fileset;
mod flow;
#[cfg(target_os = "linux")]
mod gate;
mod halt;
mod lane;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod machine;
mod patience;
#[cfg(target_os = "linux")]
mod perform;
mod performance;
mod permissions;
mod prepare;
#[cfg(target_os = "linux")]
mod priority;
#[cfg(target_os = "linux")]
mod probe;
mod recorder;
mod release;
mod sampler;
mod simulator;
mod split;
mod standstill;
mod summary;
mod sys;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere/time.rs")]
mod time;
mod traced;
mod verify;
#[cfg(target_os = "linux")]
mod vigil;
mod worker;

pub use admit::admit;
pub use clock::Clock;
#[cfg(target_os = "linux")]
pub use device::memory::{Flips, MemoryDevice, MemoryDrive};
#[cfg(target_os = "linux")]
pub use fileset::FileSet;
#[cfg(target_os = "linux")]
pub use machine::{Machine, RigOptions};
pub use permissions::Permissions;
pub use rig::BackendKind;
pub use simulator::{Simulator, timed_share};
pub use time::processor_ns;

//! A simulated NVMe controller, the other side of the driver.
//!
//! A [`Simulated`] has registers, admin and I/O queues, namespaces with data, and its own virtual
//! time: nothing happens until [`Simulated::step`]. It reads queues, lists and data in the host's
//! [`Memory`] by bus addresses, as late as a drive may: a command's PRP list is read when the command
//! is executed, so a host that reuses a list too early loses data here as it would on a drive. Every
//! violation by the host is counted: an address outside its memory, a command identifier used twice,
//! a doorbell value beyond its ring.
//!
//! [`Faults`] are drawn from a seed: the same seed and calls give the same run. Commands are timed by
//! a fixed latency or by a virtual drive ([`Timing`]).

#![forbid(unsafe_code)]

mod admin;
mod faults;
mod io;
mod media;
mod memory;
mod queues;
mod simulated;

pub use faults::Faults;
pub use media::{Media, Timing};
pub use memory::Memory;
pub use simulated::{Counters, Host, Setup, Simulated};

//! A simulated NVMe controller, the counterpart of the driver.
//!
//! A [`Simulated`] has registers, admin and I/O queues, namespaces with data, and its own virtual
//! time: nothing happens until [`Simulated::step`]. It accesses queues, lists and data in the
//! host's [`HostMemory`] by bus address, as late as a real drive can. A command's PRP list, for
//! example, is read when the command is executed, so a host that reuses a list too early loses data
//! as on a real drive. The controller counts every violation by the host: an address outside its
//! memory, a command identifier used twice, a doorbell value beyond its ring.
//!
//! [`Faults`] are drawn from a seed: the same seed and calls give the same run. A fixed latency or
//! a virtual drive determines the time of commands ([`Timing`]).

#![forbid(unsafe_code)]

mod admin;
mod faults;
mod io;
mod media;
mod memory;
mod queues;
mod simulated;

pub use faults::Faults;
pub use media::{SimulatedMedia, Timing};
pub use memory::HostMemory;
pub use simulated::{ControllerCounters, Host, Setup, Simulated};

//! The machine around the drive: its environment and its fitness for measuring.

mod cgroup;
mod environment;
mod fitness;
mod process;
mod snapshot;

pub use cgroup::CpuQuota;
pub(crate) use cgroup::group_limits;
pub use environment::environment;
pub(crate) use environment::hypervisor;
pub use fitness::fitness;

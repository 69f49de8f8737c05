//! The machine around the drive: its environment and its fitness for measuring.

mod cgroup;
mod environment;
mod fitness;
mod process;
mod snapshot;

pub use environment::environment;
pub use fitness::fitness;

//! The machine around the drive: what it is, and whether it is fit to measure on.

mod cgroup;
mod environment;
mod fitness;
mod process;
mod pulse;

pub use environment::environment;
pub use fitness::fitness;

//! The driver `nvme` against the simulated controller.

mod commands;
mod faults;
mod torture;

//! Tests on simulated machines, on loop devices and on their stacks.

mod common;
mod devices;
mod directories;
mod fitness;
mod flips;
mod fuzz;
mod machines;
mod oracles;
mod partitions;
mod promises;
mod random_stacks;
mod reported;
mod stacks;

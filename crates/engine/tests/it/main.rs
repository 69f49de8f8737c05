//! Measurements on files, loop devices, memory and virtual drives.

mod blocks;
mod common;
mod control;
mod fio;
mod jobs;
mod leaps;
mod machine;
mod program;
mod simulator;

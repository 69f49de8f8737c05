//! Tests of the journal: its format, its promises, and power cuts at every write.

mod common;
mod crafted;
mod cuts;
mod fuzz;
mod journal;
#[allow(dead_code, reason = "drive's tests use the rest")]
#[path = "../../../drive/tests/it/common/kernel.rs"]
mod kernel;
mod promises;
mod reads;

//! Tests of recordings, of the checker, and of power cuts at every write.

mod checker;
mod common;
mod cuts;
mod volumes;

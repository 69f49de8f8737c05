//! Answers of methods, and of records.

mod ended;
#[cfg(test)]
mod every;
mod formats;
mod general;
mod lasting;
mod places;
mod quick;
mod snia;
#[cfg(test)]
mod tests;
mod tools;
mod trust;
mod used;

pub use ended::of_record;
pub(crate) use formats::{cluster, lbaf};
pub(crate) use general::{by_hand, general};
pub(crate) use lasting::{heat, stream, sustain};
pub(crate) use places::{align, speed, zones};
pub(crate) use quick::quick;
pub(crate) use snia::{dirth, hir, iops, latency, throughput as snia_throughput, wsat, xsr};
pub(crate) use tools::{command, iozone, mark, prepare};
pub(crate) use trust::authentic;
pub(crate) use used::{states, trim};

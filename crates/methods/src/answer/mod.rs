//! The answer of a record: the stored one, or one computed from what was stored; of records without
//! a method's answer, too (manual workloads, fio jobs, results of other tools).

mod ended;
#[cfg(test)]
mod every;
mod general;

pub use ended::{answer_against, of_record};
pub(crate) use general::{by_hand, general};

//! Keep and find records: one SQLite file for all runs of a user.
//!
//! A record is written before it is shown. [`Store::begin`] enters a run as incomplete,
//! [`Store::append`] keeps its interval series as they come, [`Store::update`] what was found so
//! far and [`Store::finish`] the whole; a kill at any moment leaves a readable store and a run that
//! reads as cut short. Several processes may write at once.
//!
//! SQLite and not a file per run, because runs are searched and compared by drive and metric, and
//! because it holds what it promises when a process or the power goes. How it is opened is in
//! `file.rs`, what it looks like in `schema_1.sql`, how series are packed in `series.rs`.

#![forbid(unsafe_code)]

mod dates;
mod error;
mod file;
mod find;
mod id;
mod live;
mod place;
mod rows;
mod schema;
mod series;
mod state;
mod store;
mod writer;

#[cfg(test)]
mod process_tests;
#[cfg(test)]
#[path = "../tests/samples/mod.rs"]
mod samples;

pub use dates::day;
pub use error::StoreError;
pub use find::{Filter, RunSummary};
pub use id::{id_of, new_id};
pub use live::Point;
pub use place::default_path;
pub use state::LastState;
pub use store::Store;

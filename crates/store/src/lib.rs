//! Keep and find records: one SQLite file for all runs of a user.
//!
//! A record is written before it is shown. [`Store::begin`] enters a run as incomplete,
//! [`Store::append`] stores its interval series as they arrive, [`Store::update`] the results so
//! far, and [`Store::finish`] the complete record. A kill at any moment leaves a readable store and
//! a run marked as cut short. Several processes may write at once.
//!
//! SQLite rather than a file per run, because runs are searched and compared by drive and metric,
//! and because SQLite keeps its guarantees through kills and power cuts. Opening is in `file.rs`,
//! the schema in `schema_2.sql`, the migration of earlier stores in `migrate.rs`.

#![forbid(unsafe_code)]

mod dates;
mod error;
mod file;
mod find;
mod id;
mod latencies;
mod live;
mod machine;
mod migrate;
mod pack;
mod place;
mod rows;
mod schema;
mod series;
mod state;
mod store;
mod summary;
mod words;
mod writer;

#[cfg(test)]
mod cut_tests;
#[cfg(test)]
#[path = "../tests/mount/mod.rs"]
mod mount;
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
pub use migrate::{Progress, on_migration};
pub use place::default_path;
pub use state::LastState;
pub use store::{Entered, Kept, News, Store};
pub use summary::Kind;

/// Largest record, bytes of JSON without metrics, series and histograms; the same limit holds for
/// each of the packed parts, and for the text of a record that is imported.
pub const RECORD_BYTES_MAX: usize = 64 << 20;

//! Stores and finds records: one SQLite file for all runs of a user.
//!
//! A record is written before it is shown. [`Store::begin`] adds a run as incomplete,
//! [`Store::append`] stores its interval series as they arrive, [`Store::update`] its current
//! results, and [`Store::finish`] the complete record. A kill at any moment leaves a readable store
//! and a run marked as cut short. Several processes may write at once.
//!
//! SQLite was chosen over a file per run because runs are searched and compared by drive and
//! metric, and because its guarantees survive kills and power cuts. Opening is in `file.rs`, the
//! schema in `schema_2.sql`, and the migration of earlier stores in `migrate.rs`.

#![forbid(unsafe_code)]

mod dates;
mod drives;
mod error;
mod file;
mod find;
mod history;
mod id;
mod labels;
mod latencies;
mod live;
mod machine;
mod migrate;
mod pack;
mod place;
mod progress;
mod rows;
mod schema;
mod series;
mod state;
mod store;
mod summary;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere/system.rs")]
mod system;
mod words;
mod writer;

#[cfg(test)]
mod cut_tests;
#[cfg(test)]
#[path = "../tests/it/mount/mod.rs"]
mod mount;
#[cfg(test)]
mod process_tests;
#[cfg(test)]
#[path = "../tests/it/samples/mod.rs"]
mod samples;

pub use dates::day;
pub use drives::StoredDrive;
pub use error::StoreError;
pub use find::{Filter, RunSummary};
pub use id::{id_of, new_id};
pub use labels::Host;
pub use live::Point;
pub use place::default_path;
pub use progress::{Progress, on_migration, report_migration};
pub use state::LastState;
pub use store::{Entered, News, Store, StoredRecord};
pub use summary::Provenance;

/// Maximum size of a record: bytes of JSON without metrics, series and histograms. The same limit
/// applies to each of the packed parts and to the text of an imported record.
pub const RECORD_BYTES_MAX: usize = 64 << 20;

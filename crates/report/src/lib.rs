//! Shows a record: terminal, Markdown, CSV, JSON, an SVG card, and one HTML file with charts.
//!
//! A [`record::Run`] goes in, text comes out: every form is a pure function of the record and, on a
//! screen, of a [`Style`]. Nothing computed here affects a conclusion; unknown values are shown as
//! unknown. [`table`] is for other lists of the command.

#![forbid(unsafe_code)]
#![allow(missing_docs)]

pub mod card;
mod chart;
pub mod comparison;
mod csv;
mod describe;
mod facts;
pub mod forest;
mod grid;
mod html;
mod identity;
mod markdown;
mod monitor;
mod names;
mod parquet;
mod peers;
mod quantity;
pub mod replication;
mod spark;
mod split;
mod style;
pub mod table;
mod terminal;
mod times;
pub mod together;
mod wear;

use record::Run;

pub use card::card;
pub use chart::distribution::{Distribution, Quantiles};
pub use chart::history::{History, HistoryLine, HistoryPoint};
pub use chart::throughput;
pub use csv::{csv, csv_figures, csv_series};
pub use html::sheet::sheet;
pub use html::{CHARTS_FILE, PageFrame, PageLink, Scripts, charts_script, html, linked_html, page};
pub use identity::identity;
pub use markdown::markdown;
pub use monitor::{influx, prom};
pub use parquet::parquet;
pub use quantity::show as quantity;
pub use spark::sparkline;
pub use style::{Ink, Style, wrap};
pub use terminal::{grid_so_far, terminal, terminal_grid, terminal_in_full};

/// The run as JSON, on one line or indented; without a final line break. `docs/record.schema.json`
/// describes it. Fails only if the record contains a value that JSON cannot represent.
pub fn json(run: &Run, pretty: bool) -> serde_json::Result<String> {
    if pretty { serde_json::to_string_pretty(run) } else { serde_json::to_string(run) }
}

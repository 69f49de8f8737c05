//! The record of a run: metrics, series, histograms, findings, verdicts, identity and provenance.
//!
//! Pure data with a stable JSON form. The schema only grows: fields may be added, but none is
//! renamed or changes meaning. An unknown value is `null`, never 0. The machine-readable schema is
//! `docs/record.schema.json`.

#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod answer;
mod canonical;
mod chart;
mod document;
mod environment;
mod finding;
mod histogram;
mod history;
mod in_words;
mod key;
mod kind;
mod labels;
mod metric;
mod metric_info;
mod null;
mod origin;
mod part_of;
mod places;
mod plan;
mod run;
mod series;
mod side;
mod split;
mod statistic;
mod target;
mod word;

pub use answer::{Answer, Better, Confidence, HEADLINE_MAX, Limit, Loss, Peer, Stamp, Tile};
pub use chart::{Axis, Band, Chart, ChartKind, FittedLine, Mark};
pub use document::{Document, RecordHash};
pub use environment::{Cpu, Environment};
pub use finding::{Evidence, Explained, Finding, IoErrors, Level, Verdict};
pub use histogram::Histogram;
pub use history::HistoryKey;
pub use in_words::{Naming, capitalised};
pub use key::{CellKey, LatencyKind, MetricKey, Order, Subject, size_word};
pub use kind::{FindingKind, VerdictKind};
pub use labels::{Labels, parse_note, parse_tag, parse_title};
pub use metric::{Covers, Metric, Unit};
pub use metric_info::MetricInfo;
pub use origin::{OWN_FIO, Origin, OriginKind};
pub use part_of::PartOf;
pub use places::Places;
pub use plan::{Plan, PlanRange, PlanStep, Safety};
pub use run::{Ending, KILLED, LatencyProfile, Run, SCHEMA, State};
pub use series::{Column, Series};
pub use side::{free_side_name, is_in_operations, side_name};
pub use split::{SLOW_PARTS, SPLIT_PARTS, split_in_words, split_parts};
pub use statistic::Statistic;
pub use target::{
    DeclaredSizes, Detail, DriveIdentity, FileSystem, Health, Link, Target, TargetKind,
};
pub use word::Word;

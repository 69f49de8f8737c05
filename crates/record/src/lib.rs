//! What a run leaves behind: metrics, series, histograms, verdicts, and where and how they came.
//!
//! Pure data with a stable JSON form. The schema grows and never changes meaning: a field may be
//! added, none is renamed, and what is unknown is `null`, never 0. `docs/record.schema.json` is the
//! same schema for machines.

#![forbid(unsafe_code)]

mod environment;
mod finding;
mod histogram;
mod metric;
mod null;
mod origin;
mod plan;
mod run;
mod series;
mod target;

pub use environment::{Cpu, Environment};
pub use finding::{Evidence, Finding, IoErrors, Level, Verdict};
pub use histogram::Histogram;
pub use metric::{Metric, Unit};
pub use origin::{Origin, OriginKind};
pub use plan::{Plan, Safety, Step};
pub use run::{LatencyProfile, Run, SCHEMA, State};
pub use series::{Column, Series};
pub use target::{Detail, DriveIdentity, FileSystem, Health, Link, Target, TargetKind};

//! A published experiment as data: the files of `published/`, read when the program is built.
//!
//! An experiment is a virtual drive and the steps it goes through; a figure says in which
//! experiment it is found and how it is read there, beside what was published. The words of a
//! workload are those of `ssdyno io`, so that a reader can repeat any of them by hand.

use lab::published::{self, Meant};
use serde::{Deserialize, Serialize};

use super::{beside, here};
use crate::failure::{Failure, Result, USAGE};

/// Names and texts.
const DOCUMENTS: [(&str, &str); 6] = [
    ("000", include_str!("../../../../../published/000.toml")),
    ("001", include_str!("../../../../../published/001.toml")),
    ("002", include_str!("../../../../../published/002.toml")),
    ("003", include_str!("../../../../../published/003.toml")),
    ("004", include_str!("../../../../../published/004.toml")),
    ("fills", include_str!("../../../../../published/fills.toml")),
];

/// A document and what is repeated of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Title, author and year.
    pub title: String,
    /// What the repetition leaves out, and why.
    pub about: String,
    #[serde(rename = "experiment")]
    pub experiments: Vec<Experiment>,
    #[serde(rename = "figure")]
    pub figures: Vec<Figure>,
    #[serde(rename = "chart", default)]
    pub charts: Vec<Chart>,
    /// What its author ran, for a drive of one's own.
    #[serde(default)]
    pub here: Vec<here::Step>,
    /// Figures of those steps.
    #[serde(default)]
    pub beside: Vec<beside::Figure>,
}

/// A virtual drive, fresh at first, and what is done with it: a method, or steps.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    pub id: String,
    /// A preset, with overrides as in `sim:NAME?key=value`.
    pub drive: String,
    /// The method that is run; or else there are steps.
    pub method: Option<String>,
    #[serde(default)]
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Step {
    /// A workload in the words of `ssdyno io`; its metrics are called `NAME.throughput`, ...
    Io { name: String, io: String },
    /// The whole drive is given back; how long that takes is the metric `NAME.time`.
    Discard { discard: String },
    /// Time without I/O.
    Idle { idle: String },
}

/// A published figure.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Written")]
pub struct Figure {
    /// What it is, for people.
    pub what: String,
    /// The experiment it is found in.
    pub experiment: String,
    /// How it is read there.
    pub read: Reading,
    /// As published; the lower end where a range was published.
    pub published: f64,
    /// The upper end of a published range.
    pub to: Option<f64>,
    pub unit: Unit,
    /// Share by which it may differ.
    pub tolerance: f64,
    /// For figures published as a limit.
    pub bound: Option<Bound>,
    /// Place in the document, or another source.
    pub source: String,
    /// Why the model cannot meet it.
    pub reason: Option<String>,
}

/// A figure as it is written in the file: with its value, or with the place of it in the data
/// (`published/figures`), where each figure stands once.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    what: String,
    experiment: String,
    read: Reading,
    /// `003/m225-fresh/random-write`.
    of: Option<String>,
    /// The figure was printed rounded to whole numbers.
    #[serde(default)]
    rounded: bool,
    published: Option<f64>,
    to: Option<f64>,
    unit: Option<Unit>,
    #[serde(default)]
    tolerance: f64,
    bound: Option<Bound>,
    source: Option<String>,
    reason: Option<String>,
}

impl TryFrom<Written> for Figure {
    type Error = String;

    fn try_from(written: Written) -> std::result::Result<Figure, String> {
        let Written { what, experiment, read, tolerance, reason, .. } = written;
        let (published, to, unit, bound, source) = match &written.of {
            Some(path) => of(path, written.rounded)?,
            None => {
                let missing = || format!("{what}: no published, unit or source, and no `of`");
                let published = written.published.ok_or_else(missing)?;
                let unit = written.unit.ok_or_else(missing)?;
                let source = written.source.clone().ok_or_else(missing)?;
                (published, written.to, unit, None, source)
            }
        };
        let bound = written.bound.or(bound);
        let source = written.source.unwrap_or(source);
        Ok(Figure { what, experiment, read, published, to, unit, tolerance, bound, source, reason })
    }
}

type Found = (f64, Option<f64>, Unit, Option<Bound>, String);

/// The figure of that path in the data; a rounded one may be half a unit to both sides.
fn of(path: &str, rounded: bool) -> std::result::Result<Found, String> {
    let (figure, place) = published::figure(path)?;
    let unit = Unit::ALL.into_iter().find(|unit| unit.name_and_scale().0 == figure.unit);
    let unit = unit.ok_or_else(|| format!("{path}: in {}", figure.unit))?;
    let bound = match figure.meant {
        Meant::AtLeast => Some(Bound::AtLeast),
        Meant::AtMost => Some(Bound::AtMost),
        Meant::Exactly | Meant::About => None,
    };
    Ok(match rounded {
        true => (figure.value - 0.5, Some(figure.value + 0.5), unit, bound, place),
        false => (figure.value, figure.to, unit, bound, place),
    })
}

/// How a figure is read from the record of an experiment.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Reading {
    /// A metric.
    Metric(String),
    /// From the course of a workload, by share of its bytes.
    Course {
        course: String,
        #[serde(default)]
        take: Take,
        /// Which phase, where one is taken: 0 ends at the first fall.
        #[serde(default)]
        phase: usize,
        #[serde(default)]
        from: f64,
        #[serde(default = "whole")]
        to: f64,
    },
    /// The same of one course over that of another.
    Ratio {
        ratio: [String; 2],
        #[serde(default)]
        take: Take,
        #[serde(default)]
        from: f64,
        #[serde(default = "whole")]
        to: f64,
    },
}

fn whole() -> f64 {
    1.0
}

/// What is taken from a course.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Take {
    /// Bytes over time.
    #[default]
    Rate,
    /// Mean of the rates of equal parts of the address, as surface tests of drives print it.
    MeanOfParts,
    /// The slowest hundredth.
    Worst,
    /// All bytes.
    Bytes,
    /// Bytes of a phase: a stretch in which the rate does not change.
    PhaseBytes,
    /// Rate of a phase.
    PhaseRate,
    /// The fastest hundredth over the slowest.
    Spread,
}

/// Units as they are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    #[serde(rename = "GB/s")]
    GbPerSecond,
    #[serde(rename = "MB/s")]
    MbPerSecond,
    #[serde(rename = "KiB/s")]
    KibPerSecond,
    #[serde(rename = "kB/s")]
    KbPerSecond,
    #[serde(rename = "IOPS")]
    Iops,
    #[serde(rename = "GB")]
    Gigabytes,
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "x")]
    Times,
}

impl Unit {
    const ALL: [Unit; 8] = [
        Unit::GbPerSecond,
        Unit::MbPerSecond,
        Unit::KibPerSecond,
        Unit::KbPerSecond,
        Unit::Iops,
        Unit::Gigabytes,
        Unit::Seconds,
        Unit::Times,
    ];

    /// Its name, and how many of the record's units (bytes per second, operations per
    /// second, bytes, nanoseconds) it is.
    pub fn name_and_scale(self) -> (&'static str, f64) {
        match self {
            Unit::GbPerSecond => ("GB/s", 1e9),
            Unit::MbPerSecond => ("MB/s", 1e6),
            Unit::KibPerSecond => ("KiB/s", 1024.0),
            Unit::KbPerSecond => ("kB/s", 1e3),
            Unit::Iops => ("IOPS", 1.0),
            Unit::Gigabytes => ("GB", 1e9),
            Unit::Seconds => ("s", 1e9),
            Unit::Times => ("x", 1.0),
        }
    }
}

/// A figure that is a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    AtLeast,
    AtMost,
}

/// A chart of the same shape as the published one.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Chart {
    /// Rate over the share of bytes written or read; `EXPERIMENT/WORKLOAD` each.
    Courses { title: String, courses: Vec<String> },
    /// A bar for each figure of which this is the beginning of `what`.
    Bars { title: String, bars: String },
}

/// The documents there are.
pub fn names() -> impl Iterator<Item = &'static str> {
    DOCUMENTS.iter().map(|(name, _)| *name)
}

/// Nothing of a document has the name that was asked for.
pub fn nothing_called_so<'a>(known: impl Iterator<Item = &'a String>) -> Failure {
    let known = known.map(String::as_str).collect::<Vec<_>>().join(", ");
    Failure::new(USAGE, format!("no experiment is called so; there are: {known}"))
}

/// The document of that name, or in a file of one's own (`./NAME.toml`).
pub fn document(name: &str) -> Result<Document> {
    if name.ends_with(".toml") {
        let text = std::fs::read_to_string(name);
        return parse(name, &text.map_err(|e| Failure::new(USAGE, format!("{name}: {e}")))?);
    }
    let found = DOCUMENTS.iter().find(|(known, _)| *known == name);
    let unknown = || {
        let known = names().collect::<Vec<_>>().join(", ");
        Failure::new(USAGE, format!("no document '{name}'; there are: {known}"))
            .advise("ssdyno replicate")
    };
    let (_, text) = found.ok_or_else(unknown)?;
    parse(&format!("published/{name}.toml"), text)
}

fn parse(file: &str, text: &str) -> Result<Document> {
    toml::from_str(text).map_err(|e| Failure::new(USAGE, format!("{file}: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_its_experiment_and_its_step() {
        for name in names() {
            let document = document(name).unwrap_or_else(|e| panic!("{}", e.text()));
            for figure in &document.figures {
                let found = document.experiments.iter().find(|e| e.id == figure.experiment);
                let experiment = found.unwrap_or_else(|| panic!("{name}: {figure:?}"));
                let steps = match &figure.read {
                    Reading::Metric(metric) => vec![metric.split('.').next().unwrap_or("")],
                    Reading::Course { course, .. } => vec![course.as_str()],
                    Reading::Ratio { ratio, .. } => ratio.iter().map(String::as_str).collect(),
                };
                assert_ne!(experiment.method.is_some(), !experiment.steps.is_empty(), "{name}");
                // What a method measures is its own matter.
                for step in steps.into_iter().filter(|_| experiment.method.is_none()) {
                    let known = experiment.steps.iter().any(|s| match s {
                        Step::Io { name, .. } | Step::Discard { discard: name } => name == step,
                        Step::Idle { .. } => false,
                    });
                    assert!(known, "{name}: {} reads '{step}'", figure.what);
                }
                assert!(figure.bound.is_some() || figure.tolerance > 0.0, "{}", figure.what);
            }
        }
    }

    #[test]
    fn an_unknown_document_names_those_there_are() {
        let failure = document("999").expect_err("nobody wrote it");
        assert!(failure.text().contains("000, 001, 002, 003, 004"), "{}", failure.text());
    }
}

//! A published experiment as data: the files of `published/`, embedded when the program is built.
//!
//! An experiment is a virtual drive and the steps it goes through; a figure names its experiment and
//! says how it is read from the record. A workload is written in the words of `ssdyno io`, so that a
//! reader can repeat any of them by hand.

use serde::{Deserialize, Serialize};

use super::basis::Basis;
use super::headline::Headline;
use super::question::Question;
use super::unit::Unit;
use super::{beside, here};
use crate::error::{LabError, Result};
use crate::published::{self, Meant};

/// Names and texts.
const DOCUMENTS: [(&str, &str); 6] = [
    ("000", include_str!("../../../../published/000.toml")),
    ("001", include_str!("../../../../published/001.toml")),
    ("002", include_str!("../../../../published/002.toml")),
    ("003", include_str!("../../../../published/003.toml")),
    ("004", include_str!("../../../../published/004.toml")),
    ("fills", include_str!("../../../../published/fills.toml")),
];

/// A document, and the parts of it that are repeated.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Title, author and year.
    pub title: String,
    /// The parts that are not repeated, and why.
    pub about: String,
    /// Experiments on virtual drives.
    #[serde(rename = "experiment")]
    pub experiments: Vec<Experiment>,
    /// Figures of those experiments.
    #[serde(rename = "figure")]
    pub figures: Vec<Figure>,
    /// The document's own result, as it printed it.
    pub headline: Option<Headline>,
    /// Questions that the document leaves open.
    #[serde(rename = "question", default)]
    pub questions: Vec<Question>,
    /// Charts of the same shape as the published ones.
    #[serde(rename = "chart", default)]
    pub charts: Vec<Chart>,
    /// The author's own steps, for a drive of the user's.
    #[serde(default)]
    pub here: Vec<here::Step>,
    /// Figures of those steps.
    #[serde(default)]
    pub beside: Vec<beside::Figure>,
}

/// A virtual drive, fresh at first, and a method or steps to run on it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its name.
    pub id: String,
    /// A preset, with overrides as in `sim:NAME?key=value`.
    pub drive: String,
    /// The method to run; an experiment without one has steps.
    pub method: Option<String>,
    /// The steps.
    #[serde(default)]
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Step {
    /// A workload in the words of `ssdyno io`; its metrics are called `NAME.throughput`, ...
    Io {
        /// Its name.
        name: String,
        /// Its options.
        io: String,
    },
    /// A discard of the whole drive; its duration is the metric `NAME.time`.
    Discard {
        /// Its name.
        discard: String,
    },
    /// Time without I/O.
    Idle {
        /// Its duration, such as `30s`.
        idle: String,
    },
}

/// A published figure.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Written")]
pub struct Figure {
    /// A description for people.
    pub what: String,
    /// The experiment it is found in.
    pub experiment: String,
    /// How it is read there.
    pub read: Reading,
    /// As published; the lower end where a range was published.
    pub published: f64,
    /// The upper end of a published range.
    pub to: Option<f64>,
    /// The unit it was printed in.
    pub unit: Unit,
    /// Share by which the replicated figure may differ.
    pub tolerance: f64,
    /// For figures published as a limit.
    pub bound: Option<Bound>,
    /// Its place in the document, or another source.
    pub source: String,
    /// Its path in `published/figures`, if it is there.
    pub of: Option<String>,
    /// Why the model cannot meet it, where that is known.
    pub reason: Option<String>,
    /// Its basis, where a step of the experiment was fitted to it and not the drive.
    pub basis: Option<Basis>,
}

/// A figure as written in the file: with its value, or with the path of it in `published/figures`.
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
    basis: Option<Basis>,
}

impl TryFrom<Written> for Figure {
    type Error = String;

    fn try_from(written: Written) -> std::result::Result<Figure, String> {
        let Written { what, experiment, read, tolerance, reason, basis, .. } = written;
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
        let (source, of) = (written.source.unwrap_or(source), written.of);
        Ok(Figure {
            what,
            experiment,
            read,
            published,
            to,
            unit,
            tolerance,
            bound,
            source,
            of,
            reason,
            basis,
        })
    }
}

type Found = (f64, Option<f64>, Unit, Option<Bound>, String);

/// The figure at that path; a rounded one becomes a range of half a unit to both sides.
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
    /// From the time series of a workload, by share of its bytes.
    Course {
        /// The workload.
        course: String,
        /// The quantity.
        #[serde(default)]
        take: Take,
        /// The number of a phase, where one is taken: phase 0 ends at the first fall.
        #[serde(default)]
        phase: usize,
        /// First share of the bytes.
        #[serde(default)]
        from: f64,
        /// Last share of the bytes.
        #[serde(default = "whole")]
        to: f64,
    },
    /// Time of these workloads together.
    Elapsed {
        /// The workloads.
        elapsed: Vec<String>,
    },
    /// The quantity of one workload over that of another.
    Ratio {
        /// The two workloads.
        ratio: [String; 2],
        /// The quantity.
        #[serde(default)]
        take: Take,
        /// First share of the bytes.
        #[serde(default)]
        from: f64,
        /// Last share of the bytes.
        #[serde(default = "whole")]
        to: f64,
    },
}

fn whole() -> f64 {
    1.0
}

/// A quantity of a workload's time series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Take {
    /// Bytes over time.
    #[default]
    Rate,
    /// Mean of the rates of equal parts, as surface tests of drives print it.
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

/// The side on which a figure is a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The published figure is a minimum.
    AtLeast,
    /// The published figure is a maximum.
    AtMost,
}

/// A chart of the same shape as the published one.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Chart {
    /// Rate over the share of bytes read or written, for each `EXPERIMENT/WORKLOAD`.
    Courses {
        /// Its title.
        title: String,
        /// The workloads.
        courses: Vec<String>,
    },
    /// A bar for each figure whose description has a prefix.
    Bars {
        /// Its title.
        title: String,
        /// Prefix of the figures' descriptions.
        bars: String,
        /// Their last word, if not all of them are meant.
        #[serde(default)]
        of: String,
    },
}

/// The names of all documents.
pub fn names() -> impl Iterator<Item = &'static str> {
    DOCUMENTS.iter().map(|(name, _)| *name)
}

/// The document of that name, or in a file of the user's (`./NAME.toml`).
pub fn document(name: &str) -> Result<Document> {
    if name.ends_with(".toml") {
        let text = std::fs::read_to_string(name);
        return parse(name, &text.map_err(|e| LabError::usage(format!("{name}: {e}")))?);
    }
    let found = DOCUMENTS.iter().find(|(known, _)| *known == name);
    let unknown = || {
        let known = names().collect::<Vec<_>>().join(", ");
        LabError::usage(format!("no document '{name}'; there are: {known}"))
            .advise("ssdyno replicate")
    };
    let (_, text) = found.ok_or_else(unknown)?;
    parse(&format!("published/{name}.toml"), text)
}

/// The document in a text; `file` is for errors.
pub fn parse(file: &str, text: &str) -> Result<Document> {
    toml::from_str(text).map_err(|e| LabError::usage(format!("{file}: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_its_experiment_and_its_step() {
        for name in names() {
            let document = document(name).unwrap_or_else(|e| panic!("{}", e));
            for figure in &document.figures {
                let found = document.experiments.iter().find(|e| e.id == figure.experiment);
                let experiment = found.unwrap_or_else(|| panic!("{name}: {figure:?}"));
                let steps = match &figure.read {
                    Reading::Metric(metric) => vec![metric.split('.').next().unwrap_or("")],
                    Reading::Course { course, .. } => vec![course.as_str()],
                    Reading::Ratio { ratio, .. } => ratio.iter().map(String::as_str).collect(),
                    Reading::Elapsed { elapsed } => elapsed.iter().map(String::as_str).collect(),
                };
                assert_ne!(experiment.method.is_some(), !experiment.steps.is_empty(), "{name}");
                // The metrics of a method are not listed here.
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
        assert!(failure.to_string().contains("000, 001, 002, 003, 004"), "{failure}");
    }
}

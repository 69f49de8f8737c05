//! A published experiment as data: the files in `published/`, embedded at build time.
//!
//! An experiment is a virtual drive with a method or steps. A figure names its experiment and how
//! to read it from the record. A workload is written as options of `ssdyno io`, so that a reader
//! can repeat it manually.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::claims::Claims;
use super::headline::Headline;
use super::label::Basis;
use super::question::Question;
use super::time_series::Reading;
use super::unit::Unit;
use super::{beside, here};
use crate::error::{LabError, Result};
use crate::published::{self, Meant};

/// Names and texts of the documents.
const DOCUMENTS: [(&str, &str); 6] = [
    ("000", include_str!("../../../../published/000.toml")),
    ("001", include_str!("../../../../published/001.toml")),
    ("002", include_str!("../../../../published/002.toml")),
    ("003", include_str!("../../../../published/003.toml")),
    ("004", include_str!("../../../../published/004.toml")),
    ("fills", include_str!("../../../../published/fills.toml")),
];

/// Names and texts of the claims of the documents.
const CLAIMS: [(&str, &str); 5] = [
    ("000", include_str!("../../../../published/claims/000.toml")),
    ("001", include_str!("../../../../published/claims/001.toml")),
    ("002", include_str!("../../../../published/claims/002.toml")),
    ("003", include_str!("../../../../published/claims/003.toml")),
    ("004", include_str!("../../../../published/claims/004.toml")),
];

/// A document, and its repeated parts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Title, author and year.
    pub title: String,
    /// The parts that are not repeated, and the reason.
    pub about: String,
    /// Experiments on virtual drives.
    #[serde(rename = "experiment")]
    pub experiments: Vec<Experiment>,
    /// Records from elsewhere that answer its questions.
    #[serde(rename = "import", default)]
    pub imports: Vec<Import>,
    /// Figures of the experiments.
    #[serde(rename = "figure")]
    pub figures: Vec<PublishedFigure>,
    /// The document's own result, as printed.
    pub headline: Option<Headline>,
    /// Its statements, each with its place and the experiment that shows it.
    #[serde(default)]
    pub claims: Claims,
    /// Questions that the document leaves open.
    #[serde(rename = "question", default)]
    pub questions: Vec<Question>,
    /// Charts in the form of the published ones.
    #[serde(rename = "chart", default)]
    pub charts: Vec<Chart>,
    /// The author's own steps, for the user's drive.
    #[serde(default)]
    pub here: Vec<here::HereStep>,
    /// Figures of the author's steps.
    #[serde(default)]
    pub beside: Vec<beside::StepFigure>,
}

/// An imported record, for an experiment that no virtual drive can repeat.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Import {
    /// Its name as an experiment.
    pub id: String,
    /// The target in the record.
    pub target: String,
    /// The name of the run in the imported table.
    pub run: String,
}

/// A virtual drive, initially fresh, and a method or steps to run on it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    pub id: String,
    /// A preset, with overrides as in `sim:NAME?key=value`.
    pub drive: String,
    /// The method to run; without one, the experiment has steps.
    pub method: Option<String>,
    /// Options that the method declares, as on the command line, and `size`.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// Paths in `published/figures` of the figures that overrides of the drive were fitted to.
    #[serde(default)]
    pub fitted: Vec<String>,
    /// The source of overrides that were not fitted.
    pub assumed: Option<String>,
    #[serde(default)]
    pub steps: Vec<ExperimentStep>,
}

/// A step of an experiment.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum ExperimentStep {
    /// A workload as options of `ssdyno io`. Its metrics are called `NAME.throughput`, ...
    Io {
        name: String,
        /// Its options.
        io: String,
    },
    /// A discard of the whole drive, or of its first bytes; its duration is the metric `NAME.time`.
    Discard {
        /// Name of the step.
        discard: String,
        /// The number of bytes, such as `2GB`.
        size: Option<String>,
    },
    /// A partition table brought into the order of the drive, with a file system on each partition,
    /// whose capacity is the metric `NAME.PURPOSE`.
    Partition {
        name: String,
        /// The layout, as for `ssdyno partition --layout`.
        partition: String,
    },
    /// Time without I/O.
    Idle {
        /// Its duration, such as `30s`.
        idle: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "Written")]
pub struct PublishedFigure {
    /// A description for readers.
    pub what: String,
    /// The experiment that gives the figure.
    pub experiment: String,
    /// How to read it from the record.
    pub read: Reading,
    /// The other figure of a ratio of two experiments.
    pub over: Option<Over>,
    /// As published; the lower end of a published range.
    pub published: f64,
    /// The upper end of a published range.
    pub to: Option<f64>,
    /// The unit as printed.
    pub unit: Unit,
    /// Permitted relative difference of the replicated figure.
    pub tolerance: f64,
    /// For figures published as a limit.
    pub bound: Option<Bound>,
    /// Its place in the document, or another source.
    pub source: String,
    /// Its path in `published/figures`, if it is there.
    pub of: Option<String>,
    /// Why the model cannot match it, if known.
    pub reason: Option<String>,
    /// An experiment that shows the reason.
    pub lift: Option<Lift>,
    /// Its basis, if a step of the experiment rather than the drive was fitted to it.
    pub basis: Option<Basis>,
}

/// The experiment of a missed figure with one parameter changed: if the figure is met then, this
/// parameter is the difference.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lift {
    /// The parameter and its value, in words.
    pub with: String,
    pub experiment: String,
}

/// A figure of another experiment, used as the divisor.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Over {
    pub experiment: String,
    /// How to read the figure from its record.
    pub read: Reading,
}

/// A figure as written in the file: with its value, or with its path in `published/figures`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    what: String,
    experiment: String,
    read: Reading,
    over: Option<Over>,
    /// `003/m225-fresh/random-write`.
    of: Option<String>,
    /// Whether the figure was printed rounded to whole numbers.
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
    lift: Option<Lift>,
    basis: Option<Basis>,
}

impl TryFrom<Written> for PublishedFigure {
    type Error = String;

    fn try_from(written: Written) -> std::result::Result<PublishedFigure, String> {
        let Written { what, experiment, read, over, tolerance, reason, lift, basis, .. } = written;
        let (published, to, unit, bound, source) = match &written.of {
            Some(path) => figure_at(path, written.rounded)?,
            None => {
                let incomplete = || format!("{what}: no published, unit or source, and no `of`");
                let published = written.published.ok_or_else(incomplete)?;
                let unit = written.unit.ok_or_else(incomplete)?;
                let source = written.source.clone().ok_or_else(incomplete)?;
                (published, written.to, unit, None, source)
            }
        };
        let bound = written.bound.or(bound);
        let (source, of) = (written.source.unwrap_or(source), written.of);
        Ok(PublishedFigure {
            what,
            experiment,
            read,
            over,
            published,
            to,
            unit,
            tolerance,
            bound,
            source,
            of,
            reason,
            lift,
            basis,
        })
    }
}

type PrintedFigure = (f64, Option<f64>, Unit, Option<Bound>, String);

/// The figure at this path. A rounded one becomes a range of plus or minus half a unit.
fn figure_at(path: &str, rounded: bool) -> std::result::Result<PrintedFigure, String> {
    let (figure, place) = published::figure(path)?;
    let unit = Unit::ALL.into_iter().find(|unit| unit.name_and_scale().0 == figure.unit);
    let unit = unit.ok_or_else(|| format!("{path}: in {}", figure.unit))?;
    let bound = match figure.meant {
        Meant::AtLeast => Some(Bound::AtLeast),
        Meant::AtMost => Some(Bound::AtMost),
        Meant::Exactly | Meant::About => None,
    };
    Ok(if rounded {
        (figure.value - 0.5, Some(figure.value + 0.5), unit, bound, place)
    } else {
        (figure.value, figure.to, unit, bound, place)
    })
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

/// A chart in the form of the published one.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Chart {
    /// Rate against the fraction of bytes read or written, for each `EXPERIMENT/WORKLOAD`.
    Lines {
        title: String,
        /// The workloads.
        #[serde(alias = "courses")]
        series: Vec<String>,
    },
    /// A bar for each figure whose description has a prefix.
    Bars {
        title: String,
        /// Prefix of the descriptions.
        bars: String,
        /// Their last word, if the prefix alone matches too many.
        #[serde(default)]
        of: String,
    },
}

impl Document {
    /// The experiment with this name.
    pub fn experiment(&self, id: &str) -> Option<&Experiment> {
        self.experiments.iter().find(|experiment| experiment.id == id)
    }
}

/// The names of all documents.
pub fn names() -> impl Iterator<Item = &'static str> {
    DOCUMENTS.iter().map(|(name, _)| *name)
}

/// The document with this name, or the one in the user's file (`./NAME.toml`).
pub fn document(name: &str) -> Result<Document> {
    if name.ends_with(".toml") {
        let text = std::fs::read_to_string(name);
        return parse(name, &text.map_err(|e| LabError::usage(format!("{name}: {e}")))?);
    }
    let document = DOCUMENTS.iter().find(|(known, _)| *known == name);
    let (_, text) = document.ok_or_else(|| {
        let names_known = names().collect::<Vec<_>>().join(", ");
        LabError::usage(format!("no document '{name}'; known: {names_known}"))
            .advise("ssdyno replicate")
    })?;
    let document = parse(&format!("published/{name}.toml"), text)?;
    let Some((_, text)) = CLAIMS.iter().find(|(known, _)| *known == name) else {
        return Ok(document);
    };
    let claims = toml::from_str(text)
        .map_err(|e| LabError::usage(format!("published/claims/{name}.toml: {e}")))?;
    Ok(Document { claims, ..document })
}

/// Parses a document; `file` is its name in errors.
pub fn parse(file: &str, text: &str) -> Result<Document> {
    let document: Document =
        toml::from_str(text).map_err(|e| LabError::usage(format!("{file}: {e}")))?;
    for Experiment { id, method, steps, .. } in &document.experiments {
        let fault = match (method, steps.is_empty()) {
            (None, true) => "has neither a method nor steps",
            (Some(_), false) => "has both a method and steps",
            _ => continue,
        };
        let text = format!("{file}: experiment '{}' {fault}", emit::plain(id));
        return Err(LabError::usage(text)
            .advise("give it either method = 'NAME' or steps = [{ name = ..., io = ... }]"));
    }
    Ok(document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_an_experiment_and_a_step() {
        for name in names() {
            let document = document(name).unwrap_or_else(|e| panic!("{}", e));
            for figure in &document.figures {
                let experiment = document.experiment(&figure.experiment);
                let experiment = experiment.unwrap_or_else(|| panic!("{name}: {figure:?}"));
                let steps = match &figure.read {
                    Reading::Metric(metric) => vec![metric.split('.').next().unwrap_or("")],
                    Reading::TimeSeries { series, .. } => vec![series.as_str()],
                    Reading::Ratio { ratio, .. } => ratio.iter().map(String::as_str).collect(),
                    Reading::Elapsed { elapsed } => elapsed.iter().map(String::as_str).collect(),
                };
                assert_ne!(experiment.method.is_some(), !experiment.steps.is_empty(), "{name}");
                // The metrics of methods are not checked here.
                for step in steps.into_iter().filter(|_| experiment.method.is_none()) {
                    let known = experiment.steps.iter().any(|s| match s {
                        ExperimentStep::Io { name, .. }
                        | ExperimentStep::Partition { name, .. }
                        | ExperimentStep::Discard { discard: name, .. } => name == step,
                        ExperimentStep::Idle { .. } => false,
                    });
                    assert!(known, "{name}: {} reads '{step}'", figure.what);
                }
                assert!(figure.bound.is_some() || figure.tolerance > 0.0, "{}", figure.what);
                let other = figure.over.as_ref().map(|over| &over.experiment);
                let lifted = figure.lift.as_ref().map(|lift| &lift.experiment);
                for id in other.into_iter().chain(lifted) {
                    assert!(document.experiment(id).is_some(), "{name}: {figure:?}");
                }
                assert!(figure.lift.is_none() || figure.reason.is_some(), "{name}: {figure:?}");
            }
        }
    }

    /// A named host and a preset have the sources of their values. So must an override.
    #[test]
    fn every_override_of_an_experiment_has_a_source() {
        for name in names() {
            let document = document(name).unwrap_or_else(|e| panic!("{}", e));
            for experiment in &document.experiments {
                let (_, overrides) = experiment.drive.split_once('?').unwrap_or_default();
                let is_own = |words: &&str| {
                    !words.is_empty()
                        && words
                            .strip_prefix("host=")
                            .is_none_or(|host| host.parse::<f64>().is_ok())
                };
                let unnamed: Vec<&str> = overrides.split('&').filter(is_own).collect();
                let is_sourced = experiment.assumed.is_some() || !experiment.fitted.is_empty();
                assert_eq!(
                    !unnamed.is_empty(),
                    is_sourced,
                    "{name}, {}: {unnamed:?}",
                    experiment.id
                );
                for path in &experiment.fitted {
                    published::figure(path).unwrap_or_else(|e| panic!("{name}: {e}"));
                }
            }
        }
    }

    #[test]
    fn an_experiment_needs_either_a_method_or_steps() {
        let parsed = |work: &str| {
            let experiment = format!("[[experiment]]\nid = 'cold'\ndrive = 'sd-150x'\n{work}\n");
            parse("a.toml", &format!("title = 'a'\nabout = 'a'\nfigure = []\n{experiment}"))
        };
        let steps = "steps = [{ idle = '30s' }]";
        assert!(parsed("method = 'quick'").is_ok() && parsed(steps).is_ok());
        let both = format!("method = 'quick'\n{steps}");
        let faults =
            [("", "has neither a method nor steps"), (&both, "has both a method and steps")];
        for (work, fault) in faults {
            let error = parsed(work).expect_err("no work, or two");
            assert_eq!(error.to_string(), format!("a.toml: experiment 'cold' {fault}"));
            assert!(error.advice().is_some_and(|advice| advice.contains("either method")));
        }
    }

    #[test]
    fn an_unknown_document_lists_the_known_ones() {
        let failure = document("999").expect_err("no such document");
        assert!(failure.to_string().contains("000, 001, 002, 003, 004"), "{failure}");
    }
}

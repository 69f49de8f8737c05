//! The answer of a run: the headline, tiles, charts and stamp that a user sees first.
//!
//! Each method derives its answer from its measurements. Terminal, HTML, Markdown and the list of
//! runs all render this type. Its charts are in `chart.rs`.

use serde::{Deserialize, Serialize};

use crate::kind::kinds;
use crate::{Chart, Finding, FindingKind, Level, Metric, Unit, Verdict, VerdictKind};

/// Maximum length of a headline, in characters.
pub const HEADLINE_MAX: usize = 90;

/// The answer to a method's question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The question in plain words: `How long does the speed last?`
    pub question: String,
    /// The answer in one sentence of at most [`HEADLINE_MAX`] characters, with units.
    pub headline: String,
    /// What the headline has no room for, in whole sentences; empty if it says everything.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rest: String,
    /// The loss that the headline names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// How far the numbers can be trusted.
    pub stamp: Stamp,
    /// Whether they are those of a virtual drive: predictions, whatever the stamp.
    #[serde(default, rename = "virtual", skip_serializing_if = "std::ops::Not::not")]
    pub is_virtual: bool,
    /// The main numbers, at most six.
    #[serde(default)]
    pub tiles: Vec<Tile>,
    /// The charts.
    #[serde(default)]
    pub charts: Vec<Chart>,
    /// The bottlenecks of the tiles' figures.
    #[serde(default)]
    pub limits: Vec<Limit>,
    /// The same figures from other sources.
    #[serde(default)]
    pub peers: Vec<Peer>,
}

impl Answer {
    /// An answer without numbers.
    pub fn new(question: impl Into<String>, headline: impl Into<String>, stamp: Stamp) -> Answer {
        Answer {
            question: question.into(),
            headline: headline.into(),
            rest: String::new(),
            loss: None,
            stamp,
            is_virtual: false,
            tiles: Vec::new(),
            charts: Vec::new(),
            limits: Vec::new(),
            peers: Vec::new(),
        }
    }
}

/// The largest loss: a figure far below what is usual for such a drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// Key of the metric.
    pub metric: String,
    /// The usual figure over the measured one, more than 1.
    #[serde(deserialize_with = "crate::null::number")]
    pub factor: f64,
    /// What the drive is held against: `this model`, `this class`.
    pub whose: String,
    /// The conclusion that explains the loss; absent if the cause is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<VerdictKind>,
}

/// How far a run's numbers can be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stamp {
    /// None of the checks that ran found a reason for doubt.
    Believable,
    /// Usable, with these doubts.
    Reservations(Vec<FindingKind>),
    /// The numbers are not those of the drive.
    NotTheDrive(FindingKind),
    /// A stamp unknown to this version, as written by a later one.
    #[serde(untagged)]
    Other(serde_json::Value),
}

impl Stamp {
    /// Severity: a note if nothing discredits the numbers. An unknown stamp is a warning, because
    /// it may be a doubt.
    pub fn level(&self) -> Level {
        match self {
            Stamp::Believable => Level::Note,
            Stamp::Reservations(kinds) if kinds.contains(&FindingKind::RunFailed) => Level::Bad,
            Stamp::Reservations(_) | Stamp::Other(_) => Level::Warn,
            Stamp::NotTheDrive(_) => Level::Bad,
        }
    }

    /// Its name in records; empty for an unknown stamp without a name.
    pub fn name(&self) -> &str {
        match self {
            Stamp::Believable => "believable",
            Stamp::Reservations(_) => "reservations",
            Stamp::NotTheDrive(_) => "not_the_drive",
            Stamp::Other(serde_json::Value::String(name)) => name,
            Stamp::Other(serde_json::Value::Object(members)) if members.len() == 1 => {
                members.keys().next().map_or("", String::as_str)
            }
            Stamp::Other(_) => "",
        }
    }

    /// The stamp that follows from the findings and verdicts of a run.
    pub fn new(findings: &[Finding], verdicts: &[Verdict]) -> Stamp {
        let elsewhere =
            findings.iter().find(|f| f.level == Level::Bad && f.kind.is_not_the_drive());
        if let Some(finding) = elsewhere {
            return Stamp::NotTheDrive(finding.kind.clone());
        }
        if verdicts.iter().any(|verdict| verdict.kind == VerdictKind::Ram) {
            return Stamp::NotTheDrive(FindingKind::ServedFromRam);
        }
        let mut doubts: Vec<FindingKind> = Vec::new();
        for finding in findings.iter().filter(|finding| finding.level > Level::Note) {
            if !doubts.contains(&finding.kind) {
                doubts.push(finding.kind.clone());
            }
        }
        if doubts.is_empty() { Stamp::Believable } else { Stamp::Reservations(doubts) }
    }
}

impl FindingKind {
    /// Whether the numbers describe something else: memory, or blocks without content.
    fn is_not_the_drive(&self) -> bool {
        let elsewhere = [
            FindingKind::ServedFromRam,
            FindingKind::UnwrittenBlocksRead,
            FindingKind::CacheNotDropped,
        ];
        elsewhere.contains(self)
    }
}

kinds! {
    /// Whether a larger or a smaller value is better.
    Better {
        /// Larger is better.
        Higher = "higher",
        /// Smaller is better.
        Lower = "lower",
        /// Neither.
        Neither = "neither",
    }
}

/// One of the main numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tile {
    /// Display name.
    pub label: String,
    /// Key of the metric.
    pub metric: String,
    /// Unit of the values.
    pub unit: Unit,
    /// The value; `null` if unknown.
    pub value: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Whether a larger or a smaller value is better.
    pub better: Better,
}

impl Tile {
    /// Creates the tile of a metric.
    pub fn from_metric(label: impl Into<String>, metric: &Metric, better: Better) -> Tile {
        Tile {
            label: label.into(),
            metric: metric.name.clone(),
            unit: metric.unit,
            value: metric.value,
            low: metric.low,
            high: metric.high,
            better,
        }
    }
}

kinds! {
    /// Confidence in a bottleneck.
    Confidence {
        /// Concluded by a rule from measurements of this run.
        Measured = "measured",
        /// The likely cause; others were not ruled out.
        Likely = "likely",
    }
}

/// The bottleneck of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// Key of the metric.
    pub metric: String,
    /// The conclusion that names the bottleneck.
    pub by: VerdictKind,
    /// Confidence in it.
    pub confidence: Confidence,
}

/// The same figure from another source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// Key of the metric.
    pub metric: String,
    /// Source of the figure: an earlier run, the manufacturer, a publication, a virtual drive.
    pub whose: String,
    /// Unit of the value.
    pub unit: Unit,
    /// Its value; the lower end if it was published as a range.
    #[serde(deserialize_with = "crate::null::number")]
    pub value: f64,
    /// Upper end of a range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest: Option<f64>,
    /// Share of such figures that are expected to be lower than that of this run, 0 to 1, if the range is
    /// that of many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percentile: Option<f64>,
    /// Conditions that differ: `link: PCIe 3.0 x4 here, PCIe 4.0 x4 there`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(kind: FindingKind, level: Level) -> Finding {
        Finding::new(kind, level, "text")
    }

    #[test]
    fn the_worst_finding_decides_the_stamp() {
        let warn = found(FindingKind::Governor, Level::Warn);
        let note = found(FindingKind::RegionCut, Level::Note);
        let memory = found(FindingKind::ServedFromRam, Level::Bad);
        assert_eq!(Stamp::new(&[], &[]), Stamp::Believable);
        assert_eq!(Stamp::new(std::slice::from_ref(&note), &[]), Stamp::Believable);
        let doubts = Stamp::new(&[warn.clone(), note, warn.clone()], &[]);
        assert_eq!(doubts, Stamp::Reservations(vec![FindingKind::Governor]));
        let both = Stamp::new(&[warn.clone(), memory], &[]);
        assert_eq!(both, Stamp::NotTheDrive(FindingKind::ServedFromRam));
        let failed = found(FindingKind::FailedOperations, Level::Bad);
        assert_eq!(
            Stamp::new(&[failed], &[]),
            Stamp::Reservations(vec![FindingKind::FailedOperations])
        );
        let ram = Verdict::new(VerdictKind::Ram, "");
        assert_eq!(Stamp::new(&[warn], &[ram]), Stamp::NotTheDrive(FindingKind::ServedFromRam));
    }

    #[test]
    fn json_uses_the_records_names_of_kinds() {
        let stamp = Stamp::Reservations(vec![FindingKind::Governor]);
        let json = serde_json::to_value(&stamp).expect("plain data");
        assert_eq!(json, serde_json::json!({ "reservations": ["governor"] }));
        assert_eq!(serde_json::from_value::<Stamp>(json).expect("the same"), stamp);
        let json = serde_json::to_value(Stamp::Believable).expect("plain data");
        assert_eq!(json, "believable");
    }
}

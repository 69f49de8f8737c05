//! The answer of a run: the sentence, the tiles, the charts and the stamp that a person sees first.
//!
//! A method declares how its answer follows from its measurements; terminal, HTML, Markdown and the
//! list of runs draw from this one type. Its charts are in `chart.rs`.

use serde::{Deserialize, Serialize};

use crate::kind::kinds;
use crate::{Chart, Ending, Finding, FindingKind, Level, Metric, Run, Unit, Verdict, VerdictKind};

/// Characters of a headline at most.
pub const HEADLINE_MAX: usize = 90;

/// The answer to a method's question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The question in a person's words: `How long does the speed last?`
    pub question: String,
    /// The answer in one sentence of at most [`HEADLINE_MAX`] characters, numbers with units.
    pub headline: String,
    /// How far the numbers can be believed.
    pub stamp: Stamp,
    /// The main numbers, six at most.
    #[serde(default)]
    pub tiles: Vec<Tile>,
    /// The charts that show it.
    #[serde(default)]
    pub charts: Vec<Chart>,
    /// What bounds the tiles.
    #[serde(default)]
    pub limits: Vec<Limit>,
    /// The same figures elsewhere.
    #[serde(default)]
    pub peers: Vec<Peer>,
}

/// How far the numbers of a run can be believed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stamp {
    /// No check that ran found a reason for doubt.
    Believable,
    /// Usable, with these doubts.
    Reservations(Vec<FindingKind>),
    /// The numbers are not those of the drive.
    NotTheDrive(FindingKind),
    /// A stamp that this version does not know, as a later version wrote it.
    #[serde(untagged)]
    Other(serde_json::Value),
}

impl Stamp {
    /// The stamp of a run: that of its findings and verdicts, and of how it ended.
    pub fn of_run(run: &Run) -> Stamp {
        let early = match run.ending() {
            Ending::Whole => None,
            Ending::CutShort => Some(FindingKind::CutShort),
            Ending::Failed => Some(FindingKind::RunFailed),
        };
        let doubts = match Stamp::of(&run.warnings, &run.verdicts) {
            elsewhere @ Stamp::NotTheDrive(_) => return elsewhere,
            Stamp::Reservations(doubts) => doubts,
            Stamp::Believable | Stamp::Other(_) => Vec::new(),
        };
        let foreign = run.origin.is_some().then_some(FindingKind::NotChecked);
        let doubts: Vec<FindingKind> = early.into_iter().chain(foreign).chain(doubts).collect();
        if doubts.is_empty() { Stamp::Believable } else { Stamp::Reservations(doubts) }
    }

    /// How bad it is: a note where nothing speaks against the numbers. An unknown stamp warns, as
    /// it may be a doubt.
    pub fn level(&self) -> Level {
        match self {
            Stamp::Believable => Level::Note,
            Stamp::Reservations(kinds) if kinds.contains(&FindingKind::RunFailed) => Level::Bad,
            Stamp::Reservations(_) | Stamp::Other(_) => Level::Warn,
            Stamp::NotTheDrive(_) => Level::Bad,
        }
    }

    /// Its name in records; empty for a later one that has none.
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
    pub fn of(findings: &[Finding], verdicts: &[Verdict]) -> Stamp {
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
    /// Such numbers were measured somewhere else: in memory, or in blocks without content.
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
    /// Which direction of a figure is better.
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
    /// Its name as a person says it.
    pub label: String,
    /// Key of the metric.
    pub metric: String,
    /// Unit of the values.
    pub unit: Unit,
    /// The value; `null` where it is unknown.
    pub value: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Which direction is better.
    pub better: Better,
}

impl Tile {
    /// The tile of a metric.
    pub fn of(label: impl Into<String>, metric: &Metric, better: Better) -> Tile {
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
    /// How sure a limit is.
    Confidence {
        /// A rule concluded it from measurements of this run.
        Measured = "measured",
        /// It is the likely cause; others were not ruled out.
        Likely = "likely",
    }
}

/// What bounds a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// Key of the metric.
    pub metric: String,
    /// The conclusion that names the bound.
    pub by: VerdictKind,
    /// How sure it is.
    pub confidence: Confidence,
}

/// The same figure of somebody else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// Key of the metric.
    pub metric: String,
    /// Whose figure: an earlier run, the maker, a publication, a virtual drive.
    pub whose: String,
    /// Unit of the value.
    pub unit: Unit,
    /// Its value; the lowest where it was printed as a range.
    #[serde(deserialize_with = "crate::null::number")]
    pub value: f64,
    /// The highest of a range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest: Option<f64>,
    /// Conditions that differ: `link: PCIe 3.0 x4 here, PCIe 4.0 x4 there`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Origin, OriginKind, Target, TargetKind};

    fn found(kind: FindingKind, level: Level) -> Finding {
        Finding::new(kind, level, "text")
    }

    #[test]
    fn the_worst_finding_decides_the_stamp() {
        let warn = found(FindingKind::Governor, Level::Warn);
        let note = found(FindingKind::RegionCut, Level::Note);
        let memory = found(FindingKind::ServedFromRam, Level::Bad);
        assert_eq!(Stamp::of(&[], &[]), Stamp::Believable);
        assert_eq!(Stamp::of(std::slice::from_ref(&note), &[]), Stamp::Believable);
        let doubts = Stamp::of(&[warn.clone(), note, warn.clone()], &[]);
        assert_eq!(doubts, Stamp::Reservations(vec![FindingKind::Governor]));
        let both = Stamp::of(&[warn.clone(), memory], &[]);
        assert_eq!(both, Stamp::NotTheDrive(FindingKind::ServedFromRam));
        let failed = found(FindingKind::FailedOperations, Level::Bad);
        assert_eq!(
            Stamp::of(&[failed], &[]),
            Stamp::Reservations(vec![FindingKind::FailedOperations])
        );
        let ram = Verdict::new(VerdictKind::Ram, "");
        assert_eq!(Stamp::of(&[warn], &[ram]), Stamp::NotTheDrive(FindingKind::ServedFromRam));
    }

    #[test]
    fn a_run_that_did_not_end_by_itself_is_not_just_believable() {
        let target = Target {
            spec: String::new(),
            kind: TargetKind::Null,
            path: None,
            bytes: None,
            drive: None,
            layers: Vec::new(),
            filesystem: None,
            direct: None,
        };
        let mut run = Run::new("restore", target);
        let stamp = |run: &Run, why: Option<&str>| {
            let cut_short = why.map(String::from);
            Stamp::of_run(&Run { cut_short, ..run.clone() })
        };
        let (cut, failed) = (FindingKind::CutShort, FindingKind::RunFailed);
        assert_eq!(stamp(&run, None), Stamp::Reservations(vec![cut.clone()]), "killed");
        assert_eq!(stamp(&run, Some("interrupted")), Stamp::Reservations(vec![cut]));
        let of_failed = stamp(&run, Some("I/O error: EIO"));
        assert_eq!(of_failed, Stamp::Reservations(vec![failed.clone()]));
        assert_eq!(of_failed.level(), Level::Bad);
        run.warnings.push(found(FindingKind::Governor, Level::Warn));
        let both = Stamp::Reservations(vec![failed, FindingKind::Governor]);
        assert_eq!(stamp(&run, Some("I/O error: EIO")), both);
        run.warnings.push(found(FindingKind::ServedFromRam, Level::Bad));
        let memory = Stamp::NotTheDrive(FindingKind::ServedFromRam);
        assert_eq!(stamp(&run, Some("I/O error: EIO")), memory, "that is worse");
        run.warnings.clear();
        run.complete = true;
        assert_eq!(stamp(&run, None), Stamp::Believable);
        run.origin = Some(Origin {
            kind: OriginKind::Imported,
            tool: Some("fio".into()),
            version: None,
            source: "results.json".into(),
            place: None,
            title: None,
            command: None,
            start_known: false,
        });
        assert_eq!(stamp(&run, None), Stamp::Reservations(vec![FindingKind::NotChecked]));
    }

    #[test]
    fn its_json_names_kinds_as_the_record_does() {
        let stamp = Stamp::Reservations(vec![FindingKind::Governor]);
        let json = serde_json::to_value(&stamp).expect("plain data");
        assert_eq!(json, serde_json::json!({ "reservations": ["governor"] }));
        assert_eq!(serde_json::from_value::<Stamp>(json).expect("the same"), stamp);
        let json = serde_json::to_value(Stamp::Believable).expect("plain data");
        assert_eq!(json, "believable");
    }
}

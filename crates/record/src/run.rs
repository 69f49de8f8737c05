//! The record of one run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use workload::Workload;

use crate::kind::kinds;
use crate::{
    Answer, Environment, Finding, FindingKind, Health, Histogram, IoErrors, Labels, Metric, Origin,
    PartOf, Plan, Series, Stamp, Target, Verdict,
};

/// Name and version of the schema. Only additions keep the number.
pub const SCHEMA: &str = "ssdyno.run/1";

kinds! { word
    /// State of the drive's blocks, which determines its speed.
    State {
        /// All blocks discarded.
        Fresh = "fresh",
        /// Written once, sequentially.
        Filled = "filled",
        /// Overwritten at random.
        Used = "used",
        /// Used, then free space discarded.
        Trimmed = "trimmed",
        /// Unknown.
        Unknown = "unknown",
    }
}

#[expect(clippy::derivable_impls, reason = "the macro makes the enum")]
impl Default for State {
    fn default() -> State {
        State::Unknown
    }
}

/// The latency histograms of one op kind of one workload, over all its replicates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyProfile {
    /// The workload.
    pub name: String,
    /// `read`, `write`, `flush` or `discard`.
    pub op: String,
    /// Issue to completion, nanoseconds.
    pub service: Histogram,
    /// Intended start to completion; absent in a closed loop, where it is the service time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Histogram>,
}

impl LatencyProfile {
    /// A profile with service times only.
    pub fn new(
        name: impl Into<String>,
        op: impl Into<String>,
        service: Histogram,
    ) -> LatencyProfile {
        LatencyProfile { name: name.into(), op: op.into(), service, response: None }
    }
}

/// The record of one execution of one method on one target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`SCHEMA`].
    pub schema: String,
    /// Unique over all machines; sorts by time.
    pub id: String,
    /// Number in the store in which it was recorded; `null` elsewhere.
    #[serde(default)]
    pub number: Option<i64>,
    /// RFC 3339, with the machine's offset. For imported records see `origin.start_known`.
    pub started: String,
    /// Wall time in seconds; `null` while it runs.
    pub seconds: Option<f64>,
    /// Virtual time of a run on a virtual drive, seconds; absent for other drives and while it
    /// runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated_seconds: Option<f64>,
    /// Name of the method, or `io`.
    pub method: String,
    /// Version of the method's protocol: the phases, times and rules that produce its values; if
    /// absent, version 1. Values of different versions are not the same quantity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u32>,
    /// The protocol file of which this run is a step; absent for a separate run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<PartOf>,
    /// The user's title, note and tags; absent if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Labels>,
    /// The options that determine its work, as given, without the target and the seed; empty if
    /// none was given, absent if unknown (records of earlier versions and of other tools).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<BTreeMap<String, String>>,
    /// Seed of all random choices in the run, given or drawn; absent if each job has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The target.
    pub target: Target,
    /// The machine around the drive.
    pub environment: Environment,
    /// The plan, announced before the first I/O; `null` for a record from elsewhere.
    pub plan: Option<Plan>,
    /// State of the drive before the run.
    pub state_before: State,
    /// State of the drive after the run.
    pub state_after: State,
    /// Start of the run that left the drive in `state_before`, RFC 3339. Later writes by other
    /// programs are detected only if the drive counts host writes.
    #[serde(default)]
    pub state_as_of: Option<String>,
    /// Wear, errors and temperature after the run, as reported by the drive; those before are in
    /// `target.drive.health`.
    #[serde(default)]
    pub health_after: Option<Health>,
    /// The answer to the method's question; absent if the method declares none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// Named values.
    pub metrics: Vec<Metric>,
    /// Values over time.
    pub series: Vec<Series>,
    /// Latency histograms.
    #[serde(default)]
    pub latencies: Vec<LatencyProfile>,
    /// Conclusions.
    pub verdicts: Vec<Verdict>,
    /// Findings that limit trust in the numbers.
    pub warnings: Vec<Finding>,
    /// I/O errors.
    pub errors: Vec<IoErrors>,
    /// Whether it ran to its end. `false` while it runs or if it was cut short.
    pub complete: bool,
    /// Why it ended early, if it did and the reason is known (`interrupted`, `I/O error: ...`).
    #[serde(default)]
    pub cut_short: Option<String>,
    /// The source of a record that was not made by an ssdyno run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Completely.
    Whole,
    /// Early: stopped by the user or killed. A run still in progress has the same ending.
    CutShort,
    /// With an error.
    Failed,
}

/// [`Run::cut_short`] of a run whose program was killed, as the store reports it.
pub const KILLED: &str = "killed";

impl Run {
    /// Reads a record from its text. The reader is large: rooms call this one instead of compiling
    /// their own. Fails if the text is not JSON or not a record.
    pub fn parse(json: &str) -> serde_json::Result<Run> {
        serde_json::from_str(json)
    }

    /// How it ended. A record from elsewhere counts as complete, because its ending is unknown.
    pub fn ending(&self) -> Ending {
        match &self.cut_short {
            _ if self.complete || self.origin.is_some() => Ending::Whole,
            Some(why) if why != KILLED && !why.contains("interrupt") => Ending::Failed,
            _ => Ending::CutShort,
        }
    }

    /// The workloads of its plan that this version can read.
    pub fn known_workloads(&self) -> impl Iterator<Item = Workload> + '_ {
        self.plan.iter().flat_map(Plan::known_workloads)
    }

    /// A run of a method that has not started: incomplete, without measurements.
    pub fn new(method: &str, target: Target) -> Run {
        Run { schema: SCHEMA.to_string(), method: method.to_string(), target, ..Run::default() }
    }

    /// A record that was not made by an ssdyno run; so far only its source is known. `ssdyno` is
    /// the version that reads it.
    pub fn elsewhere(ssdyno: &str, method: &str, origin: Origin) -> Run {
        Run {
            environment: Environment { ssdyno: ssdyno.to_string(), ..Environment::default() },
            complete: true,
            origin: Some(origin),
            ..Run::new(method, Target::default())
        }
    }

    /// The user's title, or the title that another tool's result had.
    pub fn title(&self) -> Option<&str> {
        let own_title = self.labels.as_ref().and_then(|labels| labels.title.as_deref());
        own_title.or_else(|| self.origin.as_ref()?.title.as_deref())
    }

    /// The user's tags.
    pub fn tags(&self) -> impl Iterator<Item = (&str, &str)> {
        let tags = self.labels.iter().flat_map(|labels| &labels.tags);
        tags.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The metric of that name.
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|m| m.name == name)
    }

    /// The latency profile of a workload and op kind.
    pub fn latency(&self, name: &str, op: &str) -> Option<&LatencyProfile> {
        self.latencies.iter().find(|l| l.name == name && l.op == op)
    }
}

impl Stamp {
    /// The stamp of a run, from its findings, its verdicts and how it ended.
    pub fn of_run(run: &Run) -> Stamp {
        let early = match run.ending() {
            Ending::Whole => None,
            Ending::CutShort => Some(FindingKind::CutShort),
            Ending::Failed => Some(FindingKind::RunFailed),
        };
        let doubts = match Stamp::new(&run.warnings, &run.verdicts) {
            elsewhere @ Stamp::NotTheDrive(_) => return elsewhere,
            Stamp::Reservations(doubts) => doubts,
            Stamp::Believable | Stamp::Other(_) => Vec::new(),
        };
        let foreign = run.origin.as_ref().map(|origin| {
            if origin.is_own_fio() { FindingKind::OwnFioOutput } else { FindingKind::NotChecked }
        });
        let doubts: Vec<FindingKind> = early.into_iter().chain(foreign).chain(doubts).collect();
        if doubts.is_empty() { Stamp::Believable } else { Stamp::Reservations(doubts) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, OWN_FIO, TargetKind};

    #[test]
    fn an_incomplete_run_is_not_simply_believable() {
        let target = Target { kind: TargetKind::Null, ..Target::default() };
        let mut run = Run::new("restore", target);
        let stamp = |run: &Run, why: Option<&str>| {
            let cut_short = why.map(String::from);
            Stamp::of_run(&Run { cut_short, ..run.clone() })
        };
        let (cut, failed) = (FindingKind::CutShort, FindingKind::RunFailed);
        assert_eq!(stamp(&run, None), Stamp::Reservations(vec![cut.clone()]), "in progress");
        assert_eq!(stamp(&run, Some(KILLED)), Stamp::Reservations(vec![cut.clone()]));
        assert_eq!(stamp(&run, Some("interrupted")), Stamp::Reservations(vec![cut]));
        let of_failed = stamp(&run, Some("I/O error: EIO"));
        assert_eq!(of_failed, Stamp::Reservations(vec![failed.clone()]));
        assert_eq!(of_failed.level(), Level::Bad);
        run.warnings.push(Finding::new(FindingKind::Governor, Level::Warn, "text"));
        let both = Stamp::Reservations(vec![failed, FindingKind::Governor]);
        assert_eq!(stamp(&run, Some("I/O error: EIO")), both);
        run.warnings.push(Finding::new(FindingKind::ServedFromRam, Level::Bad, "text"));
        let memory = Stamp::NotTheDrive(FindingKind::ServedFromRam);
        assert_eq!(stamp(&run, Some("I/O error: EIO")), memory, "memory outweighs doubts");
        run.warnings.clear();
        run.complete = true;
        assert_eq!(stamp(&run, None), Stamp::Believable);
        run.origin = Some(Origin::imported(Some("fio"), "results.json"));
        assert_eq!(stamp(&run, None), Stamp::Reservations(vec![FindingKind::NotChecked]));
        let origin = run.origin.as_mut().expect("set");
        origin.tool = Some(OWN_FIO.into());
        assert_eq!(stamp(&run, None), Stamp::Reservations(vec![FindingKind::OwnFioOutput]));
    }
}

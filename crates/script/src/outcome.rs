//! The results of a method, growing step by step.
//!
//! Contains all measurements so far, in the form of the record. Each finding of the rig is listed
//! once, with its count and its workloads.

use std::sync::Arc;

use record::{
    Answer, Finding, IoErrors, LatencyProfile, Metric, MetricInfo, MetricKey, Places, Series,
    State, Verdict,
};
use rig::Measurement;
use serde_json::Value;
use workload::Workload;

/// Offsets kept per kind of error.
const OFFSETS_MAX: usize = 16;

/// The results of a method, in the form of the record.
#[derive(Default)]
pub struct Outcome {
    /// The answer to the method's question, from the fields below.
    pub answer: Option<Answer>,
    /// Named values, with all replicates so far.
    pub metrics: Vec<Metric>,
    /// Time series, one per replicate of each workload.
    pub series: Vec<Series>,
    /// Latency histograms, merged over replicates.
    pub latencies: Vec<LatencyProfile>,
    /// Conclusions so far.
    pub verdicts: Vec<Verdict>,
    /// Warnings: the method's own notes first, then the rig's findings.
    pub warnings: Vec<Finding>,
    /// I/O errors, summed by workload, op and kind.
    pub errors: Vec<IoErrors>,
    /// The first replicate of each workload in full; replicate `r` had its seed plus `r`.
    pub workloads: Vec<Arc<Value>>,
    /// Current state of the drive.
    pub state_after: State,
    notes: Vec<Finding>,
    tally: Vec<Tally>,
    /// Planning only: nothing is measured.
    planned: bool,
}

/// Number of runs of a workload, and the findings in them.
struct Tally {
    workload: String,
    replicates: u32,
    findings: Vec<(Finding, u32)>,
}

impl Outcome {
    /// An outcome for planning, which only records the workloads.
    pub fn planned() -> Outcome {
        Outcome { planned: true, ..Outcome::default() }
    }

    /// A metric, if its value is known.
    pub fn metric(&self, key: impl Into<MetricKey>) -> Option<&Metric> {
        let name = key.into().to_string();
        self.metrics.iter().find(|m| m.name == name && m.value.is_some())
    }

    /// The value of a metric.
    pub fn value(&self, key: impl Into<MetricKey>) -> Option<f64> {
        self.metric(key).and_then(|m| m.value)
    }

    /// The metrics of a family, each with the words at its places.
    pub fn family(&self, family: MetricInfo) -> impl Iterator<Item = (&Metric, Places<'_>)> {
        self.metrics.iter().filter_map(move |m| Some((m, Places::parse(family.name, &m.name)?)))
    }

    /// Adds a metric, or replaces the one with the same name.
    pub fn put_metric(&mut self, metric: Metric) {
        if self.planned {
            return;
        }
        match self.metrics.iter_mut().find(|m| m.name == metric.name) {
            Some(known) => *known = metric,
            None => self.metrics.push(metric),
        }
    }

    /// Adds the metrics of a cell in this order, replacing its previous ones: the metric named
    /// `stem` and those named `stem.something`.
    pub fn put_metrics(&mut self, stem: &str, metrics: Vec<Metric>) {
        if self.planned {
            return;
        }
        let is_of_cell = |m: &Metric| m.key().belongs_to(stem);
        let place = self.metrics.iter().position(is_of_cell).unwrap_or(self.metrics.len());
        self.metrics.retain(|m| !is_of_cell(m));
        self.metrics.splice(place..place, metrics);
    }

    /// Adds a latency profile, or replaces the one of the same workload and operation.
    pub fn put_latency(&mut self, profile: LatencyProfile) {
        match self.latencies.iter_mut().find(|l| l.name == profile.name && l.op == profile.op) {
            Some(known) => *known = profile,
            None => self.latencies.push(profile),
        }
    }

    /// Adds a finding of the method itself.
    pub fn note(&mut self, finding: Finding) {
        self.notes.push(finding);
        self.list_warnings();
    }

    /// Records a workload about to be issued.
    pub fn issued(&mut self, workload: &Workload) {
        if self.tally.iter().any(|t| t.workload == workload.name) {
            return;
        }
        let tally = Tally { workload: workload.name.clone(), replicates: 0, findings: Vec::new() };
        self.tally.push(tally);
        // NaN and infinity have no JSON form; a checked workload contains none.
        self.workloads.extend(serde_json::to_value(workload).map(Arc::new));
    }

    /// Records the I/O errors and findings of a measurement.
    pub fn keep_doubts(&mut self, workload: &str, measurement: &Measurement) {
        measurement.errors.iter().for_each(|e| self.add_errors(e));
        let Some(tally) = self.tally.iter_mut().find(|t| t.workload == workload) else { return };
        tally.add(&measurement.findings);
        // A replicate without findings counts only in those of others.
        if !tally.findings.is_empty() {
            self.list_warnings();
        }
    }

    /// Adds I/O errors or failed checks.
    pub fn add_errors(&mut self, new: &IoErrors) {
        let mut errors = self.errors.iter_mut();
        let earlier =
            errors.find(|e| (&e.op, &e.kind, &e.workload) == (&new.op, &new.kind, &new.workload));
        match earlier {
            None => self.errors.push(new.clone()),
            Some(known) => {
                known.count += new.count;
                known.first_offsets.extend(&new.first_offsets);
                known.first_offsets.truncate(OFFSETS_MAX);
            }
        }
    }

    /// Lists each finding on one line, for all its workloads and replicates.
    fn list_warnings(&mut self) {
        let mut lines_by_kind: Vec<Found<'_>> = Vec::new();
        for (tally, (finding, times)) in
            self.tally.iter().flat_map(|t| t.findings.iter().map(move |finding| (t, finding)))
        {
            match lines_by_kind.iter_mut().find(|f| f.finding.kind == finding.kind) {
                Some(known) => known.add(tally, finding, *times),
                None => lines_by_kind.push(Found::new(tally, finding, *times)),
            }
        }
        let lines = lines_by_kind.iter().map(Found::line);
        self.warnings = self.notes.iter().cloned().chain(lines).collect();
    }
}

/// A finding, with all its workloads.
struct Found<'a> {
    /// Text and level of the worst instance.
    finding: &'a Finding,
    workloads: Vec<&'a str>,
    times: u32,
    replicates: u32,
}

impl<'a> Found<'a> {
    fn new(tally: &'a Tally, finding: &'a Finding, times: u32) -> Found<'a> {
        Found { finding, workloads: vec![&tally.workload], times, replicates: tally.replicates }
    }

    fn add(&mut self, tally: &'a Tally, finding: &'a Finding, times: u32) {
        self.workloads.push(&tally.workload);
        self.times += times;
        self.replicates += tally.replicates;
        if finding.level > self.finding.level {
            self.finding = finding;
        }
    }

    fn line(&self) -> Finding {
        let Found { finding, workloads, times, replicates } = self;
        let (workload, places) = match workloads[..] {
            [one] if *replicates == 1 => (Some(one.to_string()), String::new()),
            [one] => (Some(one.to_string()), format!(" (in {times} of {replicates})")),
            [a, b] => {
                let [a, b] = [a, b].map(|name| MetricKey::parse(name).in_words());
                (None, format!(" (in {times} of {replicates} measurements: {a}, {b})"))
            }
            _ => {
                let count = workloads.len();
                (None, format!(" (in {times} of {replicates} measurements of {count} workloads)"))
            }
        };
        Finding { workload, text: finding.text.clone() + &places, ..(*finding).clone() }
    }
}

impl Tally {
    /// Adds one replicate. Keeps the worst level and the latest text.
    fn add(&mut self, findings: &[Finding]) {
        self.replicates += 1;
        for (i, new) in findings.iter().enumerate() {
            if findings[..i].iter().any(|f| f.kind == new.kind) {
                continue;
            }
            match self.findings.iter_mut().find(|(f, _)| f.kind == new.kind) {
                None => self.findings.push((new.clone(), 1)),
                Some((known, times)) => {
                    *times += 1;
                    let level = known.level.max(new.level);
                    *known = Finding { level, ..new.clone() };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Level;
    use workload::{Mix, Pattern, Region};

    fn workload(name: &str) -> Workload {
        Workload::new(name, Pattern::Sequential, Mix::READ, 4096, Region::first(1 << 20))
    }

    fn kind(name: &str) -> record::FindingKind {
        record::FindingKind::Other(name.into())
    }

    fn found(names: &[(&str, Level)]) -> Measurement {
        let findings = names.iter().map(|(name, level)| Finding::new(kind(name), *level, "text"));
        Measurement { findings: findings.collect(), ..Measurement::default() }
    }

    #[test]
    fn a_finding_is_one_line_with_its_count_and_worst_level() {
        let mut out = Outcome::default();
        out.issued(&workload("a"));
        out.issued(&workload("a"));
        out.keep_doubts("a", &found(&[("x", Level::Bad), ("x", Level::Note)]));
        out.keep_doubts("a", &found(&[]));
        out.keep_doubts("a", &found(&[("x", Level::Warn)]));
        out.note(Finding::new(kind("own"), Level::Note, "first"));
        let lines: Vec<_> = out.warnings.iter().map(|f| (f.text.as_str(), f.level)).collect();
        assert_eq!(lines, [("first", Level::Note), ("text (in 2 of 3)", Level::Bad)]);
        assert_eq!(out.warnings[1].workload.as_deref(), Some("a"));
        assert_eq!(out.workloads.len(), 1);
    }

    #[test]
    fn a_finding_of_many_workloads_is_still_one_line_with_the_worst_level() {
        let mut out = Outcome::default();
        for (name, level) in [("a", Level::Note), ("b", Level::Bad), ("c", Level::Warn)] {
            out.issued(&workload(name));
            out.keep_doubts(name, &found(&[("x", level)]));
            out.keep_doubts(name, &found(&[]));
        }
        let [line] = &out.warnings[..] else { panic!("{:?}", out.warnings) };
        assert_eq!((line.level, line.workload.as_deref()), (Level::Bad, None));
        assert_eq!(line.text, "text (in 3 of 6 measurements of 3 workloads)");
    }

    #[test]
    fn the_workloads_of_a_finding_are_named_in_words() {
        let mut out = Outcome::default();
        for name in ["curve-110", "seq-read-just-written-1MiB-q1"] {
            out.issued(&workload(name));
            out.keep_doubts(name, &found(&[("x", Level::Note)]));
        }
        let text = "text (in 2 of 2 measurements: 110% load, sequential 1 MiB reads (just written) \
                    at depth 1)";
        assert_eq!(out.warnings[0].text, text);
    }

    #[test]
    fn late_metrics_are_placed_next_to_their_siblings() {
        let mut out = Outcome::default();
        let single = |name: &str| Metric::single(name, record::Unit::Iops, 1.0);
        out.put_metrics("q1", vec![single("q1"), single("q1.max")]);
        out.put_metrics("q16", vec![single("q16")]);
        out.put_metrics("q1", vec![single("q1"), single("q1.p99"), single("q1.max")]);
        let names: Vec<_> = out.metrics.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["q1", "q1.p99", "q1.max", "q16"]);
    }

    #[test]
    fn a_latency_profile_replaces_only_that_of_its_workload_and_operation() {
        let mut out = Outcome::default();
        let profile = |name: &str, op: &str| LatencyProfile {
            name: name.into(),
            op: op.into(),
            service: record::Histogram::default(),
            response: None,
        };
        for (name, op) in [("a", "read"), ("a", "write"), ("b", "read"), ("a", "read")] {
            out.put_latency(profile(name, op));
        }
        let kept: Vec<_> = out.latencies.iter().map(|l| (l.name.as_str(), l.op.as_str())).collect();
        assert_eq!(kept, [("a", "read"), ("a", "write"), ("b", "read")]);
    }

    #[test]
    fn errors_of_replicates_are_summed() {
        let mut out = Outcome::default();
        let error = |count, offset| IoErrors {
            first_offsets: vec![offset; 10],
            ..IoErrors::new("read", "EIO", "a", count)
        };
        let mut m = Measurement { errors: vec![error(3, 1)], ..Measurement::default() };
        out.keep_doubts("a", &m);
        m.errors = vec![error(4, 2), IoErrors { op: "write".into(), ..error(1, 3) }];
        out.keep_doubts("a", &m);
        let counts: Vec<_> = out.errors.iter().map(|e| (e.count, e.first_offsets.len())).collect();
        assert_eq!(counts, [(7, 16), (1, 10)]);
    }
}

//! A running method. Every measurement passes through the session, which keeps it with its findings
//! and updates the conclusions.
//!
//! The same script runs on a rig and on a [`Planner`]. To keep both consistent, loops, limits and
//! measured sizes also pass through the session; see `limits.rs`.

mod access;
mod cool;
mod limits;
mod play;
mod preparation;
mod steady;
#[cfg(test)]
mod tests;
mod warm;

use std::fmt::Display;
use std::time::{Duration, Instant};

use record::{
    Covers, Finding, FindingKind, IoErrors, LatencyProfile, Level, Metric, MetricInfo, MetricKey,
    Plan, State, Statistic, Unit, Verdict, VerdictKind,
};
use rig::{
    Event, Issue, Job, Measurement, Performance, Preparation, Prepared, Rig, RigError, Stage,
    StopReason, TargetInfo, Unsteady,
};
use workload::units::binary;
use workload::{Caching, Content, OpKind, Region, Workload};

use crate::{MethodError, Outcome, Planner, Result, TestRegion};
use limits::RunningBudget;
pub use limits::{Budget, Bulk, Patience, Round};
pub use play::Part;
use rules::{Checks, Digest, Neighbour};

/// Number of timed pieces in which a scratch file is filled, so that a slow card gets a smaller
/// file.
const FILL_PIECES: u64 = 64;

/// Minimum fill regardless of the time, in bytes: small enough for a card that writes 1 MB/s.
const FILL_MIN_BYTES: u64 = 32 << 20;

/// The rig that a script runs on.
enum Door<'a> {
    Drive(&'a mut dyn Rig),
    Plan(&'a mut Planner),
}

/// Called at a checkpoint with all results so far.
type Hook<'a> = Box<dyn FnMut(&Outcome) + 'a>;

/// A method running on a rig, or being planned.
pub struct Session<'a> {
    door: Door<'a>,
    out: Outcome,
    /// Results of the method's checks so far, for the rules.
    checks: Checks,
    /// Blocks that returned different bytes when they were read again.
    unsteady: Unsteady,
    /// Number of calls of `fill_region` so far; each writes different content.
    fills: u32,
    /// Time series of short workloads, one row each.
    moments: Vec<record::Series>,
    limits: Vec<RunningBudget>,
    digests: Vec<Digest>,
    /// Conclusions set by the method instead of the rules.
    own: Option<Vec<Verdict>>,
    hook: Option<Hook<'a>>,
    /// Minimum time between the checkpoints of replicates.
    checkpoint_every: Duration,
    /// Time of the last checkpoint.
    kept_at: Option<Instant>,
    /// Computes the answer from the outcome; declared by the method.
    answer: fn(&Outcome) -> Option<record::Answer>,
}

impl<'a> Session<'a> {
    /// A session on a drive.
    pub fn new(rig: &'a mut dyn Rig) -> Session<'a> {
        Session::through(Door::Drive(rig), Outcome::default())
    }

    /// Plans a script on this target without touching it.
    pub fn plan<E>(
        info: &TargetInfo,
        script: impl FnOnce(&mut Session<'_>) -> Result<(), E>,
    ) -> Result<Plan, E> {
        let mut planner = Planner::new(info);
        let mut session = Session::planning(&mut planner);
        script(&mut session)?;
        let workloads = session.finish().workloads;
        Ok(Plan { workloads, ..planner.finish() })
    }

    /// A session for planning. It touches nothing, and the planner records it.
    pub fn planning(planner: &'a mut Planner) -> Session<'a> {
        Session::through(Door::Plan(planner), Outcome::planned())
    }

    fn through(door: Door<'a>, out: Outcome) -> Session<'a> {
        let mut session = Session {
            door,
            out,
            checks: Checks::default(),
            unsteady: Unsteady::default(),
            fills: 0,
            moments: Vec::new(),
            limits: Vec::new(),
            digests: Vec::new(),
            own: None,
            hook: None,
            checkpoint_every: Duration::ZERO,
            kept_at: None,
            answer: |_| None,
        };
        session.out.state_after = session.target().state;
        session
    }

    /// The same session, with a hook called after each step and replicate.
    #[must_use]
    pub fn with_checkpoints(mut self, hook: impl FnMut(&Outcome) + 'a) -> Session<'a> {
        self.hook = Some(Box::new(hook));
        self
    }

    /// The same session, in which a replicate that ends so soon after a checkpoint gets none.
    #[must_use]
    pub fn with_spaced_checkpoints(mut self, every: Duration) -> Session<'a> {
        self.checkpoint_every = every;
        self
    }

    /// The same session, with the drives previously measured on this port.
    #[must_use]
    pub fn with_neighbours(mut self, neighbours: Vec<Neighbour>) -> Session<'a> {
        self.checks.put(neighbours);
        self
    }

    /// Ends the session and returns its outcome.
    pub fn finish(mut self) -> Outcome {
        self.out.series.append(&mut self.moments);
        self.note_unsteady();
        self.note_inconclusive();
        self.checkpoint();
        self.out
    }

    /// Notes the checks that could not tell, and their reasons. An answer is not believable if one
    /// of its checks had no power.
    fn note_inconclusive(&mut self) {
        if self.plans() {
            return;
        }
        let verdicts = match &self.own {
            Some(own) => {
                own.iter().filter(|v| v.kind == VerdictKind::Undetermined).cloned().collect()
            }
            None => rules::inconclusive(self.target(), &self.digests, &self.checks),
        };
        for verdict in verdicts {
            let finding = Finding::new(FindingKind::Inconclusive, Level::Warn, verdict.text);
            self.out.note(match verdict.next_test {
                Some(test) => finding.advise(test),
                None => finding,
            });
        }
    }

    /// Runs part of the work with a separate outcome.
    pub fn apart<E>(
        &mut self,
        work: impl FnOnce(&mut Session<'_>) -> Result<(), E>,
    ) -> (Outcome, Result<(), E>) {
        let mut part = match &mut self.door {
            Door::Drive(rig) => Session::new(&mut **rig),
            Door::Plan(planner) => Session::planning(planner),
        };
        part.limits = std::mem::take(&mut self.limits);
        let result = work(&mut part);
        let limits = std::mem::take(&mut part.limits);
        let outcome = part.finish();
        self.limits = limits;
        (outcome, result)
    }

    /// The target.
    pub fn target(&self) -> &TargetInfo {
        match &self.door {
            Door::Drive(rig) => rig.target(),
            Door::Plan(planner) => planner.target(),
        }
    }

    /// The results so far.
    pub fn outcome(&self) -> &Outcome {
        &self.out
    }

    /// The results so far, mutable.
    pub fn outcome_mut(&mut self) -> &mut Outcome {
        &mut self.out
    }

    /// Whether the script is only planned.
    pub fn plans(&self) -> bool {
        matches!(self.door, Door::Plan(_))
    }

    /// Begins a step with its name in the plan and its replicate number. Within a budget, which is
    /// itself one step, it begins a part of that step.
    pub fn step(&mut self, name: &str, replicate: u32) {
        let event = match self.under_way() {
            Some((step, done)) => Event::Part { step, done, name: name.to_string(), replicate },
            None => Event::Step { name: name.to_string(), replicate, skipped: false },
        };
        self.rig().note(event);
    }

    /// Skips a step of the plan that does not apply to this drive.
    pub fn skip(&mut self, name: &str) {
        let event = Event::Step { name: name.to_string(), replicate: 0, skipped: true };
        self.rig().note(event);
    }

    /// Prepares the drive, as a separate step.
    pub fn prepare(&mut self, name: &str, p: Preparation) -> Result<Prepared> {
        self.step(name, 0);
        self.apply(p)
    }

    /// Idles, as a separate step.
    pub fn rest(&mut self, name: &str, seconds: f64) -> Result<()> {
        self.step(name, 0);
        self.idle(Duration::from_secs_f64(seconds))
    }

    /// Runs a reported workload, and keeps its time series and all findings.
    pub fn measure(&mut self, w: &Workload, replicate: u32) -> Result<Measurement> {
        let measurement = self.execute(w, Some(replicate), Stage::default())?.whole;
        self.report(w, replicate, measurement)
    }

    fn report(
        &mut self,
        w: &Workload,
        replicate: u32,
        mut measurement: Measurement,
    ) -> Result<Measurement> {
        let series = std::mem::take(&mut measurement.series);
        if !series.t_ns.is_empty() {
            self.out.series.push(record::Series { replicate, ..series });
        }
        self.out.keep_doubts(&w.name, &measurement);
        complete(self.rig(), measurement)
    }

    /// Runs a short workload for a rule. Rules allow for scatter, so only findings that invalidate
    /// the workload are listed, and none if it measures caching on purpose. The returned
    /// measurement has all findings.
    pub fn probe(&mut self, w: &Workload, replicate: u32) -> Result<Measurement> {
        Ok(self.probe_in(w, replicate, Stage::default())?.whole)
    }

    /// [`Session::probe`] with everything that the stage asks for. An observer of the stage also sees
    /// every operation.
    pub fn probe_in(
        &mut self,
        w: &Workload,
        replicate: u32,
        stage: Stage<'_>,
    ) -> Result<Performance> {
        let mut performance = self.attempt_in(w, replicate, stage)?;
        performance.whole = complete(self.rig(), performance.whole)?;
        Ok(performance)
    }

    /// [`Session::probe`] for a drive that may fail: the measurement may have stopped at errors or
    /// been interrupted.
    pub fn attempt(&mut self, w: &Workload, replicate: u32) -> Result<Measurement> {
        Ok(self.attempt_in(w, replicate, Stage::default())?.whole)
    }

    fn attempt_in(
        &mut self,
        w: &Workload,
        replicate: u32,
        stage: Stage<'_>,
    ) -> Result<Performance> {
        let mut performance = self.execute(w, Some(replicate), stage)?;
        let measurement = &mut performance.whole;
        if let Some(digest) = self.digests.last_mut().filter(|digest| digest.name == w.name) {
            digest.probe = true;
        }
        let findings = measurement.findings.clone();
        measurement.findings.retain(|f| f.level == Level::Bad && w.caching == Caching::Bypass);
        self.out.keep_doubts(&w.name, measurement);
        measurement.findings = findings;
        Ok(performance)
    }

    /// Runs one replicate of a workload and returns its bytes per second.
    pub fn rate(&mut self, w: &Workload, replicate: u32) -> Result<f64> {
        let m = self.probe(&TestRegion::replicate(w, replicate), replicate)?;
        Ok(m.throughput(None).unwrap_or(0.0))
    }

    /// Publishes a metric, replacing the one with the same name.
    pub fn put_metric(&mut self, metric: Metric) {
        self.out.put_metric(metric);
    }

    /// Publishes the metrics of a cell, replacing its previous ones.
    pub fn put_metrics(&mut self, stem: &str, metrics: Vec<Metric>) {
        self.out.put_metrics(stem, metrics);
    }

    /// Publishes a latency profile, replacing the one of the same workload and operation.
    pub fn put_latency(&mut self, profile: LatencyProfile) {
        self.out.put_latency(profile);
    }

    /// Adds a time series.
    pub fn put_series(&mut self, series: record::Series) {
        self.out.series.push(series);
    }

    /// Adds a time series in place of those of the same name.
    pub fn replace_series(&mut self, series: record::Series) {
        self.out.series.retain(|other| other.name != series.name);
        self.put_series(series);
    }

    /// Adds a finding of the method itself.
    pub fn note(&mut self, finding: Finding) {
        self.out.note(finding);
    }

    /// Adds I/O errors or failed checks.
    pub fn add_errors(&mut self, errors: &IoErrors) {
        self.out.add_errors(errors);
    }

    /// Adds the I/O errors and findings of a measurement.
    pub fn keep_doubts(&mut self, workload: &str, measurement: &Measurement) {
        self.out.keep_doubts(workload, measurement);
    }

    /// Sets the state in which a part of the script has left the drive.
    pub fn set_state(&mut self, state: State) {
        self.out.state_after = state;
    }

    /// What the method has measured for the rules, and its own rulings, which precede theirs.
    pub fn checks(&self) -> &Checks {
        &self.checks
    }

    /// The same, for more of it.
    pub fn checks_mut(&mut self) -> &mut Checks {
        &mut self.checks
    }

    /// Publishes a value that was measured once, if it is known.
    pub fn put(&mut self, metric: MetricInfo, value: Option<f64>) {
        self.put_value(metric.into(), metric.unit, value);
    }

    /// The same for the metric of a family with these words at its places.
    pub fn put_member(&mut self, family: MetricInfo, words: &[&dyn Display], value: Option<f64>) {
        self.put_value(family.member(words), family.unit, value);
    }

    /// The same for a metric named by its workload.
    pub fn put_value(&mut self, key: MetricKey, unit: Unit, value: Option<f64>) {
        if let Some(value) = value {
            self.out.put_metric(Metric::single(key, unit, value));
        }
    }

    /// Publishes the rates of all replicates so far, bytes per second.
    pub fn put_rates(&mut self, key: impl Into<MetricKey>, rates: &[f64]) {
        self.out.put_metric(analysis::metric(key.into(), Unit::BytesPerSecond, rates.to_vec()));
    }

    /// Publishes the ratio of rates measured in pairs, once there is a pair.
    pub fn put_ratio(&mut self, subject: impl Into<MetricKey>, base: &[f64], rates: &[f64]) {
        let n = base.len().min(rates.len());
        let Some(c) = analysis::compare(&base[..n], &rates[..n]) else { return };
        let key = subject.into().with(Statistic::Ratio);
        let metric = Metric::single(key, Unit::Number, c.ratio);
        let samples = base.iter().zip(rates).map(|(base, rate)| rate / base).collect();
        let covers = c.low.map(|_| Covers::Mean);
        self.out.put_metric(Metric { low: c.low, high: c.high, n: c.n, samples, covers, ..metric });
    }

    /// Runs a workload and keeps its digest for the rules, even if it is incomplete. With a
    /// replicate number, it is a separate step of the plan. An observer of the stage also sees every
    /// operation.
    pub fn execute(
        &mut self,
        w: &Workload,
        replicate: Option<u32>,
        stage: Stage<'_>,
    ) -> Result<Performance> {
        let limited = self.limited(w)?;
        if let Some(replicate) = replicate {
            self.step(&w.name, replicate);
        }
        self.out.issued(&limited);
        self.mark_written(w.mix.changes_data() && w.content != Content::Original);
        let issue = Issue { log: stage.intervals.is_some(), ..Issue::default() };
        let performance =
            self.rig().perform(vec![Job { issue, ..Job::from_workload(&limited) }], stage)?;
        self.spend(&limited, &performance.whole);
        // Workloads that use the page cache on purpose reveal nothing about the drive.
        if w.caching == Caching::Bypass && !self.plans() {
            self.digests.push(Digest::from_measurement(w, &performance.whole));
        }
        Ok(performance)
    }

    /// Runs a workload exactly as the user defined it.
    pub fn issue(&mut self, w: &Workload) -> Result<Measurement> {
        self.out.issued(w);
        Ok(self.rig().measure(w)?)
    }

    /// Marks the drive as used after writes.
    fn mark_written(&mut self, writes: bool) {
        if writes {
            self.leave_in(State::Used);
        }
    }

    /// Prepares the target for reads and returns the size of the region in bytes. Without write
    /// permission, the region keeps its content and size.
    pub fn begin(&mut self, test_region: &TestRegion, fill_seconds: f64) -> Result<u64> {
        if test_region.writes {
            let most = if test_region.size_given { f64::INFINITY } else { fill_seconds };
            let most = most.max(self.fill_seconds_min());
            return self.expected_within(most, |session| session.fill(test_region, fill_seconds));
        }
        let text = "no write access: writes, flushes and content were not measured";
        self.out.note(Finding::new(FindingKind::ReadsOnly, Level::Note, text));
        Ok(test_region.bytes)
    }

    /// Expected seconds of the smallest fill; on a drive it takes as long as it takes.
    fn fill_seconds_min(&self) -> f64 {
        match &self.door {
            Door::Plan(planner) => planner.fill_seconds(FILL_MIN_BYTES),
            Door::Drive(_) => 0.0,
        }
    }

    /// Writes the region once, so that no unwritten block is read. If that takes longer than
    /// `seconds` and the user gave no size, the part written so far becomes the region.
    fn fill(&mut self, test_region: &TestRegion, seconds: f64) -> Result<u64> {
        self.step("fill", 0);
        let large = u64::from(test_region.large);
        let piece = (test_region.bytes / FILL_PIECES).max(large) / large * large;
        let (mut filled, mut elapsed_ns) = (0, 0);
        while filled < test_region.bytes {
            let late = elapsed_ns as f64 / 1e9 > seconds && filled >= FILL_MIN_BYTES;
            if late && !test_region.size_given {
                self.out.note(cut_short(filled, test_region.bytes));
                break;
            }
            let region = Region { start: filled, bytes: piece.min(test_region.bytes - filled) };
            let seed = test_region.seed.wrapping_sub(1 + filled);
            let fill = Preparation::Fill { region, content: Content::Random, seed };
            self.mark_written(true);
            elapsed_ns += self.apply(fill)?.elapsed_ns;
            filled = region.end();
            self.progress("fill", filled as f64 / test_region.bytes as f64);
        }
        Ok(filled)
    }

    /// The workloads that the rules have seen so far; none while planning.
    pub fn seen(&self) -> &[Digest] {
        &self.digests
    }

    /// Whether a metric of this operation kind is still unexplained. Always true while planning.
    pub fn is_open(&self, kind: OpKind) -> bool {
        self.plans()
            || rules::open_metrics(&self.digests, &self.out.verdicts).iter().any(|metric| {
                let key = MetricKey::parse(metric);
                key.as_cell().is_some_and(|c| c.words.is_empty() && c.op == Some(kind))
            })
    }

    /// Sets the function that computes the answer from the outcome.
    pub(crate) fn set_answer(&mut self, answer: fn(&Outcome) -> Option<record::Answer>) {
        self.answer = answer;
    }

    /// Lets the rules conclude from a workload, instead of the method's own conclusions.
    pub fn judge_run(&mut self, digest: Digest) {
        (self.own, self.digests) = (None, vec![digest]);
    }

    /// Sets the conclusions, overriding the rules.
    pub fn conclude(&mut self, verdicts: Vec<Verdict>) {
        self.own = Some(verdicts);
    }

    /// Ends a step: draws the conclusions and passes them to the hook. Does nothing while planning.
    pub fn checkpoint(&mut self) {
        if self.plans() {
            return;
        }
        self.out.verdicts = match &self.own {
            Some(own) => rules::own(self.target(), own.clone()),
            None => rules::judge(self.target(), &self.digests, &self.checks),
        };
        if let Some(verdict) = rules::reads_differ(self.unsteady) {
            self.out.verdicts.insert(0, verdict);
        }
        self.out.answer = crate::draft::answer(&self.out, self.answer);
        if let Some(hook) = &mut self.hook {
            hook(&self.out);
        }
        self.kept_at = Some(Instant::now());
    }

    /// Ends a replicate: a checkpoint if the last one is long ago.
    pub fn checkpoint_if_due(&mut self) {
        if self.kept_at.is_none_or(|at| at.elapsed() >= self.checkpoint_every) {
            self.checkpoint();
        }
    }
}

/// Returns the measurement if it is complete: an interrupted one is not a sample. The next call to
/// the rig reports whether the user or the drive's heat interrupted it.
pub fn complete(rig: &mut dyn Rig, m: Measurement) -> Result<Measurement> {
    match m.stop {
        StopReason::Interrupted => {
            rig.idle(Duration::from_nanos(1))?;
            Err(RigError::Interrupted.into())
        }
        StopReason::Errors => Err(MethodError::Errors { workload: m.name }),
        StopReason::Time | StopReason::Amount | StopReason::TraceEnd => Ok(m),
    }
}

fn cut_short(filled: u64, wanted: u64) -> Finding {
    let (filled, whole) = (binary(filled), binary(wanted));
    let text = format!("only {filled} of {whole} was filled in time; the run used that part");
    let advice = format!("--size {} fills and uses all of it", whole.replace(' ', ""));
    Finding::new(FindingKind::RegionCut, Level::Note, text).advise(advice)
}

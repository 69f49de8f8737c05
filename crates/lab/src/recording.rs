//! The record of a run in progress: created before the first byte, stored at every step, finished
//! whatever happens.
//!
//! If the store fails during a run, the measurement is not lost: the record is written to a file
//! instead. Events reach the caller's watcher after they are recorded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use record::{
    Answer, Environment, Finding, FindingKind, Health, Labels, Level, PartOf, Plan, Run, Safety,
    Stamp, State, Target, TargetKind, Unit,
};
use rig::{Event, Interval, Observer, TargetInfo};
use rules::Neighbour;
use script::Outcome;
use store::new_id;
use workload::units;

use crate::error::{ErrorKind, LabError, Result};
use crate::keeper::{Earlier, Keeper, SeriesPoint};
use crate::watcher::{Recorded, Watcher};
use crate::{guesses, peers, usual, virtual_drive};

/// Maximum number of findings, and of error kinds, in a record.
const MESSAGES_MAX: usize = 1000;

/// Maximum length of a finding's text, bytes.
const TEXT_MAX: usize = 4096;

/// A run that is being recorded.
pub(crate) struct Recording {
    keeper: Keeper,
    run: Run,
    number: i64,
    began: Instant,
    /// Findings of the rig.
    notes: Vec<Finding>,
    provokes: &'static [FindingKind],
    /// The same test on the virtual drive of the target's model.
    model: Option<Run>,
    watcher: Box<dyn Watcher>,
}

/// The test of a run.
pub(crate) struct Test<'a> {
    pub method: &'a str,
    /// Version of its protocol; `None`: version 1.
    pub protocol: Option<u32>,
    /// The options that determine its work; `None` if unknown.
    pub options: Option<BTreeMap<String, String>>,
    /// Findings that the test provokes on purpose, which become notes.
    pub provokes: &'static [FindingKind],
    /// Seed for everything random; `None` if jobs have their own seeds.
    pub seed: Option<u64>,
    /// The protocol to which the run belongs.
    pub part_of: Option<PartOf>,
    /// The user's title, note and tags.
    pub labels: Labels,
}

impl Recording {
    /// Enters the run into the store.
    pub(crate) fn begin(
        store: Option<&Path>,
        test: Test<'_>,
        info: &TargetInfo,
        plan: Plan,
        watcher: Box<dyn Watcher>,
        interrupt: &Arc<AtomicBool>,
    ) -> Result<Recording> {
        let mut run = Run {
            id: new_id()?,
            started: jiff::ZonedDateTime::now().strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string(),
            environment: environment(),
            plan: Some(plan),
            state_before: info.state,
            protocol: test.protocol,
            part_of: test.part_of,
            labels: test.labels.if_any(),
            options: test.options,
            seed: test.seed,
            ..Run::new(test.method, info.target.clone())
        };
        let keeper = Keeper::begin(store, &mut run, interrupt)?;
        let number = run.number.unwrap_or_default();
        let start = Instant::now();
        let notes = info.target.drive.iter().flat_map(|drive| drive.path_faults.clone()).collect();
        let provokes = test.provokes;
        let model = None;
        Ok(Recording { keeper, run, number, began: start, notes, provokes, model, watcher })
    }

    /// The number of the run in the store.
    pub(crate) fn number(&self) -> i64 {
        self.number
    }

    /// Records the opened target and the engine.
    pub(crate) fn describe(&mut self, info: &TargetInfo, describe: impl FnOnce(&mut Environment)) {
        self.run.target = info.target.clone();
        describe(&mut self.run.environment);
        self.keep();
    }

    /// Records wear and errors reported by the drive after the run.
    pub(crate) fn note_health(&mut self, health: Option<Health>) {
        self.run.health_after = health;
    }

    /// Records the virtual time of the run.
    pub(crate) fn note_simulated(&mut self, ns: u64) {
        self.run.simulated_seconds = Some(ns as f64 / 1e9);
    }

    /// The opened target, and the time since the run began.
    pub(crate) fn so_far(&self) -> (Target, Duration) {
        (self.run.target.clone(), self.began.elapsed())
    }

    /// Passes a warning that is not part of the record to the watcher.
    pub(crate) fn warn(&mut self, line: &str) {
        self.watcher.warn(line);
    }

    /// Sets the record of the same test on the virtual drive of the target's model, for comparison.
    pub(crate) fn note_model(&mut self, model: Option<Run>) {
        self.model = model;
    }

    /// Records and returns the state in which earlier runs left the drive.
    pub(crate) fn recall(&mut self) -> State {
        if let Some((state, as_of)) = self.keeper.state_before(&self.run.target) {
            (self.run.state_before, self.run.state_as_of) = (state, Some(as_of));
        }
        self.run.state_before
    }

    /// Drives measured on this port by the same method.
    pub(crate) fn neighbours(&self) -> Vec<Neighbour> {
        self.keeper.neighbours(&self.run)
    }

    /// Records an event, then passes it on.
    fn event(&mut self, event: &Event) {
        match event {
            Event::Interval { workload, replicate, start_ns, interval } => {
                self.append(workload, *replicate, *start_ns, interval);
            }
            Event::Finding(finding) => self.notes.push(finding.clone()),
            Event::Step { .. }
            | Event::Part { .. }
            | Event::Progress { .. }
            | Event::Returning(_)
            | Event::Returned { .. }
            | Event::NoAnswer { .. } => {}
        }
        self.watcher.event(event);
        if let Event::NoAnswer { workload, silent_ns, limit_ns } = event {
            self.no_answer(workload, *silent_ns, *limit_ns);
        }
    }

    /// Handles a drive that answers no command: warns at first, and ends the run at the limit.
    fn no_answer(&mut self, workload: &str, silent_ns: u64, limit_ns: u64) {
        let [silent, limit] = [silent_ns, limit_ns].map(|ns| units::span(ns as f64 / 1e9));
        let spec = &self.run.target.spec;
        let line = format!("no answer from {spec} for {silent} ({workload})");
        if silent_ns < limit_ns {
            let line = format!("{line}; the run ends after {limit} of silence");
            self.notes.push(Finding::new(FindingKind::NoAnswer, Level::Warn, &line));
            self.watcher.warn(&line);
        } else {
            let recorded = self.give_up(line);
            self.watcher.give_up(recorded)
        }
    }

    /// The evidence for the figures of a virtual drive.
    fn guesses(&self) -> Option<Finding> {
        let spec =
            virtual_drive::described(&self.run.target.spec, self.run.seed.unwrap_or(0))?.ok()?;
        guesses::note(&spec, self.run.answer.as_ref()?)
    }

    /// Finishes the record of a run with threads blocked on the drive.
    fn give_up(&mut self, why: String) -> Recorded {
        for note in &self.notes {
            if !self.run.warnings.contains(note) {
                self.run.warnings.push(note.clone());
            }
        }
        self.run.seconds = Some(self.began.elapsed().as_secs_f64());
        self.run.cut_short = Some(why.clone());
        self.run.answer = Some(methods::answer(&self.run));
        // The store has the intervals up to the silence.
        if let Some(series) = self.keeper.series() {
            self.run.series = series;
        }
        let storing = self.store_record();
        let borrows = self.run.plan.as_ref().is_some_and(|plan| plan.safety == Safety::Borrows);
        let advice = if borrows {
            "ssdyno recover, once the drive answers: its blocks were borrowed"
        } else {
            "unplug it if this process does not exit: the kernel waits for it"
        };
        self.recorded(Err(LabError::new(ErrorKind::Io, why).advise(advice)), storing)
    }

    fn recorded(&self, ended: Result<()>, kept: Result<()>) -> Recorded {
        Recorded { run: self.run.clone(), store: self.keeper.store().to_path_buf(), ended, kept }
    }

    fn append(&mut self, workload: &str, replicate: u32, start_ns: u64, interval: &Interval) {
        let seconds = (interval.end_ns - interval.start_ns) as f64 / 1e9;
        let mut values = vec![];
        for (side, name) in ["read", "write"].into_iter().enumerate() {
            if interval.ops[side] > 0 {
                let rate = interval.bytes[side] as f64 / seconds;
                values.push((name, Unit::BytesPerSecond, (!interval.stood_still).then_some(rate)));
            }
        }
        if interval.temperature_c.is_some() {
            values.push(("temperature", Unit::Celsius, interval.temperature_c));
        }
        let t_ns = interval.end_ns;
        let values = values.into_iter().map(|(name, unit, value)| (name.into(), unit, value));
        let (workload, values) = (workload.to_string(), values.collect());
        self.keeper.append(SeriesPoint { workload, replicate, start_ns, t_ns, values });
        self.check();
    }

    /// Stores the results of a method so far.
    pub(crate) fn checkpoint(&mut self, outcome: &Outcome) {
        self.take(outcome);
        self.keep();
        self.watcher.measured(&self.run);
    }

    fn take(&mut self, outcome: &Outcome) {
        self.run.metrics.clone_from(&outcome.metrics);
        self.run.latencies.clone_from(&outcome.latencies);
        self.run.verdicts.clone_from(&outcome.verdicts);
        self.run.errors.clone_from(&outcome.errors);
        self.run.state_after = outcome.state_after;
        let plan = self.run.plan.as_ref();
        if plan.is_some_and(|plan| plan.write_bytes_max == 0 && plan.destroys.is_none()) {
            self.run.state_after = self.run.state_before;
        }
        if let Some(plan) = &mut self.run.plan {
            plan.workloads.clone_from(&outcome.workloads);
        }
        self.run.warnings = bounded(self.notes.iter().chain(&outcome.warnings));
        for finding in
            self.run.warnings.iter_mut().filter(|finding| self.provokes.contains(&finding.kind))
        {
            finding.level = Level::Note;
            finding.text += " (this method looks for it)";
            finding.advice = None;
        }
        self.run.errors.truncate(MESSAGES_MAX);
        // The stamp must cover the findings about the machine and the end of the run, which the
        // method does not see.
        let stamp = Stamp::of_run(&self.run);
        let is_virtual = self.run.target.kind == TargetKind::Virtual;
        let answer = outcome.answer.clone();
        self.run.answer = answer.map(|answer| Answer { stamp, is_virtual, ..answer });
    }

    fn keep(&mut self) {
        self.keeper.update(&self.run);
        self.check();
    }

    /// Warns of the first failure of the store; the run continues.
    fn check(&mut self) {
        if let Some(error) = self.keeper.trouble() {
            let line = format!("{error}; the run continues and its record is stored at the end");
            self.watcher.notice_store(&line);
        }
    }

    /// Stores the complete record, or writes it to a file. The user is told if that takes long.
    fn store_record(&mut self) -> Result<()> {
        let Recording { keeper, run, watcher, .. } = self;
        keeper.finish(run, &mut |line| watcher.notice_store(line)).map_err(|error| {
            // The store has at most a part of the record under this number.
            run.number = None;
            let text = format!("{error}: the record is not in the store");
            LabError::new(ErrorKind::Io, text).advise(
                match keep_as_file(run, keeper.is_interrupted()) {
                    Some(path) => format!("the record is in {}", path.display()),
                    None => "--json to print the record; it could not be written to a file".into(),
                },
            )
        })
    }

    /// Completes the record: all results, and why the run ended early, if it did. A record that
    /// cannot be stored goes to a file.
    pub(crate) fn finish(&mut self, outcome: &Outcome, ended: Result<()>) -> Recorded {
        self.run.complete = ended.is_ok();
        self.run.cut_short = ended.as_ref().err().map(ToString::to_string);
        self.take(outcome);
        let reply = self.keeper.earlier(&self.run, ended.is_ok());
        let last_run = reply.and_then(|Earlier { metrics, answer, last: last_run }| {
            (self.run.metrics, self.run.answer) = (metrics, answer);
            last_run
        });
        self.run.series.clone_from(&outcome.series);
        self.run.seconds = Some(self.began.elapsed().as_secs_f64());
        if self.run.answer.is_none() || !self.run.complete {
            self.run.answer = Some(methods::answer(&self.run));
        }
        self.hold_against_usual();
        if let Some(note) = self.guesses() {
            self.run.warnings.push(note);
        }
        let peers = peers::collect(&self.run, last_run.as_ref(), self.model.as_ref());
        if let Some(answer) = &mut self.run.answer {
            answer.peers = peers;
        }
        let storing = self.store_record();
        self.recorded(ended, storing)
    }
}

impl Recording {
    /// Words the headline with the intervals for the next run, and with the largest loss against
    /// what is usual for such a drive.
    fn hold_against_usual(&mut self) {
        let usual = usual::usual(&self.run);
        let against = methods::answer_against(&self.run, usual.as_ref());
        if let (Some(against), Some(answer)) = (against, &mut self.run.answer) {
            (answer.headline, answer.rest, answer.loss) =
                (against.headline, against.rest, against.loss);
        }
    }
}

/// Limits the findings of a record, so that a misbehaving drive cannot make it unusable.
fn bounded<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<Finding> {
    let mut findings = findings.cloned();
    let mut bounded: Vec<Finding> = findings.by_ref().take(MESSAGES_MAX).collect();
    for finding in &mut bounded {
        if finding.text.len() > TEXT_MAX {
            finding.text.truncate(finding.text.floor_char_boundary(TEXT_MAX));
            finding.text.push_str(" ...");
        }
    }
    match findings.count() {
        0 => {}
        more => {
            let text = format!("{more} more findings were omitted");
            bounded.push(Finding::new(FindingKind::LimitPassed, Level::Warn, text));
        }
    }
    bounded
}

/// A recording shared by the observer and the session, which never use it at the same time.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Mutex<Recording>>);

impl Shared {
    pub(crate) fn new(recording: Recording) -> Shared {
        Shared(Arc::new(Mutex::new(recording)))
    }

    /// Locks it. A panic in another thread does not invalidate the measurement.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Recording> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Shared {
    fn event(&mut self, event: &Event) {
        self.lock().event(event);
    }
}

/// Writes a record to the first writable directory, beginning with the temporary directory. An
/// interrupted command does not wait for a busy disk, which may be why the store does not answer.
fn keep_as_file(run: &Run, is_interrupted: bool) -> Option<PathBuf> {
    let json = report::json(run, false).ok()?;
    let name = format!("ssdyno-{}.json", run.id);
    let mut paths = places(std::env::current_dir()).map(|dir| dir.join(&name));
    paths.find(|path| {
        let result =
            if is_interrupted { emit::renew(path, &json) } else { emit::replace(path, &json) };
        result.is_ok()
    })
}

/// The directories for such a file. The working directory may be lost with the drive.
fn places(working: std::io::Result<PathBuf>) -> impl Iterator<Item = PathBuf> {
    std::iter::once(std::env::temp_dir()).chain(working.ok())
}

fn environment() -> Environment {
    let version = env!("CARGO_PKG_VERSION").to_string();
    Environment { ssdyno: version, ..crate::real::environment() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_working_directory_leaves_the_temporary_one() {
        let lost = places(Err(std::io::ErrorKind::NotFound.into()));
        assert_eq!(lost.collect::<Vec<_>>(), [std::env::temp_dir()]);
        let both = places(Ok("/work".into()));
        assert_eq!(both.collect::<Vec<_>>(), [std::env::temp_dir(), "/work".into()]);
    }

    #[test]
    fn findings_are_limited_and_omissions_are_counted() {
        let long = Finding::new(FindingKind::Load, Level::Note, "\u{e9}".repeat(TEXT_MAX));
        let kept = bounded(std::iter::repeat_n(&long, MESSAGES_MAX + 5));
        assert_eq!(kept.len(), MESSAGES_MAX + 1);
        assert!(kept[0].text.len() <= TEXT_MAX + 4 && kept[0].text.ends_with(" ..."));
        assert_eq!(kept[MESSAGES_MAX].text, "5 more findings were omitted");
        let short = Finding::new(FindingKind::Load, Level::Note, "short");
        assert_eq!(bounded(std::iter::once(&short)), [short]);
    }
}

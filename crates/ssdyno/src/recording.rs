//! The record of a run while it grows: begun before the first byte, kept at every step, finished
//! whatever happens. A store that fails in the middle does not cost the measurement: what was
//! measured is then written beside it as a file.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use methods::Outcome;
use record::{
    DriveIdentity, Environment, Finding, FindingKind, Health, IoErrors, Level, Plan, Run, SCHEMA,
    Safety, State, TargetKind, Unit,
};
use rig::{Event, Interval, TargetInfo};
use store::{Point, Store, StoreError, new_id};
use workload::units;

use crate::cli::StoreArgs;
use crate::failure::{Failure, IO, Result};
use crate::screen::say;

/// What is said of a drive that does not answer.
pub enum Unanswered {
    /// A warning.
    Waits(String),
    /// The run has ended with this.
    GivenUp(Failure),
}

/// A run that is being recorded.
pub struct Recording {
    store: Store,
    run: Run,
    number: i64,
    began: Instant,
    /// The first thing that went wrong with the store, told once.
    trouble: Option<StoreError>,
    /// Findings from outside of a method: the rig's, the command's.
    notes: Vec<Finding>,
}

impl Recording {
    /// Enters the run into the store.
    pub fn begin(
        args: &StoreArgs,
        method: &str,
        info: &TargetInfo,
        plan: Plan,
    ) -> Result<Recording> {
        let mut store = Store::open(args.store.as_deref())?;
        let mut run = Run {
            schema: SCHEMA.to_string(),
            id: new_id()?,
            number: None,
            started: jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string(),
            seconds: None,
            method: method.to_string(),
            target: info.target.clone(),
            environment: environment(),
            plan: Some(plan),
            state_before: info.state,
            state_after: State::Unknown,
            state_as_of: None,
            health_after: None,
            metrics: Vec::new(),
            series: Vec::new(),
            latencies: Vec::new(),
            verdicts: Vec::new(),
            warnings: Vec::new(),
            errors: Vec::new(),
            complete: false,
            cut_short: None,
            origin: None,
        };
        let number = store.begin(&run)?;
        run.number = Some(number);
        let began = Instant::now();
        Ok(Recording { store, run, number, began, trouble: None, notes: Vec::new() })
    }

    /// The run as it is now.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The directory that reports go to: beside the store.
    pub fn reports(&self) -> PathBuf {
        crate::present::reports_beside(self.store.path())
    }

    /// What the opened target and the engine turned out to be.
    pub fn describe(&mut self, info: &TargetInfo, describe: impl FnOnce(&mut Environment)) {
        self.run.target = info.target.clone();
        describe(&mut self.run.environment);
        self.keep();
    }

    /// Wear and errors after the run, as the drive tells them.
    pub fn note_health(&mut self, health: Option<Health>) {
        self.run.health_after = health;
    }

    /// The state of the drive by what earlier runs left, and since when nothing is known of it.
    pub fn recall(&mut self) -> State {
        let run = &mut self.run;
        let whole = |drive: &&DriveIdentity| {
            run.target.kind == TargetKind::Device && drive.path == run.target.path
        };
        let drive = run.target.drive.as_ref().filter(whole);
        // A store that cannot be asked knows of no state; it will tell when it is written to.
        let last = drive.and_then(|drive| {
            let last = self.store.state_before(drive, self.number).ok().flatten();
            last.filter(|last| !last.was_written_since(drive))
        });
        if let Some(last) = last {
            (run.state_before, run.state_as_of) = (last.state, Some(last.as_of));
        }
        run.state_before
    }

    /// Keeps what an event says.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Interval { workload, replicate, start_ns, interval } => {
                self.append(workload, *replicate, *start_ns, interval);
            }
            Event::Finding(finding) => self.notes.push(finding.clone()),
            Event::Step { .. } | Event::Progress { .. } | Event::NoAnswer { .. } => {}
        }
    }

    /// A drive that leaves everything unanswered, in a line, which the record keeps. The last such
    /// line is why the run has ended: then its record is finished with what there is.
    pub fn no_answer(&mut self, workload: &str, silent_ns: u64, limit_ns: u64) -> Unanswered {
        let time = |ns: u64| units::span(ns as f64 / 1e9);
        let spec = &self.run.target.spec;
        let line = format!("no answer from {spec} for {} ({workload})", time(silent_ns));
        if silent_ns < limit_ns {
            let line = format!("{line}; the run ends after {} of silence", time(limit_ns));
            self.notes.push(Finding::new(FindingKind::NoAnswer, Level::Warn, &line));
            return Unanswered::Waits(line);
        }
        Unanswered::GivenUp(self.give_up(line))
    }

    /// Finishes the record of a run that cannot come to an end of its own.
    fn give_up(&mut self, why: String) -> Failure {
        for note in &self.notes {
            if !self.run.warnings.contains(note) {
                self.run.warnings.push(note.clone());
            }
        }
        self.run.seconds = Some(self.began.elapsed().as_secs_f64());
        self.run.cut_short = Some(why.clone());
        let kept = self.store.finish(&self.run);
        // What was kept as it came: intervals up to the silence.
        if let Ok(run) = self.store.load(self.number) {
            self.run.series = run.series;
        }
        let lent = self.run.plan.as_ref().is_some_and(|plan| plan.safety == Safety::Borrows);
        Failure::new(IO, why).advise(match (kept, lent) {
            (Err(error), _) => match keep_as_file(&self.run) {
                Some(path) => format!("{error}: the record is in {}", path.display()),
                None => format!("{error}: the record is nowhere but here, with --json"),
            },
            (Ok(()), true) => "ssdyno recover, once the drive answers: it was lent".to_string(),
            (Ok(()), false) => {
                "unplug it, if this process stays: the system waits for it".to_string()
            }
        })
    }

    fn append(&mut self, workload: &str, replicate: u32, start_ns: u64, interval: &Interval) {
        let seconds = (interval.end_ns - interval.start_ns) as f64 / 1e9;
        let rate = |n: u64| Some(n as f64 / seconds);
        let mut values = vec![];
        for (side, name) in ["read", "write"].into_iter().enumerate() {
            if interval.ops[side] > 0 {
                values.push((name, Unit::BytesPerSecond, rate(interval.bytes[side])));
            }
        }
        if interval.temperature_c.is_some() {
            values.push(("temperature", Unit::Celsius, interval.temperature_c));
        }
        let t_ns = interval.end_ns;
        let point = Point { workload, replicate, start_ns, t_ns, values: &values };
        let kept = self.store.append(self.number, &point);
        self.tell(kept);
    }

    /// Keeps what a method has found so far.
    pub fn checkpoint(&mut self, outcome: &Outcome) {
        self.take(outcome);
        self.keep();
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
        self.run.warnings = self.notes.iter().chain(&outcome.warnings).cloned().collect();
    }

    fn keep(&mut self) {
        let kept = self.store.update(&self.run);
        self.tell(kept);
    }

    /// A store that fails is told once; the run goes on.
    fn tell(&mut self, result: std::result::Result<(), StoreError>) {
        if let (Err(error), None) = (result, &self.trouble) {
            say(&format!("ssdyno: {error}; the run goes on, its record is kept at the end"));
            self.trouble = Some(error);
        }
    }

    /// Enters the end of the run: everything measured, and why it ended early if it did. What the
    /// store does not take is kept as a file.
    pub fn finish(&mut self, outcome: &Outcome, cut_short: Option<String>) -> Result<()> {
        self.take(outcome);
        self.run.series.clone_from(&outcome.series);
        self.run.seconds = Some(self.began.elapsed().as_secs_f64());
        self.run.complete = cut_short.is_none();
        self.run.cut_short = cut_short;
        let Err(error) = self.store.finish(&self.run) else { return Ok(()) };
        // Under its number the store has at most a part of it.
        self.run.number = None;
        let text = format!("{error}: the record is not in the store");
        Err(Failure::new(IO, text).advise(match keep_as_file(&self.run) {
            Some(path) => format!("the record is in {}", path.display()),
            None => "--json prints a record; nothing else could be written here".into(),
        }))
    }
}

/// Writes a record where it can be written, the system's directory for such files first.
fn keep_as_file(run: &Run) -> Option<PathBuf> {
    let json = report::json(run, false).ok()?;
    let name = format!("ssdyno-{}.json", run.id);
    let places = [std::env::temp_dir(), std::env::current_dir().ok()?];
    places.into_iter().map(|dir| dir.join(&name)).find(|path| fs::write(path, &json).is_ok())
}

/// Whether errors are the target's or those of a check of content.
pub fn is_fault_of_content(error: &IoErrors) -> bool {
    error.op == "verify"
}

fn environment() -> Environment {
    let version = env!("CARGO_PKG_VERSION").to_string();
    Environment { ssdyno: version, ..drive::host::environment() }
}

//! Rulings of a job control and of an interval observer: depth, end, reset and forgiven failures;
//! and the times of a source that is slow.
//! Tests use the null backend and a small file, and do not depend on speed.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use engine::{FileSet, Machine, Permissions, RigOptions};
use rig::{
    BackendKind, Continuation, Event, FilePlan, FileUse, Files, IntervalObserver, Issue, Job,
    JobControl, JobResult, JobSeen, OpenFlags, Rig, Stage, StopReason,
};
use workload::{BATCH_MAX, Caching, Mix, Op, OpKind, Pattern, Region, Source, Stop, Workload};

const BLOCK: u32 = 4096;

/// The same operation this many times, or endlessly.
struct Same(OpKind, Option<u64>);

impl Source for Same {
    fn draw(&mut self, _now: u64, out: &mut Vec<Op>) {
        let left = self.1.get_or_insert(u64::MAX);
        let count = BATCH_MAX.min(usize::try_from(*left).unwrap_or(usize::MAX));
        *left -= count as u64;
        out.extend([Op { kind: self.0, offset: 0, bytes: BLOCK }].repeat(count));
    }
}

/// A job on the null backend, or on a file opened for reading.
fn job(source: Same, file: Option<&Path>, depth: u32, control: Option<Box<dyn JobControl>>) -> Job {
    let mix = if source.0 == OpKind::Read { Mix::READ } else { Mix::WRITE };
    let region = Region::first(1 << 20);
    let workload = Workload {
        depth,
        batch: depth,
        caching: Caching::Buffered,
        // Ends a run that a bug would otherwise make endless.
        stop: Stop { time_ns: Some(60_000_000_000), ..Stop::default() },
        ..Workload::new("w", Pattern::Sequential, mix, BLOCK, region)
    };
    let backend = if file.is_some() { BackendKind::Psync } else { BackendKind::Null };
    Job {
        issue: Issue {
            backend: Some(backend),
            failures_max: 1,
            open: OpenFlags { write: false, ..OpenFlags::default() },
            ..Issue::default()
        },
        files: file.iter().map(|path| FileUse { path: path.into(), region }).collect(),
        control,
        ..Job::new(workload, Box::new(source))
    }
}

fn perform(jobs: Vec<Job>, observer: Option<&mut dyn IntervalObserver>) -> Vec<JobResult> {
    let mut files = FileSet::new(Permissions::default());
    let plan = |used: &FileUse| FilePlan {
        path: used.path.clone(),
        end: 0,
        used_bytes: 0,
        content: false,
        filling: rig::Filling::default(),
        changed: false,
        allocation: rig::Allocation::None,
        fsync: false,
        on_open: false,
    };
    let plans: Vec<_> = jobs.iter().flat_map(|job| &job.files).map(plan).collect();
    files.admit(&plans).expect("admitted");
    let interrupt = Arc::new(AtomicBool::new(false));
    let quiet = Box::new(|_: &Event| {});
    let machine = Machine::over(files, RigOptions::default(), interrupt, quiet);
    let mut machine = machine.expect("opened");
    let stage =
        Stage { name: "stage", interval_ns: Some(1_000_000), by_job: true, intervals: observer };
    machine.perform(jobs, stage).expect("performed").jobs
}

/// Rulings by the number of completions seen.
struct Script {
    first: Option<u32>,
    seen: Arc<Mutex<u64>>,
    says: fn(u64) -> Continuation,
}

impl Script {
    fn asked(
        first: Option<u32>,
        says: fn(u64) -> Continuation,
    ) -> (Box<dyn JobControl>, Arc<Mutex<u64>>) {
        let seen = Arc::new(Mutex::new(0));
        (Box::new(Script { first, seen: Arc::clone(&seen), says }), seen)
    }
}

impl JobControl for Script {
    fn first_depth(&self) -> Option<u32> {
        self.first
    }

    fn completed(&mut self, _op: &Op, _service_ns: u64, _now_ns: u64) -> Continuation {
        let mut seen = self.seen.lock().expect("not poisoned");
        *seen += 1;
        (self.says)(*seen)
    }
}

fn reads(job: &JobResult) -> u64 {
    job.seen.kinds[OpKind::Read as usize].as_ref().map_or(0, |kind| kind.ops)
}

#[test]
fn a_control_ends_a_job_as_done_or_as_failed() {
    for (says, stop) in [
        (
            (|n| if n == 100 { Continuation::End } else { Continuation::GoOn }) as fn(u64) -> _,
            StopReason::Amount,
        ),
        (|n| if n == 100 { Continuation::Fail } else { Continuation::GoOn }, StopReason::Errors),
    ] {
        let (control, seen) = Script::asked(None, says);
        let jobs = perform(vec![job(Same(OpKind::Read, None), None, 1, Some(control))], None);
        assert_eq!((jobs[0].measurement.stop, reads(&jobs[0])), (stop, 100));
        assert_eq!(*seen.lock().expect("not poisoned"), 100);
        assert!(jobs[0].measurement.errors.is_empty());
    }
}

#[test]
fn the_control_sets_the_depth() {
    // Depth 1, then 4, then 2.
    let (control, _) = Script::asked(Some(1), |n| match n {
        100 => Continuation::Depth(4),
        300 => Continuation::Depth(2),
        _ => Continuation::GoOn,
    });
    let source = Same(OpKind::Read, Some(1000));
    let jobs = perform(vec![job(source, None, 64, Some(control))], None);
    let [one, two, four, more @ ..] = jobs[0].depths;
    assert_eq!(more, [0; 4], "never deeper: {:?}", jobs[0].depths);
    assert_eq!(one + two + four, 1000);
    assert!(one >= 100 && two > 0 && four > 0, "{:?}", jobs[0].depths);
}

#[test]
fn a_reset_drops_earlier_counts() {
    let (control, _) =
        Script::asked(None, |n| if n == 900 { Continuation::Reset } else { Continuation::GoOn });
    let source = Same(OpKind::Read, Some(1000));
    let jobs = perform(vec![job(source, None, 1, Some(control))], None);
    assert_eq!(reads(&jobs[0]), 100);
    assert_eq!(jobs[0].depths[0], 100);
    let by_interval: u64 = jobs[0].seen.intervals.iter().map(|i| i.kinds[0].0).sum();
    assert_eq!(by_interval, 100);
    assert!(jobs[0].begin_ns > 0 && jobs[0].end_ns > jobs[0].begin_ns);
}

/// Forgives this many failures.
struct Lenient(u64);

impl JobControl for Lenient {
    fn completed(&mut self, _op: &Op, _service_ns: u64, _now_ns: u64) -> Continuation {
        Continuation::GoOn
    }

    fn forgives(&mut self, _op: &Op, result: i64) -> bool {
        assert_eq!(result, -i64::from(libc::EBADF));
        let forgives = self.0 > 0;
        self.0 = self.0.saturating_sub(1);
        forgives
    }
}

#[test]
fn a_job_continues_after_each_forgiven_failure() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    // Writes fail because the file is open for reading.
    for (forgiven, count) in [(0, 1), (41, 42), (1000, 100)] {
        let source = Same(OpKind::Write, Some(100));
        let control: Box<dyn JobControl> = Box::new(Lenient(forgiven));
        let jobs = perform(vec![job(source, Some(file.path()), 1, Some(control))], None);
        let errors = &jobs[0].measurement.errors;
        assert_eq!((errors.len(), errors[0].count), (1, count), "{errors:?}");
        let failed = jobs[0].measurement.stop == StopReason::Errors;
        assert_eq!(failed, forgiven < 100, "{forgiven}");
    }
}

/// Ends the second job once the first has completed whole intervals.
struct EndsSecond;

impl IntervalObserver for EndsSecond {
    fn interval(&mut self, _now_ns: u64, jobs: &[JobSeen], end: &dyn Fn(u32)) {
        assert_eq!(jobs.len(), 2);
        if jobs[0].closed > 2 {
            assert!(!jobs[0].intervals.is_empty());
            end(1);
        }
        if jobs[1].closed == u64::MAX {
            end(0);
        }
    }
}

#[test]
fn an_observer_ends_one_job_and_then_the_other() {
    let endless = || job(Same(OpKind::Read, None), None, 1, None);
    let jobs = perform(vec![endless(), endless()], Some(&mut EndsSecond));
    assert!(jobs.iter().all(|job| job.measurement.stop == StopReason::Interrupted));
    assert!(jobs[1].end_ns <= jobs[0].end_ns);
}

/// Reads, each drawn alone and after 40 us: all within one interval.
struct Slow(u32);

impl Source for Slow {
    fn draw(&mut self, _now: u64, out: &mut Vec<Op>) {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_micros(40) {
            std::hint::spin_loop();
        }
        if self.0 > 0 {
            self.0 -= 1;
            out.push(Op { kind: OpKind::Read, offset: 0, bytes: BLOCK });
        }
    }
}

#[test]
fn service_times_do_not_include_the_drawing_of_operations() {
    let job = job(Same(OpKind::Read, None), None, 1, None);
    let results = perform(vec![Job { sources: vec![Box::new(Slow(20))], ..job }], None);
    let kind = results[0].seen.kinds[OpKind::Read as usize].as_ref().expect("reads");
    assert_eq!(kind.ops, 20);
    // The shortest: the processor may have been taken away during some.
    let shortest = kind.service.min().expect("reads");
    assert!(shortest < 40_000, "{shortest} ns without any I/O");
}

//! Several different jobs on one virtual drive and one virtual clock: starts, waits, ends, pauses
//! and flows are exact, and repeated runs give the same result.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::Simulator;
use model::DriveSpec;
use record::FindingKind;
use rig::{
    BackendKind, EndsAll, Event, FilePlan, FileUse, FlowPart, IntervalObserver, Issue, Job,
    JobResult, JobSeen, Logged, Performance, Rig, RigError, Stage, Start, StopReason,
};
use workload::{
    Caching, Content, Mix, Op, OpKind, Pacing, Pattern, Region, Source, Stop, Think, Workload,
};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const MS: u64 = 1_000_000;

fn drive() -> Simulator {
    let preset = DriveSpec::preset("samsung-970-evo-plus-250").expect("a preset");
    let spec = preset.with_overrides(&[("capacity", "8GiB")]).expect("parameters");
    let quiet = Arc::new(AtomicBool::new(false));
    let mut drive = Simulator::new(spec, "sim:test", quiet, Box::new(|_: &Event| {}));
    let region = Region::first(GIB);
    let fill = rig::Preparation::Fill { region, content: Content::Random, seed: 1 };
    drive.prepare(fill).expect("filled");
    drive
}

fn job(name: &str, mix: Mix, stop: Stop) -> Job {
    let region = Region::first(GIB);
    Job::from_workload(&Workload {
        stop,
        ..Workload::new(name, Pattern::Uniform, mix, 4096, region)
    })
}

fn reads(ms: u64) -> Job {
    job("read", Mix::READ, Stop::after_ns(ms * MS))
}

fn perform(drive: &mut Simulator, jobs: Vec<Job>) -> Vec<JobResult> {
    let stage = Stage { by_job: true, ..Stage::default() };
    drive.perform(jobs, stage).expect("performed").jobs
}

fn ops(job: &JobResult) -> u64 {
    job.seen.kinds.iter().flatten().map(|kind| kind.ops).sum()
}

#[test]
fn differing_jobs_are_the_same_to_the_last_bit() {
    let run = || {
        let mut drive = drive();
        let write = job("write", Mix::WRITE, Stop { ops: Some(500), ..Stop::default() });
        let mut deep = reads(50);
        deep.workload.depth = 16;
        let jobs = perform(&mut drive, vec![deep, write, reads(20)]);
        let seen = jobs.iter().map(|job| (ops(job), job.end_ns, job.measurement.clone()));
        (seen.collect::<Vec<_>>(), drive.elapsed_ns())
    };
    let (first, again) = (run(), run());
    assert_eq!(first, again);
    let ops: Vec<u64> = first.0.iter().map(|job| job.0).collect();
    assert_eq!(ops[1], 500);
    assert!(ops[0] > 4 * ops[2], "16 at once for 50 ms against one for 20: {ops:?}");
}

#[test]
fn jobs_share_the_drive() {
    let alone = ops(&perform(&mut drive(), vec![reads(20)])[0]);
    let busy = || {
        let mut job = reads(20);
        job.workload.depth = 64;
        job
    };
    let beside = perform(&mut drive(), vec![reads(20), busy(), busy()]);
    let slowed = ops(&beside[0]);
    assert!(slowed < alone, "{slowed} reads beside others, {alone} alone");
}

#[test]
fn starts_and_waits_are_events_of_the_virtual_time() {
    let mut drive = drive();
    let start = drive.elapsed_ns();
    let second = Job { start: Start { delay_ns: 30 * MS, ..Start::default() }, ..reads(10) };
    let third =
        Job { start: Start { delay_ns: 5 * MS, after: 0..2, ..Start::default() }, ..reads(10) };
    let jobs = perform(&mut drive, vec![reads(20), second, third]);
    assert!(jobs.iter().all(|job| ops(job) > 0 && job.measurement.stop == StopReason::Time));
    // The last job begins 5 ms after the end of the second, at 40 ms. Each can end with an
    // operation in flight.
    let took = drive.elapsed_ns() - start;
    assert!((55 * MS..56 * MS).contains(&took), "{took}");
}

#[test]
fn jobs_in_succession_are_measured_from_the_first_to_the_last() {
    let mut drive = drive();
    let second = Job { start: Start { after: 0..1, ..Start::default() }, ..reads(20) };
    let stage = Stage { interval_ns: Some(MS), by_job: true, ..Stage::default() };
    let whole = drive.perform(vec![reads(20), second], stage).expect("performed").whole;
    // Each can end with an operation in flight.
    assert!((40 * MS..41 * MS).contains(&whole.elapsed_ns), "{}", whole.elapsed_ns);
    assert!(whole.effective_depth <= 1.0, "{}", whole.effective_depth);
    assert!(whole.series.t_ns.len() >= 40, "{} rows", whole.series.t_ns.len());
}

#[test]
fn the_end_of_one_is_the_end_of_all_that_say_so() {
    let mut drive = drive();
    let start = drive.elapsed_ns();
    let first = Job { start: Start { ends_all: EndsAll::Always, ..Start::default() }, ..reads(10) };
    let late = Job { start: Start { delay_ns: 1000 * MS, ..Start::default() }, ..reads(1000) };
    let jobs = perform(&mut drive, vec![first, reads(1000), late]);
    assert_eq!(jobs[0].measurement.stop, StopReason::Time);
    assert!(jobs[1..].iter().all(|job| job.measurement.stop == StopReason::Interrupted));
    assert_eq!(ops(&jobs[2]), 0, "it had not begun");
    let took = drive.elapsed_ns() - start;
    assert!((10 * MS..11 * MS).contains(&took), "{took}");
    assert!(drive.measure(&reads(1).workload).is_ok(), "the run goes on");
}

#[test]
fn pauses_are_kept() {
    let mut drive = drive();
    let paused = |pacing, think| {
        let mut job = reads(1000);
        job.workload.pacing = pacing;
        job.issue.think = think;
        job
    };
    let pauses = Pacing::Pauses { every: 10, pause_ns: 10 * MS };
    let think = Think { every: Some(10), pause_ns: 10 * MS, ..Think::default() };
    for job in [paused(pauses, None), paused(Pacing::Closed, Some(think))] {
        let done = ops(&perform(&mut drive, vec![job])[0]);
        // Ten operations take 10 ms plus their own time, which is less than 1 ms.
        assert!((900..=1000).contains(&done), "{done} in a second");
    }
    // Each of the equal jobs pauses after its own number of operations.
    let workload = Workload {
        pacing: pauses,
        jobs: 4,
        ..Workload::new("w", Pattern::Uniform, Mix::READ, 4096, Region::first(GIB))
    };
    let stop = Stop::after_ns(1000 * MS);
    let measured = drive.measure(&Workload { stop, ..workload }).expect("measured");
    let done = measured.kind(OpKind::Read).map_or(0, |kind| kind.ops);
    assert!((3600..=4000).contains(&done), "{done} in a second");
}

/// Reads of one block, with a pause of 10 ms after every tenth.
struct Tens {
    pauses: bool,
}

impl Source for Tens {
    fn draw(&mut self, _now: u64, out: &mut Vec<Op>) {
        out.extend([Op { kind: OpKind::Read, offset: 0, bytes: 4096 }].repeat(10));
        self.pauses = true;
    }

    fn pause_ns(&mut self, _now: u64) -> u64 {
        if std::mem::take(&mut self.pauses) { 10 * MS } else { 0 }
    }
}

#[test]
fn pauses_of_a_source_are_kept_by_each_of_its_jobs() {
    let mut drive = drive();
    for jobs in [1, 4] {
        let Job { workload, .. } = reads(1000);
        let workload = Workload { pacing: Pacing::Source, jobs, depth: 2, ..workload };
        let source = |_| Box::new(Tens { pauses: false }) as Box<dyn Source>;
        let job = Job { sources: (0..jobs).map(source).collect(), ..Job::from_workload(&workload) };
        let done = ops(&perform(&mut drive, vec![job])[0]);
        let most = u64::from(jobs) * 1000;
        assert!((most * 9 / 10..=most).contains(&done), "{done} in a second by {jobs}");
    }
}

#[test]
fn a_flow_keeps_the_ratio_of_its_weights() {
    let mut drive = drive();
    let part = |weight| {
        let flow = Some(FlowPart { group: 1, weight, rest_ns: 0 });
        let mut job = reads(200);
        job.issue = Issue { flow, ..Issue::default() };
        job
    };
    let jobs = perform(&mut drive, vec![part(1), part(4)]);
    let ratio = ops(&jobs[1]) as f64 / ops(&jobs[0]) as f64;
    assert!((3.5..4.5).contains(&ratio), "{ratio}");
}

/// Ends the second job after three intervals, and counts logged operations.
#[derive(Default)]
struct Watcher {
    looks: u64,
    logged: Vec<Logged>,
}

impl IntervalObserver for Watcher {
    fn interval(&mut self, now_ns: u64, jobs: &[JobSeen], end: &dyn Fn(u32)) {
        self.looks += 1;
        if now_ns >= 3 * MS {
            end(1);
        }
        assert_eq!(jobs.len(), 2);
    }

    fn ops(&mut self, job: u32, log: &[Logged]) {
        assert_eq!(job, 0);
        self.logged.extend(log);
    }
}

#[test]
fn an_observer_ends_a_job_in_virtual_time_and_takes_its_log() {
    let mut drive = drive();
    let mut logged = reads(20);
    (logged.issue.log, logged.workload.depth) = (true, 4);
    let mut watcher = Watcher::default();
    let stage = Stage {
        interval_ns: Some(MS),
        by_job: true,
        intervals: Some(&mut watcher),
        ..Stage::default()
    };
    let Performance { jobs, .. } =
        drive.perform(vec![logged, reads(1000)], stage).expect("performed");
    assert_eq!(jobs[1].measurement.stop, StopReason::Interrupted);
    assert!((3 * MS..4 * MS).contains(&jobs[1].end_ns), "{}", jobs[1].end_ns);
    assert_eq!(watcher.logged.len() as u64, ops(&jobs[0]));
    assert!(watcher.logged.windows(2).all(|pair| pair[0].done_ns <= pair[1].done_ns));
    assert!(watcher.looks >= 20);
    // The run itself continues.
    assert_eq!(perform(&mut drive, vec![reads(1)]).len(), 1);
}

#[test]
fn files_are_regions_in_the_order_of_mention() {
    let mut drive = drive();
    let plan = |path: &str, content| FilePlan {
        path: path.into(),
        used_bytes: 0,
        end: 10 * MIB + 512,
        content,
        filling: rig::Filling::default(),
        changed: true,
        allocation: rig::Allocation::Full,
        fsync: false,
        on_open: false,
    };
    let files = drive.files().expect("files");
    files.admit(&[plan("a", true), plan("b", false)]).expect("admitted");
    let mut laid = Vec::new();
    files
        .lay_out(1, &mut |path, bytes| {
            laid.push((path.display().to_string(), bytes));
            true
        })
        .expect("laid out");
    assert_eq!(laid, [("a".to_string(), 10 * MIB + 512), ("b".to_string(), 10 * MIB + 512)]);
    let room = files.room("".as_ref()).expect("known");
    assert_eq!(room, 8 * GIB - 22 * MIB);
    let path = |name: &str| FileUse { path: name.into(), region: Region::first(10 * MIB) };
    let mut job = job("read", Mix::READ, Stop { ops: Some(100), ..Stop::default() });
    job.files = vec![path("a")];
    let done = perform(&mut drive, vec![job]);
    assert_eq!(ops(&done[0]), 100);
    let files = drive.files().expect("files");
    files.remove("a".as_ref()).expect("removed");
    assert_eq!(files.left(), [("b".into(), 10 * MIB + 512)]);
    let beyond = FilePlan { end: 9 * GIB, ..plan("c", false) };
    assert!(matches!(files.admit(&[beyond]), Err(RigError::Unsupported(_))));
}

#[test]
fn host_options_are_refused_or_noted() {
    let mut drive = drive();
    let refused = |drive: &mut Simulator, job: Job| {
        matches!(drive.perform(vec![job], Stage::default()), Err(RigError::Unsupported(_)))
    };
    let mut verify = reads(1);
    verify.workload.verify = true;
    assert!(refused(&mut drive, verify));
    let mut mapped = reads(1);
    mapped.issue.backend = Some(BackendKind::Mmap);
    assert!(refused(&mut drive, mapped));
    let mut buffered = reads(1);
    buffered.workload.caching = Caching::Buffered;
    let done = drive.perform(vec![buffered], Stage::default()).expect("performed");
    assert!(done.whole.findings.iter().any(|finding| finding.kind == FindingKind::NoHost));
    let plain = drive.perform(vec![reads(1)], Stage::default()).expect("performed");
    assert!(!plain.whole.findings.iter().any(|finding| finding.kind == FindingKind::NoHost));
}

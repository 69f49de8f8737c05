//! Tests the worker on a target in memory that fails as requested and whose time advances by 1 us
//! per turn.

use std::sync::mpsc::{Receiver, channel};

use rig::{Continuation, Job, JobControl};
use workload::{Closed, Content, Mix, OpKind, Pattern, Region, Stop};

use super::paced::paced;
use super::*;
use crate::backend::Wait;
use crate::halt::Halt;
use crate::lane::lanes;
use crate::patience::Pulse;
use crate::recorder::{Report, ReportSender};

const BLOCK: u32 = 4096;
const BLOCKS: u64 = 16;

type Fails = Box<dyn FnMut(u64) -> io::Result<()>>;

/// The target. Operations complete in the turn that submits them.
struct Fake {
    time_ns: u64,
    buffer: Vec<u8>,
    stored: Vec<u8>,
    queued: Vec<Completion>,
    /// The block whose operations fail.
    fails_at: Option<u64>,
    /// Called before each block is read outside the queue, with its number.
    reads_back: Fails,
    /// Called before each flush outside the queue.
    syncs: Fails,
}

impl Fake {
    fn new() -> Fake {
        Fake {
            time_ns: 0,
            buffer: vec![0; BLOCK as usize],
            stored: vec![0; (BLOCKS * u64::from(BLOCK)) as usize],
            queued: Vec::new(),
            fails_at: None,
            reads_back: Box::new(|_| Ok(())),
            syncs: Box::new(|_| Ok(())),
        }
    }
}

impl Backend for Fake {
    fn now(&self) -> u64 {
        self.time_ns
    }

    fn buffer(&mut self, _slot: u32, bytes: u32) -> &mut [u8] {
        &mut self.buffer[..bytes as usize]
    }

    fn push(&mut self, slot: u32, op: Op) {
        let place = op.offset as usize..op.end() as usize;
        match op.kind {
            OpKind::Write => self.stored[place].copy_from_slice(&self.buffer),
            OpKind::Read => self.buffer.copy_from_slice(&self.stored[place]),
            OpKind::Flush | OpKind::Discard => {}
        }
        let fails = self.fails_at == Some(op.offset / u64::from(BLOCK));
        let result = if fails { -i64::from(libc::EIO) } else { i64::from(op.bytes) };
        self.queued.push(Completion { slot, result });
    }

    fn turn(&mut self, _wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        self.time_ns += 1000;
        done.append(&mut self.queued);
        Ok(())
    }

    fn sync(&mut self, address: u64) -> io::Result<()> {
        (self.syncs)(address)
    }

    fn read_back(&mut self, address: u64, buffer: &mut [u8]) -> io::Result<bool> {
        (self.reads_back)(address / u64::from(BLOCK))?;
        let place = address as usize..address as usize + buffer.len();
        buffer.copy_from_slice(&self.stored[place]);
        Ok(true)
    }
}

/// Operations on each block once, one at a time.
fn workload(mix: Mix) -> Workload {
    let region = Region::first(BLOCKS * u64::from(BLOCK));
    Workload {
        stop: Stop::coverage(1.0),
        content: Content::Random,
        ..Workload::new("w", Pattern::Sequential, mix, BLOCK, region)
    }
}

fn written() -> Workload {
    Workload { verify: true, ..workload(Mix::WRITE) }
}

fn job(workload: &Workload, issue: Issue) -> Job {
    Job { issue, ..Job::from_workload(workload) }
}

/// A worker before its job, its pulse and its reports.
fn worker<'a>(
    fake: Fake,
    jobs: &'a mut [Job],
    halt: &'a Halt,
) -> (Worker<'a, Fake>, Pulse, Receiver<Report>) {
    let ((sender, reports), pulse) = (channel(), Pulse::default());
    let context = LaneContext {
        interval_ns: 1_000_000_000,
        halt,
        sender: ReportSender::Unbounded(sender),
        pulse: pulse.clone(),
        leaps: false,
        borrowed: None,
    };
    let lane = lanes(jobs, |_| true).pop().expect("a lane");
    (Worker::new(fake, lane, &context), pulse, reports)
}

/// Runs a job to its end. Returns its totals, the operations counted, and its pulse.
fn run(fake: Fake, workload: &Workload, issue: Issue, halt: &Halt) -> (JobEnd, u64, Pulse) {
    let mut jobs = [job(workload, issue)];
    let (worker, pulse, reports) = worker(fake, &mut jobs, halt);
    paced(worker, Closed).run(0, 0).expect("no failure of the worker");
    let mut counted = 0;
    for report in reports {
        match report {
            Report::Interval { kinds, .. } => {
                counted += kinds.iter().flatten().map(|kind| kind.ops).sum::<u64>();
            }
            Report::Done { end, .. } => return (*end, counted, pulse),
            Report::Reset { .. } | Report::Log { .. } => {}
        }
    }
    panic!("the end is not reported");
}

/// The operation, kind and number of each error.
fn errors(end: &JobEnd) -> Vec<(&str, &str, u64)> {
    end.errors.iter().map(|e| (e.op.as_str(), e.kind.as_str(), e.count)).collect()
}

fn fails(code: i32) -> io::Result<()> {
    Err(io::Error::from_raw_os_error(code))
}

#[test]
fn each_block_read_back_is_a_sign_of_life() {
    let halt = Halt::new(1);
    let (end, counted, pulse) = run(Fake::new(), &written(), Issue::default(), &halt);
    assert_eq!((end.stop, counted, end.verified_sectors), (StopReason::Amount, BLOCKS, BLOCKS * 8));
    assert!(pulse.beats() >= BLOCKS, "{}", pulse.beats());
}

#[test]
fn a_block_that_cannot_be_read_back_is_an_error_of_the_run() {
    let halt = Halt::new(1);
    let end_of_file = || Err(io::ErrorKind::UnexpectedEof.into());
    let fake = Fake {
        reads_back: Box::new(move |block| match block {
            3 => fails(libc::EIO),
            15 => end_of_file(),
            _ => Ok(()),
        }),
        ..Fake::new()
    };
    let (end, counted, _) = run(fake, &written(), Issue::default(), &halt);
    assert_eq!(errors(&end), [("read", "EIO", 1), ("read", "short transfer", 1)]);
    assert_eq!(end.errors[0].first_offsets, [3 * u64::from(BLOCK)]);
    assert_eq!((end.stop, counted), (StopReason::Amount, BLOCKS));
    assert_eq!(end.verified_sectors, (BLOCKS - 2) * 8);
}

#[test]
fn too_many_failures_end_the_read_back() {
    let (halt, issue) = (Halt::new(1), Issue { failures_max: 3, ..Issue::default() });
    let fake = Fake { reads_back: Box::new(|_| fails(libc::EIO)), ..Fake::new() };
    let (end, counted, _) = run(fake, &written(), issue, &halt);
    assert_eq!(errors(&end), [("read", "EIO", 3)]);
    assert_eq!((end.stop, counted), (StopReason::Errors, BLOCKS));
}

#[test]
fn the_read_back_can_be_interrupted() {
    let halt: &'static Halt = Box::leak(Box::new(Halt::new(1)));
    let interrupts = move |block| {
        if block == 4 {
            halt.end_all();
        }
        Ok(())
    };
    let fake = Fake { reads_back: Box::new(interrupts), ..Fake::new() };
    let (end, counted, _) = run(fake, &written(), Issue::default(), halt);
    assert_eq!((end.stop, counted), (StopReason::Interrupted, BLOCKS));
    assert_eq!(end.verified_sectors, 5 * 8);
}

#[test]
fn a_run_that_was_cut_short_is_not_read_back() {
    let halt = Halt::new(1);
    halt.end_all();
    let never = |_| -> io::Result<()> { panic!("read back") };
    let fake = Fake { reads_back: Box::new(never), ..Fake::new() };
    let (end, ..) = run(fake, &written(), Issue::default(), &halt);
    assert_eq!((end.stop, end.verified_sectors), (StopReason::Interrupted, 0));
}

#[test]
fn a_failed_final_flush_keeps_the_results() {
    let halt = Halt::new(1);
    let issue = Issue { flush_uncounted: true, ..Issue::default() };
    let fake = Fake { syncs: Box::new(|_| fails(libc::ENOSPC)), ..Fake::new() };
    let workload = Workload { flush_at_end: true, ..workload(Mix::WRITE) };
    let (end, counted, pulse) = run(fake, &workload, issue, &halt);
    assert_eq!(errors(&end), [("flush", "ENOSPC", 1)]);
    assert_eq!((end.stop, counted), (StopReason::Errors, BLOCKS));
    assert!(!pulse.is_flushing());
}

#[test]
#[should_panic(expected = "operations counted and completed")]
fn an_operation_that_nobody_counted_is_noticed() {
    let (halt, mut jobs) = (Halt::new(1), [job(&workload(Mix::READ), Issue::default())]);
    let (mut worker, ..) = worker(Fake::new(), &mut jobs, &halt);
    worker.begin(false, 0, 0);
    worker.step(&mut Closed, u64::MAX).expect("no failure of the worker");
    worker.issued += 1;
    let _ = worker.close(&mut Closed, Ok(()));
}

#[test]
fn failed_operations_are_not_counted_and_restarts_lose_none() {
    let (halt, mut jobs) = (Halt::new(1), [job(&workload(Mix::READ), Issue::default())]);
    let (mut worker, ..) = worker(Fake { fails_at: Some(5), ..Fake::new() }, &mut jobs, &halt);
    worker.begin(false, 0, 0);
    worker.step(&mut Closed, u64::MAX).expect("no failure of the worker");
    worker.recorder.restart(20_000);
    assert_eq!((worker.issued, worker.failed), (BLOCKS, 1));
    worker.close(&mut Closed, Ok(())).expect("counts that add up");
}

#[test]
#[should_panic(expected = "planned")]
fn a_part_that_issued_more_than_planned_is_noticed() {
    let planned =
        Workload { stop: Stop { ops: Some(4), ..Stop::default() }, ..workload(Mix::READ) };
    let (halt, mut jobs) = (Halt::new(1), [job(&planned, Issue::default())]);
    let (mut worker, ..) = worker(Fake::new(), &mut jobs, &halt);
    worker.begin(false, 0, 0);
    worker.issued = 5;
    let _ = worker.step(&mut Closed, u64::MAX);
}

#[test]
fn a_part_that_begins_beyond_its_plan_issues_nothing() {
    let planned =
        Workload { stop: Stop { ops: Some(4), ..Stop::default() }, ..workload(Mix::READ) };
    let (halt, mut jobs) = (Halt::new(1), [job(&planned, Issue::default())]);
    let (mut worker, ..) = worker(Fake::new(), &mut jobs, &halt);
    worker.issued = 5;
    worker.begin(false, 0, 0);
    worker.step(&mut Closed, u64::MAX).expect("no failure of the worker");
    assert_eq!(worker.issued, 5);
}

/// Wants to see no completions.
struct Blind;

impl JobControl for Blind {
    fn watches(&self) -> bool {
        false
    }

    fn completed(&mut self, _op: &Op, _service_ns: u64, _now_ns: u64) -> Continuation {
        panic!("not requested")
    }
}

#[test]
fn only_what_is_requested_is_looked_at() {
    let halt = Halt::new(1);
    let looks = |mix, log: bool, control: Option<Box<dyn JobControl>>| {
        let issue = Issue { log, ..Issue::default() };
        let mut jobs = [Job { control, ..job(&workload(mix), issue) }];
        let (mut worker, ..) = worker(Fake::new(), &mut jobs, &halt);
        let before = worker.looks;
        worker.begin(false, 0, 0);
        worker.step(&mut Closed, u64::MAX).expect("no failure of the worker");
        (before, worker.looks, worker.end.reads_sampled)
    };
    assert_eq!(looks(Mix::WRITE, false, None), (false, false, 0));
    assert_eq!(looks(Mix::READ, false, None), (true, false, 16));
    assert_eq!(looks(Mix::READ, false, Some(Box::new(Blind))), (true, false, 16));
    assert_eq!(looks(Mix::WRITE, true, Some(Box::new(Blind))), (true, true, 0));
}

#[test]
fn totals_exclude_the_ramp_up() {
    // An operation takes 1 us. The ramp-up ends with the turn in which the 10th of 16 completes.
    let (halt, issue) = (Halt::new(1), Issue { ramp_ns: 10_000, ..Issue::default() });
    let (end, counted, _) = run(Fake::new(), &workload(Mix::READ), issue, &halt);
    assert_eq!((counted, end.issued), (7, 6));
    assert_eq!((end.depths.busy(), end.handed.busy(), end.returned.busy()), (6, 6, 6));
    assert_eq!((end.begin_ns, end.end_ns), (10_000, 16_000));
}

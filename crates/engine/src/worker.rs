//! The hot loop: one job, one backend, one thread.
//!
//! It never drains the queue to keep a pace, never moves a due time, and makes one system call a
//! turn. Everything that is not issuing, stamping and counting is behind a cold branch.

mod ruled;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rig::StopReason;
use workload::{After, BATCH_MAX, Closed, Filler, Op, OpKind, Pace, Source, Think, Workload};

use crate::backend::{Backend, Completion, Wait};
use crate::files::Files;
use crate::loans::Loans;
use crate::recorder::{JobEnd, Logged, Recorder};
use crate::referee::Referee;
use crate::sys::thread::{self, ThreadUsage};
use crate::verify::Verifier;
use ruled::{Bench, Next};

/// An open-loop operation issued this much after it was due counts as late, nanoseconds. Well above
/// the jitter of a wake-up, well below anything a schedule is late by when slots run out.
const LATE_NS: u64 = 100_000;

/// A sleep is no longer than this, however far off the next due time is: the wish to end a run is
/// looked at in between, nanoseconds.
const NAP_NS: u64 = 50_000_000;

/// A sleep before the start ends this much before it, nanoseconds: wake-ups can be late.
const WAKE_NS: u64 = 1_000_000;

/// Failures in a row after which a target is given up, where nobody says otherwise.
const FAILURES_MAX: u32 = 100;

/// Wrong blocks that are kept: enough to see what went wrong, few enough to fit in memory.
const DUMPS_MAX: usize = 16;

/// Reads whose content is looked at for zeros: enough to tell, few enough to cost nothing.
const READS_SAMPLED: u32 = 16;

/// What a worker needs beside backend and pacer.
pub(crate) struct Job<'a> {
    pub workload: &'a Workload,
    /// Its number; that of its first lane.
    pub number: u32,
    /// Jobs that this worker carries at once: one on a real target, where every job has a thread of
    /// its own, all of them on a virtual drive, whose time only one thread can keep.
    pub lanes: u32,
    /// Set when the run shall end.
    pub stop: &'a AtomicBool,
    /// For reading back what was written, when the workload verifies, and for the last flush.
    pub files: Option<Files<'a>>,
    /// What writes of the original content carry.
    pub loans: Option<&'a Loans>,
    pub terms: Terms,
}

/// What a job may ask for beyond its workload.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Counts begin anew after this time, which comes on top of the workload's, nanoseconds.
    pub ramp_ns: u64,
    /// Completions to wait for at once when every slot is taken, at least 1.
    pub reap: u32,
    /// Failures in a row after which the job ends, at least 1.
    pub failures_max: u32,
    /// Keep every operation.
    pub log: bool,
    /// The last flush is part of the time, and not counted as an operation.
    pub flush_apart: bool,
    /// The first fault that verify finds ends the job.
    pub fault_ends: bool,
    /// Keep blocks that verify found wrong.
    pub dump: bool,
    /// Tells what this job writes from what others with its seed write.
    pub salt: u64,
    /// The kernel is told in which order a mapped file will be used.
    pub advised: bool,
    /// It stops to think.
    pub think: Option<Think>,
    /// Operations that overlap one in flight wait for it.
    pub apart: bool,
}

impl Default for Terms {
    fn default() -> Self {
        Terms {
            ramp_ns: 0,
            reap: 1,
            failures_max: FAILURES_MAX,
            log: false,
            flush_apart: false,
            fault_ends: false,
            dump: false,
            salt: 0,
            advised: true,
            think: None,
            apart: false,
        }
    }
}

#[derive(Clone, Copy)]
struct Slot {
    op: Op,
    due: u64,
    issued: u64,
}

/// Everything one job keeps between turns.
struct State<'a, B> {
    backend: B,
    job: &'a Job<'a>,
    /// Start of the workload on the backend's clock.
    origin: u64,
    recorder: Recorder,
    slots: Vec<Slot>,
    /// Slots that take part; all, unless a referee wants fewer.
    open: usize,
    free: Vec<u32>,
    done: Vec<Completion>,
    verifier: Option<Verifier>,
    /// Completions are looked at one by one: to verify, to log, or to show them to the referee.
    looks: bool,
    filler: Filler,
    issued: u64,
    failures: u32,
    bench: Bench,
    /// The loop is to stop and [`State::attend`].
    called: bool,
    /// What the thread had used when the job began.
    used_before: ThreadUsage,
    end: JobEnd,
}

/// A job with its buffers filled, which takes its time, that only waits to be let go.
pub(crate) struct Ready<'a, B>(State<'a, B>);

impl<'a, B: Backend> Ready<'a, B> {
    pub(crate) fn new(
        backend: B,
        job: &'a Job<'a>,
        recorder: Recorder,
        referee: Option<Box<dyn Referee>>,
    ) -> Ready<'a, B> {
        Ready(State::new(backend, job, recorder, Bench::new(referee)))
    }

    /// The counts of this job begin in that interval of the measurement.
    pub(crate) fn begins_in(&mut self, interval: u64) {
        self.0.recorder.begins_in(interval);
    }

    /// Runs the job from `origin` on the backend's clock to its end, and hands the result to the
    /// recorder's listener. Gives what ended it.
    pub(crate) fn run<P: Pace>(
        self,
        mut pacer: P,
        sources: Vec<Box<dyn Source>>,
        origin: u64,
    ) -> io::Result<StopReason> {
        let mut state = State { origin, ..self.0 };
        let reads_back = sources.iter().any(|source| source.reads_back());
        let mut sources: Vec<Drawn> = sources.into_iter().map(Drawn::new).collect();
        state.wait_for_start();
        state.used_before = thread::usage();
        // A schedule begins at the start, however late this thread was woken; a closed loop begins
        // with its first operation.
        state.end.begin_ns = if P::OPEN { 0 } else { state.now() };
        let outcome = state.perform(&mut pacer, &mut sources);
        state.end.usage = thread::usage().since(state.used_before);
        state.end.end_ns = state.now();
        if state.end.issue_end_ns == 0 {
            state.end.issue_end_ns = state.end.end_ns;
        }
        outcome?;
        state.end.backlog = state.backlog(&mut pacer);
        if !reads_back {
            state.verify_written()?;
        }
        state.end.verified_sectors = state.verifier.as_ref().map_or(0, Verifier::sectors);
        let stop = state.end.stop;
        state.finish();
        Ok(stop)
    }
}

impl<'a, B: Backend> State<'a, B> {
    fn new(mut backend: B, job: &'a Job<'a>, recorder: Recorder, bench: Bench) -> State<'a, B> {
        let workload = job.workload;
        let depth = workload.depth.min(backend.depth_max()) * job.lanes;
        let seed = workload.seed ^ u64::from(job.number) << 40 ^ job.terms.salt;
        let filler = Filler::new(workload.content.clone(), seed);
        if workload.mix.write > 0 && B::CARRIES_DATA {
            for slot in 0..depth {
                filler.fill(backend.buffer(slot, workload.blocks.max()), u64::from(slot));
            }
        }
        let open = bench.first_depth(depth);
        let end = JobEnd {
            depth_capped: (depth < workload.depth).then_some(depth),
            missing: backend.missing(),
            ..JobEnd::default()
        };
        State {
            looks: workload.verify || job.terms.log || bench.watches(),
            verifier: workload.verify.then(|| {
                let place_bits = job.files.map_or(u64::BITS - 1, |files| files.place_bits());
                Verifier::new(workload, job.number, depth, place_bits)
            }),
            backend,
            job,
            origin: 0,
            recorder,
            slots: vec![Slot { op: Op::FLUSH, due: 0, issued: 0 }; depth as usize],
            open: open as usize,
            free: (0..open).rev().collect(),
            done: Vec::with_capacity(depth as usize),
            filler,
            issued: 0,
            failures: 0,
            bench,
            called: false,
            used_before: ThreadUsage::default(),
            end,
        }
    }

    /// Sleeps through most of a long wait for the start, and spins through the rest: an operation
    /// issued before it would have no time at all.
    fn wait_for_start(&self) {
        while !self.job.stop.load(Ordering::Relaxed) {
            match self.origin.saturating_sub(self.backend.now()) {
                0 => return,
                left if left > 2 * WAKE_NS => {
                    let nap = (left - WAKE_NS).min(NAP_NS);
                    std::thread::sleep(std::time::Duration::from_nanos(nap));
                    self.recorder.pulse.beat();
                }
                _ => std::hint::spin_loop(),
            }
        }
    }

    /// Everything that is timed: the operations, what is still in flight then, the last flush, and
    /// the reading back of a source that counts that as operations.
    fn perform<P: Pace>(&mut self, pacer: &mut P, sources: &mut [Drawn]) -> io::Result<()> {
        let limits = Limits::of(self.job);
        let mut flushes = self.job.workload.flush_at_end;
        self.end.stop = self.issue_part(pacer, sources, &limits)?;
        while let [source] = &mut *sources {
            if matches!(self.end.stop, StopReason::Interrupted | StopReason::Errors) {
                break;
            }
            match source.after(self.end.stop != StopReason::TraceEnd) {
                After::End => break,
                After::More { emptied } => {
                    if emptied {
                        self.job.files.map_or(Ok(()), |files| files.empty())?;
                    }
                    self.end.stop = self.issue_part(pacer, sources, &limits)?;
                }
                After::Check { last } => {
                    if last && std::mem::take(&mut flushes) {
                        self.last_flush()?;
                    }
                    self.read_back(sources, last)?;
                }
            }
        }
        if flushes { self.last_flush() } else { Ok(()) }
    }

    /// The flush at the end of all, during which nothing completes.
    fn last_flush(&mut self) -> io::Result<()> {
        let pulse = self.recorder.pulse.clone();
        pulse.flushing(|| self.flush())
    }

    /// Issues operations to the end of a part of the job, waits for them, and says what ended it.
    fn issue_part<P: Pace>(
        &mut self,
        pacer: &mut P,
        sources: &mut [Drawn],
        limits: &Limits,
    ) -> io::Result<StopReason> {
        let stop = self.issue_all(pacer, sources, limits)?;
        self.drain()?;
        Ok(if self.bench.is_hopeless() { StopReason::Errors } else { stop })
    }

    /// Operations that read back what was written. What ended the job stays what it was.
    fn read_back(&mut self, sources: &mut [Drawn], last: bool) -> io::Result<()> {
        let began = self.now();
        if last {
            self.end.issue_end_ns = began;
        }
        match self.issue_part(&mut Closed, sources, &Limits::NONE)? {
            StopReason::TraceEnd => {}
            early => self.end.stop = early,
        }
        if !last {
            self.end.checks_ns += self.now() - began;
        }
        Ok(())
    }

    /// The loop. Times are nanoseconds since the job began.
    fn issue_all<P: Pace>(
        &mut self,
        pacer: &mut P,
        sources: &mut [Drawn],
        limits: &Limits,
    ) -> io::Result<StopReason> {
        let workload = self.job.workload;
        let batch = workload.batch;
        let (mut time_ns, mut bytes_left) = (limits.time_ns, limits.bytes);
        let mut now = self.now();
        // The stamp of the last turn, as long as it is as good as a new one.
        let mut stamp = Some(now);
        loop {
            if now >= time_ns {
                return Ok(StopReason::Time);
            }
            if self.job.stop.load(Ordering::Relaxed) {
                return Ok(StopReason::Interrupted);
            }
            let mut pushed = 0;
            while pushed < batch {
                let Some(&slot) = self.free.last() else { break };
                let Some(due) = pacer.next_due(now) else { break };
                // Each lane has `depth` slots.
                let lane = if sources.len() == 1 { 0 } else { (slot / workload.depth) as usize };
                let Some(op) = sources[lane].next(now) else {
                    return Ok(StopReason::TraceEnd);
                };
                if bytes_left == 0 || self.issued >= limits.ops {
                    return Ok(StopReason::Amount);
                }
                sources[lane].take();
                bytes_left = bytes_left.saturating_sub(u64::from(op.bytes));
                let issued = self.issue(op, due, stamp.take());
                self.end.late += u64::from(P::OPEN && issued.saturating_sub(due) > LATE_NS);
                pushed += 1;
            }
            self.end.handed.add(pushed as usize);
            let wait = self.wait(pacer.wake_at(), pushed == batch, time_ns);
            self.backend.turn(wait, &mut self.done)?;
            self.end.returned.add(self.done.len());
            now = self.now();
            stamp = (self.done.len() <= 1).then_some(now);
            if now >= self.recorder.interval_end() {
                self.recorder.publish(now, self.backend.temperature());
                stamp = None;
            }
            self.reap(now);
            if self.called {
                match self.attend()? {
                    Next::GoOn => {}
                    Next::Anew => time_ns = self.now().saturating_add(limits.time_ns),
                    Next::End(reason) => return Ok(reason),
                }
                now = self.now();
                stamp = None;
            }
        }
    }

    /// Puts an operation on a free slot and says when. A read of the clock costs as much as all the
    /// rest of a turn; `stamp` saves one where nothing lies between it and the hand-over but the
    /// drawing of an address, some nanoseconds that service time is then too long.
    // Inlined by force, as `next_op` is: an operation passed through memory stalls the processor.
    #[inline(always)]
    fn issue(&mut self, op: Op, due: u64, stamp: Option<u64>) -> u64 {
        let slot = self.free.pop().expect("the caller has seen a free slot");
        let in_flight = self.open - self.free.len();
        self.end.depths.add(in_flight);
        if let Some(verifier) = &mut self.verifier {
            verifier.issue(slot, op, self.backend.buffer(slot, op.bytes));
        } else if op.kind == OpKind::Write && B::CARRIES_DATA {
            let buffer = self.backend.buffer(slot, op.bytes);
            match self.job.loans {
                None => self.filler.touch(buffer, self.issued + 1),
                Some(loans) => loans.copy_to(op.offset, buffer),
            }
        }
        let prepared = op.kind == OpKind::Write || self.verifier.is_some();
        let issued = stamp.filter(|_| !prepared).unwrap_or_else(|| self.now());
        self.slots[slot as usize] = Slot { op, due, issued };
        self.backend.push(slot, op);
        self.issued += 1;
        issued
    }

    /// How long the next turn may wait: not at all while there is more to hand over, for a
    /// completion when every slot is taken, and never past the next due time.
    #[inline]
    fn wait(&self, wake_at: Option<u64>, more: bool, limit: u64) -> Wait {
        if self.free.is_empty() {
            return Wait::For(self.job.terms.reap.min(self.open as u32));
        }
        match wake_at {
            // A closed loop with free slots: hand over the next batch first.
            None => Wait::No,
            Some(_) if more => Wait::No,
            Some(due) => {
                let (until, now) = (due.min(limit).saturating_sub(B::SPIN_NS), self.now());
                if until <= now {
                    return Wait::No;
                }
                Wait::Until(self.origin + until.min(now + NAP_NS))
            }
        }
    }

    #[inline(always)]
    fn reap(&mut self, now: u64) {
        while let Some(Completion { slot, result }) = self.done.pop() {
            self.free.push(slot);
            // Field by field: the slot may have been written a moment ago, in such parts.
            let Slot { op: Op { kind, bytes, .. }, due, issued } = &self.slots[slot as usize];
            let (kind, bytes, due, issued) = (*kind, *bytes, *due, *issued);
            if result == i64::from(bytes) || result == 0 && !moves_data(kind) {
                self.failures = 0;
                self.recorder.count(kind, bytes, now - issued, now.saturating_sub(due));
                if self.looks || self.end.reads_sampled < READS_SAMPLED {
                    self.look_at(slot, now, now - issued);
                }
            } else {
                self.failed(slot, result);
            }
        }
    }

    #[cold]
    fn failed(&mut self, slot: u32, result: i64) {
        let op = self.slots[slot as usize].op;
        self.recorder.error(op, result);
        if self.forgiven(&op, result) {
            self.failures = 0;
            return self.unverified(slot);
        }
        let gone = [libc::ENODEV, libc::ENXIO, libc::EBADF];
        let weight = if gone.iter().any(|e| result == -i64::from(*e)) { u32::MAX / 2 } else { 1 };
        self.failures = self.failures.saturating_add(weight);
        if self.failures >= self.job.terms.failures_max {
            self.give_up();
        }
        self.unverified(slot);
    }

    fn unverified(&mut self, slot: u32) {
        if let Some(verifier) = &mut self.verifier {
            verifier.complete(slot, false, &[]);
        }
    }

    /// Looks at the content of a completed operation: verify, or whether a read was all zeros.
    #[cold]
    fn look_at(&mut self, slot: u32, now: u64, service_ns: u64) {
        let op = self.slots[slot as usize].op;
        self.show(&op, service_ns, now);
        if self.job.terms.log && now >= self.job.terms.ramp_ns {
            let priority = self.backend.priority(slot);
            self.end.log.push(Logged { priority, done_ns: now, service_ns, op });
        }
        if let Some(verifier) = &mut self.verifier {
            let buffer = self.backend.buffer(slot, op.bytes);
            if let Some((fault, offset)) = verifier.complete(slot, true, buffer) {
                self.recorder.fault("verify", fault.name(), offset);
                if self.job.terms.dump && self.end.dumps.len() < DUMPS_MAX {
                    self.end.dumps.push(verifier.dump(op, offset, buffer));
                }
                if self.job.terms.fault_ends {
                    self.give_up();
                }
            }
        } else if op.kind == OpKind::Read && self.end.reads_sampled < READS_SAMPLED {
            self.end.reads_sampled += 1;
            self.end.reads_zero += u32::from(self.backend.read_zeros(slot, &op));
        }
    }

    /// Waits for everything in flight.
    fn drain(&mut self) -> io::Result<()> {
        while self.free.len() < self.open {
            self.backend.turn(Wait::For(1), &mut self.done)?;
            let now = self.now();
            if now >= self.recorder.interval_end() {
                self.recorder.publish(now, self.backend.temperature());
            }
            self.reap(now);
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let (true, Some(files)) = (self.job.terms.flush_apart, self.job.files) {
            return files.starts().try_for_each(|address| files.flush(address));
        }
        let starts = self.job.files.map(|files| files.starts().collect()).unwrap_or(vec![0]);
        for offset in starts {
            let now = self.now();
            self.issue(Op { offset, ..Op::FLUSH }, now, Some(now));
            self.end.flushes += 1;
            self.drain()?;
        }
        Ok(())
    }

    /// Operations of the schedule that were due before the end and never issued.
    fn backlog<P: Pace>(&self, pacer: &mut P) -> u64 {
        if !P::OPEN || self.end.stop != StopReason::Time {
            return 0;
        }
        let limit = Limits::of(self.job).time_ns.saturating_sub(1);
        std::iter::from_fn(|| pacer.next_due(limit)).take(10_000_000).count() as u64
    }

    fn verify_written(&mut self) -> io::Result<()> {
        let (Some(verifier), Some(files)) = (&mut self.verifier, self.job.files) else {
            return Ok(());
        };
        if self.job.workload.mix.write > 0 {
            let recorder = &mut self.recorder;
            let bytes = self.job.workload.blocks.max();
            let buffer = self.backend.buffer(0, bytes);
            verifier.read_back(files.at(0).0, buffer, |fault, offset| {
                recorder.fault("verify", fault.name(), offset);
            })?;
        }
        Ok(())
    }

    fn finish(mut self) {
        self.end.issued = self.issued;
        self.recorder.finish(self.end);
    }

    #[inline]
    fn now(&self) -> u64 {
        self.backend.now().saturating_sub(self.origin)
    }
}

/// A source, and the operations drawn from it that were not issued yet.
struct Drawn {
    source: Box<dyn Source>,
    ops: Vec<Op>,
    at: usize,
    /// Operations of earlier batches.
    before: u64,
}

impl Drawn {
    fn new(source: Box<dyn Source>) -> Drawn {
        Drawn { source, ops: Vec::with_capacity(BATCH_MAX), at: 0, before: 0 }
    }

    /// The next operation, which stays the next one until it is taken.
    #[inline(always)]
    fn next(&mut self, now: u64) -> Option<Op> {
        if self.at == self.ops.len() {
            self.draw(now);
        }
        self.ops.get(self.at).copied()
    }

    #[inline(always)]
    fn take(&mut self) {
        self.at += 1;
    }

    #[inline(never)]
    fn draw(&mut self, now: u64) {
        self.begin_batch();
        self.source.draw(now, &mut self.ops);
    }

    fn begin_batch(&mut self) {
        self.before += self.at as u64;
        self.at = 0;
        self.ops.clear();
    }

    /// The end of a part: what was drawn and not taken is given back.
    fn after(&mut self, over: bool) -> After {
        self.begin_batch();
        self.source.after(self.before, over)
    }
}

/// One job's share of a workload's bounds.
struct Limits {
    time_ns: u64,
    bytes: u64,
    ops: u64,
}

impl Limits {
    const NONE: Limits = Limits { time_ns: u64::MAX, bytes: u64::MAX, ops: u64::MAX };

    /// The bounds of a job's lanes. Parts add up to the whole; coverage is that of their own slices.
    fn of(job: &Job<'_>) -> Limits {
        let workload = job.workload;
        let stop = &workload.stop;
        let jobs = u64::from(workload.jobs);
        let time_ns = stop.time_ns.map_or(u64::MAX, |ns| ns.saturating_add(job.terms.ramp_ns));
        let none = Limits { time_ns, bytes: 0, ops: 0 };
        let lanes = job.number..job.number + job.lanes;
        lanes.fold(none, |sum, lane| {
            let slice = workload.slice(lane).bytes as f64;
            let part = |whole: u64| whole / jobs + u64::from(u64::from(lane) < whole % jobs);
            let covered = stop.coverage.map_or(u64::MAX, |share| (share * slice) as u64);
            let bytes = stop.bytes.map_or(u64::MAX, part).min(covered);
            let ops = stop.ops.map_or(u64::MAX, part);
            let (bytes, ops) = (sum.bytes.saturating_add(bytes), sum.ops.saturating_add(ops));
            Limits { bytes, ops, ..sum }
        })
    }
}

#[inline]
fn moves_data(kind: OpKind) -> bool {
    matches!(kind, OpKind::Read | OpKind::Write)
}

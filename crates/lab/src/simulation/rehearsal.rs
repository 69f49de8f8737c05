//! A virtual drive that simulates samples of every workload and answers for the whole.
//!
//! A workload is divided into stretches, in each of which the state of the drive changes little. The
//! first operations of a stretch are simulated and timed, and count as often as they fit into it. The
//! rest of its writes follow in larger blocks, which bring the drive into nearly the same state. Once
//! the region has been overwritten in the same order, more of these writes change nothing, and a
//! workload sampled once has the same answer again.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::{Simulator, processor_ns, timed_share};
use model::DriveSpec;
use record::{Health, State};
use rig::{
    Blocks, Event, Files, Job, Measurement, Performance, Preparation, Prepared, Result, Rig,
    RigError, Stage, StopReason, TargetInfo,
};
use workload::{Mix, Pattern, Region, Stop, Workload};

use super::sample::{WorkloadSample, WriteCost, append, ops};

/// Operations of a sample, but at least so many times those in flight.
const SAMPLE_OPS: u64 = 10_000;
const SAMPLE_QUEUES: u64 = 4;

/// Part of its workload from which a sample is not taken again. The chance in a larger part decides, as
/// in the whole, when rounds end.
const SAMPLE_SHARE: f64 = 0.05;

/// Share of the drive written in one stretch: as much as was written before it, within these limits.
const STRETCH_MIN: f64 = 1.0 / 256.0;
const STRETCH_MAX: f64 = 1.0 / 16.0;

/// Share of a region whose last writes show what writes cost.
const COST_SHARE: f64 = 0.25;

/// Passes over a region after which more writes in the same order change nothing.
const PASSES: f64 = 2.0;

/// Random writes that stand for the rest of a stretch, at most, and how many of the workload one of
/// them stands for, at least. What a write costs depends on how scattered the data are.
const REST_OPS_MAX: u64 = 1 << 18;
const REST_TIMES: u64 = 4;

/// Largest block of such writes, bytes.
const REST_BLOCK_MAX: u64 = 4 << 20;

/// Operations in flight of these writes.
const REST_DEPTH: u32 = 32;

/// Share of the time of the work that its rehearsal may take, once it took the time allowed in any
/// case.
const REHEARSED_SHARE: f64 = 0.05;

/// Workloads of one operation, the fastest of which shows what a workload takes beside them.
const FIXED_ROUNDS: u32 = 5;

/// Processor time of a skipped write, as a share of that of a timed operation: it only reaches the map.
const SKIPPED_WRITE: f64 = 0.5;

/// Nanoseconds of a workload that are rehearsed at most, a hundred years: those of a run are fewer than
/// 64 bits hold.
const LONGEST_NS: f64 = 1e9 * 3600.0 * 24.0 * 365.0 * 100.0;

/// Calls of the block interface, which is simulated in full, before a rehearsal gives up.
const BLOCK_CALLS_MAX: u64 = 100_000;

/// A virtual drive on which work is rehearsed.
pub(super) struct Rehearsal {
    simulator: Simulator,
    /// Virtual time that samples stand for beyond the simulator's own, nanoseconds.
    ahead_ns: i64,
    /// Bytes written in order and at random, since the drive was written otherwise.
    written_bytes: [f64; 2],
    /// What they cost lately.
    write_costs: [Option<WriteCost>; 2],
    /// Number of dies.
    dies: f64,
    /// Whether the work skips steady stretches, and the time skipped, nanoseconds.
    skips: bool,
    skipped_ns: f64,
    /// Samples in the present state of the drive.
    samples: HashMap<String, WorkloadSample>,
    /// Processor time spent on workloads here, nanoseconds.
    spent_ns: u64,
    /// Processor time of the workloads in full, seconds, and their operations.
    seconds: f64,
    ops: f64,
    block_calls: u64,
    /// Processor time that a workload takes beside its operations, seconds.
    fixed_seconds: f64,
    /// Processor time of the process at the beginning, and that allowed in any case, nanoseconds.
    begin_ns: u64,
    allowed_ns: u64,
}

impl Rehearsal {
    /// A fresh drive, on which work skips steady stretches or not, and the processor time that a rehearsal
    /// may take however short the work, seconds.
    pub fn new(spec: DriveSpec, spec_text: &str, skips: bool, allowed_seconds: f64) -> Rehearsal {
        let observer = Box::new(|_: &Event| {});
        Rehearsal {
            dies: f64::from((*spec.nand.dies).max(1)),
            simulator: Simulator::new(spec, spec_text, Arc::new(AtomicBool::new(false)), observer),
            ahead_ns: 0,
            skips,
            skipped_ns: 0.0,
            written_bytes: [0.0; 2],
            write_costs: [None; 2],
            samples: HashMap::new(),
            spent_ns: 0,
            seconds: 0.0,
            ops: 0.0,
            block_calls: 0,
            fixed_seconds: 0.0,
            begin_ns: processor_ns(),
            allowed_ns: (allowed_seconds * 1e9) as u64,
        }
    }

    /// Brings the drive into the state in which a run begins.
    pub fn begin(&mut self, state: State) -> Result<()> {
        self.simulator.age(state)?;
        let block = self.target().logical_block_bytes.max(4096);
        let region = Region::first(u64::from(block));
        let read = Workload::new("read", Pattern::Sequential, Mix::READ, block, region);
        let read = Workload { stop: Stop { ops: Some(1), ..Stop::default() }, ..read };
        let mut least_ns = u64::MAX;
        for _ in 0..FIXED_ROUNDS {
            let begin_ns = processor_ns();
            self.simulator.measure(&read)?;
            least_ns = least_ns.min(processor_ns() - begin_ns);
        }
        self.fixed_seconds = least_ns as f64 / 1e9;
        Ok(())
    }

    /// Processor time spent on workloads here, nanoseconds.
    pub fn spent_ns(&self) -> u64 {
        self.spent_ns
    }

    /// Processor time that the workloads take in full, seconds.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Simulated time that the work skips, seconds.
    pub fn skipped_seconds(&self) -> f64 {
        self.skipped_ns / 1e9
    }

    /// Operations of the workloads in full.
    pub fn ops(&self) -> f64 {
        self.ops
    }

    /// Whether more writes of this workload leave the drive as it is, or would take too long here.
    fn is_settled(&self, w: &Workload) -> bool {
        let written_bytes = self.written_bytes[usize::from(w.pattern.is_random())];
        self.is_long() || written_bytes >= PASSES * w.region.bytes as f64
    }

    /// Whether the rehearsal has taken what it may take.
    fn is_long(&self) -> bool {
        let taken_ns = processor_ns() - self.begin_ns;
        taken_ns > self.allowed_ns && taken_ns as f64 > REHEARSED_SHARE * 1e9 * self.seconds
    }

    /// Bytes that this workload writes while the state of the drive changes little.
    fn stretch_bytes(&self, w: &Workload) -> f64 {
        let [least, most] = [STRETCH_MIN, STRETCH_MAX].map(|s| s * self.target().bytes as f64);
        self.written_bytes[usize::from(w.pattern.is_random())].clamp(least, most)
    }

    /// Runs a workload, stretch by stretch.
    fn run(&mut self, w: &Workload) -> Result<Measurement> {
        let mut whole = Measurement { name: w.name.clone(), ..Measurement::default() };
        let block = f64::from(w.blocks.max().max(1));
        let shares = f64::from(w.mix.read + w.mix.write).max(1.0);
        let write_bytes = block * f64::from(w.mix.write) / shares;
        let (mut ops_left, mut ns_left) = amount(w);
        let (mut position, mut ops_seconds, mut all_bytes) = (0.0, 0.0, 0.0);
        while ops_left >= 1.0 && ns_left >= 1.0 {
            let region = rest_of(w, position);
            let stop = Stop {
                ops: Some(sample_ops(w).min(ops_left as u64)),
                time_ns: w.stop.time_ns.map(|_| ns_left as u64),
                ..Stop::default()
            };
            let began_ns = self.simulator.elapsed_ns();
            let begun_before = self.simulator.work_of_dies().begun_ns;
            let mut sample = self.sample(&Workload { region, stop, ..w.clone() }, w)?;
            let busy = sample.busy(self.dies);
            let cost = self.write_costs[usize::from(w.pattern.is_random())];
            if let Some(cost) = cost.filter(|_| write_bytes > 0.0) {
                sample.correct_time(self.dies, sample.ops * write_bytes, cost);
            }
            let sample_ns = sample.measurement.elapsed_ns.max(1) as f64;
            let is_changing = write_bytes > 0.0 && !self.is_settled(w);
            let stretch_ops =
                if is_changing { self.stretch_bytes(w) / write_bytes } else { f64::INFINITY };
            let fits = (ops_left.min(stretch_ops) / sample.ops.max(1.0)).min(ns_left / sample_ns);
            let is_end = matches!(
                sample.measurement.stop,
                StopReason::Errors | StopReason::Interrupted | StopReason::TraceEnd
            );
            let times = if is_end || !fits.is_finite() { 1.0 } else { fits.max(1.0) };
            let ops = sample.ops * times;
            let fixed_seconds = self.fixed_seconds.min(sample.seconds);
            self.seconds += fixed_seconds;
            ops_seconds += (sample.seconds - fixed_seconds) * times;
            all_bytes += ops * write_bytes;
            self.ops += ops;
            append(&mut whole, &sample.measurement, times);
            if is_changing {
                self.write_rest(w, position, (ops - sample.ops) * write_bytes)?;
                let work_ns = self.simulator.work_of_dies().begun_ns - begun_before;
                self.count_written(w, ops * write_bytes, work_ns as f64, busy);
                self.samples.clear();
            }
            let passed_ns = self.simulator.elapsed_ns().saturating_sub(began_ns);
            let ahead_ns = (sample_ns * times) as i64 - passed_ns as i64;
            self.ahead_ns = self.ahead_ns.saturating_add(ahead_ns);
            position = (position + ops * block) % w.region.bytes.max(1) as f64;
            ops_left -= ops.max(1.0);
            ns_left -= sample_ns * times;
            if is_end {
                break;
            }
            let by_time = w.stop.time_ns.is_some() && ops_left >= 1.0;
            whole.stop = if by_time { StopReason::Time } else { StopReason::Amount };
        }
        let timed = if self.skips { timed_share(w, whole.elapsed_ns, all_bytes) } else { 1.0 };
        self.skipped_ns += (1.0 - timed) * whole.elapsed_ns as f64;
        let writes = f64::from(w.mix.write) / shares;
        self.seconds += ops_seconds * (timed + (1.0 - timed) * SKIPPED_WRITE * writes);
        Ok(whole)
    }

    /// Counts bytes that a workload wrote with this work of the dies, of whose time a sample took so much.
    fn count_written(&mut self, w: &Workload, bytes: f64, work_ns: f64, busy: f64) {
        let kind = usize::from(w.pattern.is_random());
        self.written_bytes[kind] += bytes;
        let lately_bytes = self.written_bytes[kind].min(COST_SHARE * w.region.bytes as f64);
        let weight = (bytes / lately_bytes.max(1.0)).min(1.0);
        let before = self.write_costs[kind].map_or(busy, |cost| cost.busy);
        let cost = WriteCost { work: work_ns / bytes, busy: before + weight * (busy - before) };
        self.write_costs[kind] = Some(cost);
        self.written_bytes[1 - kind] = 0.0;
        self.write_costs[1 - kind] = None;
    }

    /// Simulates the first operations of a workload, unless that was done in this state.
    fn sample(&mut self, w: &Workload, whole: &Workload) -> Result<WorkloadSample> {
        let key = format!("{:?}", Workload { seed: 0, stop: Stop::default(), ..w.clone() });
        if let Some(sample) = self.samples.get(&key) {
            return Ok(sample.clone());
        }
        let (begin_ns, before) = (processor_ns(), self.simulator.work_of_dies());
        let measurement = self.simulator.measure(w)?;
        let seconds = (processor_ns() - begin_ns) as f64 / 1e9;
        let work = self.simulator.work_of_dies();
        let begun_ns = (work.begun_ns - before.begun_ns) as f64;
        let work_ns = begun_ns + before.left_ns as f64 - work.left_ns as f64;
        let sample = WorkloadSample { ops: ops(&measurement), measurement, seconds, work_ns };
        let (_, whole_ns) = amount(whole);
        let is_small = sample.measurement.elapsed_ns as f64 <= SAMPLE_SHARE * whole_ns;
        if is_small || self.is_long() {
            self.samples.insert(key, sample.clone());
        }
        Ok(sample)
    }

    /// Writes so many bytes as a workload does, in larger blocks.
    fn write_rest(&mut self, w: &Workload, position: f64, bytes: f64) -> Result<()> {
        let least = u64::from(w.blocks.max());
        let is_random = w.pattern.is_random();
        let scattered = (bytes as u64 / REST_OPS_MAX).max(REST_TIMES * least);
        let block = if is_random { scattered } else { REST_BLOCK_MAX };
        let most = REST_BLOCK_MAX.min(w.region.bytes / 4).max(least);
        let block = block.next_power_of_two().clamp(least, most) / least * least;
        let count = bytes as u64 / block;
        if count == 0 {
            return Ok(());
        }
        let region = Some(rest_of(w, position)).filter(|rest| rest.bytes >= block);
        let order = if is_random { Pattern::Uniform } else { Pattern::Sequential };
        let rest =
            Workload::new("rest", order, Mix::WRITE, block as u32, region.unwrap_or(w.region));
        let stop = Stop { ops: Some(count), ..Stop::default() };
        let rest =
            Workload { stop, depth: REST_DEPTH, batch: REST_DEPTH, seed: w.seed ^ count, ..rest };
        self.simulator.measure(&rest).map(drop)
    }

    /// Runs several jobs, or one that is observed, as one sample.
    fn run_once(&mut self, mut jobs: Vec<Job>, stage: Stage<'_>) -> Result<Performance> {
        let began_ns = self.simulator.elapsed_ns();
        let amounts: Vec<(f64, f64)> = jobs.iter().map(|job| amount(&job.workload)).collect();
        for job in &mut jobs {
            let most = sample_ops(&job.workload);
            let stop = &mut job.workload.stop;
            stop.ops = Some(stop.ops.map_or(most, |ops| ops.min(most)));
        }
        let begin_ns = processor_ns();
        let mut performance = self.simulator.perform(jobs, stage)?;
        let seconds = (processor_ns() - begin_ns) as f64 / 1e9;
        let sample = std::mem::take(&mut performance.whole);
        let all_ops: f64 = amounts.iter().map(|(ops, _)| ops).sum();
        let longest_ns = amounts.iter().map(|(_, ns)| *ns).fold(0.0, f64::max);
        let by_time = longest_ns / sample.elapsed_ns.max(1) as f64;
        let fits = (all_ops / ops(&sample).max(1.0)).min(by_time);
        let is_cut = matches!(sample.stop, StopReason::Time | StopReason::Amount);
        let times = if is_cut && fits.is_finite() { fits.max(1.0) } else { 1.0 };
        self.seconds += seconds * times;
        self.ops += ops(&sample) * times;
        let passed_ns = self.simulator.elapsed_ns().saturating_sub(began_ns);
        let ahead_ns = (passed_ns as f64 * (times - 1.0)) as i64;
        self.ahead_ns = self.ahead_ns.saturating_add(ahead_ns);
        self.samples.clear();
        append(&mut performance.whole, &sample, times);
        performance.whole.stop = sample.stop;
        Ok(performance)
    }
}

impl Rig for Rehearsal {
    fn target(&self) -> &TargetInfo {
        self.simulator.target()
    }

    fn perform(&mut self, jobs: Vec<Job>, stage: Stage<'_>) -> Result<Performance> {
        let begin_ns = processor_ns();
        let performance = match &*jobs {
            [job] if stage.intervals.is_none() && job.files.is_empty() && job.control.is_none() => {
                let whole = self.run(&job.workload);
                whole.map(|whole| Performance { jobs: Vec::new(), whole })
            }
            _ => self.run_once(jobs, stage),
        };
        self.spent_ns += processor_ns() - begin_ns;
        performance
    }

    fn prepare(&mut self, preparation: Preparation) -> Result<Prepared> {
        self.samples.clear();
        self.write_costs = [None; 2];
        self.written_bytes = match &preparation {
            Preparation::Flush | Preparation::DropCaches => self.written_bytes,
            Preparation::Fill { region, .. } => [region.bytes as f64, 0.0],
            _ => [0.0; 2],
        };
        self.simulator.prepare(preparation)
    }

    fn idle(&mut self, time: Duration) -> Result<()> {
        self.samples.clear();
        self.write_costs = [None; 2];
        self.simulator.idle(time)
    }

    fn health(&mut self) -> Option<Health> {
        Some(self.simulator.health())
    }

    fn blocks(&mut self) -> Result<&mut dyn Blocks> {
        self.block_calls += 1;
        if self.block_calls > BLOCK_CALLS_MAX {
            return Err(RigError::Interrupted);
        }
        self.samples.clear();
        self.simulator.blocks()
    }

    fn files(&mut self) -> Result<&mut dyn Files> {
        self.simulator.files()
    }

    fn note(&mut self, event: Event) {
        self.simulator.note(event);
    }

    fn elapsed_ns(&mut self) -> u64 {
        self.simulator.elapsed_ns().saturating_add_signed(self.ahead_ns)
    }
}

/// Operations, infinite without such a limit, and nanoseconds after which a workload ends.
fn amount(w: &Workload) -> (f64, f64) {
    let bytes = w.stop.bytes_bound(w.region.bytes).map(|bytes| bytes as f64);
    let by_bytes = bytes.map(|bytes| bytes / f64::from(w.blocks.max().max(1)));
    let by_ops = w.stop.ops.map(|ops| ops as f64);
    let ops = by_bytes.into_iter().chain(by_ops).fold(f64::INFINITY, f64::min);
    (ops, w.stop.time_ns.map_or(LONGEST_NS, |ns| LONGEST_NS.min(ns as f64)))
}

fn sample_ops(w: &Workload) -> u64 {
    SAMPLE_OPS.max(SAMPLE_QUEUES * u64::from(w.depth) * u64::from(w.jobs))
}

/// The part of its region that a workload has still to pass, if it goes through it in order.
fn rest_of(w: &Workload, position: f64) -> Region {
    if w.pattern != Pattern::Sequential || w.jobs > 1 {
        return w.region;
    }
    let block = u64::from(w.blocks.max().max(1));
    let passed_bytes = position as u64 / block * block;
    if passed_bytes + block > w.region.bytes {
        return w.region;
    }
    Region { start: w.region.start + passed_bytes, bytes: w.region.bytes - passed_bytes }
}

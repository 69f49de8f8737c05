//! A clone of a job as a rig takes it.

use rig::{
    BackendKind, EndsAll, FileUse, FlowPart, Issue, Job as RigJob, Placement, Priorities,
    PriorityRule, Start,
};
use workload::{BlockSizes, Caching, Mix, Open, Pacing, Pattern, Region, Stop, Think, Workload};

use super::files::{Use, verifies};
use super::proof;
use super::rounds::{Checks, Rounds};
use super::stream::{Outline, Throttle};
use crate::{
    Access, Amount, Blocks, CpuPolicy, Engine, FadviseHint, Job, PerKind, PriorityShare,
    RateProcess, VerifyKind,
};

/// Best effort, the class of those that name only a level.
const CLASS_BEST_EFFORT: u8 = 2;

/// The operations of a clone that uses these files.
pub(super) fn outline(job: &Job, clone: u32, uses: &[Use]) -> Outline {
    let all: u64 = uses.iter().map(|u| u.bytes).sum();
    let pass_bytes = match job.space.io_size {
        Some(Amount::Bytes(bytes)) => bytes,
        Some(share) => share.of(all),
        None => match job.space.size {
            // Files with a size of their own may hold more.
            Some(Amount::Bytes(size)) => all.min(size),
            _ => all,
        },
    };
    let flush = job.syncing.fsync.max(job.syncing.fdatasync);
    Outline {
        access: Access { mix_read_percent: mix_read_percent(job), ..job.access.clone() },
        service: job.files.service,
        shift: shift(uses),
        files: uses.iter().map(|u| (u.start, u.bytes)).collect(),
        pass_bytes,
        by_bytes: job.space.io_size.is_some(),
        passes: (!job.schedule.time_based).then_some(job.schedule.loops),
        ops_max: job.space.number_ios.map_or(u64::MAX, |ios| {
            // fio's number counts for each loop, and ends all of them together.
            ios.saturating_mul(u64::from(job.schedule.loops.max(1)))
        }),
        flush_every: if job.access.rw.writes() { flush } else { 0 },
        verify_only: job.verify.only,
        throttle: throttle(job, clone),
        seed: seed(job, clone),
    }
}

/// The files of a clone as a rig takes them.
pub(super) fn file_uses(uses: &[Use]) -> Vec<FileUse> {
    let one = |u: &Use| FileUse {
        path: u.path.clone(),
        region: Region { start: u.start, bytes: u.bytes },
    };
    uses.iter().map(one).collect()
}

/// Bits of an address for the place in a file.
pub(super) fn shift(uses: &[Use]) -> u32 {
    rig::place_bits(&file_uses(uses))
}

/// The seed of a clone. Equal jobs of one plan are told apart by their number alone, so that a job
/// that verifies knows the stamps of the one that wrote.
pub(super) fn seed(job: &Job, clone: u32) -> u64 {
    job.access.randseed.wrapping_add(u64::from(clone).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// The clone, without its files.
pub(super) fn job(job: &Job, clone: u32, outline: Outline) -> RigJob {
    let workload = workload(job, clone, &outline);
    let source = Rounds::new(outline, checks(job), job.files.unlink_each_loop);
    let ends_all = match &job.schedule {
        schedule if schedule.exitall => EndsAll::Always,
        schedule if schedule.exitall_on_error => EndsAll::OnError,
        _ => EndsAll::Never,
    };
    RigJob {
        issue: issue(job, clone),
        start: Start { delay_ns: start_ns(job, clone), after: 0..0, ends_all },
        placement: placement(job, clone),
        ..RigJob::new(workload, Box::new(source))
    }
}

fn workload(job: &Job, clone: u32, outline: &Outline) -> Workload {
    let rw = job.access.rw;
    let percent = job.access.mix_read_percent;
    let writes = rw.writes() && !job.verify.only;
    let reads = rw.reads() || job.verify.only;
    let mix = match (reads, writes, rw.trims()) {
        (true, true, _) => Mix { read: percent, write: 100 - percent, flush: 0, discard: 0 },
        (_, write, trim) => {
            Mix { read: reads.into(), write: write.into(), flush: 0, discard: trim.into() }
        }
    };
    let region = match outline.files[..] {
        [(start, bytes)] => Region { start, bytes },
        _ => Region { start: 0, bytes: (outline.files.len() as u64) << outline.shift },
    };
    let pattern = if rw.random() { Pattern::Uniform } else { Pattern::Sequential };
    let largest = job.access.max_bs() as u32;
    let depth = if job.engine.asynchronous() { job.queue.depth } else { 1 };
    Workload {
        blocks: BlockSizes::Split(vec![(grid(job), 1), (largest, 1)]),
        pacing: pacing(job),
        depth,
        batch: job.queue.batch.clamp(1, depth),
        stop: Stop {
            time_ns: job.schedule.runtime.map(|t| t.as_nanos() as u64),
            ..Stop::default()
        },
        flush_at_end: writes && (job.syncing.end_fsync || job.syncing.fsync_on_close),
        caching: if job.syncing.direct { Caching::Bypass } else { Caching::Buffered },
        verify: verifies(job) && job.engine != Engine::Null,
        proof: proof::proof(job, grid(job)),
        seed: seed(job, clone),
        ..Workload::new(job.name.clone(), pattern, mix, largest, region)
    }
}

/// What of its writes a job reads back.
fn checks(job: &Job) -> Checks {
    let verify = &job.verify;
    let writes = job.access.rw.writes() && !verify.only;
    if !writes || verify.kind == VerifyKind::None || !verify.do_verify {
        return Checks::None;
    }
    let Some(backlog) = verify.backlog else { return Checks::Rounds };
    let blocks = usize::try_from(backlog).unwrap_or(usize::MAX).max(1);
    let batch = verify.backlog_batch.and_then(|batch| usize::try_from(batch).ok());
    Checks::Backlog { blocks, batch: batch.unwrap_or(blocks).max(1) }
}

/// What every offset and size is a multiple of.
pub(super) fn grid(job: &Job) -> u32 {
    let access = &job.access;
    let sizes = access.blocks.each().map(Blocks::min).into_iter();
    let parts = sizes.chain(access.block_align.each().map(|align| *align));
    let grid = parts.filter(|n| *n > 0).fold(0, gcd);
    if access.bs_unaligned { 1 } else { grid.max(1) as u32 }
}

/// The greatest common divisor; that of 0 and a number is the number.
pub(super) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Operations per second of each direction that has a rate.
fn rates(job: &Job) -> PerKind<Option<f64>> {
    let mean = |blocks: &Blocks| match blocks {
        Blocks::Fixed(bytes) => *bytes as f64,
        // Even between the bounds, where what lies above is cut to the upper.
        Blocks::Range { min, max } => (*min + *max) as f64 / 2.0,
        Blocks::Split(shares) => {
            let sum = shares.iter().map(|s| s.bytes as f64 * f64::from(s.percent)).sum::<f64>();
            sum / shares.iter().map(|s| f64::from(s.percent)).sum::<f64>().max(1.0)
        }
    };
    let by_bytes = |rate: Option<u64>, blocks: &Blocks| rate.map(|rate| rate as f64 / mean(blocks));
    let (pace, blocks) = (&job.pace, &job.access.blocks);
    let one = |ops: Option<u32>, bytes, blocks| ops.map(f64::from).or(by_bytes(bytes, blocks));
    let rw = job.access.rw;
    let used = |used: bool, rate: Option<f64>| rate.filter(|_| used);
    PerKind {
        read: used(rw.reads(), one(pace.rate_iops.read, pace.rate.read, &blocks.read)),
        write: used(rw.writes(), one(pace.rate_iops.write, pace.rate.write, &blocks.write)),
        trim: used(rw.trims(), one(pace.rate_iops.trim, pace.rate.trim, &blocks.trim)),
    }
}

/// Whether only one of two directions has a rate.
pub(super) fn half_rated(job: &Job) -> bool {
    let rates = rates(job);
    job.access.rw.reads() && job.access.rw.writes() && rates.read.is_some() != rates.write.is_some()
}

fn pacing(job: &Job) -> Pacing {
    // The direction that has one keeps it by itself.
    match half_rated(job) {
        true => Pacing::Closed,
        false => schedule(job, rates(job).each().into_iter().flatten().sum()),
    }
}

fn schedule(job: &Job, rate: f64) -> Pacing {
    match job.pace.process {
        _ if rate == 0.0 => Pacing::Closed,
        RateProcess::Linear => Pacing::Fixed { rate },
        RateProcess::Poisson => Pacing::Poisson { rate },
    }
}

/// The schedule of the only direction of a mix that has a rate.
fn throttle(job: &Job, clone: u32) -> Option<Throttle> {
    if !half_rated(job) {
        return None;
    }
    let rates = rates(job);
    let (kind, rate) = match (rates.read, rates.write) {
        (Some(rate), _) => (0, rate),
        (None, rate) => (1, rate?),
    };
    Some(Throttle::new(kind, Open::new(&schedule(job, rate), 0, 1, seed(job, clone))))
}

fn think(job: &Job) -> Option<Think> {
    let think = job.pace.think;
    let nanos = |time: std::time::Duration| time.as_nanos() as u64;
    (!think.time.is_zero()).then(|| Think {
        every: think.blocks,
        period_ns: Some(nanos(think.iotime)).filter(|period| *period > 0),
        pause_ns: nanos(think.time),
        spin_ns: nanos(think.spin),
        moves_schedule: job.pace.ignore_thinktime,
    })
}

/// The share of reads of a mix whose directions have rates: that of the rates.
fn mix_read_percent(job: &Job) -> u32 {
    match rates(job) {
        PerKind { read: Some(read), write: Some(write), .. } => {
            (100.0 * read / (read + write)).round() as u32
        }
        _ => job.access.mix_read_percent,
    }
}

fn backend(engine: Engine) -> BackendKind {
    match engine {
        Engine::IoUring | Engine::Posixaio => BackendKind::Uring,
        Engine::Libaio => BackendKind::Aio,
        Engine::Null => BackendKind::Null,
        Engine::Sync | Engine::Psync | Engine::Vsync | Engine::Pvsync | Engine::Pvsync2 => {
            BackendKind::Psync
        }
        Engine::Mmap => BackendKind::Mmap,
    }
}

fn start_ns(job: &Job, clone: u32) -> u64 {
    let delay = job.schedule.startdelay;
    let (low, high) = (delay.low.as_nanos() as u64, delay.high.as_nanos() as u64);
    let draw = seed(job, clone).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    low + ((u128::from(draw) * u128::from(high.saturating_sub(low) + 1)) >> 64) as u64
}

fn issue(job: &Job, clone: u32) -> Issue {
    let queue = &job.queue;
    let drained = queue.depth.saturating_sub(queue.low);
    let each = job.logs.average.is_zero();
    let (logs, flow) = (&job.logs, job.pace.flow);
    Issue {
        backend: Some(backend(job.engine)),
        ramp_ns: job.schedule.ramp_time.as_nanos() as u64,
        complete_min: queue.complete_min.max(drained).max(1),
        // Those it goes on after are forgiven by its rules.
        failures_max: 1,
        log: each && (logs.bw.is_some() || logs.iops.is_some() || logs.lat.is_some()),
        flush_uncounted: true,
        think: think(job),
        serialize_overlap: queue.serialize_overlap,
        fadvise: job.files.fadvise != FadviseHint::None,
        fault_ends: job.verify.fatal,
        dump: job.verify.dump,
        fsync: job.syncing.fdatasync == 0 || job.syncing.fsync > 0,
        flow: (flow.weight > 0).then(|| FlowPart {
            group: flow.id,
            weight: u64::from(flow.weight),
            rest_ns: flow.sleep.as_nanos() as u64,
        }),
        priorities: priorities(job, clone),
        ..Issue::default()
    }
}

fn placement(job: &Job, clone: u32) -> Placement {
    let machine = &job.machine;
    let cpus = match machine.cpu_policy {
        CpuPolicy::Split if !machine.cpus.is_empty() => {
            vec![machine.cpus[clone as usize % machine.cpus.len()] as usize]
        }
        _ => machine.cpus.iter().map(|cpu| *cpu as usize).collect(),
    };
    Placement {
        cpus,
        nice: (machine.nice != 0).then_some(machine.nice),
        io_priority: job_priority(job),
        memory: machine.memory.clone(),
    }
}

/// Class and level of a job for the drive, where it has any.
pub(crate) fn job_priority(job: &Job) -> Option<(u8, u8)> {
    let (level, class) = (job.machine.prio, job.machine.prioclass);
    (level.is_some() || class.is_some())
        .then(|| (class.unwrap_or(CLASS_BEST_EFFORT), level.unwrap_or(0)))
}

/// Priorities of single operations, if any has one.
fn priorities(job: &Job, clone: u32) -> Option<Priorities> {
    let shares = &job.machine.priorities;
    let rule = |share: &PriorityShare| PriorityRule {
        bytes: share.bytes.map(|bytes| bytes as u32),
        percent: share.percent,
        priority: share.own.unwrap_or(0),
    };
    let rules = |shares: &[PriorityShare]| shares.iter().map(rule).collect::<Vec<_>>();
    let some = !shares.read.is_empty() || !shares.write.is_empty();
    some.then(|| Priorities {
        reads: rules(&shares.read),
        writes: rules(&shares.write),
        seed: seed(job, clone),
    })
}

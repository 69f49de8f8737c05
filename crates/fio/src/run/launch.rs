//! Converts a clone of a fio job to a job of the rig.

use std::ops::Range;

use rig::{
    Advice, BackendKind, EndsAll, FlowPart, Issue, OpenFlags, Placement, Priorities, PriorityRule,
    Start, SyncWrites, TargetInfo, bound,
};
use workload::{BlockSizes, Caching, Mix, OpKind, Pacing, Pattern, Region, Source, Stop, Workload};

use super::clones::JobClone;
use super::control::{JobRules, SharedJudgement};
use super::proof;
use super::rates;
use super::replay::Repetition;
use super::rounds::{Checks, Rounds};
use super::stream::Outline;
use crate::{CpuPolicy, Engine, FadviseHint, IoLog, Job, SyncMode, VerifyKind};

/// The job of a clone, which starts after the jobs numbered `after`, and the judgement that its
/// control will fill in. `node_cpus` are the processors of the NUMA nodes named by the job.
pub(super) fn launch(
    clone: &JobClone<'_>,
    after: Range<usize>,
    node_cpus: Vec<usize>,
) -> (rig::Job, SharedJudgement) {
    let (job, outline) = (clone.job, clone.outline());
    let workload = workload(clone, &outline);
    let rules = JobRules::new(job, workload.depth);
    let judgement = rules.as_ref().map(JobRules::judgement).unwrap_or_default();
    let source: Box<dyn Source> = match &job.replay {
        Some(replay) => {
            let checks = job.verify.kind != VerifyKind::None && job.verify.do_verify;
            Box::new(Repetition::new(replay, clone.number, outline.shift, checks))
        }
        None => Box::new(Rounds::new(outline, checks(job), job.files.unlink_each_loop)),
    };
    let launched = rig::Job {
        issue: issue(clone),
        files: if job.engine.moves_data() { clone.files.clone() } else { Vec::new() },
        start: Start { delay_ns: delay_ns(clone), after, ends_all: ends_all(job) },
        placement: placement(clone, node_cpus),
        control: rules.map(|rules| Box::new(rules) as Box<dyn rig::JobControl>),
        ..rig::Job::new(workload, source)
    };
    (launched, judgement)
}

/// Maximum bytes that a clone writes: in its passes, its number of operations, and its time at the
/// rate of the target and its own. `u64::MAX` if it has no limit.
pub(super) fn write_bytes_max(clone: &JobClone<'_>, target: &TargetInfo) -> u64 {
    let (job, outline) = (clone.job, clone.outline());
    if !clone.writes() || !job.engine.moves_data() {
        return 0;
    }
    if let Some(log) = clone.log() {
        return log.bytes(OpKind::Write);
    }
    let pass_bytes = outline.bytes_max();
    let ops_bytes = outline.ops_max.unwrap_or(u64::MAX).saturating_mul(job.access.max_bs());
    let time_bytes = job.schedule.runtime.map(|time| {
        let ns = (job.schedule.ramp_time + time).as_nanos() as u64;
        // Reads and writes may have different sizes, so the bound of a mix is that of its writes.
        let alone = Workload { mix: Mix::WRITE, ..workload(clone, &outline) };
        bound::written_max(&Workload { stop: Stop::after_ns(ns), ..alone }, target)
    });
    [pass_bytes, time_bytes].into_iter().flatten().fold(ops_bytes, u64::min)
}

fn workload(clone: &JobClone<'_>, outline: &Outline) -> Workload {
    let job = clone.job;
    let region = match &clone.files[..] {
        [used] => used.region,
        _ => Region { start: 0, bytes: (outline.files.len() as u64) << outline.shift },
    };
    let pattern = if job.access.rw.random() { Pattern::Uniform } else { Pattern::Sequential };
    // A range of sizes may exceed a small file, in which only the smaller ones are drawn.
    let largest = job.access.max_bs().min(region.bytes).max(job.access.min_bs()) as u32;
    let (grid, largest) = (job.grid(), clone.log().map_or(largest, IoLog::largest));
    let depth = if job.engine.asynchronous() { job.queue.depth } else { 1 };
    let pacing = match &job.replay {
        Some(replay) if !replay.no_stall => Pacing::Source,
        _ => rates::pacing(job),
    };
    Workload {
        blocks: BlockSizes::Split(vec![(grid, 1), (largest, 1)]),
        content: clone.content.clone(),
        pacing,
        depth,
        batch: job.queue.batch.clamp(1, depth),
        stop: Stop {
            time_ns: job.schedule.runtime.map(|t| t.as_nanos() as u64),
            ..Stop::default()
        },
        flush_at_end: clone.writes() && job.syncing.flushes_at_end(),
        caching: if job.syncing.direct { Caching::Bypass } else { Caching::Buffered },
        verify: job.verifies() && job.engine.moves_data() && !reads_of_mix_only(clone),
        proof: proof::proof(job, grid),
        seed: clone.seed(),
        ..Workload::new(job.name.clone(), pattern, mix(clone), largest, region)
    }
}

/// Whether a mix has no writes. As in fio, the reads of a mix are not verified.
fn reads_of_mix_only(clone: &JobClone<'_>) -> bool {
    let (rw, percent) = (clone.job.access.rw, clone.job.access.mix_read_percent);
    rw.reads() && rw.writes() && percent == 100 && !clone.job.verify.only
}

fn mix(clone: &JobClone<'_>) -> Mix {
    if let Some(log) = clone.log() {
        // Shares of a million, because a log may be longer than a share can count.
        let total = log.ops.len() as u64;
        let [read, write, flush, discard] =
            OpKind::ALL.map(|kind| (log.count(kind) * 1_000_000).div_ceil(total) as u32);
        return Mix { read, write, flush, discard };
    }
    let (rw, percent) = (clone.job.access.rw, clone.job.access.mix_read_percent);
    let reads = rw.reads() || clone.job.verify.only;
    // verify_only leaves out the trims of writes, too.
    let trims = rw.trims() && !(rw.writes() && clone.job.verify.only);
    match (reads, clone.writes(), trims) {
        (true, true, _) => Mix { read: percent, write: 100 - percent, flush: 0, discard: 0 },
        (_, write, trim) => {
            Mix { read: reads.into(), write: write.into(), flush: 0, discard: trim.into() }
        }
    }
}

/// The writes that a job reads back.
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

fn issue(clone: &JobClone<'_>) -> Issue {
    let (job, queue) = (clone.job, &clone.job.queue);
    let drained = queue.depth.saturating_sub(queue.low);
    let flow = job.pace.flow;
    Issue {
        backend: Some(backend(job.engine)),
        ramp_ns: job.schedule.ramp_time.as_nanos() as u64,
        complete_min: queue.complete_min.max(drained).max(1),
        // The control forgives errors after which the job continues.
        failures_max: 1,
        log: clone.logs_each_op(),
        flush_uncounted: true,
        fault_ends: job.verify.fatal,
        dump: job.verify.dump,
        salt: clone.salt(),
        fadvise: job.files.fadvise != FadviseHint::None,
        think: rates::think(job),
        times_submission: clone.times_submission(),
        serialize_overlap: queue.serialize_overlap,
        fsync: job.flushes_metadata(),
        flow: (flow.weight > 0).then(|| FlowPart {
            group: flow.id,
            weight: u64::from(flow.weight),
            rest_ns: flow.sleep.as_nanos() as u64,
        }),
        priorities: priorities(clone),
        open: open(job),
        small_pages: clone.as_is,
        ring: queue.ring,
    }
}

fn backend(engine: Engine) -> BackendKind {
    match engine {
        Engine::IoUring => BackendKind::Uring,
        Engine::Posixaio => BackendKind::Posixaio,
        Engine::Libaio => BackendKind::Aio,
        Engine::Null | Engine::Names(_) => BackendKind::Null,
        Engine::Sync | Engine::Psync | Engine::Vsync | Engine::Pvsync | Engine::Pvsync2 => {
            BackendKind::Psync
        }
        Engine::Mmap => BackendKind::Mmap,
    }
}

fn open(job: &Job) -> OpenFlags {
    let reads_back = job.verify.kind != VerifyKind::None;
    let reads = job.engine == Engine::Mmap || job.reads() || reads_back || job.files.pre_read;
    let advice = match (job.files.fadvise, job.access.rw.random()) {
        (FadviseHint::None, _) => None,
        (FadviseHint::ByWorkload, true) | (FadviseHint::Random, _) => Some(Advice::Random),
        (FadviseHint::ByWorkload, false) | (FadviseHint::Sequential, _) => Some(Advice::Sequential),
        (FadviseHint::NoReuse, _) => Some(Advice::NoReuse),
    };
    OpenFlags {
        read: reads || !job.changes(),
        write: job.changes(),
        sync: match job.syncing.sync {
            SyncMode::None => SyncWrites::None,
            SyncMode::Sync => SyncWrites::All,
            SyncMode::Dsync => SyncWrites::Data,
        },
        pre_read: job.files.pre_read,
        invalidate: job.files.invalidate,
        advice,
    }
}

/// Priorities of single operations, if any has one.
fn priorities(clone: &JobClone<'_>) -> Option<Priorities> {
    let shares = &clone.job.machine.priorities;
    let [reads, writes] = [&shares.read, &shares.write].map(|shares| {
        let rules = shares.iter().map(|share| PriorityRule {
            bytes: share.bytes.map(|bytes| bytes as u32),
            percent: share.percent,
            priority: share.own.unwrap_or(0),
        });
        rules.collect::<Vec<_>>()
    });
    let has_rules = !reads.is_empty() || !writes.is_empty();
    has_rules.then(|| Priorities { reads, writes, seed: clone.seed() })
}

fn delay_ns(clone: &JobClone<'_>) -> u64 {
    let delay = clone.job.schedule.startdelay;
    let (low, high) = (delay.low.as_nanos() as u64, delay.high.as_nanos() as u64);
    let draw = clone.seed().wrapping_mul(0xbf58_476d_1ce4_e5b9);
    low + ((u128::from(draw) * u128::from(high.saturating_sub(low) + 1)) >> 64) as u64
}

fn ends_all(job: &Job) -> EndsAll {
    match &job.schedule {
        schedule if schedule.exitall => EndsAll::Always,
        schedule if schedule.exitall_on_error => EndsAll::OnError,
        _ => EndsAll::Never,
    }
}

fn placement(clone: &JobClone<'_>, node_cpus: Vec<usize>) -> Placement {
    let machine = &clone.job.machine;
    let cpus = match machine.cpu_policy {
        _ if !node_cpus.is_empty() => node_cpus,
        CpuPolicy::Split if !machine.cpus.is_empty() => {
            vec![machine.cpus[clone.number as usize % machine.cpus.len()] as usize]
        }
        _ => machine.cpus.iter().map(|cpu| *cpu as usize).collect(),
    };
    Placement {
        cpus,
        nice: (machine.nice != 0).then_some(machine.nice),
        io_priority: clone.job.io_priority(),
        memory: machine.memory.clone(),
    }
}

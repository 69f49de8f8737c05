//! Decisions that require all options of a job: sizes derived from three options, a queue's batches
//! limited by its depth, options that imply or exclude others.

use std::sync::Arc;

use workload::units::gcd;

use super::draft::JobDraft;
use super::iolog::Mapping;
use super::job::is_drive;
use super::options;
use super::value::Parsed;
use super::{
    Blocks, Distribution, Engine, IoLog, Job, PerKind, PriorityShare, Replay, RingFeatures, Rw,
    StridedZone, VerifyKind, World,
};

/// Maximum number of clones in a plan, as in fio.
pub(crate) const CLONES_MAX: u32 = 4096;

/// Size of the header that fio writes in each verify interval, bytes.
const HEADER_BYTES: u64 = 48;

/// Smallest `verify_offset` of fio other than 0, bytes: its header without checksum.
const VERIFY_OFFSET_MIN: u64 = 40;

/// Resolves a job. An error names the option.
pub(crate) fn job(draft: &JobDraft, world: &dyn World, notes: &mut Vec<String>) -> Parsed<Job> {
    let mut job = draft.job.clone();
    blocks(draft, &mut job, notes)?;
    queue(draft, &mut job)?;
    files(draft, &mut job, world);
    replay(draft, &mut job, world)?;
    time(&mut job, notes);
    flushes(&job, notes);
    pace(&mut job)?;
    zone(draft, &mut job)?;
    verify(draft, &mut job, notes)?;
    content(draft, &mut job)?;
    logs(&mut job)?;
    steady(draft, &mut job)?;
    job.latency_target = Some(draft.latency).filter(|latency| !latency.target.is_zero());
    priorities(draft, &mut job)?;
    if let (Some(super::Amount::Bytes(size)), least) = (job.space.size, job.access.min_bs())
        && size < least
    {
        return Err(format!("size={size} is smaller than the smallest block, {least} bytes"));
    }
    Ok(job)
}

fn blocks_of_kind(split: &[super::Share], range: Option<(u64, u64)>, bs: u64) -> Blocks {
    match range {
        _ if !split.is_empty() => Blocks::Split(split.to_vec()),
        Some((min, max)) if min < max => Blocks::Range { min, max },
        Some((min, _)) => Blocks::Fixed(min),
        None => Blocks::Fixed(bs),
    }
}

fn blocks(draft: &JobDraft, job: &mut Job, notes: &mut Vec<String>) -> Parsed<()> {
    let access = &mut job.access;
    access.blocks = PerKind {
        read: blocks_of_kind(&draft.split.read, draft.range.read, draft.bs.read),
        write: blocks_of_kind(&draft.split.write, draft.range.write, draft.bs.write),
        trim: blocks_of_kind(&draft.split.trim, draft.range.trim, draft.bs.trim),
    };
    let block_min = access.blocks.clone().map(|blocks| blocks.min());
    let align = |align: u64, min: u64| if access.rw.random() && align > 0 { align } else { min };
    access.block_align = PerKind {
        read: align(draft.align.read, block_min.read),
        write: align(draft.align.write, block_min.write),
        trim: align(draft.align.trim, block_min.trim),
    };
    if access.block_align != block_min && !access.norandommap {
        access.norandommap = true;
        notes.push("blockalign= disables the random map (norandommap), as in fio".into());
    }
    access.norandommap |= access.distribution != Distribution::Random;
    sprandom(draft, job)
}

/// fio's rules for `sprandom`.
fn sprandom(draft: &JobDraft, job: &mut Job) -> Parsed<()> {
    let words = &draft.sprandom;
    if !words.is_given {
        return Ok(());
    }
    let access = &mut job.access;
    if access.rw != Rw::RandWrite {
        return Err("sprandom=1 needs rw=randwrite".into());
    }
    if words.lfsr == Some(false) || words.norandommap == Some(false) {
        return Err("sprandom=1 needs random_generator=lfsr and norandommap=1".into());
    }
    if !matches!(access.blocks.write, Blocks::Fixed(_)) || draft.nrfiles != 1 {
        return Err("sprandom=1 takes one file and one block size".into());
    }
    (access.lfsr, access.norandommap) = (true, true);
    access.sprandom = Some(words.model);
    Ok(())
}

/// Resolves the shares of operations that have their own priority: class, hint and level.
fn priority_shares(percent: u32, by_size: &[PriorityShare], own: u16) -> Vec<PriorityShare> {
    let any_size = PriorityShare { bytes: None, percent, own: None };
    let shares = by_size.iter().copied().chain([any_size]).filter(|share| share.percent > 0);
    shares.map(|share| PriorityShare { own: share.own.or(Some(own)), ..share }).collect()
}

fn priorities(draft: &JobDraft, job: &mut Job) -> Parsed<()> {
    let words = &draft.priority;
    let priorities = [0, 1].map(|side| {
        let [class, level, hint] =
            [&words.class, &words.level, &words.hint].map(|values| *values.each()[side]);
        options::packed(class, level, hint)
    });
    let shares = PerKind {
        read: priority_shares(words.percent.read, &words.by_size.read, priorities[0]),
        write: priority_shares(words.percent.write, &words.by_size.write, priorities[1]),
        trim: Vec::new(),
    };
    let percent = words.percent.read > 0 || words.percent.write > 0;
    if percent && words.by_size.each().iter().any(|list| !list.is_empty()) {
        return Err("cmdprio_percentage and cmdprio_bssplit cannot be combined".into());
    }
    let has_shares = !shares.read.is_empty() || !shares.write.is_empty();
    if has_shares && !matches!(job.engine, Engine::Libaio | Engine::IoUring) {
        let engine = job.engine.name();
        return Err(format!("cmdprio works with libaio and io_uring, not with {engine}"));
    }
    job.machine.priorities = shares;
    Ok(())
}

/// At most the depth; 0 stands for it.
fn bounded(count: u32, depth: u32) -> u32 {
    if count == 0 { depth } else { count.min(depth) }
}

fn queue(draft: &JobDraft, job: &mut Job) -> Parsed<()> {
    // With offload, fio's threads give even a synchronous engine a queue depth.
    if draft.offload && !job.engine.asynchronous() && job.queue.depth > 1 {
        let engine = job.engine.name();
        return Err(format!("io_submit_mode=offload is not supported with ioengine={engine}"));
    }
    let queue = &mut job.queue;
    (queue.batch, queue.low) = (bounded(draft.batch, queue.depth), bounded(draft.low, queue.depth));
    queue.complete_max = draft.complete_max.max(queue.complete_min);
    let changes = job.access.rw.writes() || job.access.rw.trims();
    queue.serialize_overlap &= changes && queue.depth > 1;
    if queue.ring != RingFeatures::default() && job.engine != Engine::IoUring {
        let engine = job.engine.name();
        let text = "sqthread_poll, hipri and force_async need ioengine=io_uring";
        return Err(format!("{text}, not {engine}"));
    }
    Ok(())
}

fn files(draft: &JobDraft, job: &mut Job, world: &dyn World) {
    let files = &mut job.files;
    files.nrfiles = draft.nrfiles;
    let special = is_drive(&job.section) || world.is_special(&job.section);
    if files.names.is_empty() && files.nrfiles == 1 && special {
        files.names.push(job.section.clone());
    }
    if !files.names.is_empty() {
        files.nrfiles = files.nrfiles.min(files.names.len() as u32);
    }
    files.openfiles = match draft.openfiles {
        0 => files.nrfiles,
        open => open.min(files.nrfiles),
    };
    files.overwrite |= job.access.rw.reads();
    files.invalidate &= !files.pre_read;
}

/// Reads the I/O logs of the job. Their files are its only ones.
fn replay(draft: &JobDraft, job: &mut Job, world: &dyn World) -> Parsed<()> {
    let words = &draft.replay;
    if words.logs.is_empty() {
        return Ok(());
    }
    let mapping = Mapping {
        scale: u64::from(words.scale),
        align: words.align,
        skips: &words.skips,
        redirect: words.redirect.as_deref(),
    };
    let mut logs = Vec::new();
    for path in &words.logs {
        let wrong = |why: String| format!("read_iolog={path}: {why}");
        let bytes = world.read_log(path).map_err(|error| wrong(error.to_string()))?;
        let log = IoLog::read(&bytes).map_err(wrong)?;
        logs.push(Arc::new(log.mapped(mapping)));
    }
    if logs.iter().any(|log| log.ops.is_empty()) {
        return Err("replay_skip leaves no operation of the log".into());
    }
    let mut names: Vec<_> = logs.iter().flat_map(|log| log.files.iter().cloned()).collect();
    names.sort_unstable();
    names.dedup();
    job.files.nrfiles = names.len() as u32;
    (job.files.openfiles, job.files.names) = (job.files.nrfiles, names);
    let (no_stall, time_scale) = (words.no_stall, words.time_scale);
    job.replay = Some(Replay { logs, no_stall, time_scale });
    Ok(())
}

fn time(job: &mut Job, notes: &mut Vec<String>) {
    let schedule = &mut job.schedule;
    if schedule.time_based && schedule.runtime.is_none() {
        schedule.time_based = false;
        notes.push("time_based has no effect without runtime=, as in fio".into());
    }
}

fn flushes(job: &Job, notes: &mut Vec<String>) {
    let syncing = &job.syncing;
    if syncing.fsync > 0 && syncing.fdatasync > 0 && job.access.rw.writes() {
        notes.push("every flush is an fsync, because of fsync= together with fdatasync=".into());
    }
}

fn pace(job: &mut Job) -> Parsed<()> {
    let pace = &mut job.pace;
    let has_rate = pace.rate.each().iter().any(|rate| rate.is_some());
    if has_rate && pace.rate_iops.each().iter().any(|rate| rate.is_some()) {
        return Err("rate= and rate_iops= cannot be combined".into());
    }
    let [iops_min, iops] =
        [pace.rate_iops_min, pace.rate_iops].map(|rates| rates.map(|rate| rate.map(u64::from)));
    for (error, rate_min, rate) in [
        ("rate_min= exceeds rate=", pace.rate_min, pace.rate),
        ("rate_iops_min= exceeds rate_iops=", iops_min, iops),
    ] {
        let mut pairs = rate_min.each().into_iter().zip(rate.each());
        if pairs.any(|(min, rate)| min.zip(*rate).is_some_and(|(min, rate)| min > rate)) {
            return Err(error.into());
        }
    }
    pace.think.spin = pace.think.spin.min(pace.think.time);
    if pace.think.blocks.is_none() && pace.think.iotime.is_zero() {
        pace.think.blocks = Some(1);
    }
    Ok(())
}

fn zone(draft: &JobDraft, job: &mut Job) -> Parsed<()> {
    let words = draft.zone;
    match (words.strided, words.size) {
        (false, 0) => return Ok(()),
        (false, _) => return Err("zonesize= needs zonemode=strided".into()),
        (true, 0) => return Err("zonemode=strided needs zonesize=".into()),
        (true, _) => {}
    }
    // As in fio: more than one open file, if asked for, drops the zones.
    if draft.openfiles <= 1 {
        let range = if words.range == 0 { words.size } else { words.range };
        job.access.zone = Some(StridedZone { size: words.size, range, skip: words.skip });
    }
    Ok(())
}

fn verify(draft: &JobDraft, job: &mut Job, notes: &mut Vec<String>) -> Parsed<()> {
    let verify = &mut job.verify;
    verify.kind = draft.verify.unwrap_or_default();
    if verify.kind == VerifyKind::None {
        return Ok(());
    }
    let pattern = matches!(verify.kind, VerifyKind::Pattern | VerifyKind::PatternHeader);
    if pattern && verify.pattern.is_none() {
        return Err("verify=pattern needs verify_pattern=".into());
    }
    let writes = &job.access.blocks.write;
    let (least, most) = (writes.min(), writes.max());
    let mut interval = draft.verify_interval;
    if most != least && interval == 0 {
        interval = least;
    }
    if interval > least {
        interval = least;
    } else if job.access.rw.reads() {
        interval = interval.min(job.access.blocks.read.min());
    }
    if interval == 0 || least % interval != 0 || most % interval != 0 {
        interval = gcd(least, most);
    }
    verify.interval = interval;
    if let Some(pattern) = &mut verify.pattern {
        pattern.restart_bytes = verify.pattern_interval;
    }
    // Headers in each sector would change content that is meant to repeat.
    let repeats = verify.pattern.is_some() || (1..100).contains(&job.content.compress_percent);
    verify.placed = draft.verify_interval > 0 || verify.offset > 0 || repeats;
    if (1..VERIFY_OFFSET_MIN).contains(&verify.offset) {
        let offset = verify.offset;
        return Err(format!("verify_offset={offset} is less than fio's {VERIFY_OFFSET_MIN}"));
    }
    let headerless = matches!(verify.kind, VerifyKind::Pattern | VerifyKind::Null);
    if !headerless && verify.offset + HEADER_BYTES > interval {
        return Err(format!(
            "verify_offset={}: the header would not fit into the interval of {interval} bytes",
            verify.offset
        ));
    }
    if job.access.rw.writes()
        && !job.access.rw.reads()
        && verify.do_verify
        && job.schedule.time_based
        && verify.backlog.is_none()
    {
        notes.push(
            "written data are read back after the runtime; fio reads nothing back in this case"
                .into(),
        );
    }
    Ok(())
}

fn content(draft: &JobDraft, job: &mut Job) -> Parsed<()> {
    let content = &mut job.content;
    content.refill = match draft.refill {
        Some(refill) => refill,
        None if content.pattern.is_some() => content.compress_percent > 0 || job.access.rw.reads(),
        None => (1..100).contains(&content.compress_percent) || job.verify.kind != VerifyKind::None,
    };
    content.refill |= content.dedupe_percent > 0;
    // Fully compressible content is zeroes.
    if content.compress_percent == 100 {
        (content.zero, content.compress_percent) = (true, 0);
    }
    // As in fio, content with shares has no zeroes but those of the shares.
    content.zero &= content.compress_percent == 0 && content.dedupe_percent == 0;
    if content.dedupe_percent > 0 && content.dedupe_set {
        working_set(job)?;
    }
    Ok(())
}

/// fio's rules for copies from a set of blocks.
fn working_set(job: &Job) -> Parsed<()> {
    let content = &job.content;
    if job.space.size.is_none() {
        return Err("dedupe_mode=working_set needs size=: the set is a percentage of it".into());
    }
    if job.files.nrfiles != 1 {
        return Err(format!("dedupe_mode=working_set takes one file, not {}", job.files.nrfiles));
    }
    let (copies, set) = (content.dedupe_percent, content.dedupe_set_percent);
    match copies + set {
        ..=100 => Ok(()),
        _ => Err(format!(
            "dedupe_percentage={copies} cannot be reached if the working set, {set}%, is unique"
        )),
    }
}

/// Gives logs without a prefix the job's name.
fn logs(job: &mut Job) -> Parsed<()> {
    let logs = &mut job.logs;
    if logs.compressed && logs.histogram.is_some() {
        return Err("log_store_compressed and write_hist_log cannot be combined".into());
    }
    for log in [&mut logs.bw, &mut logs.iops, &mut logs.lat, &mut logs.histogram] {
        if log.as_deref() == Some("") {
            *log = Some(job.name.clone());
        }
    }
    let reporting = &mut job.reporting;
    reporting.slat_percentiles &= !reporting.disable_slat;
    reporting.lat_percentiles &= !reporting.disable_lat;
    reporting.clat_percentiles &= !reporting.disable_clat;
    Ok(())
}

fn steady(draft: &JobDraft, job: &mut Job) -> Parsed<()> {
    let steady = draft.steady;
    if steady.duration.is_zero() {
        return Ok(());
    }
    let (duration, interval) = (steady.duration.as_micros(), steady.interval.as_micros());
    if interval < 1_000_000 {
        return Err("ss_interval= must be at least 1 s".into());
    }
    if duration <= interval || duration % interval != 0 {
        return Err("ss_dur= must be a multiple of ss_interval=, and at least twice as long".into());
    }
    job.steady = Some(steady);
    Ok(())
}

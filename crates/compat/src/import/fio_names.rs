//! What fio's formats have in common: the options of a job, the names of its figures, and notes.
//!
//! A name says what happened, not what was asked: a synchronous engine issues one operation at a
//! time whatever `iodepth` says, and a queue that was never full has the depth it reached.

use record::{DriveIdentity, Finding, FindingKind, Level, MetricKey, Run, Statistic, Unit};

use super::found::{WorkloadShape, note, put, put_quantiles};

/// Directions in fio's order. `mixed` is the sum of the others (`--unified_rw_reporting`).
pub(crate) const DIRECTIONS: [&str; 4] = ["read", "write", "trim", "mixed"];

/// Index of `mixed`.
pub(crate) const MIXED: usize = 3;

/// Options of a job that its figures are named after.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub rw: String,
    /// Block sizes of reads, writes and trims, if constant, in bytes.
    pub blocks: [Option<u64>; 3],
    pub depth: Option<u32>,
    pub engine: Option<String>,
    /// Jobs whose results are one.
    pub jobs: u64,
}

/// The shape of a job's figures in a direction, and the word for the direction.
pub(crate) fn shape(
    job: Option<&Job>,
    direction: usize,
    bare: &WorkloadShape,
) -> (WorkloadShape, &'static str) {
    let Some(job) = job else {
        let word = if direction == MIXED { "both" } else { DIRECTIONS[direction] };
        return (bare.clone(), word);
    };
    let is_mix = job.rw.ends_with("rw") || job.rw == "readwrite" || job.rw.ends_with("trimwrite");
    // The sum of one direction is that direction.
    let single = DIRECTIONS[..MIXED].iter().position(|word| job.rw.ends_with(word));
    let sum = if is_mix { None } else { single };
    let side = if direction == MIXED { sum } else { Some(direction) };
    let block = match side {
        Some(side) => job.blocks[side],
        None => job.blocks[0].filter(|bytes| job.blocks[1] == Some(*bytes)),
    };
    let shape = WorkloadShape {
        random: job.rw.starts_with("rand"),
        mixed: is_mix,
        block_bytes: block,
        depth: job.depth,
        jobs: job.jobs,
        extra: None,
    };
    (shape, side.map_or("both", |side| DIRECTIONS[side]))
}

/// Engines that issue one operation at a time.
const SYNCHRONOUS: [&str; 6] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"];

/// Replaces the depth asked for by the depth reached, and reports it. `depths` are the shares in
/// percent of the depths up to 1, 2, 4, 8, 16 and 32, and of those above.
pub(crate) fn engine_depth(run: &mut Run, job: &mut Job, depths: &[f64]) {
    let Some(requested) = job.depth.filter(|depth| *depth > 1) else { return };
    let deepest = depths.iter().rposition(|share| *share > 0.0).map(|i| 1u32 << i.min(30));
    let is_synchronous = job.engine.as_deref().is_some_and(|e| SYNCHRONOUS.contains(&e));
    let depth = match deepest {
        _ if is_synchronous => 1,
        // The last share is of 64 and more.
        Some(64) | None => return,
        // A share covers the depths above half of its own; the depth asked for is one of them.
        Some(deepest) if deepest >= requested => return,
        Some(deepest) => deepest,
    };
    job.depth = Some(depth);
    let text = format!("iodepth={requested} was asked for, at most {depth} was in flight");
    if !run.warnings.iter().any(|w| w.kind == FindingKind::DepthIsAFiction && w.text == text) {
        run.warnings.push(Finding::new(FindingKind::DepthIsAFiction, Level::Warn, text));
    }
}

/// Latencies of flushes: share and nanoseconds, and the longest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flushes {
    pub operations: Option<u64>,
    pub min_ns: Option<f64>,
    pub mean_ns: Option<f64>,
    pub max_ns: Option<f64>,
    pub percentiles: Vec<(f64, f64)>,
}

/// Adds the latencies of fsync, fdatasync and sync_file_range, which fio does not distinguish.
pub(crate) fn put_flushes(run: &mut Run, flushes: Option<Flushes>) {
    let Some(flushes) = flushes.filter(|flushes| flushes.max_ns.is_some_and(|ns| ns > 0.0)) else {
        return;
    };
    let names = std::iter::once("flush".to_string()).chain((2..).map(|i| format!("flush-job{i}")));
    let Some(name) = { names }
        .find(|name| run.metrics.iter().all(|metric| metric.name.split('.').next() != Some(name)))
    else {
        return;
    };
    let key = MetricKey::parse(&name);
    put_quantiles(run, &key, &flushes.percentiles, flushes.operations);
    for (statistic, ns) in [
        (Statistic::Min, flushes.min_ns),
        (Statistic::Mean, flushes.mean_ns),
        (Statistic::Max, flushes.max_ns),
    ] {
        if let Some(ns) = ns {
            put(run, key.clone().with(statistic), Unit::Nanoseconds, ns);
        }
    }
}

/// A drive known only by its kernel name.
pub(crate) fn drive(name: &str) -> DriveIdentity {
    let bus = "bus unknown".to_string();
    DriveIdentity { name: name.to_string(), bus, ..DriveIdentity::default() }
}

/// Notes on fio's numbers.
pub(crate) fn notes(run: &mut Run, jobs: usize) {
    let is_of_fio = run.origin.as_ref().is_none_or(|origin| !origin.is_own_fio());
    let latencies =
        run.metrics.iter().any(|m| m.key().statistic.is_some_and(|s| s.quantile().is_some()));
    if is_of_fio && latencies {
        note(run, FindingKind::FioClat, "latencies are fio's clat: from submission to completion");
    }
    if run.metrics.iter().any(|m| m.key().kind() == "mixed-read") {
        note(
            run,
            FindingKind::FioMix,
            "reads and writes of a fixed mix are one measurement, not two",
        );
    }
    if jobs > 1 {
        note(run, FindingKind::FioJobs, format!("{jobs} results of one fio run, in fio's order"));
    }
}

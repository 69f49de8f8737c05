//! The interval for the next run, from the earlier runs of the same test on the same drive.
//!
//! A run is comparable if drive, method, protocol, machine, backend, file system and workloads are
//! the same. What differs by nature does not count: seeds, and the size of a region that a slow
//! drive fills as far as it gets.

use analysis::{Outlook, Session, outlook};
use record::{Covers, HistoryKey, Metric, Run, TargetKind, Unit};
use serde_json::Value;
use store::Store;

/// Earlier runs that are looked at.
const RUNS_MOST: u32 = 30;

/// Regions that differ by less than this factor are of one size.
const SIZE_FACTOR: f64 = 1.25;

/// Standard deviation between runs, as a share, for drives of a class. The one of virtual machines
/// was measured (50 sessions on a disk of a virtual machine); the others are assumed, and runs of
/// the drive itself outweigh them.
const VIRTUAL: f64 = 0.005;
const IN_VIRTUAL_MACHINE: f64 = 0.15;
const CARD_OR_STICK: f64 = 0.05;
const SSD: f64 = 0.03;

/// Gives the cells of the grid the interval for the next run, in place of the range of their rounds,
/// which their samples keep. A store that cannot be read has no earlier runs.
pub(crate) fn foresee(store: &Store, number: i64, run: &mut Run) {
    let assumed = assumed(run);
    if assumed <= 0.0 {
        // Every run is the same.
        return;
    }
    let key = HistoryKey::of(&run.target, run.environment.machine_id.as_deref());
    let earlier = key.and_then(|key| store.earlier(&key, &run.method, number, RUNS_MOST).ok());
    let mut earlier = earlier.unwrap_or_default();
    earlier.retain(|other| comparable(run, other));
    let mut metrics = std::mem::take(&mut run.metrics);
    for metric in metrics.iter_mut().filter(|m| is_cell(m)) {
        let others = earlier.iter().filter_map(|other| other.metric(&metric.name));
        let runs: Vec<Session> =
            std::iter::once(&*metric).chain(others).filter_map(session).collect();
        if let Some(outlook) = outlook(&runs, assumed, ceiling(run, metric)) {
            put(metric, outlook);
        }
    }
    run.metrics = metrics;
    let tiles = run.answer.iter_mut().flat_map(|answer| &mut answer.tiles);
    for tile in tiles {
        if let Some(metric) = run.metrics.iter().find(|m| m.name == tile.metric) {
            (tile.low, tile.high) = (metric.low, metric.high);
        }
    }
}

/// Whether a metric is the rate of a cell.
fn is_cell(metric: &Metric) -> bool {
    let key = metric.key();
    let rate = matches!(metric.unit, Unit::BytesPerSecond | Unit::Iops);
    rate && metric.value.is_some() && key.is_main() && key.as_cell().is_some()
}

fn session(metric: &Metric) -> Option<Session> {
    Session::new(metric.value?, &metric.samples)
}

/// The rate that the link allows, in the unit of the metric; `None` if it is unknown, or if the value
/// shows that it is not a ceiling.
fn ceiling(run: &Run, metric: &Metric) -> Option<f64> {
    let link = run.target.drive.as_ref()?.link.as_ref()?.ceiling_bytes_per_s?;
    let ceiling = match metric.unit {
        Unit::Iops => link / metric.key().as_cell()?.block_bytes as f64,
        _ => link,
    };
    (metric.value <= Some(ceiling)).then_some(ceiling)
}

/// Without any spread there is no interval.
fn put(metric: &mut Metric, outlook: Outlook) {
    let [low, high] = outlook.next;
    if low < high {
        (metric.low, metric.high) = (Some(low), Some(high));
        (metric.covers, metric.runs) = (Some(Covers::NextRun), Some(outlook.runs));
    }
}

/// The spread between runs that is assumed for a drive of this class, as a share.
fn assumed(run: &Run) -> f64 {
    let bus = run.target.drive.as_ref().map_or("", |drive| drive.bus.as_str());
    match run.target.kind {
        // Without variation every run is the same.
        TargetKind::Virtual if run.target.spec.contains("vary=0") => 0.0,
        TargetKind::Virtual => VIRTUAL,
        _ if run.environment.hypervisor.is_some() => IN_VIRTUAL_MACHINE,
        _ if matches!(bus, "usb" | "sd" | "mmc") => CARD_OR_STICK,
        _ => SSD,
    }
}

fn comparable(run: &Run, other: &Run) -> bool {
    let test = |run: &Run| {
        let (machine, target) = (&run.environment, &run.target);
        let system = target.filesystem.as_ref().map(|system| system.kind.clone());
        (run.protocol, machine.machine_id.clone(), machine.backend.clone(), target.kind, system)
    };
    let size = |run: &Run| workloads(run).find_map(|w| w["region"]["bytes"].as_f64());
    let near = |a: f64, b: f64| a.max(b) <= SIZE_FACTOR * a.min(b);
    let sized = size(run).zip(size(other)).is_none_or(|(a, b)| near(a, b));
    test(run) == test(other) && sized && workloads(run).map(bare).eq(workloads(other).map(bare))
}

fn workloads(run: &Run) -> impl Iterator<Item = &Value> {
    run.plan.iter().flat_map(|plan| &plan.workloads)
}

/// A workload without seed and sizes.
fn bare(workload: &Value) -> Value {
    let mut bare = workload.clone();
    if let Some(fields) = bare.as_object_mut() {
        fields.retain(|name, _| name != "seed" && name != "region");
        if let Some(stop) = fields.get_mut("stop").and_then(Value::as_object_mut) {
            stop.remove("bytes");
        }
    }
    bare
}

//! Earlier runs in the store: they give the present run its interval for the next run, from the
//! same test on the same drive (see [`spread::comparable`]), and the rates of other drives on the
//! same port. They are read once for everything that is asked about them.

use analysis::{LogQuantity, Outlook, outlook};
use record::{Covers, HistoryKey, Metric, Run, TargetKind, Unit};
use rules::Neighbour;
use store::Store;

use crate::beside;
use crate::compare::is_alike;
use crate::spread;

/// Maximum number of earlier runs inspected.
const RUNS_MAX: u32 = 30;

/// Earlier runs on the drive of a run that repeat it or did the same work, the latest first. A store
/// that cannot be read counts as empty.
pub(crate) fn earlier(store: &Store, number: i64, run: &Run) -> Vec<Run> {
    let key = HistoryKey::new(&run.target, run.environment.machine_id.as_deref());
    let runs = key.map(|key| {
        store.earlier(&key, &run.method, number, RUNS_MAX, |other| {
            is_alike(run, other) || spread::comparable(run, other)
        })
    });
    runs.and_then(std::result::Result::ok).unwrap_or_default()
}

/// Replaces the range of the rounds of each grid cell by the interval for the next run, from
/// [`earlier`] runs. The samples keep that range.
pub(crate) fn foresee(earlier: &[Run], run: &mut Run) {
    if spread::prior(run) <= 0.0 {
        // All runs are identical.
        return;
    }
    let repeats = earlier.iter().filter(|other| spread::comparable(run, other));
    let repeats: Vec<&Run> = repeats.collect();
    let mut metrics = std::mem::take(&mut run.metrics);
    for metric in metrics.iter_mut().filter(|m| is_cell(m)) {
        let runs: Vec<LogQuantity> = std::iter::once(&*metric)
            .chain(repeats.iter().filter_map(|other| other.metric(&metric.name)))
            .filter_map(session)
            .collect();
        let spread = spread::prior_of_metric(run, &metric.key());
        if let Some(outlook) = outlook(&runs, spread, ceiling(run, metric)) {
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

/// Drives on the same port of this machine, as measured by the latest run of the same method on
/// each.
pub(crate) fn neighbours(store: &Store, number: i64, run: &Run) -> Vec<Neighbour> {
    let Some((machine, own_port)) = run.environment.machine_id.as_deref().zip(port(run)) else {
        return Vec::new();
    };
    let simulated = run.target.kind == TargetKind::Virtual;
    let runs = store.of_machine(machine, &run.method, number, RUNS_MAX, simulated);
    let runs = runs.unwrap_or_default();
    let neighbours =
        runs.iter().filter(|o| port(o) == Some(own_port) && o.protocol == run.protocol);
    let neighbours = neighbours.filter(|other| beside::drives(other).is_none());
    neighbours
        .filter_map(|other| {
            let model = other.target.drive.as_ref()?.model.as_deref()?;
            Some(Neighbour::new(model, &other.metrics))
        })
        .collect()
}

fn port(run: &Run) -> Option<&str> {
    run.target.drive.as_ref()?.link.as_ref()?.port.as_deref()
}

/// Whether a metric is the rate of a cell.
fn is_cell(metric: &Metric) -> bool {
    let key = metric.key();
    let rate = matches!(metric.unit, Unit::BytesPerSecond | Unit::Iops);
    rate && metric.value.is_some() && key.is_main() && key.as_cell().is_some()
}

fn session(metric: &Metric) -> Option<LogQuantity> {
    LogQuantity::new(metric.value?, &metric.samples)
}

/// The rate that the link allows, in the metric's unit; `None` if it is unknown, or if the value
/// shows that it is not a ceiling.
fn ceiling(run: &Run, metric: &Metric) -> Option<f64> {
    let link = run.target.drive.as_ref()?.link.as_ref()?.ceiling_bytes_per_s?;
    let ceiling = match metric.unit {
        Unit::Iops => link / metric.key().as_cell()?.block_bytes as f64,
        _ => link,
    };
    (metric.value <= Some(ceiling)).then_some(ceiling)
}

/// Sets the interval for the next run. Without any spread there is none.
fn put(metric: &mut Metric, outlook: Outlook) {
    let [low, high] = outlook.next;
    if low < high {
        (metric.low, metric.high) = (Some(low), Some(high));
        (metric.covers, metric.runs) = (Some(Covers::NextRun), Some(outlook.runs));
    }
}

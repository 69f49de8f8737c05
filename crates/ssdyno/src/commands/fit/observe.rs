//! What records tell of a drive: the measurements that a description can be fitted to. Pure.
//!
//! A record names its workloads in full, so that the model can be given the very same ones. Only
//! measurements whose state before is known are taken: cells of `quick` (their region was written
//! once in order), passes of `sustain`, the fresh and filled states of `states`, reads of `zones`,
//! and workloads by hand.

use model::fit::{Before, Cell, Observed, Pass};
use record::{Run, State, TargetKind, Unit};
use workload::{Mix, Pacing, Workload};

/// Beginnings of names of workloads that ran on a region written once in order.
const LAID_OUT: [&str; 5] = ["seq-", "rand-", "zones", "states-read-fresh", "states-read-restored"];

/// On a drive written once in order, and on a fresh one.
const FULL: [&str; 1] = ["states-filled"];
const FRESH: [&str; 1] = ["states-fresh"];

/// All that the records tell of the drive they are of.
pub fn observe(name: &str, runs: &[Run]) -> Observed {
    let mut observed = Observed { name: name.to_string(), ..Observed::default() };
    for run in runs {
        let drive = run.target.drive.as_ref();
        if matches!(run.target.kind, TargetKind::Device | TargetKind::Virtual) {
            observed.capacity = run.target.bytes;
        }
        if let Some(model) = drive.and_then(|d| d.model.as_ref()) {
            observed.model.clone_from(model);
        }
        let link = drive.and_then(|d| d.link.as_ref()?.ceiling_bytes_per_s);
        observed.link = link.or(observed.link);
        observed.pass = pass(run).or(observed.pass);
        observed.cells.extend(cells(run));
    }
    observed
}

fn workloads(run: &Run) -> impl Iterator<Item = Workload> {
    run.plan.workloads.iter().filter_map(|w| serde_json::from_value(w.clone()).ok())
}

/// The passes of `sustain`.
fn pass(run: &Run) -> Option<Pass> {
    let value = |name: &str| run.metric(&format!("sustain-{name}"))?.value;
    let workload = workloads(run).find(|w| w.name == "sustain-fresh")?;
    let cache = value("fresh.cache").zip(value("fresh.inside")).zip(value("fresh.after"));
    Some(Pass {
        block: workload.blocks.max(),
        depth: workload.depth,
        average: value("fresh.average")?,
        cache: cache.map(|((bytes, inside), after)| (bytes, inside, after)),
        again: value("full.average"),
    })
}

fn cells(run: &Run) -> Vec<Cell> {
    let cell = |workload: Workload| {
        let alone = workload.mix.only().is_some() && workload.jobs == 1;
        let before = before(run, &workload)?;
        let rate = rate(run, &workload)?;
        let usable = alone && workload.pacing == Pacing::Closed && rate > 0.0;
        usable.then_some(Cell { workload, before, rate })
    };
    workloads(run).filter_map(cell).collect()
}

/// The state a workload found; `None` where it is not known.
fn before(run: &Run, workload: &Workload) -> Option<Before> {
    let begins = |names: &[&str]| names.iter().any(|name| workload.name.starts_with(name));
    match () {
        () if run.method == "io" && run.state_before == State::Fresh => {
            // What was never written is not read from flash: such a rate tells of the link alone.
            (workload.mix == Mix::WRITE).then_some(Before::Fresh)
        }
        () if begins(&LAID_OUT) => Some(Before::LaidOut),
        () if begins(&FULL) => Some(Before::Full),
        () if begins(&FRESH) => Some(Before::Fresh),
        () => None,
    }
}

/// Bytes per second of a workload, the first time it ran: later rounds find data that were
/// overwritten at random in between.
fn rate(run: &Run, workload: &Workload) -> Option<f64> {
    let name = if run.method == "io" { "throughput" } else { workload.name.as_str() };
    let metric = run.metric(name)?;
    let value = *metric.samples.first()?;
    match metric.unit {
        Unit::BytesPerSecond => Some(value),
        Unit::Iops => Some(value * f64::from(workload.blocks.max())),
        _ => None,
    }
}

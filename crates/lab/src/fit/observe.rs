//! Extracts measurements from records for a fit. Pure.
//!
//! A record contains its workloads in full, so the model can run the same ones. Only measurements
//! of a drive in a known state are used: cells of `quick` and `authentic` (on a region written once
//! in order, just before or before a rest), passes of `sustain`, the fresh and filled states of
//! `states`, small random writes of `snia-iops` in steady state, ascending reads of `zones`, and
//! writes of `ssdyno io` to a fresh drive.

use methods::names::{
    STATES_READ_FRESH, STATES_READ_RESTORED, SUSTAIN_FRESH, SUSTAIN_FULL, ZONES_ASCENDING,
    ZONES_READ,
};
use model::fit::{Before, FillPass, MeasuredCell, Observed};
use record::{MetricKey, Order, Run, State, Statistic, TargetKind, Unit};
use rules::ReachedState;
use workload::{Mix, Pacing, Workload};

/// Workloads on a whole drive that was written once in order.
const FULL: [&str; 4] =
    [ZONES_ASCENDING, ReachedState::Filled.name(), STATES_READ_FRESH, STATES_READ_RESTORED];

/// Small random writes to a drive that was written at random until its rate was steady.
const STEADY: &str = "snia-iops-4KiB-r0";

/// A fall in rate beyond this fraction of the drive is not the end of a cache.
const LAST_FALL: f64 = 0.9;

/// The measurements in all records, which are of one drive.
pub(super) fn observe(name: &str, runs: &[Run]) -> Observed {
    let mut observed = Observed { name: name.to_string(), ..Observed::default() };
    for run in runs {
        let drive = run.target.drive.as_ref();
        if matches!(run.target.kind, TargetKind::Device | TargetKind::Virtual) {
            observed.capacity = run.target.bytes.unwrap_or(observed.capacity);
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

/// The passes of `sustain`.
fn pass(run: &Run) -> Option<FillPass> {
    let value = |pass: &str, statistic| {
        run.metric(&MetricKey::parse(pass).with(statistic).to_string())?.value
    };
    let workload = run.known_workloads().find(|w| w.name == SUSTAIN_FRESH)?;
    // A fall at the very end is due to a shortage of spare flash.
    let end = LAST_FALL * run.target.bytes? as f64;
    let cache = value(SUSTAIN_FRESH, Statistic::Cache)
        .filter(|bytes| *bytes < end)
        .zip(value(SUSTAIN_FRESH, Statistic::Inside))
        .zip(value(SUSTAIN_FRESH, Statistic::After));
    Some(FillPass {
        block: workload.blocks.max(),
        depth: workload.depth,
        average: value(SUSTAIN_FRESH, Statistic::Average)?,
        cache: cache.map(|((bytes, inside), after)| (bytes, inside, after)),
        again: value(SUSTAIN_FULL, Statistic::Average),
    })
}

fn cells(run: &Run) -> Vec<MeasuredCell> {
    run.known_workloads()
        .filter_map(|workload| {
            let alone = workload.mix.only().is_some() && workload.jobs == 1;
            let before = before(run, &workload)?;
            let rate = rate(run, &workload)?;
            let usable = alone && workload.pacing == Pacing::Closed && rate > 0.0;
            usable.then_some(MeasuredCell { workload, before, rate })
        })
        .collect()
}

/// The state of the drive before a workload; `None` if unknown.
fn before(run: &Run, workload: &Workload) -> Option<Before> {
    let key = MetricKey::from_workload(workload);
    let orders = [Order::Sequential, Order::Random];
    if run.method == "io" && run.state_before == State::Fresh {
        // Reads of unwritten blocks never reach the flash: their rate is the link's.
        (workload.mix == Mix::WRITE).then_some(Before::Fresh)
    } else if key.as_cell().is_some_and(|c| orders.contains(&c.order)) {
        laid_out(run, workload)
    } else if FULL.contains(&workload.name.as_str()) {
        Some(Before::Full)
    } else if workload.name == STEADY {
        Some(Before::Steady)
    } else {
        (workload.name == ReachedState::Fresh.name()).then_some(Before::Fresh)
    }
}

/// Whether it is a cell measured right after its region was written.
fn is_just_written(workload: &Workload) -> bool {
    MetricKey::from_workload(workload)
        .as_cell()
        .is_some_and(|cell| cell.words == ["just", "written"])
}

/// Cells of the grid that ran on a region written once in order. In `quick` with phases, the primary
/// reads run after a rest, and those of newly written data before it.
fn laid_out(run: &Run, workload: &Workload) -> Option<Before> {
    let phases = run.method == "quick" && run.protocol >= Some(2);
    if !phases || workload.mix.read == 0 || is_just_written(workload) {
        return Some(Before::LaidOut);
    }
    let cell = MetricKey::from_workload(workload);
    let is_primary = cell.as_cell().is_some_and(|cell| cell.words.is_empty());
    // Without a fill, they read what the drive happens to hold.
    (is_primary && run.known_workloads().any(|other| is_just_written(&other)))
        .then_some(Before::Rested)
}

/// Rate of the first execution of a workload, in bytes per second. Later executions find another
/// state, because random writes between the rounds change it.
fn rate(run: &Run, workload: &Workload) -> Option<f64> {
    let key = match workload.name.as_str() {
        _ if run.method == "io" => MetricKey::of_run(Statistic::Throughput),
        // Both orders of `zones` share one metric.
        ZONES_ASCENDING => MetricKey::parse(ZONES_READ),
        _ => MetricKey::from_workload(workload),
    };
    let metric = run.metric(&key.to_string())?;
    let value = if workload.name == STEADY { metric.value? } else { *metric.samples.first()? };
    match metric.unit {
        Unit::BytesPerSecond => Some(value),
        Unit::Iops => Some(value * f64::from(workload.blocks.max())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Metric, Plan, Safety, Target};
    use workload::{Pattern, Region};

    fn run(method: &str, workloads: Vec<Workload>, metrics: Vec<Metric>) -> Run {
        let target = Target {
            spec: "sim:x".into(),
            kind: TargetKind::Virtual,
            bytes: Some(1 << 36),
            ..Target::default()
        };
        let workloads = workloads.iter().flat_map(serde_json::to_value).map(Into::into).collect();
        let plan = Plan {
            safety: Safety::Scratch,
            seconds: 0.0,
            write_bytes_expected: None,
            range: None,
            write_bytes_max: 0,
            region_bytes: 0,
            destroys: None,
            steps: Vec::new(),
            workloads,
            command: Vec::new(),
        };
        Run {
            id: "x".into(),
            number: Some(1),
            plan: Some(plan),
            state_before: State::Fresh,
            state_after: State::Used,
            metrics,
            complete: true,
            ..Run::new(method, target)
        }
    }

    fn workload(name: &str, mix: Mix) -> Workload {
        Workload::new(name, Pattern::UniformOnce, mix, 4096, Region::first(1 << 30))
    }

    #[test]
    fn only_workloads_on_a_known_state_are_used() {
        let rate = |name: &str| Metric::single(name, Unit::Iops, 1000.0);
        let names =
            ["rand-read-4KiB-q1", "states-filled", "states-file-deleted", "rand-unmeasured"];
        let workloads = names.map(|name| workload(name, Mix::READ)).to_vec();
        let run = run("quick", workloads, names[..3].iter().map(|name| rate(name)).collect());
        let cells = observe("x", std::slice::from_ref(&run)).cells;
        let found: Vec<_> =
            cells.iter().map(|c| (c.workload.name.as_str(), c.before, c.rate)).collect();
        let rate = 4_096_000.0;
        assert_eq!(found, [(names[0], Before::LaidOut, rate), (names[1], Before::Full, rate)]);
        // With phases, but without a fill, the primary reads are of unknown data.
        let phases = Run { protocol: Some(2), ..run };
        let cells = observe("x", &[phases]).cells;
        assert_eq!(cells.iter().map(|c| &c.workload.name).collect::<Vec<_>>(), [names[1]]);
    }

    #[test]
    fn reads_after_the_rest_are_told_from_those_before() {
        let names =
            ["rand-read-just-written-4KiB-q1", "rand-read-4KiB-q1", "rand-read-hot-4KiB-q1"];
        let workloads = names.map(|name| workload(name, Mix::READ)).to_vec();
        let metrics = names.map(|name| Metric::single(name, Unit::Iops, 1000.0)).to_vec();
        let phases = Run { protocol: Some(3), ..run("quick", workloads, metrics) };
        let cells = observe("x", &[phases]).cells;
        let states: Vec<_> = cells.iter().map(|c| (c.workload.name.as_str(), c.before)).collect();
        assert_eq!(states, [(names[0], Before::LaidOut), (names[1], Before::Rested)]);
    }

    #[test]
    fn only_writes_on_a_fresh_drive_are_used_from_ssdyno_io() {
        let throughput = || vec![Metric::single("throughput", Unit::BytesPerSecond, 5e6)];
        let observed = |mix| observe("x", &[run("io", vec![workload("io", mix)], throughput())]);
        assert_eq!(observed(Mix::WRITE).cells.len(), 1);
        assert!(observed(Mix::READ).cells.is_empty());
        assert_eq!(observed(Mix::WRITE).capacity, 1 << 36);
    }

    #[test]
    fn sustain_gives_the_pass() {
        let rate = |name: &str, value| Metric::single(name, Unit::BytesPerSecond, value);
        let metrics = vec![rate("sustain-fresh.average", 2e9), rate("sustain-full.average", 1e9)];
        let run = run("sustain", vec![workload("sustain-fresh", Mix::WRITE)], metrics);
        let pass = observe("x", &[run]).pass.expect("a pass");
        assert_eq!((pass.average, pass.again, pass.cache), (2e9, Some(1e9), None));
    }
}

//! What a plan expects: the work's script with the rates that are known of the drive.
//!
//! Those of a preset are its usual figures; those of a real drive come from its last complete run
//! of `quick`, and say only roughly how long other work takes, so the plan has a range. Of any other
//! drive only the class is known: then the range is from the fastest to the slowest drive of that
//! class. A real drive on which the same work was done before takes as long as it did then.

use std::collections::BTreeMap;
use std::path::Path;

use record::{Plan, PlanRange, Run, TargetKind, Unit};
use rig::{DirectionRates, DurableRates, Rates, TargetInfo};
use script::Session;

use crate::error::Result;
use crate::keeper;
use crate::usual::{self, Figures};
use crate::virtual_drive::PREFIX;
use crate::work::Work;

/// The method whose records have the rates.
const METHOD: &str = "quick";

/// Parameters of a virtual drive on which its rates do not depend.
const WITHOUT_EFFECT: [&str; 4] = ["capacity", "state", "vary", "vary.session_seed"];

/// Bytes per operation of the figures in operations per second.
const SMALL_BYTES: f64 = 4096.0;

/// Factor by which work on a real drive may be faster or slower than the rates of `quick` tell.
const ROUGHLY: f64 = 1.5;

/// Time in which a workload on a real drive begins and ends, at most, seconds: 20 ms each of the 512
/// workloads of `zones` on two processors with other work.
const AROUND_SECONDS: f64 = 0.025;

/// What is known about the rates of a drive.
#[derive(Debug, PartialEq)]
enum Forecast {
    /// Nothing: the link decides.
    Unknown,
    Known(Rates),
    /// The slowest and the fastest of its class.
    Between([Rates; 2]),
}

/// Plans the work on this target.
pub(crate) fn plan(info: &TargetInfo, work: &Work<'_>, store: Option<&Path>) -> Result<Plan> {
    let forecast = forecast(info, store);
    let plan = untrimmed(expected(&forecast, info, work)?, &forecast, info, work)?;
    let earlier = earlier(info, work, store).filter(|run| is_same(info, &plan, run));
    Ok(match earlier.and_then(|run| run.seconds) {
        Some(seconds) => as_earlier(plan, seconds),
        None => plan,
    })
}

/// The plan with the rates that are known of the drive.
fn expected(forecast: &Forecast, info: &TargetInfo, work: &Work<'_>) -> Result<Plan> {
    Ok(match *forecast {
        Forecast::Unknown => plan_with(None, info, work)?,
        Forecast::Known(rates) if info.target.kind == TargetKind::Virtual => {
            plan_with(Some(rates), info, work)?
        }
        Forecast::Known(rates) => roughly(plan_with(Some(rates), info, work)?),
        Forecast::Between([slow, fast]) => {
            let slow = plan_with(Some(slow), info, work)?;
            between(slow, &plan_with(Some(fast), info, work)?)
        }
    })
}

/// The plan with a range that begins where the file system finds nothing to trim: it may have
/// trimmed all its free space before, or the user may not be permitted to.
fn untrimmed(
    mut plan: Plan,
    forecast: &Forecast,
    info: &TargetInfo,
    work: &Work<'_>,
) -> Result<Plan> {
    let mut full = info.clone();
    let free_bytes = full.target.filesystem.as_mut().and_then(|system| system.free_bytes.take());
    if free_bytes.is_none() || info.target.kind == TargetKind::Virtual {
        return Ok(plan);
    }
    let least = expected(forecast, &full, work)?;
    if least.seconds < plan.seconds {
        let [fast, slow] =
            [&least, &plan].map(|plan| plan.range.map_or([plan.seconds; 2], |range| range.seconds));
        let bytes = plan.write_bytes_expected.unwrap_or(0);
        let write_bytes = plan.range.map_or([bytes; 2], |range| range.write_bytes);
        plan.range = Some(PlanRange { seconds: [fast[0], slow[1]], write_bytes });
    }
    Ok(plan)
}

/// The last complete record of the same work on this drive.
fn earlier(info: &TargetInfo, work: &Work<'_>, store: Option<&Path>) -> Option<Run> {
    let has_host = !matches!(info.target.kind, TargetKind::Virtual | TargetKind::Null);
    let options = work.options.as_ref().filter(|_| has_host && !info.ram)?;
    keeper::latest(store, &info.target, work.info.name, Some(options))
}

/// Whether an earlier run took the steps of this plan, on a region of the same size.
fn is_same(info: &TargetInfo, plan: &Plan, run: &Run) -> bool {
    run.target.kind == info.target.kind
        && run.plan.as_ref().is_some_and(|earlier| {
            let names = plan.steps.iter().map(|step| &step.name);
            earlier.region_bytes == plan.region_bytes
                && earlier.steps.iter().map(|step| &step.name).eq(names)
        })
}

/// The plan with the duration of an earlier run, seconds, shared out as planned.
fn as_earlier(mut plan: Plan, seconds: f64) -> Plan {
    let factor = seconds / plan.seconds.max(f64::MIN_POSITIVE);
    plan.steps.iter_mut().for_each(|step| step.seconds *= factor);
    plan.seconds = seconds;
    plan.range = None;
    plan
}

fn plan_with(rates: Option<Rates>, info: &TargetInfo, work: &Work<'_>) -> Result<Plan> {
    Session::plan(&TargetInfo { rates, ..info.clone() }, |session| work.run(session))
}

fn forecast(info: &TargetInfo, store: Option<&Path>) -> Forecast {
    if info.ram || info.target.kind == TargetKind::Null {
        return Forecast::Unknown;
    }
    let figures = match preset(&info.target.spec) {
        Some(name) => usual::of_preset(name),
        None if info.target.kind == TargetKind::Virtual => None,
        None => measured(info, store),
    };
    if let Some(rates) = figures.as_ref().and_then(rates) {
        return Forecast::Known(rates);
    }
    let class: Vec<Rates> = usual::of_class(&info.target).iter().filter_map(rates).collect();
    let [slow, fast] =
        [f64::min, f64::max].map(|pick| class.iter().copied().reduce(|a, b| each(a, b, pick)));
    slow.zip(fast).map_or(Forecast::Unknown, |(slow, fast)| Forecast::Between([slow, fast]))
}

/// The preset of a virtual drive that has its rates.
fn preset(target: &str) -> Option<&str> {
    let description = target.strip_prefix(PREFIX)?;
    let (name, query) = description.split_once('?').unwrap_or((description, ""));
    let mut keys = query.split('&').filter(|pair| !pair.is_empty());
    keys.all(|pair| WITHOUT_EFFECT.contains(&pair.split('=').next().unwrap_or(pair)))
        .then_some(name)
}

/// The figures in the last record of the drive.
fn measured(info: &TargetInfo, store: Option<&Path>) -> Option<Figures> {
    let run = keeper::latest(store, &info.target, METHOD, None)?;
    let metrics =
        run.metrics.iter().filter(|m| matches!(m.unit, Unit::BytesPerSecond | Unit::Iops));
    Some(metrics.filter_map(|m| Some((m.name.clone(), m.value?))).collect())
}

/// The rates from the figures of `quick`, and those of `iozone` if they are known.
fn rates(figures: &Figures) -> Option<Rates> {
    let [sequential, random] =
        ["seq", "rand"].map(|order| figures.get(&format!("{order}-write-4KiB-durable")).copied());
    let durable = sequential.zip(random);
    Some(Rates {
        read: direction(figures, "read")?,
        write: direction(figures, "write")?,
        durable: durable.map(|(sequential, random)| DurableRates { sequential, random }),
    })
}

fn direction(figures: &BTreeMap<String, f64>, side: &str) -> Option<DirectionRates> {
    let figure = |name: String| figures.get(&name).copied().filter(|rate| *rate > 0.0);
    Some(DirectionRates {
        large_single: figure(format!("seq-{side}-1MiB-q1"))?,
        large_deep: figure(format!("seq-{side}-1MiB-q8"))?,
        small_single: SMALL_BYTES * figure(format!("rand-{side}-4KiB-q1"))?,
        small_deep: SMALL_BYTES * figure(format!("rand-{side}-4KiB-q32"))?,
    })
}

/// The rates of which each is picked from two.
fn each(a: Rates, b: Rates, pick: fn(f64, f64) -> f64) -> Rates {
    let [read, write] = [(a.read, b.read), (a.write, b.write)].map(|(a, b)| DirectionRates {
        large_single: pick(a.large_single, b.large_single),
        large_deep: pick(a.large_deep, b.large_deep),
        small_single: pick(a.small_single, b.small_single),
        small_deep: pick(a.small_deep, b.small_deep),
    });
    let durable = a.durable.zip(b.durable).map(|(a, b)| DurableRates {
        sequential: pick(a.sequential, b.sequential),
        random: pick(a.random, b.random),
    });
    Rates { read, write, durable }
}

/// Share of its bound from which a step is expected to write all of it, at any rate: it ends by an
/// amount, not by a time.
const BY_AMOUNT: f64 = 0.9;

/// The plan with the range that is left if only the rates of other work are known. Its writes depend
/// on rates only where it ends by time.
fn roughly(mut plan: Plan) -> Plan {
    let repeats: u32 = plan.steps.iter().map(|step| step.repeats).sum();
    let around_seconds = f64::from(repeats) * AROUND_SECONDS;
    let ends = plan.steps.iter().map(|step| {
        let (bytes, most) = (step.write_bytes_expected.unwrap_or(0), step.write_bytes_max);
        let is_by_amount = bytes as f64 >= BY_AMOUNT * most as f64;
        let factor = if is_by_amount { 1.0 } else { ROUGHLY };
        [(bytes as f64 / factor) as u64, ((bytes as f64 * factor) as u64).min(most)]
    });
    let ends: Vec<[u64; 2]> = ends.collect();
    let [least_bytes, most_bytes] = [0, 1].map(|end| ends.iter().map(|ends| ends[end]).sum());
    plan.range = Some(PlanRange {
        seconds: [plan.seconds / ROUGHLY, plan.seconds * ROUGHLY + around_seconds],
        write_bytes: [least_bytes, most_bytes],
    });
    plan
}

/// The plan whose expectations are between those of two drives.
fn between(mut plan: Plan, fast: &Plan) -> Plan {
    let seconds = [plan.seconds, fast.seconds];
    let bytes = [&plan, fast].map(|plan| plan.write_bytes_expected.unwrap_or(0));
    plan.range = Some(PlanRange {
        seconds: [seconds[0].min(seconds[1]), seconds[0].max(seconds[1])],
        write_bytes: [bytes[0].min(bytes[1]), bytes[0].max(bytes[1])],
    });
    for (step, other) in plan.steps.iter_mut().zip(&fast.steps) {
        step.seconds = middle(step.seconds, other.seconds);
        let bytes = step.write_bytes_expected.zip(other.write_bytes_expected);
        step.write_bytes_expected = bytes.map(|(a, b)| middle(a as f64, b as f64) as u64);
    }
    plan.seconds = plan.steps.iter().map(|step| step.seconds).sum();
    plan.write_bytes_expected = plan.steps.iter().map(|step| step.write_bytes_expected).sum();
    plan
}

/// The geometric mean: rates of drives differ by factors.
fn middle(a: f64, b: f64) -> f64 {
    (a * b).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_has_its_rates_unless_a_parameter_changes_them() {
        assert_eq!(preset("sim:sd-150x"), Some("sd-150x"));
        assert_eq!(preset("sim:sd-150x?capacity=1GiB&vary=0&state=used"), Some("sd-150x"));
        assert_eq!(preset("sim:sd-150x?capacity=1GiB&nand.read_us=90"), None);
        assert_eq!(preset("/dev/sda"), None);
    }

    #[test]
    fn the_same_work_takes_as_long_as_before() {
        let step = |seconds: f64| serde_json::json!({"name": "a", "seconds": seconds, "repeats": 1, "write_bytes_max": 6});
        let plan = serde_json::json!({
            "safety": "scratch",
            "seconds": 4.0,
            "range": {"seconds": [1.0, 9.0], "write_bytes": [5, 6]},
            "write_bytes_max": 12,
            "region_bytes": 12,
            "destroys": null,
            "steps": [step(1.0), step(3.0)],
        });
        let plan = as_earlier(serde_json::from_value(plan).expect("a plan"), 40.0);
        let steps: Vec<f64> = plan.steps.iter().map(|step| step.seconds).collect();
        assert_eq!((plan.seconds, steps), (40.0, vec![10.0, 30.0]));
        assert_eq!(plan.range, None);
    }

    #[test]
    fn the_rates_of_other_work_give_a_range() {
        let step = serde_json::json!({"name": "a", "seconds": 3.0, "repeats": 80,
            "write_bytes_expected": 600, "write_bytes_max": 1000});
        let filling = serde_json::json!({"name": "b", "seconds": 0.0, "repeats": 0,
            "write_bytes_expected": 95, "write_bytes_max": 100});
        let plan = serde_json::json!({
            "safety": "scratch",
            "seconds": 3.0,
            "write_bytes_expected": 695,
            "write_bytes_max": 1100,
            "region_bytes": 12,
            "destroys": null,
            "steps": [step, filling],
        });
        let plan = roughly(serde_json::from_value(plan).expect("a plan"));
        let range = PlanRange { seconds: [2.0, 6.5], write_bytes: [495, 995] };
        assert_eq!((plan.seconds, plan.range), (3.0, Some(range)));
    }

    #[test]
    fn rates_need_all_eight_figures() {
        let mut figures = usual::of_preset("sd-150x").expect("a preset");
        let complete = rates(&figures).expect("all of them");
        assert_eq!(complete.read.small_deep, SMALL_BYTES * figures["rand-read-4KiB-q32"]);
        assert_eq!(complete.write.large_single, figures["seq-write-1MiB-q1"]);
        let durable = complete.durable.expect("measured");
        assert_eq!(durable.random, figures["rand-write-4KiB-durable"]);
        figures.remove("rand-write-4KiB-q1");
        assert_eq!(rates(&figures), None);
    }
}

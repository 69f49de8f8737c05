//! What a plan expects: the work's script with the rates that are known of the drive.
//!
//! Those of a preset are its usual figures; those of a real drive come from its last complete run
//! of `quick`. Of any other drive only the class is known: then the plan has a range, from the
//! fastest to the slowest drive of that class.

use std::collections::BTreeMap;
use std::path::Path;

use record::{Plan, PlanRange, TargetKind, Unit};
use rig::{DirectionRates, Rates, TargetInfo};
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
    match forecast(info, store) {
        Forecast::Unknown => plan_with(None, info, work),
        Forecast::Known(rates) => plan_with(Some(rates), info, work),
        Forecast::Between([slow, fast]) => {
            let slow = plan_with(Some(slow), info, work)?;
            Ok(between(slow, &plan_with(Some(fast), info, work)?))
        }
    }
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
    let end = |pick: fn(f64, f64) -> f64| class.iter().copied().reduce(|a, b| each(a, b, pick));
    end(f64::min)
        .zip(end(f64::max))
        .map_or(Forecast::Unknown, |(slow, fast)| Forecast::Between([slow, fast]))
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
    let run = keeper::latest(store, &info.target, METHOD)?;
    let metrics =
        run.metrics.iter().filter(|m| matches!(m.unit, Unit::BytesPerSecond | Unit::Iops));
    Some(metrics.filter_map(|m| Some((m.name.clone(), m.value?))).collect())
}

/// The rates from the figures of `quick`.
fn rates(figures: &Figures) -> Option<Rates> {
    Some(Rates { read: direction(figures, "read")?, write: direction(figures, "write")? })
}

fn direction(figures: &BTreeMap<String, f64>, side: &str) -> Option<DirectionRates> {
    let figure = |name: String| figures.get(&name).copied().filter(|rate| *rate > 0.0);
    let large = |depth: u32| figure(format!("seq-{side}-1MiB-q{depth}"));
    let small = |depth: u32| Some(SMALL_BYTES * figure(format!("rand-{side}-4KiB-q{depth}"))?);
    Some(DirectionRates {
        large_single: large(1)?,
        large_deep: large(8)?,
        small_single: small(1)?,
        small_deep: small(32)?,
    })
}

/// The rates of which each is picked from two.
fn each(a: Rates, b: Rates, pick: fn(f64, f64) -> f64) -> Rates {
    let side = |a: DirectionRates, b: DirectionRates| DirectionRates {
        large_single: pick(a.large_single, b.large_single),
        large_deep: pick(a.large_deep, b.large_deep),
        small_single: pick(a.small_single, b.small_single),
        small_deep: pick(a.small_deep, b.small_deep),
    };
    Rates { read: side(a.read, b.read), write: side(a.write, b.write) }
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
    fn rates_need_all_eight_figures() {
        let mut figures = usual::of_preset("sd-150x").expect("a preset");
        let complete = rates(&figures).expect("all of them");
        assert_eq!(complete.read.small_deep, SMALL_BYTES * figures["rand-read-4KiB-q32"]);
        assert_eq!(complete.write.large_single, figures["seq-write-1MiB-q1"]);
        figures.remove("rand-write-4KiB-q1");
        assert_eq!(rates(&figures), None);
    }
}

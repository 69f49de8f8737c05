//! The spread assumed between runs until one is repeated, and the rule for which runs are repeats.
//!
//! Runs are comparable if drive, method, protocol, machine, backend, file system, state and
//! workloads are the same, or the steps of a run without workloads, such as a command line. Some differences are inherent and ignored: seeds, the size of a region
//! that a slow drive fills as far as it gets, checks and the search for causes.

use record::{MetricKey, Order, Run, Target, TargetKind, VerdictKind};
use serde_json::Value;
use workload::OpKind;

use crate::beside;

/// Standard deviation between runs, as a fraction, for virtual drives, SSDs in a machine, cards and
/// sticks, and disks of virtual machines. The last was measured over 50 sessions. The others are
/// assumed, and runs of the drive itself outweigh them.
const VIRTUAL: f64 = 0.005;
const SSD: f64 = 0.03;
const CARD: f64 = 0.05;
const VIRTUAL_MACHINE: f64 = 0.15;

/// The same for random writes of a card or stick, deep and one at a time: 1.3 to 4.4% and 7.8 to
/// 14.9% over seven sessions of three virtual sticks and a card.
const CARD_RANDOM_WRITES: f64 = 0.04;
const CARD_SINGLE_WRITES: f64 = 0.12;

/// Regions whose sizes differ by at most this factor count as equal.
pub(crate) const SIZE_FACTOR: f64 = 1.25;

/// The standard deviation to assume between runs like this one before any repeat, as a fraction.
pub fn prior(run: &Run) -> f64 {
    assumed(&run.target, run.environment.hypervisor.is_some())
}

/// The same for one metric: which blocks of a card or stick are open when it is written to at random
/// differs from run to run.
pub fn prior_of_metric(run: &Run, metric: &MetricKey) -> f64 {
    let prior = prior(run);
    let Some(cell) = metric.as_cell() else { return prior };
    let writes = cell.op == Some(OpKind::Write) || cell.order == Order::Mixed;
    if prior <= 0.0 || !writes || cell.order == Order::Sequential || !is_card(&run.target) {
        return prior;
    }
    prior.max(if cell.depth > 1 { CARD_RANDOM_WRITES } else { CARD_SINGLE_WRITES })
}

/// Whether a drive is a card, eMMC or a USB device.
fn is_card(target: &Target) -> bool {
    let Some(drive) = target.drive.as_ref() else { return false };
    let bus = if target.kind == TargetKind::Virtual {
        drive.link.as_ref().and_then(|link| link.now.as_deref()).unwrap_or_default()
    } else {
        &drive.bus
    };
    ["sd", "mmc", "emmc", "usb"].iter().any(|kind| bus.starts_with(kind))
}

/// The standard deviation to assume between runs on a target, inside a virtual machine or not.
pub(crate) fn assumed(target: &Target, virtual_machine: bool) -> f64 {
    let bus = target.drive.as_ref().map(|drive| drive.bus.as_str());
    match target.kind {
        TargetKind::Virtual if !varies(&target.spec) => 0.0,
        TargetKind::Virtual => VIRTUAL,
        _ if virtual_machine => VIRTUAL_MACHINE,
        // The machine is unknown for records of other tools and of publications.
        _ => match bus {
            Some("nvme" | "sata" | "scsi") => SSD,
            _ => CARD,
        },
    }
}

/// Whether a virtual drive varies; without variation, its runs differ only by their seed.
fn varies(spec: &str) -> bool {
    let settings = spec.split_once('?').map_or("", |(_, settings)| settings).split('&');
    let mut amounts = settings.filter_map(|setting| match setting.split_once('=')? {
        ("vary" | "vary.amount", amount) => amount.parse::<f64>().ok(),
        _ => None,
    });
    amounts.next_back() != Some(0.0)
}

/// Whether both ran the same way on one drive, so that they differ only by chance.
pub(crate) fn comparable(run: &Run, other: &Run) -> bool {
    let [conditions, conditions_other] = [run, other].map(|run| {
        let (machine, target) = (&run.environment, &run.target);
        let system = target.filesystem.as_ref().map(|system| system.kind.clone());
        let (id, backend) = (machine.machine_id.clone(), machine.backend.clone());
        let company = beside::drives(run).map(String::from);
        let way = (run.method.clone(), run.protocol, id, backend, target.direct, company);
        (way, target.kind, system, run.state_before, constraints(run))
    });
    let [size, size_other] =
        [run, other].map(|run| workloads(run).find_map(|w| w["region"]["bytes"].as_f64()));
    let sizes = size.zip(size_other);
    let sized = sizes.is_none_or(|(a, b)| a.max(b) <= SIZE_FACTOR * a.min(b));
    let alike = workloads(run).map(fixed).eq(workloads(other).map(fixed));
    conditions == conditions_other && sized && alike && steps(run).eq(steps(other))
}

/// The names of the steps of a run without workloads.
fn steps(run: &Run) -> impl Iterator<Item = &str> {
    let plan = run.plan.iter().filter(|plan| plan.workloads.is_empty());
    plan.flat_map(|plan| &plan.steps).map(|step| step.name.as_str())
}

/// The limits from outside that affected the run; a different set counts as another machine.
fn constraints(run: &Run) -> Vec<VerdictKind> {
    let outside = [
        VerdictKind::CpuQuota,
        VerdictKind::IoLimit,
        VerdictKind::CpuShared,
        VerdictKind::RateLimit,
    ];
    run.verdicts.iter().map(|v| v.kind.clone()).filter(|kind| outside.contains(kind)).collect()
}

/// The workloads, without the checks and the search for causes, which depend on results.
fn workloads(run: &Run) -> impl Iterator<Item = &Value> {
    run.plan.iter().flat_map(|plan| &plan.workloads).map(|workload| &**workload).filter(
        |workload| !methods::depends_on_results(workload["name"].as_str().unwrap_or_default()),
    )
}

/// The fields of a workload and of its stop condition, without the seed and sizes.
fn fixed(workload: &Value) -> Vec<(&str, &Value)> {
    let (workload, end) = (fields(workload), fields(&workload["stop"]));
    let workload = workload.filter(|(name, _)| !["seed", "region", "stop"].contains(name));
    workload.chain(end.filter(|(name, _)| !["bytes", "ops"].contains(name))).collect()
}

/// The fields of an object; none for any other value.
fn fields(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

#[cfg(test)]
mod tests {
    use record::{DriveIdentity, Link};

    use super::*;

    #[test]
    fn only_the_same_command_is_a_repeat() {
        let run = |command: &str| {
            let plan = serde_json::json!({
                "safety": "scratch", "seconds": 0.0, "write_bytes_max": 0, "region_bytes": 0,
                "steps": [{"name": command, "seconds": 0.0, "repeats": 3, "write_bytes_max": 0}],
                "workloads": [],
            });
            let plan = serde_json::from_value(plan).expect("a plan");
            Run { plan: Some(plan), ..Run::new("command", Target::default()) }
        };
        assert!(comparable(&run("make"), &run("make")));
        assert!(!comparable(&run("make"), &run("make -j4")));
    }

    #[test]
    fn random_writes_of_sticks_and_cards_have_a_prior_of_their_own() {
        let run = |kind: &str| {
            let link = Link { now: Some(kind.into()), ..Link::default() };
            let drive = DriveIdentity { link: Some(link), ..DriveIdentity::default() };
            let target = Target { drive: Some(drive), spec: "sim:a".into(), ..Target::default() };
            Run::new("quick", Target { kind: TargetKind::Virtual, ..target })
        };
        let prior = |kind: &str, cell: &str| prior_of_metric(&run(kind), &MetricKey::parse(cell));
        let table = [
            ("usb-2", "rand-write-4KiB-q1", CARD_SINGLE_WRITES),
            ("sd-high", "rand-write-4KiB-q32", CARD_RANDOM_WRITES),
            ("usb", "mixed-read-4KiB-q32", CARD_RANDOM_WRITES),
            ("usb", "rand-read-4KiB-q1", VIRTUAL),
            ("usb", "seq-write-1MiB-q8", VIRTUAL),
            ("pcie-3x4", "rand-write-4KiB-q1", VIRTUAL),
        ];
        for (kind, cell, expected) in table {
            assert_eq!(prior(kind, cell), expected, "{kind}, {cell}");
        }
    }

    #[test]
    fn a_drive_without_variation_has_no_spread() {
        for still in ["sim:a?vary=0", "sim:a?capacity=1GiB&vary.amount=0.0"] {
            assert!(!varies(still), "{still}");
        }
        for lively in ["sim:a", "sim:vary=0", "sim:a?vary=0.5", "sim:a?vary.die=0"] {
            assert!(varies(lively), "{lively}");
        }
    }
}

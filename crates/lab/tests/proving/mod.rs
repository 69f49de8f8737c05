//! The proving ground of verdicts: virtual drives with a known cause, and the judge of what `quick`
//! says about them.
//!
//! The truth is a counterfactual, not a label: a verdict is right about a figure if the figure rises
//! by 10% on the same drive without that cause. So a drive may have several causes, and a verdict that
//! names another one than was put in is judged by that one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::Simulator;
use methods::{Options, Outcome, Session, find};
use model::{DriveSpec, ThrottleSpec};
use record::{MetricKey, VerdictKind};
use rig::Event;

/// A figure that rises by less than this share did not depend on the cause.
const MOVED: f64 = 1.1;

/// A change of a drive's description.
pub type Change = fn(&mut DriveSpec);

/// A virtual drive with a cause.
pub struct Scenario {
    /// The cause, for display.
    pub name: &'static str,
    /// Puts it in.
    pub cause: Change,
    /// Takes it out again, to see which figures it holds down.
    pub lift: Change,
}

/// A plain NVMe drive of 8 GB without an SLC cache, of which nothing is remarkable.
pub fn plain() -> DriveSpec {
    let text = "name = \"plain\"\ncapacity = \"8GB\"\n[[link]]\nbus = \"pcie-3x4\"\n";
    let mut spec = DriveSpec::parse("plain.toml", text).expect("well formed");
    spec.collect.superblock.value.0 = 96 << 20;
    spec
}

fn port(spec: &mut DriveSpec, bus: &str) {
    spec.link[0].bus.value = bus.to_string();
}

fn fast_link(spec: &mut DriveSpec) {
    spec.link[0].ceiling_mb_s.value = 28_000.0;
}

fn free_commands(spec: &mut DriveSpec) {
    let command = &mut spec.command;
    (command.cores.value, command.latency_us.value) = (64, 0.0);
    (command.read_us.value, command.write_us.value) = (0.0, 0.0);
    spec.host.command_us.value = 0.0;
    spec.link.iter_mut().for_each(|link| link.turnaround_us.value = 0.0);
}

fn deep(spec: &mut DriveSpec) {
    spec.link.iter_mut().for_each(|link| link.depth.value = 1024);
}

fn small_units(spec: &mut DriveSpec) {
    spec.map.unit_bytes.value = 4096;
}

fn cold(spec: &mut DriveSpec) {
    spec.heat.throttle.clear();
}

fn large_cache(spec: &mut DriveSpec) {
    spec.slc.dynamic.value = spec.capacity.value;
}

fn whole_map(spec: &mut DriveSpec) {
    spec.map.cache.value.0 = 0;
}

fn many_dies(spec: &mut DriveSpec) {
    (spec.nand.dies.value, spec.nand.channels.value) = (32, 8);
}

fn one_core(spec: &mut DriveSpec, us: f64) {
    spec.command.cores.value = 1;
    (spec.command.read_us.value, spec.command.write_us.value) = (us, us);
}

fn throttled(spec: &mut DriveSpec, mb_s: f64) {
    let mut step = ThrottleSpec::default();
    (step.above_c.value, step.below_c.value, step.limit_mb_s.value) = (80.0, 75.0, mb_s);
    spec.heat.throttle = vec![step];
    spec.heat.ambient_c.value = 110.0;
}

fn small_cache(spec: &mut DriveSpec, bytes: u64) {
    spec.slc.fixed.value.0 = bytes;
    (spec.nand.program_us.value, spec.slc.idle_fold.value) = (6000.0, false);
}

/// The causes that can be put into a virtual drive.
pub const SCENARIOS: [Scenario; 26] = [
    Scenario { name: "nothing", cause: |_| {}, lift: |_| {} },
    Scenario { name: "PCIe 2.0 x1", cause: |s| port(s, "pcie-2x1"), lift: fast_link },
    Scenario { name: "PCIe 1.0 x1", cause: |s| port(s, "pcie-1x1"), lift: fast_link },
    Scenario { name: "SATA III", cause: |s| port(s, "sata-3"), lift: fast_link },
    Scenario { name: "USB 2", cause: |s| port(s, "usb-2"), lift: fast_link },
    Scenario { name: "SD high speed", cause: |s| port(s, "sd-high"), lift: fast_link },
    Scenario { name: "12 times the link", cause: fast_link, lift: |_| {} },
    Scenario {
        name: "mapping unit 64 KiB",
        cause: |s| s.map.unit_bytes.value = 65_536,
        lift: small_units,
    },
    Scenario {
        name: "mapping unit 16 KiB",
        cause: |s| s.map.unit_bytes.value = 16_384,
        lift: small_units,
    },
    Scenario { name: "one core of 40 us", cause: |s| one_core(s, 40.0), lift: free_commands },
    Scenario { name: "one core of 100 us", cause: |s| one_core(s, 100.0), lift: free_commands },
    Scenario {
        name: "host time of 100 us",
        cause: |s| s.host.command_us.value = 100.0,
        lift: free_commands,
    },
    Scenario {
        name: "latency of 300 us",
        cause: |s| s.command.latency_us.value = 300.0,
        lift: free_commands,
    },
    Scenario { name: "device depth 1", cause: |s| s.link[0].depth.value = 1, lift: deep },
    Scenario { name: "device depth 2", cause: |s| s.link[0].depth.value = 2, lift: deep },
    Scenario { name: "device depth 4", cause: |s| s.link[0].depth.value = 4, lift: deep },
    Scenario { name: "hot from the start", cause: |s| throttled(s, 200.0), lift: cold },
    Scenario { name: "hot, mildly", cause: |s| throttled(s, 900.0), lift: cold },
    Scenario {
        name: "cache ends inside the run",
        cause: |s| small_cache(s, 1200 << 20),
        lift: large_cache,
    },
    Scenario {
        name: "map cached in part",
        cause: |s| (s.map.cache.value.0, s.map.miss_us.value) = (16 << 10, 60.0),
        lift: whole_map,
    },
    Scenario { name: "one die", cause: |s| s.nand.dies.value = 1, lift: many_dies },
    Scenario { name: "four dies", cause: |s| s.nand.dies.value = 4, lift: many_dies },
    Scenario {
        name: "NAND-bound SATA drive",
        cause: |s| {
            port(s, "sata-3");
            (s.nand.dies.value, s.nand.program_us.value) = (2, 2000.0);
        },
        lift: many_dies,
    },
    Scenario {
        name: "slow intake",
        cause: |s| s.buffer.intake_mb_s.value = 150.0,
        lift: |s| s.buffer.intake_mb_s.value = 0.0,
    },
    Scenario {
        name: "slow flush",
        cause: |s| s.command.flush_us.value = 20_000.0,
        lift: |s| s.command.flush_us.value = 0.0,
    },
    Scenario {
        name: "slow flash bus",
        cause: |s| s.nand.bus_mb_s.value = 30.0,
        lift: |s| s.nand.bus_mb_s.value = 1600.0,
    },
];

/// The lift that a verdict implies; `None` for verdicts that name no cause of the model.
fn lift_of(kind: &VerdictKind) -> Option<Change> {
    match kind {
        VerdictKind::Link => Some(fast_link),
        VerdictKind::PerCommand => Some(free_commands),
        VerdictKind::DeviceDepth => Some(deep),
        VerdictKind::MappingUnit => Some(small_units),
        VerdictKind::Heat => Some(cold),
        VerdictKind::CacheEnd => Some(large_cache),
        _ => None,
    }
}

/// A session of `quick` of this many virtual seconds.
pub fn quick(spec: &DriveSpec, seed: u64, seconds: u64) -> Outcome {
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut rig = Simulator::new(spec.clone(), "sim:proving", interrupt, Box::new(|_: &Event| {}));
    let mut session = Session::new(&mut rig);
    let time = Some(Duration::from_secs(seconds));
    let options = Options { seed, time, ..Options::default() };
    let run = find("quick").expect("exists").run(&mut session, &options);
    run.unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    session.finish()
}

/// Value of every main figure.
fn figures(out: &Outcome) -> BTreeMap<String, f64> {
    let main = |name: &str| {
        let key = MetricKey::parse(name);
        key.is_main() && key.as_cell().is_some_and(|cell| cell.words.is_empty())
    };
    let metrics = out.metrics.iter().filter(|m| main(&m.name));
    metrics.filter_map(|m| Some((m.name.clone(), m.value?))).collect()
}

/// What was said about the figures of one drive.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Verdicts about a figure that rises without the cause they name, by kind.
    pub right: BTreeMap<String, u32>,
    /// Those about a figure that does not.
    pub wrong: BTreeMap<String, u32>,
    /// Figures held down by the cause that was put in, about which nothing was said.
    pub open: Vec<String>,
    /// The wrong ones, for people.
    pub slips: Vec<String>,
}

/// Judges the verdicts of one session on one drive.
pub fn judge(scenario: &Scenario, seed: u64, seconds: u64) -> Tally {
    let mut spec = plain();
    spec.seed.value = seed;
    (scenario.cause)(&mut spec);
    let without = |lift: Change| {
        let mut lifted = spec.clone();
        lift(&mut lifted);
        figures(&quick(&lifted, seed, seconds))
    };
    let out = quick(&spec, seed, seconds);
    let now = figures(&out);
    let rises = |lifted: &BTreeMap<String, f64>, metric: &str| {
        lifted.get(metric).zip(now.get(metric)).is_some_and(|(free, held)| *free > MOVED * held)
    };
    let mut tally = Tally::default();
    for verdict in out.verdicts.iter().filter(|verdict| !verdict.explains.is_empty()) {
        let Some(lift) = lift_of(&verdict.kind) else { continue };
        let lifted = without(lift);
        let explained = verdict.explains.iter().map(|e| e.metric.as_str());
        for metric in explained.filter(|metric| now.contains_key(*metric)) {
            let right = rises(&lifted, metric);
            let list = if right { &mut tally.right } else { &mut tally.wrong };
            *list.entry(verdict.kind.to_string()).or_default() += 1;
            if !right {
                let (held, free) = (now[metric], lifted[metric]);
                let slip = format!(
                    "{}, seed {seed}: {} of {metric}, {held:.4e} -> {free:.4e}",
                    scenario.name, verdict.kind
                );
                tally.slips.push(slip);
            }
        }
    }
    let lifted = without(scenario.lift);
    let said = |metric: &str| out.verdicts.iter().any(|verdict| verdict.explains(metric));
    let open = now.keys().filter(|metric| rises(&lifted, metric) && !said(metric));
    let words = |metric: &String| {
        let (held, free) = (now[metric], lifted[metric]);
        format!("{}, seed {seed}: {metric}, {held:.4e} -> {free:.4e}", scenario.name)
    };
    tally.open = open.map(words).collect();
    tally
}

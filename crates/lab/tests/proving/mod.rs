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

/// Flash so fast, and so much of it, that nothing waits for it.
fn fast_flash(spec: &mut DriveSpec) {
    many_dies(spec);
    let nand = &mut spec.nand;
    nand.bus_mb_s.value = 10.0 * nand.bus_mb_s.value.max(800.0);
    for time in [&mut nand.read_us, &mut nand.program_us, &mut nand.slc_program_us] {
        time.value = (time.value / 10.0).min(60.0);
    }
}

/// Everything that can be cached is.
fn all_cached(spec: &mut DriveSpec) {
    whole_map(spec);
    if spec.buffer.read_cache.0 > 0 {
        spec.buffer.read_cache.value = spec.capacity.value;
    }
}

fn no_bridge(spec: &mut DriveSpec) {
    fast_link(spec);
    deep(spec);
    spec.link.iter_mut().for_each(|link| link.turnaround_us.value = 0.0);
}

/// A card of allocation units, a few of which are open at a time.
fn card(spec: &mut DriveSpec, open: u32) {
    port(spec, "sd-sdr104");
    (spec.map.kind.value, spec.map.au.value.0) = (model::MapKind::Au, 4 << 20);
    (spec.map.open_aus.value, spec.map.random_in_au.value) = (open, true);
    (spec.nand.dies.value, spec.nand.channels.value) = (2, 1);
    (spec.nand.bits.value, spec.nand.program_us.value) = (2, 900.0);
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
pub const SCENARIOS: [Scenario; 40] = [
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
    Scenario { name: "SATA I", cause: |s| port(s, "sata-1"), lift: fast_link },
    Scenario { name: "USB 3, bulk only", cause: |s| port(s, "usb-3"), lift: no_bridge },
    Scenario {
        name: "USB with a slow turn-around",
        cause: |s| {
            port(s, "usb-3");
            s.link[0].turnaround_us.value = 250.0;
        },
        lift: no_bridge,
    },
    Scenario { name: "USB 3, UAS", cause: |s| port(s, "usb-3-uas"), lift: fast_link },
    Scenario {
        name: "latency of 1 ms",
        cause: |s| s.command.latency_us.value = 1000.0,
        lift: free_commands,
    },
    Scenario {
        name: "mapping unit 32 KiB",
        cause: |s| s.map.unit_bytes.value = 32_768,
        lift: small_units,
    },
    Scenario { name: "device depth 8", cause: |s| s.link[0].depth.value = 8, lift: deep },
    Scenario { name: "cache ends early", cause: |s| small_cache(s, 600 << 20), lift: large_cache },
    Scenario {
        name: "read cache of 64 MiB",
        cause: |s| s.buffer.read_cache.value.0 = 64 << 20,
        lift: all_cached,
    },
    Scenario {
        name: "worn, reads repeat",
        cause: |s| s.wear.used.value = 1.1,
        lift: |s| s.wear.used.value = 0.0,
    },
    Scenario {
        name: "power state of 5 ms",
        cause: |s| s.command.wake_us.value = 5000.0,
        lift: |s| s.command.wake_us.value = 0.0,
    },
    Scenario {
        name: "one open block",
        cause: |s| card(s, 1),
        lift: |s| s.map.open_aus.value = 4096,
    },
    Scenario {
        name: "four open blocks",
        cause: |s| card(s, 4),
        lift: |s| s.map.open_aus.value = 4096,
    },
    Scenario {
        name: "slow programs",
        cause: |s| s.nand.program_us.value = 6000.0,
        lift: |s| s.nand.program_us.value = 200.0,
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
        VerdictKind::FlashBound => Some(fast_flash),
        VerdictKind::Controller => Some(|s| s.buffer.intake_mb_s.value = 0.0),
        VerdictKind::DeviceCache => Some(all_cached),
        VerdictKind::OpenBlocks => Some(|s| s.map.open_aus.value = 4096),
        VerdictKind::Usb => Some(no_bridge),
        VerdictKind::PowerState => Some(|s| s.command.wake_us.value = 0.0),
        VerdictKind::Wear => Some(|s| s.wear.used.value = 0.0),
        VerdictKind::Flush => Some(|s| s.command.flush_us.value = 0.0),
        _ => None,
    }
}

/// A session of `quick` of this many virtual seconds.
pub fn quick(spec: &DriveSpec, seed: u64, seconds: u64) -> Outcome {
    method("quick", spec, seed, seconds)
}

/// A session of a method of this many virtual seconds.
pub fn method(name: &str, spec: &DriveSpec, seed: u64, seconds: u64) -> Outcome {
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut rig = Simulator::new(spec.clone(), "sim:proving", interrupt, Box::new(|_: &Event| {}));
    let mut session = Session::new(&mut rig);
    let time = Some(Duration::from_secs(seconds));
    let options = Options { seed, time, ..Options::default() };
    let run = find(name).expect("exists").run(&mut session, &options);
    run.unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    session.finish()
}

/// Value of every main figure, the higher the better; of the read after a rest its inverse.
fn figures(out: &Outcome) -> BTreeMap<String, f64> {
    let main = |name: &str| {
        let key = MetricKey::parse(name);
        key.is_main() && key.as_cell().is_some_and(|cell| cell.words.is_empty())
    };
    let value = |m: &record::Metric| match m.name.as_str() {
        "check-read-after-rest" => m.value.map(|ns| 1.0 / ns),
        name => m.value.filter(|_| main(name)),
    };
    out.metrics.iter().filter_map(|m| Some((m.name.clone(), value(m)?))).collect()
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
    (spec.seed.value, spec.vary.session_seed.value) = (seed, seed);
    spec.vary.amount.value = 1.0;
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

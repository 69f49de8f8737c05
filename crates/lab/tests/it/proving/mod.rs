//! The proving ground of verdicts: virtual drives with a known cause, and a judge of the verdicts
//! of `quick`.
//!
//! The truth is a counterfactual rather than a label: a verdict is right about a figure if the
//! figure rises by 10% on the same drive without that cause. A drive can therefore have several
//! causes, and a verdict that names another cause than the injected one is judged by the one it
//! names. What a lift removes is in `lifts.rs`. Here the causes are listed; `drawn.rs` draws drives at
//! random, `truth.rs` finds what limits them, `counterfactual.rs` judges verdicts by it, and
//! `headline.rs` the sentence about the largest loss.

pub mod counterfactual;
pub mod drawn;
pub mod headline;
pub mod lifts;
pub mod truth;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::Simulator;
use methods::find;
use model::{DriveSpec, ThrottleSpec};
use record::{MetricKey, Verdict};
use rig::Event;
use rules::Neighbour;
use script::{Options, Outcome, Session};

use lifts::{Change, group, groups_of};

/// A figure that rises by a smaller factor did not depend on the cause.
const MOVED: f64 = 1.1;

/// A virtual drive with a cause.
pub struct Scenario {
    /// The cause, for display.
    pub name: &'static str,
    /// Injects the cause.
    pub cause: Change,
    /// Removes the cause, to see which figures it limits.
    pub lift: Change,
}

/// A plain NVMe drive of 8 GB without an SLC cache or anything unusual.
pub fn plain() -> DriveSpec {
    let text =
        "name = \"plain\"\nmodel = \"Plain\"\ncapacity = \"8GB\"\n[[link]]\nbus = \"pcie-3x4\"\n";
    let mut spec = DriveSpec::parse("plain.toml", text).expect("well formed");
    spec.collect.superblock.value.0 = 96 << 20;
    spec
}

fn port(spec: &mut DriveSpec, bus: &str) {
    spec.link[0].bus.value = bus.to_string();
}

/// A card of allocation units, a few of which can be open at a time.
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

/// The causes that can be injected into a virtual drive.
pub static SCENARIOS: [Scenario; 41] = [
    Scenario { name: "nothing", cause: |_| {}, lift: |_| {} },
    Scenario { name: "PCIe 2.0 x1", cause: |s| port(s, "pcie-2x1"), lift: lifts::fast_link },
    Scenario { name: "PCIe 1.0 x1", cause: |s| port(s, "pcie-1x1"), lift: lifts::fast_link },
    Scenario { name: "SATA III", cause: |s| port(s, "sata-3"), lift: lifts::fast_link },
    Scenario { name: "USB 2", cause: |s| port(s, "usb-2"), lift: lifts::fast_link },
    Scenario { name: "SD high speed", cause: |s| port(s, "sd-high"), lift: lifts::fast_link },
    Scenario { name: "8 times the link", cause: lifts::fast_link, lift: |_| {} },
    Scenario {
        name: "mapping unit 64 KiB",
        cause: |s| s.map.unit_bytes.value = 65_536,
        lift: lifts::small_units,
    },
    Scenario {
        name: "mapping unit 16 KiB",
        cause: |s| s.map.unit_bytes.value = 16_384,
        lift: lifts::small_units,
    },
    Scenario {
        name: "one core of 40 us",
        cause: |s| one_core(s, 40.0),
        lift: lifts::no_command_time,
    },
    Scenario {
        name: "one core of 100 us",
        cause: |s| one_core(s, 100.0),
        lift: lifts::no_command_time,
    },
    Scenario {
        name: "host time of 100 us",
        cause: |s| s.host.command_us.value = 100.0,
        lift: lifts::no_host_time,
    },
    Scenario {
        name: "host time of 2 ms",
        cause: |s| s.host.command_us.value = 2000.0,
        lift: lifts::no_host_time,
    },
    Scenario {
        name: "latency of 300 us",
        cause: |s| s.command.latency_us.value = 300.0,
        lift: lifts::no_command_time,
    },
    Scenario { name: "device depth 1", cause: |s| s.link[0].depth.value = 1, lift: lifts::deep },
    Scenario { name: "device depth 2", cause: |s| s.link[0].depth.value = 2, lift: lifts::deep },
    Scenario { name: "device depth 4", cause: |s| s.link[0].depth.value = 4, lift: lifts::deep },
    Scenario { name: "hot from the start", cause: |s| throttled(s, 200.0), lift: lifts::cold },
    Scenario { name: "hot, mildly", cause: |s| throttled(s, 900.0), lift: lifts::cold },
    Scenario {
        name: "cache ends inside the run",
        cause: |s| small_cache(s, 1200 << 20),
        lift: lifts::large_cache,
    },
    Scenario {
        name: "map cached in part",
        cause: |s| (s.map.cache.value.0, s.map.miss_us.value) = (16 << 10, 60.0),
        lift: lifts::whole_map,
    },
    Scenario { name: "one die", cause: |s| s.nand.dies.value = 1, lift: lifts::fast_flash },
    Scenario { name: "four dies", cause: |s| s.nand.dies.value = 4, lift: lifts::fast_flash },
    Scenario {
        name: "NAND-bound SATA drive",
        cause: |s| {
            port(s, "sata-3");
            (s.nand.dies.value, s.nand.program_us.value) = (2, 2000.0);
        },
        lift: lifts::fast_flash,
    },
    Scenario {
        name: "slow intake",
        cause: |s| s.buffer.intake_mb_s.value = 150.0,
        lift: lifts::no_intake_limit,
    },
    Scenario {
        name: "slow flush",
        cause: |s| s.command.flush_us.value = 20_000.0,
        lift: lifts::no_flush_time,
    },
    Scenario {
        name: "slow flash bus",
        cause: |s| s.nand.bus_mb_s.value = 30.0,
        lift: lifts::fast_flash,
    },
    Scenario { name: "SATA I", cause: |s| port(s, "sata-1"), lift: lifts::fast_link },
    Scenario { name: "USB 3, bulk only", cause: |s| port(s, "usb-3"), lift: lifts::deep },
    Scenario {
        name: "USB with a slow turn-around",
        cause: |s| {
            port(s, "usb-3");
            s.link[0].turnaround_us.value = 250.0;
        },
        lift: lifts::no_turnaround,
    },
    Scenario { name: "USB 3, UAS", cause: |s| port(s, "usb-3-uas"), lift: lifts::fast_link },
    Scenario {
        name: "latency of 1 ms",
        cause: |s| s.command.latency_us.value = 1000.0,
        lift: lifts::no_command_time,
    },
    Scenario {
        name: "mapping unit 32 KiB",
        cause: |s| s.map.unit_bytes.value = 32_768,
        lift: lifts::small_units,
    },
    Scenario { name: "device depth 8", cause: |s| s.link[0].depth.value = 8, lift: lifts::deep },
    Scenario {
        name: "cache ends early",
        cause: |s| small_cache(s, 600 << 20),
        lift: lifts::large_cache,
    },
    Scenario {
        name: "read cache of 64 MiB",
        cause: |s| s.buffer.read_cache.value.0 = 64 << 20,
        lift: lifts::all_cached,
    },
    Scenario {
        name: "worn, reads repeat",
        cause: |s| s.wear.used.value = 1.1,
        lift: lifts::unworn,
    },
    Scenario {
        name: "power state of 5 ms",
        cause: |s| s.command.wake_us.value = 5000.0,
        lift: lifts::awake,
    },
    Scenario { name: "one open block", cause: |s| card(s, 1), lift: lifts::open_blocks },
    Scenario { name: "four open blocks", cause: |s| card(s, 4), lift: lifts::open_blocks },
    Scenario {
        name: "slow programs",
        cause: |s| s.nand.program_us.value = 6000.0,
        lift: lifts::fast_flash,
    },
];

/// A session of `quick` lasting this many virtual seconds.
pub fn quick(spec: &DriveSpec, seed: u64, seconds: u64) -> Outcome {
    method("quick", spec, seed, seconds)
}

/// A session of a method lasting this many virtual seconds.
pub fn method(name: &str, spec: &DriveSpec, seed: u64, seconds: u64) -> Outcome {
    beside(Vec::new(), name, spec, seed, seconds)
}

/// Figures of two other models on the same host, if the host takes time.
fn neighbours(spec: &DriveSpec, seed: u64, seconds: u64) -> Vec<Neighbour> {
    let models = [("Small", 8, 65.0, 900.0), ("Large", 32, 35.0, 500.0)];
    let behind = models.into_iter().filter(|_| *spec.host.command_us > 0.0);
    behind
        .map(|(model, dies, read_us, program_us)| {
            let mut other = spec.clone();
            other.nand.dies.value = dies;
            (other.nand.read_us.value, other.nand.program_us.value) = (read_us, program_us);
            let out = quick(&other, seed, seconds);
            Neighbour::new(model, &out.metrics)
        })
        .collect()
}

fn beside(
    neighbours: Vec<Neighbour>,
    name: &str,
    spec: &DriveSpec,
    seed: u64,
    seconds: u64,
) -> Outcome {
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut rig = Simulator::new(spec.clone(), "sim:proving", interrupt, Box::new(|_: &Event| {}));
    let mut session = Session::new(&mut rig).with_neighbours(neighbours);
    let time = Some(Duration::from_secs(seconds));
    let options = Options { seed, time, ..Options::default() };
    let run = session.run(find(name).expect("exists"), &options);
    run.unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    session.finish()
}

/// The value of every main figure, higher is better; inverted for the read after a rest.
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

/// The verdicts on the figures of one drive.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Verdicts about a figure that rises without the named cause, by kind.
    pub right: BTreeMap<String, u32>,
    /// Verdicts about a figure that does not.
    pub wrong: BTreeMap<String, u32>,
    /// Verdicts without a parameter in a drive's description, so that nothing can be lifted.
    pub unjudged: BTreeMap<String, u32>,
    /// Figures limited by the injected cause, without a verdict.
    pub open: Vec<String>,
    /// The wrong verdicts, for display.
    pub slips: Vec<String>,
    /// Number of figures, and of those with a verdict.
    pub figures: u32,
    pub explained: u32,
}

/// The drive of a scenario, and its figures with and without a cause.
struct Trial<'a> {
    scenario: &'a Scenario,
    seed: u64,
    seconds: u64,
    spec: DriveSpec,
    now: BTreeMap<String, f64>,
    /// Figures without a cause, keyed by the lifting function, because several verdicts can share
    /// one.
    lifted: RefCell<BTreeMap<usize, Rc<BTreeMap<String, f64>>>>,
}

impl Trial<'_> {
    fn without(&self, lift: Change) -> Rc<BTreeMap<String, f64>> {
        let mut known = self.lifted.borrow_mut();
        let found = known.entry(lift as usize).or_insert_with(|| {
            let mut lifted = self.spec.clone();
            lift(&mut lifted);
            Rc::new(figures(&quick(&lifted, self.seed, self.seconds)))
        });
        Rc::clone(found)
    }

    fn rises(&self, lifted: &BTreeMap<String, f64>, metric: &str) -> bool {
        let both = lifted.get(metric).zip(self.now.get(metric));
        both.is_some_and(|(free, held)| *free > MOVED * held)
    }

    fn words(&self, of: &str, metric: &str, lifted: &[Rc<BTreeMap<String, f64>>]) -> String {
        let free: Vec<String> = lifted.iter().map(|f| format!("{:.4e}", f[metric])).collect();
        let (name, seed, held) = (self.scenario.name, self.seed, self.now[metric]);
        format!("{name}, seed {seed}: {of}{metric}, {held:.4e} -> {}", free.join(" | "))
    }

    /// Judges a verdict, trying lifts until all of its figures have risen.
    fn judge(&self, verdict: &Verdict, tally: &mut Tally) {
        let explained = verdict.explains.iter().map(|e| e.metric.as_str());
        let mut left: Vec<&str> = explained.filter(|m| self.now.contains_key(*m)).collect();
        let kind = verdict.kind.to_string();
        let count = |list: &mut BTreeMap<String, u32>, n: usize| {
            if n > 0 {
                *list.entry(kind.clone()).or_default() += n as u32;
            }
        };
        let groups = groups_of(&verdict.kind);
        if groups.is_empty() {
            return count(&mut tally.unjudged, left.len());
        }
        let (all, mut lifted) = (left.len(), Vec::new());
        for name in groups {
            if left.is_empty() {
                break;
            }
            let free = self.without(group(name).lift);
            left.retain(|metric| !self.rises(&free, metric));
            lifted.push(free);
        }
        count(&mut tally.right, all - left.len());
        count(&mut tally.wrong, left.len());
        let of = format!("{} of ", verdict.kind);
        tally.slips.extend(left.iter().map(|metric| self.words(&of, metric, &lifted)));
    }
}

/// Judges the verdicts of one session on one drive.
pub fn judge(scenario: &Scenario, seed: u64, seconds: u64) -> Tally {
    let mut spec = plain();
    (spec.seed.value, spec.vary.session_seed.value) = (seed, seed);
    spec.vary.amount.value = 1.0;
    (scenario.cause)(&mut spec);
    let out = beside(neighbours(&spec, seed, seconds), "quick", &spec, seed, seconds);
    let trial =
        Trial { scenario, seed, seconds, spec, now: figures(&out), lifted: RefCell::default() };
    let mut tally = Tally::default();
    out.verdicts.iter().for_each(|verdict| trial.judge(verdict, &mut tally));
    let said = |metric: &str| out.verdicts.iter().any(|verdict| verdict.explains(metric));
    tally.figures = trial.now.len() as u32;
    tally.explained = trial.now.keys().filter(|metric| said(metric)).count() as u32;
    let lifted = [trial.without(scenario.lift)];
    let held = trial.now.keys().filter(|m| trial.rises(&lifted[0], m) && !said(m));
    tally.open = held.map(|metric| trial.words("", metric, &lifted)).collect();
    tally
}

//! How well twins predict: drives hidden by a seed are measured, fitted, and asked for work that nothing
//! measured.
//!
//! `twin [--seed N] [--drives N]`: each drive is a class with 8 to 10 parameters drawn anew. `fit` gets
//! the runs of three methods and the class, nothing else. A prediction that rests on a parameter that no
//! run determined is marked; the others must be right.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::Simulator;
use lab::Options;
use lab::fit::{Before, FitReport, Measurements};
use model::DriveSpec;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rig::{Preparation, Rig};
use workload::{Content, Mix, Pattern, Region, Stop, Workload};

#[path = "../tests/it/quiet/mod.rs"]
mod quiet;
#[path = "../tests/it/recorded/mod.rs"]
mod recorded;

use recorded::recorded;

/// The bases: what is known before a measurement.
const CLASSES: [&str; 5] = ["pcie3-8ch", "pcie3-4ch", "sata-tlc", "pcie4-8ch", "pcie4-4ch-hmb"];

/// Capacity of the hidden drives: the work on small drives is that on large ones, in less time.
const CAPACITY: u64 = 16 << 30;

/// The runs that a twin is fitted to.
const METHODS: [&str; 3] = ["quick", "sustain", "states"];

/// A prediction is right if it is this close.
const CLOSE: f64 = 0.10;

/// Goals: shares of right predictions among those without a mark, and of those without a mark.
const RIGHT_MIN: f64 = 0.85;
const UNMARKED_MIN: f64 = 0.70;

/// Parameters to draw: key, lowest, highest.
const DRAWN: [(&str, f64, f64); 12] = [
    ("nand.read_us", 25.0, 90.0),
    ("nand.slc_read_us", 12.0, 35.0),
    ("nand.program_us", 400.0, 1200.0),
    ("nand.slc_program_us", 60.0, 200.0),
    ("nand.dies", 4.0, 32.0),
    ("op", 0.05, 0.25),
    ("slc.dynamic", 5e8, 4e9),
    ("slc.drain", 0.1, 0.5),
    ("command.latency_us", 4.0, 20.0),
    ("command.read_us", 3.0, 12.0),
    ("command.write_us", 3.0, 12.0),
    ("nand.bus_mb_s", 400.0, 1600.0),
];

struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// From 0 to below 1.
    fn share(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        (self.share() * n as f64) as usize
    }
}

/// A hidden drive.
struct Hidden {
    class: &'static str,
    pairs: Vec<(&'static str, String)>,
}

impl Hidden {
    fn draw(dice: &mut Dice) -> Hidden {
        let class = CLASSES[dice.below(CLASSES.len())];
        let mut keys: Vec<_> = DRAWN.to_vec();
        let count = 8 + dice.below(3);
        while keys.len() > count {
            keys.swap_remove(dice.below(keys.len()));
        }
        let mut pairs = vec![("capacity", CAPACITY.to_string())];
        pairs.extend(keys.into_iter().map(|(key, low, high)| {
            let value = low * libm::pow(high / low, dice.share());
            let text = match key {
                // Chips come in powers of two.
                "nand.dies" => format!("{:.0}", libm::exp2(libm::log2(value).round())),
                "slc.dynamic" => format!("{value:.0}"),
                _ => format!("{value:.3}"),
            };
            (key, text)
        }));
        Hidden { class, pairs }
    }

    fn name(&self) -> String {
        let pairs: Vec<String> =
            self.pairs.iter().map(|(key, value)| format!("{key}={value}")).collect();
        format!("sim:class={}&{}", self.class, pairs.join("&"))
    }

    fn spec(&self) -> DriveSpec {
        let pairs: Vec<(&str, &str)> =
            self.pairs.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let class = DriveSpec::from_class(self.class).expect("a class");
        class.with_overrides(&pairs).expect("in range")
    }
}

/// Work that no method of [`METHODS`] has, with its options for `ssdyno io`.
struct Untested {
    workload: Workload,
    before: Before,
    options: &'static str,
}

fn untested() -> Vec<Untested> {
    const GIB: u64 = 1 << 30;
    let new = |options: &'static str, pattern: &Pattern, mix, block: u32, depth: u32, before| {
        let bytes = match (before, mix) {
            (Before::Fresh, _) => 2 * GIB,
            _ => GIB,
        };
        let stop = Stop { bytes: Some(bytes.min(40_000 * u64::from(block))), ..Stop::default() };
        let workload = Workload {
            depth,
            stop,
            ..Workload::new("untested", pattern.clone(), mix, block, Region::first(bytes))
        };
        Untested { workload, before, options }
    };
    let (random, ordered) = (&Pattern::UniformOnce, &Pattern::Sequential);
    vec![
        new("randread --bs 16k --depth 8", random, Mix::READ, 16_384, 8, Before::Rested),
        new("randread --bs 4k --depth 128", random, Mix::READ, 4096, 128, Before::Rested),
        new("randread --bs 64k --depth 4", random, Mix::READ, 65_536, 4, Before::Rested),
        new("randread --bs 8k --depth 4", random, Mix::READ, 8192, 4, Before::LaidOut),
        new("read --bs 64k --depth 1", ordered, Mix::READ, 65_536, 1, Before::Rested),
        new("read --bs 128k --depth 32", ordered, Mix::READ, 131_072, 32, Before::Rested),
        new("randwrite --bs 16k --depth 2", random, Mix::WRITE, 16_384, 2, Before::Fresh),
        new("randwrite --bs 4k --depth 8", random, Mix::WRITE, 4096, 8, Before::Fresh),
        new("write --bs 64k --depth 1", ordered, Mix::WRITE, 65_536, 1, Before::Fresh),
        new("write --bs 256k --depth 4", ordered, Mix::WRITE, 262_144, 4, Before::Fresh),
        new("randwrite --bs 4k --depth 32", random, Mix::WRITE, 4096, 32, Before::Steady),
    ]
}

/// The rate on the hidden drive, bytes per second.
fn truth(spec: &DriveSpec, untested: &Untested) -> f64 {
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut rig = Simulator::new(spec.clone(), "sim:x", interrupt, Box::new(|_: &rig::Event| {}));
    let mut fill = |region| {
        rig.prepare(Preparation::Fill { region, content: Content::Random, seed: 1 })
            .expect("filled");
    };
    let everything = Region::first(spec.capacity.0);
    match untested.before {
        Before::Fresh => {}
        Before::LaidOut | Before::Rested => fill(untested.workload.region),
        Before::Full | Before::Steady => fill(everything),
    }
    let mut workload = untested.workload.clone();
    if untested.before == Before::Rested {
        rig.idle(std::time::Duration::from_secs(10)).expect("a rest");
    }
    if untested.before == Before::Steady {
        let stop = Stop { bytes: Some(2 * spec.capacity.0), ..Stop::default() };
        let random = Workload::new("wear-in", Pattern::Uniform, Mix::WRITE, 4096, everything);
        rig.measure(&Workload { depth: 32, stop, ..random }).expect("worn in");
        workload.region = everything;
        workload.pattern = Pattern::Uniform;
        workload.stop = Stop { bytes: Some(spec.capacity.0 / 2), ..Stop::default() };
    }
    rig.measure(&workload).expect("measured").throughput(None).expect("bytes")
}

/// A prediction beside the truth.
struct Judged {
    command: String,
    off: f64,
    rests_on: Vec<String>,
}

fn judge(hidden: &Hidden, fitted: &FitReport) -> Vec<Judged> {
    let spec = hidden.spec();
    let judged = untested().into_iter().map(|untested| {
        let mut workload = untested.workload.clone();
        if untested.before == Before::Steady {
            workload.region = Region::first(CAPACITY);
            workload.pattern = Pattern::Uniform;
        }
        let foreseen = fitted.foresee(&workload, untested.before);
        let off = foreseen.rate / truth(&spec, &untested) - 1.0;
        let state = if untested.before == Before::Steady { "&state=used" } else { "" };
        let command = format!("ssdyno io '{}{state}' --rw {}", hidden.name(), untested.options);
        Judged { command, off, rests_on: foreseen.rests_on }
    });
    judged.collect()
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, usual: u64| {
        let place = words.iter().position(|word| word == name);
        place.and_then(|place| words.get(place + 1)?.parse().ok()).unwrap_or(usual)
    };
    let (seed, drives) = (number("--seed", 1), number("--drives", 5));
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed));
    let place = tempfile::tempdir().expect("a directory");
    let (mut judged, mut lines) = (Vec::new(), String::new());
    for drive in 0..drives {
        let hidden = Hidden::draw(&mut dice);
        let store = place.path().join(format!("{drive}.sqlite"));
        let runs =
            METHODS.map(|method| recorded(method, &hidden.name(), &Options::default(), &store));
        let measurements = Measurements::from_runs("twin", &runs).expect("measurements");
        let base = format!("class={}", hidden.class);
        let fitted = measurements.fit(Some(&base)).expect("fitted");
        if words.iter().any(|word| word == "--verbose") {
            for figure in &fitted.decided {
                let truth = hidden.spec().figures();
                let truth = truth.iter().find(|line| line.key == figure.key);
                let truth = truth.map_or("", |line| line.value.as_str());
                println!("{} {} (hidden: {truth}) by {}", figure.key, figure.value, figure.source);
            }
            println!("undetermined: {:?} {:?}", fitted.advice, fitted.without_effect);
            for p in &fitted.predictions {
                println!("{} {:+.1}%", p.name, 100.0 * (p.predicted / p.measured - 1.0));
            }
        }
        let predictions = judge(&hidden, &fitted);
        let unmarked: Vec<&Judged> = predictions.iter().filter(|p| p.rests_on.is_empty()).collect();
        let right = unmarked.iter().filter(|p| p.off.abs() <= CLOSE).count();
        _ = writeln!(
            lines,
            "| `{}` | {} | {} | {right} |",
            hidden.name(),
            predictions.len(),
            unmarked.len()
        );
        judged.extend(predictions);
    }
    if words.iter().any(|word| word == "--verbose") {
        for p in &judged {
            println!("{:+.1}% {} {:?}", 100.0 * p.off, p.command, p.rests_on);
        }
    }
    report(seed, &judged, &lines)
}

fn report(seed: u64, judged: &[Judged], lines: &str) -> ExitCode {
    let unmarked: Vec<&Judged> = judged.iter().filter(|p| p.rests_on.is_empty()).collect();
    let right = unmarked.iter().filter(|p| p.off.abs() <= CLOSE).count();
    let right_share = right as f64 / unmarked.len().max(1) as f64;
    let unmarked_share = unmarked.len() as f64 / judged.len().max(1) as f64;
    let word = |met: bool| if met { "met" } else { "MISSED" };
    println!(
        "Hidden drives, fitted to {} with their class as base, seed {seed}. A prediction is marked if it \
         rests on a parameter that no run determined.\n",
        METHODS.join(", ")
    );
    println!("| hidden drive | predictions | unmarked | of these within 10% |\n|---|---|---|---|");
    println!("{lines}");
    println!("| | share | goal |\n|---|---|---|");
    let (right_met, unmarked_met) = (right_share >= RIGHT_MIN, unmarked_share >= UNMARKED_MIN);
    println!(
        "| unmarked within 10% | {right} of {}: {:.0}% | at least {:.0}% {} |",
        unmarked.len(),
        100.0 * right_share,
        100.0 * RIGHT_MIN,
        word(right_met)
    );
    println!(
        "| unmarked | {} of {}: {:.0}% | at least {:.0}% {} |",
        unmarked.len(),
        judged.len(),
        100.0 * unmarked_share,
        100.0 * UNMARKED_MIN,
        word(unmarked_met)
    );
    let mut worst: Vec<&&Judged> = unmarked.iter().filter(|p| p.off.abs() > CLOSE).collect();
    worst.sort_by(|a, b| b.off.abs().total_cmp(&a.off.abs()));
    println!("\nWorst of the unmarked:\n");
    for p in worst.iter().take(8) {
        println!("- {:+.0}%: `{}`", 100.0 * p.off, p.command);
    }
    if right_met && unmarked_met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

//! Drawn pairs of runs, whose drawer knows whether they did the same work: same work is compared,
//! unlike work is refused with the difference named, and one drive rarely differs from itself.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use compat::iozone::{IozoneCommand, IozoneRequest};
use fuzz::Random;
use record::{Metric, Unit};
use workload::{BlockSizes, Content};

use super::*;
use crate::io::{Access, Io};
use crate::request::Request;
use crate::{Options, Work, work};

const PAIRS: usize = 500;

/// Standard deviation between runs of a virtual drive, as a fraction.
const SPREAD: f64 = 0.005;

/// One work and the drive that does it, as drawn.
#[derive(Clone, Debug, PartialEq)]
struct Drawn {
    method: &'static str,
    /// The facts that determine the work, by the name that a refusal uses.
    facts: BTreeMap<&'static str, usize>,
    drive: usize,
}

const DRIVES: [&str; 5] = [
    "sim:sd-150x?capacity=64MiB",
    "sim:sd-150x?capacity=64MiB&seed=2",
    "sim:sd-class2?capacity=64MiB",
    "sim:samsung-970-pro-1t?capacity=1GiB",
    "sim:samsung-970-pro-1t?capacity=1GiB&unit=16384",
];

const METHODS: [&str; 5] = ["io", "speed", "curve", "iometer", "iozone"];

/// Names of the facts of each method, with the number of values to draw from.
fn choices(method: &str) -> &'static [(&'static str, usize)] {
    match method {
        "io" => &[
            ("operation", 4),
            ("order", 2),
            ("block size", 3),
            ("depth", 3),
            ("rate", 3),
            ("jobs", 2),
            ("duration", 2),
            ("--size", 3),
        ],
        "iozone" => &[("-e", 2), ("-o", 2), ("-U", 2), ("-H", 3), ("-j", 3), ("-t", 2)],
        "curve" => &[("--reads", 3), ("--size", 3), ("--time", 3)],
        "iometer" => &[("--outstanding", 3), ("--workers", 2), ("--size", 3)],
        _ => &[("--size", 3), ("--replicates", 3)],
    }
}

impl Drawn {
    fn new(random: &mut Random) -> Drawn {
        // Half of the work is that of `io`.
        let method = METHODS[random.below(2 * METHODS.len()).saturating_sub(METHODS.len())];
        let facts = choices(method).iter().map(|(name, n)| (*name, random.below(*n))).collect();
        Drawn { method, facts, drive: random.below(DRIVES.len()) }
    }

    /// The other run of a pair: the same work, on any drive, or work with one or two other facts,
    /// or any.
    fn partner(&self, random: &mut Random) -> Drawn {
        let mut partner = Drawn { drive: random.below(DRIVES.len()), ..self.clone() };
        let changes = match random.below(6) {
            0 => return Drawn::new(random),
            1 | 2 => 1,
            3 => 2,
            _ => 0,
        };
        for _ in 0..changes {
            let facts = choices(self.method);
            let (name, n) = facts[random.below(facts.len())];
            partner.facts.insert(name, random.below(n));
        }
        partner
    }

    fn fact(&self, name: &str) -> usize {
        self.facts.get(name).copied().unwrap_or(0)
    }

    fn differences(&self, other: &Drawn) -> BTreeSet<&'static str> {
        if self.method != other.method {
            return BTreeSet::from(["method"]);
        }
        let facts = self.facts.iter();
        facts.filter(|(name, value)| other.fact(name) != **value).map(|(name, _)| *name).collect()
    }

    fn io(&self) -> Io {
        let rw = match (self.fact("operation"), self.fact("order")) {
            (0, 0) => Access::Read,
            (0, _) => Access::RandRead,
            (1, 0) => Access::Write,
            (1, _) => Access::RandWrite,
            (_, 0) => Access::Rw,
            _ => Access::RandRw,
        };
        Io {
            rw,
            mix: if self.fact("operation") == 2 { 70 } else { 30 },
            blocks: BlockSizes::Fixed([4096, 16_384, 65_536][self.fact("block size")]),
            content: Content::Random,
            verify: false,
            buffered: false,
            flush_every: None,
            no_flush: false,
            depth: [1, 8, 32][self.fact("depth")],
            batch: 1,
            jobs: [1, 2][self.fact("jobs")],
            rate: [None, Some(100.0), Some(200.0)][self.fact("rate")],
            poisson: false,
            burst: None,
            time_ns: Some([1_000_000_000, 2_000_000_000][self.fact("duration")]),
            coverage: None,
            ops: None,
            offset: 0,
            size: self.size(),
            shift: 0,
            stride: None,
            backwards: false,
            repeats: false,
            zipf: None,
            hot: None,
            seed: 1,
        }
    }

    fn size(&self) -> Option<u64> {
        [None, Some(16 << 20), Some(32 << 20)][self.fact("--size")]
    }

    fn options(&self) -> Options {
        let typed = ["--reads", "--outstanding", "--workers"].iter().filter_map(|name| {
            let value = self.facts.get(name).filter(|value| **value > 0)?;
            Some((name.trim_start_matches("--").to_string(), vec![(10 * value).to_string()]))
        });
        let options = Options {
            size: self.size(),
            time: [None, Some(5), Some(9)][self.fact("--time")].map(Duration::from_secs),
            replicates: [None, Some(2), Some(3)][self.fact("--replicates")],
            ..Options::default()
        };
        let typed: Vec<_> = typed.collect();
        work::options(&[self.method.to_string()], &typed, options).expect("declared")
    }

    /// iozone's command line on the drive, with the options drawn.
    fn iozone(&self) -> IozoneCommand {
        let drive = DRIVES[self.drive];
        let mut words = vec!["-i", "0", "-s", "4m", "-r", "64k", "-f", drive];
        // Only reads of test 5 have a stride.
        words.extend(["-i", "5"]);
        for flag in [&["-e"][..], &["-o"], &["-U", "/mnt"]] {
            words.extend(flag.iter().filter(|_| self.fact(flag[0]) > 0));
        }
        words.extend([["-H", "1"], ["-H", "4"], ["-H", "8"]][self.fact("-H")]);
        words.extend([["-j", "4"], ["-j", "8"], ["-j", "17"]][self.fact("-j")]);
        if self.fact("-t") > 0 {
            words.extend(["-t", "2"]);
        }
        let words: Vec<String> = words.into_iter().map(String::from).collect();
        match compat::iozone::parse(&words) {
            Ok(IozoneRequest::Run(command)) => *command,
            other => panic!("{words:?}: {other:?}"),
        }
    }

    /// The record of such a run, with a rate that is the drive's but for chance.
    fn run(&self, id: usize, random: &mut Random) -> Run {
        let request = Request::on(DRIVES[self.drive]);
        let (io, options) = if self.method == "io" {
            (self.io(), Options::default())
        } else {
            (Drawn { method: "io", facts: BTreeMap::new(), drive: 0 }.io(), self.options())
        };
        let work = match self.method {
            "io" => Work::io(&io),
            "iozone" => crate::iozone::work(&self.iozone(), false).expect("a method"),
            name => Work::method(name, &options).expect("a method"),
        };
        let planned = request.plan(&work).expect("planned");
        let uniform = (0..12).map(|_| random.below(1 << 20) as f64 / f64::from(1 << 20));
        let normal = uniform.sum::<f64>() - 6.0;
        let rate = 1e8 * (1.0 + self.drive as f64) * libm::exp(SPREAD * normal);
        Run {
            id: id.to_string(),
            protocol: planned.test.protocol,
            options: planned.test.options.clone(),
            metrics: vec![Metric::single("throughput", Unit::BytesPerSecond, rate)],
            plan: Some(planned.plan),
            ..Run::new(self.method, planned.info.target)
        }
    }
}

#[test]
fn like_work_is_compared_and_unlike_work_refused_by_name() {
    let seed = 40;
    let mut random = Random::new(seed);
    let (mut refused, mut same_drive, mut claims) = (0, 0, 0);
    for pair in 0..PAIRS {
        let a = Drawn::new(&mut random);
        let b = a.partner(&mut random);
        let differences = a.differences(&b);
        let runs = [&a, &b].map(|drawn| drawn.run(0, &mut random));
        let sides = runs.map(|run| Side { runs: vec![run], repeats: Vec::new() });
        let case = format!("seed {seed}, pair {pair}: {a:?} {b:?}");
        let comparison = compare(&sides, None).expect("compared").remove(0);
        let named: BTreeSet<&str> =
            comparison.work_differs.iter().map(|difference| &*difference.what).collect();
        match check_alike(&sides) {
            Ok(()) => assert!(differences.is_empty(), "{case}: compared"),
            Err(error) => {
                assert!(!differences.is_empty(), "{case}: {error}");
                assert!(differences.iter().all(|name| error.to_string().contains(name)), "{error}");
                assert!(comparison.sentence.starts_with("Unlike work ("), "{comparison:?}");
                refused += 1;
            }
        }
        if a.method == b.method {
            assert_eq!(named, differences, "{case}");
        }
        // Target and overrides are named, never refused.
        let target = comparison.conditions_differ.iter().find(|d| d.what == "target");
        assert_eq!(target.is_some(), a.drive != b.drive, "{case}");
        if differences.is_empty() && a.drive == b.drive {
            same_drive += 1;
            claims += u32::from(matches!(
                comparison.pairs[0].claim,
                Brief::FirstFaster | Brief::SecondFaster
            ));
        }
    }
    assert!(refused > PAIRS / 4 && same_drive > 20, "{refused} refused, {same_drive} alike");
    assert!(claims * 20 <= same_drive, "{claims} of {same_drive} pairs of one drive differ");
}

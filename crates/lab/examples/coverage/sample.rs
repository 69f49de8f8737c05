//! Runs of `quick` on specimens of virtual drives in several sessions: how many intervals contain
//! the next run, and how many comparisons of a drive with itself claim a difference. Shared by the
//! example `coverage` and its test.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use analysis::{ClaimKind, LogQuantity, Sides, claims, outlook};
use engine::Simulator;
use lab::assumed_spread_of;
use methods::find;
use model::DriveSpec;
use record::{Metric, MetricKey, Run, Unit};
use rig::Rig;
use script::{Options, Session};

/// Numbers of runs that an interval rests on, including the present one.
pub const RUNS: [usize; 3] = [1, 3, 5];

/// Sessions of a specimen: one more than the largest number in [`RUNS`].
pub const SESSIONS: usize = RUNS[RUNS.len() - 1] + 1;

/// A true difference between two drives.
pub const FASTER: f64 = 1.05;

/// Maximum number of primary metrics of a method.
const FAMILY_MAX: usize = 8;

/// Presets of all kinds: NVMe with TLC, MLC and QLC, SATA, without DRAM, eMMC, cards, sticks.
pub const PRESETS: [&str; 16] = [
    "samsung-980-pro-1t",
    "samsung-970-pro-1t",
    "samsung-970-evo-plus-250",
    "sabrent-rocket-4-plus-2t",
    "crucial-mx500-1t",
    "wd-sn530-256",
    "dramless-hmb-1t",
    "qlc-1t",
    "cm4-emmc-32",
    "sd-150x",
    "sd-class2",
    "sd-unmarked-4g",
    "mmc-kingston-256m",
    "usb-16k",
    "usb-cruzer-4g",
    "usb-verbatim-1g",
];

/// Hits and trials.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    pub hits: u32,
    pub trials: u32,
}

impl Count {
    /// Share of hits, 0 to 1.
    pub fn share(self) -> f64 {
        f64::from(self.hits) / f64::from(self.trials.max(1))
    }

    pub fn add(&mut self, hit: bool) {
        self.sum(Count { hits: u32::from(hit), trials: 1 });
    }

    pub fn sum(&mut self, other: Count) {
        self.hits += other.hits;
        self.trials += other.trials;
    }
}

/// Runs `quick` on a preset with these overrides and returns its primary cells.
pub fn primary(preset: &str, pairs: &[(&str, &str)], options: &Options) -> Vec<Metric> {
    outcome(preset, pairs, options).metrics.into_iter().filter(is_primary).collect()
}

/// Runs a session of `quick` on a preset with these overrides.
pub fn outcome(preset: &str, pairs: &[(&str, &str)], options: &Options) -> script::Outcome {
    let spec = DriveSpec::preset(preset).and_then(|spec| spec.with_overrides(pairs));
    let never = Arc::new(AtomicBool::new(false));
    let quiet = Box::new(|_: &rig::Event| {});
    let mut rig = Simulator::new(spec.expect("a preset"), "sim:x", never, quiet);
    let mut script = Session::new(&mut rig);
    script.run(find("quick").expect("a method"), options).expect("it ends");
    script.finish()
}

fn is_primary(metric: &Metric) -> bool {
    let key = metric.key();
    let cell = key.as_cell().is_some_and(|cell| cell.words.is_empty());
    cell && key.is_main() && matches!(metric.unit, Unit::BytesPerSecond | Unit::Iops)
}

/// The primary cells among the metrics of a run.
pub fn cells(metrics: Vec<Metric>) -> BTreeMap<String, LogQuantity> {
    let value = |m: Metric| Some((m.name, LogQuantity::new(m.value?, &m.samples)?));
    metrics.into_iter().filter(is_primary).filter_map(value).collect()
}

/// A run of `quick` on a preset, without its results: the spread assumed of a drive follows from it.
pub fn described(preset: &str) -> Run {
    let spec = DriveSpec::preset(preset).expect("a preset");
    let (never, quiet) = (Arc::new(AtomicBool::new(false)), Box::new(|_: &rig::Event| {}));
    let drive = Simulator::new(spec, &format!("sim:{preset}"), never, quiet);
    Run::new("quick", drive.target().target.clone())
}

/// The number of a specimen's session among all sessions.
pub fn session_number(specimen: u64, session: u64) -> u64 {
    1000 * specimen + session
}

/// The overrides of a session of a specimen.
pub fn varied(specimen: u64, session: u64) -> [(&'static str, String); 3] {
    let number = session_number(specimen, session).to_string();
    [("vary", "1".into()), ("seed", specimen.to_string()), ("vary.session_seed", number)]
}

/// The primary cells of one session of a specimen.
pub fn session(
    preset: &str,
    specimen: u64,
    session: u64,
    size: u64,
) -> BTreeMap<String, LogQuantity> {
    let pairs = varied(specimen, session);
    let pairs: Vec<_> = pairs.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let options = Options { size: Some(size), seed: session, ..Options::default() };
    cells(primary(preset, &pairs, &options))
}

/// The sessions of one specimen.
pub fn sessions(preset: &str, specimen: u64, size: u64) -> Vec<BTreeMap<String, LogQuantity>> {
    (1..=SESSIONS as u64).map(|number| session(preset, specimen, number, size)).collect()
}

/// For each number in [`RUNS`], adds whether the intervals of one specimen contain each cell's next
/// value.
pub fn cover(
    of_drive: &Run,
    runs: &[BTreeMap<String, LogQuantity>],
    counts: &mut BTreeMap<(String, usize), Count>,
) {
    for cell in runs[0].keys() {
        let values: Vec<LogQuantity> =
            runs.iter().filter_map(|run| run.get(cell).copied()).collect();
        let assumed = assumed_spread_of(of_drive, &MetricKey::parse(cell));
        for k in RUNS.into_iter().filter(|k| values.len() > *k) {
            let Some(found) = outlook(&values[..k], assumed, None) else { continue };
            let next = values[k].value();
            let hit = (found.next[0]..=found.next[1]).contains(&next);
            counts.entry((cell.clone(), k)).or_default().add(hit);
        }
    }
}

/// How wide an interval is after the largest number of runs in [`RUNS`], and how far the values of
/// the drive scatter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Width {
    /// Sum of the half-widths of intervals, on a logarithmic scale.
    half: f64,
    /// Sum of the variances of the logarithms of the values.
    variance: f64,
    specimens: u32,
}

impl Width {
    pub fn sum(&mut self, other: Width) {
        self.half += other.half;
        self.variance += other.variance;
        self.specimens += other.specimens;
    }

    /// The mean half-width.
    pub fn half(self) -> f64 {
        self.half / f64::from(self.specimens.max(1))
    }

    /// The standard deviation between runs.
    pub fn deviation(self) -> f64 {
        (self.variance / f64::from(self.specimens.max(1))).sqrt()
    }
}

/// The widths of the intervals of one specimen, by cell.
pub fn widths(of_drive: &Run, runs: &[BTreeMap<String, LogQuantity>]) -> BTreeMap<String, Width> {
    let (k, mut widths) = (RUNS[RUNS.len() - 1], BTreeMap::new());
    for cell in runs[0].keys() {
        let values: Vec<LogQuantity> =
            runs.iter().filter_map(|run| run.get(cell).copied()).collect();
        let assumed = assumed_spread_of(of_drive, &MetricKey::parse(cell));
        let outlook = values.get(..k).and_then(|first| outlook(first, assumed, None));
        let Some([low, high]) = outlook.map(|outlook| outlook.next) else { continue };
        let logs: Vec<f64> = values.iter().map(|value| libm::log(value.value())).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        let variance = squares / (logs.len() - 1) as f64;
        let half = libm::log(high / low) / 2.0;
        widths.insert(cell.clone(), Width { half, variance, specimens: 1 });
    }
    widths
}

/// Counts comparisons of a drive with one that is faster by 5% that claim it: one run against one
/// (all pairs), and three against three (all splits).
pub fn true_claims(of_drive: &Run, runs: &[BTreeMap<String, LogQuantity>]) -> [Count; 2] {
    compared(of_drive, runs, FASTER)
}

/// Counts comparisons of runs of one specimen that claim a difference: one against one (all pairs),
/// and three against three (all splits).
pub fn false_claims(of_drive: &Run, runs: &[BTreeMap<String, LogQuantity>]) -> [Count; 2] {
    compared(of_drive, runs, 1.0)
}

fn compared(of_drive: &Run, runs: &[BTreeMap<String, LogQuantity>], factor: f64) -> [Count; 2] {
    let mut counts = [Count::default(); 2];
    for mask in 0u32..1 << runs.len() {
        let (ones, first) = (mask.count_ones(), mask & 1 == 1);
        let side = |chosen: bool| {
            (0..runs.len()).filter(move |i| ((mask >> i) & 1 == 1) == chosen).collect::<Vec<_>>()
        };
        if ones == 2 {
            let [a, b] = side(true)[..] else { continue };
            counts[0].add(differs(of_drive, runs, [&[a], &[b]], factor));
        } else if 2 * ones as usize == runs.len() && first {
            counts[1].add(differs(of_drive, runs, [&side(true), &side(false)], factor));
        }
    }
    counts
}

/// Whether a comparison of two groups of runs of this drive claims a difference in any cell, the
/// second as if on a drive that is faster by a factor. As in `compare`, the write side of a mix is not tested, because it
/// follows from the read side.
pub fn differs(
    of_drive: &Run,
    runs: &[BTreeMap<String, LogQuantity>],
    groups: [&[usize]; 2],
    factor: f64,
) -> bool {
    let cells = runs[0].keys().filter(|cell| !cell.starts_with("mixed-write"));
    let family: Vec<Sides> = cells
        .map(|cell| {
            let of = |side: &[usize], factor: f64| -> Vec<LogQuantity> {
                let values = side.iter().filter_map(|i| runs[*i].get(cell));
                values.map(|value| value.scaled(factor)).collect()
            };
            let prior = assumed_spread_of(of_drive, &MetricKey::parse(cell));
            Sides { a: of(groups[0], 1.0), b: of(groups[1], factor), repeats: Vec::new(), prior }
        })
        .take(FAMILY_MAX)
        .collect();
    let claims = claims(&family).into_iter().flatten();
    let mut outcomes = claims.map(|claim| claim.outcome);
    outcomes.any(|outcome| matches!(outcome, ClaimKind::Faster | ClaimKind::Slower))
}

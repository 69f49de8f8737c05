//! Runs of `quick` on specimens of virtual drives in several sessions: how many intervals contain
//! the next run, and how many comparisons of a drive with itself claim a difference. Shared by the
//! example `coverage` and its test.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use analysis::{ClaimKind, LogQuantity, Sides, claims, outlook};
use engine::Simulator;
use methods::find;
use model::DriveSpec;
use record::{Metric, Unit};
use script::{Options, Session};

/// Numbers of runs that an interval rests on, including the present one.
pub const RUNS: [usize; 3] = [1, 3, 5];

/// The spread between runs that `ssdyno run` assumes of a virtual drive.
const ASSUMED: f64 = 0.005;

/// Maximum number of primary metrics of a method.
const FAMILY_MAX: usize = 8;

/// Presets of all kinds: NVMe with TLC, MLC and QLC, SATA, without DRAM, eMMC, card.
pub const PRESETS: [&str; 10] = [
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

/// The primary cells of one session of a specimen.
fn session(preset: &str, specimen: u64, session: u64, size: u64) -> BTreeMap<String, LogQuantity> {
    let (specimen, seed) = (specimen.to_string(), session.to_string());
    let pairs = [("vary", "1"), ("seed", specimen.as_str()), ("vary.session_seed", seed.as_str())];
    let options = Options { size: Some(size), seed: session, ..Options::default() };
    cells(primary(preset, &pairs, &options))
}

/// The sessions of one specimen, one more than the largest number in [`RUNS`].
pub fn sessions(preset: &str, specimen: u64, size: u64) -> Vec<BTreeMap<String, LogQuantity>> {
    let count = *RUNS.last().expect("some") as u64 + 1;
    (1..=count).map(|s| session(preset, specimen, 1000 * specimen + s, size)).collect()
}

/// For each number in [`RUNS`], adds whether the intervals of one specimen contain each cell's next
/// value.
pub fn cover(
    runs: &[BTreeMap<String, LogQuantity>],
    counts: &mut BTreeMap<(String, usize), Count>,
) {
    for cell in runs[0].keys() {
        let values: Vec<LogQuantity> =
            runs.iter().filter_map(|run| run.get(cell).copied()).collect();
        for k in RUNS.into_iter().filter(|k| values.len() > *k) {
            let Some(found) = outlook(&values[..k], ASSUMED, None) else { continue };
            let next = values[k].value();
            let hit = (found.next[0]..=found.next[1]).contains(&next);
            counts.entry((cell.clone(), k)).or_default().add(hit);
        }
    }
}

/// Counts comparisons of runs of one specimen that claim a difference: one against one (all pairs),
/// and three against three (all splits).
pub fn false_claims(runs: &[BTreeMap<String, LogQuantity>]) -> [Count; 2] {
    let mut counts = [Count::default(); 2];
    for mask in 0u32..1 << runs.len() {
        let (ones, first) = (mask.count_ones(), mask & 1 == 1);
        let side = |chosen: bool| {
            (0..runs.len()).filter(move |i| ((mask >> i) & 1 == 1) == chosen).collect::<Vec<_>>()
        };
        if ones == 2 {
            let [a, b] = side(true)[..] else { continue };
            counts[0].add(differs(runs, ASSUMED, [&[a], &[b]]));
        } else if 2 * ones as usize == runs.len() && first {
            counts[1].add(differs(runs, ASSUMED, [&side(true), &side(false)]));
        }
    }
    counts
}

/// Whether a comparison of two groups of these runs claims a difference in any cell, with this
/// assumed spread between runs. As in `compare`, the write side of a mix is not tested, because it
/// follows from the read side.
pub fn differs(runs: &[BTreeMap<String, LogQuantity>], prior: f64, groups: [&[usize]; 2]) -> bool {
    let cells = runs[0].keys().filter(|cell| !cell.starts_with("mixed-write"));
    let family: Vec<Sides> = cells
        .map(|cell| {
            let of = |side: &[usize]| -> Vec<LogQuantity> {
                side.iter().filter_map(|i| runs[*i].get(cell).copied()).collect()
            };
            Sides { a: of(groups[0]), b: of(groups[1]), repeats: Vec::new(), prior }
        })
        .take(FAMILY_MAX)
        .collect();
    let claims = claims(&family).into_iter().flatten();
    let mut outcomes = claims.map(|claim| claim.outcome);
    outcomes.any(|outcome| matches!(outcome, ClaimKind::Faster | ClaimKind::Slower))
}

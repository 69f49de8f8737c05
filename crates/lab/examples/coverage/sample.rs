//! Runs of `quick` on specimens of virtual drives in several sessions, and how many of the intervals
//! for the next run hold it. Shared by the example `coverage` and its test.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use analysis::{Session, outlook};
use engine::Simulator;
use methods::{Options, Session as Script, find};
use model::DriveSpec;
use record::{Metric, Unit};

/// Numbers of earlier runs, the present one included.
pub const RUNS: [usize; 3] = [1, 3, 5];

/// The spread between runs that `ssdyno run` assumes of a virtual drive.
const ASSUMED: f64 = 0.005;

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
        self.trials += 1;
        self.hits += u32::from(hit);
    }
}

/// The primary cells of `quick` on a preset with these overrides.
pub fn primary(preset: &str, pairs: &[(&str, &str)], options: &Options) -> Vec<Metric> {
    let spec = DriveSpec::preset(preset).and_then(|spec| spec.with_overrides(pairs));
    let never = Arc::new(AtomicBool::new(false));
    let quiet = Box::new(|_: &rig::Event| {});
    let mut rig = Simulator::new(spec.expect("a preset"), "sim:x", never, quiet);
    let mut script = Script::new(&mut rig);
    find("quick").expect("a method").run(&mut script, options).expect("it ends");
    let mut metrics = script.finish().metrics;
    metrics.retain(|m| {
        let key = m.key();
        let cell = key.as_cell().is_some_and(|cell| cell.words.is_empty());
        cell && key.is_main() && matches!(m.unit, Unit::BytesPerSecond | Unit::Iops)
    });
    metrics
}

/// The primary cells of one session of a specimen.
fn session(preset: &str, specimen: u64, session: u64, size: u64) -> BTreeMap<String, Session> {
    let (specimen, seed) = (specimen.to_string(), session.to_string());
    let pairs = [("vary", "1"), ("seed", specimen.as_str()), ("vary.session_seed", seed.as_str())];
    let options = Options { size: Some(size), seed: session, ..Options::default() };
    let metrics = primary(preset, &pairs, &options);
    let value = |m: Metric| Some((m.name, Session::new(m.value?, &m.samples)?));
    metrics.into_iter().filter_map(value).collect()
}

/// Coverage of each cell of a preset for each number of [`RUNS`], over so many specimens.
pub fn coverage(preset: &str, specimens: u64, size: u64) -> BTreeMap<(String, usize), Count> {
    let mut counts: BTreeMap<(String, usize), Count> = BTreeMap::new();
    let sessions = *RUNS.last().expect("some") as u64 + 1;
    for specimen in 1..=specimens {
        let all: Vec<_> =
            (1..=sessions).map(|s| session(preset, specimen, 1000 * specimen + s, size)).collect();
        for (cell, _) in all[0].iter() {
            let values: Vec<Session> =
                all.iter().filter_map(|run| run.get(cell).copied()).collect();
            for k in RUNS.into_iter().filter(|k| values.len() > *k) {
                let Some(found) = outlook(&values[..k], ASSUMED, None) else { continue };
                let next = values[k].value();
                let hit = (found.next[0]..=found.next[1]).contains(&next);
                counts.entry((cell.clone(), k)).or_default().add(hit);
            }
        }
    }
    counts
}

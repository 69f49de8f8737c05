//! How far the figures of drawn specimens, in drawn sessions, are below the usual ones of their model:
//! as measured by default, and with another size or duration. The factors from which `quick` calls a
//! figure low (`src/usual.rs`) are those that a hundredth of the runs exceeds.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use fuzz::Random;
use script::Options;
use serde::Deserialize;

use crate::in_parallel;
use crate::proving::drawn::Drawn;
use crate::proving::headline::figures_with;

/// A model in the file of usual figures.
#[derive(Deserialize)]
struct Model {
    figures: BTreeMap<String, f64>,
}

const FIGURES: &str = include_str!("../../src/usual.toml");

/// A run to draw: by default if it has neither size nor duration.
struct DrawnRun {
    drive: Drawn,
    size: Option<u64>,
    time: Option<Duration>,
}

pub fn run(count: usize, seed: u64) -> ExitCode {
    let models: BTreeMap<String, Model> = toml::from_str(FIGURES).expect("well formed");
    let presets: Vec<&'static str> = model::DriveSpec::presets().collect();
    let mut random = Random::new(seed);
    let drawn: Vec<DrawnRun> = (0..count)
        .map(|i| {
            let (specimen, session) = (random.below(1 << 20) as u64, random.below(1 << 20) as u64);
            let preset = presets[random.below(presets.len())];
            let drive = Drawn { preset, overrides: Vec::new(), specimen, session };
            // Every other run is one by default.
            let choice = if i % 2 == 0 { 0 } else { 1 + random.below(3) };
            let size = (choice & 1 > 0).then(|| (64 << 20) << random.below(7));
            let seconds = 5 << random.below(6);
            let time = (choice & 2 > 0).then(|| Duration::from_secs(seconds));
            DrawnRun { drive, size, time }
        })
        .collect();
    let lowest = in_parallel(&drawn, |run: &DrawnRun| {
        let (seed, size, time) = (run.drive.session, run.size, run.time);
        let options = Options { seed, size, time, ..Options::default() };
        let figures = figures_with(&run.drive.spec(), &options);
        let usual = &models[run.drive.preset].figures;
        let factors =
            usual.iter().filter_map(|(cell, usual)| Some((usual / figures.get(cell)?, cell)));
        let (factor, cell) = factors.max_by(|a, b| a.0.total_cmp(&b.0)).expect("figures");
        let line = format!("{factor:.3} {cell} {} {size:?} {time:?}", run.drive.command());
        (factor, line)
    });
    println!("| runs | count | half | 90% | 99% | all are at most so many times below |");
    println!("|---|---|---|---|---|---|");
    for (name, is_changed) in [("by default", false), ("another size or duration", true)] {
        let of_kind = drawn.iter().zip(&lowest);
        let of_kind = of_kind.filter(|(r, _)| (r.size.is_some() || r.time.is_some()) == is_changed);
        let mut factors: Vec<f64> = of_kind.map(|(_, factor)| *factor).collect();
        factors.sort_by(f64::total_cmp);
        let at = |share: f64| factors[(share * (factors.len() - 1) as f64).ceil() as usize];
        let [half, most, nearly, all] = [0.5, 0.9, 0.99, 1.0].map(at);
        let count = factors.len();
        println!("| {name} | {count} | {half:.3} | {most:.3} | {nearly:.3} | {all:.3} |");
    }
    ExitCode::SUCCESS
}

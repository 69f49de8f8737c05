//! Judges the headlines of `quick` on drawn virtual drives: a preset with one to three random
//! overrides, or none. The truth is computed: the largest loss is that of the cell that is farthest
//! below the preset as shipped, and an override is a cause of it if the cell rises by 10% on the
//! same drive without that override.
//!
//! `cargo run --release -p lab --example headlines -- [DRAWS [SEED]]` prints the counts and, for
//! every headline that is wrong or silent, the command that shows it. Fails if less than 80% of the
//! losses are named with a true cause, more than 15% have an unknown one, or more than 1% a wrong
//! one.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fuzz::Random;
use lab::{Options, Request, Work, drives};
use record::Run;

#[path = "../tests/it/quiet/mod.rs"]
mod quiet;

use quiet::Quiet;

/// A cell that is lower by less lost nothing, and an override that changes it by less is no cause.
const MOVED: f64 = 1.1;

/// A cell that is lower by more must be named.
const LOST: f64 = 1.3;

/// Losses within this factor count as equal.
const ALIKE: f64 = 1.1;

const RIGHT_MIN: f64 = 80.0;
const UNKNOWN_MAX: f64 = 15.0;
const WRONG_MAX: f64 = 1.0;

/// The cells, in the words of a headline: those at the higher queue depth first.
const CELLS: [(&str, &str); 8] = [
    ("seq-read-1MiB-q8", "Sequential reads are"),
    ("seq-write-1MiB-q8", "Sequential writes are"),
    ("rand-read-4KiB-q32", "Random reads are"),
    ("rand-write-4KiB-q32", "Random writes are"),
    ("seq-read-1MiB-q1", "Sequential reads at depth 1 are"),
    ("seq-write-1MiB-q1", "Sequential writes at depth 1 are"),
    ("rand-read-4KiB-q1", "Random reads at depth 1 are"),
    ("rand-write-4KiB-q1", "Random writes at depth 1 are"),
];

/// Parameters with values to draw, and the words for them in a headline.
const OVERRIDES: [(&str, &[&str], &[&str]); 14] = [
    ("unit", &["16384", "32768", "65536"], &["a large mapping unit"]),
    ("map.rmw_us", &["100", "500", "2000"], &["a large mapping unit"]),
    ("nand.read_us", &["200", "600", "2000"], &["the flash", "few commands at a time"]),
    ("nand.program_us", &["4000", "12000"], &["the flash", "a full cache"]),
    ("nand.dies", &["1", "2"], &["the flash", "few commands at a time"]),
    ("nand.channels", &["1", "2"], &["the flash"]),
    ("nand.bus_mb_s", &["50", "150"], &["the flash"]),
    ("command.read_us", &["40", "200"], &["time per command", "few commands at a time"]),
    ("command.write_us", &["40", "200"], &["time per command", "few commands at a time"]),
    ("command.latency_us", &["300", "1000"], &["time per command", "few commands at a time"]),
    ("host", &["300", "2000"], &["time per command", "few commands at a time"]),
    ("depth", &["1", "2"], &["few commands at a time", "the USB bridge", "time per command"]),
    ("command.flush_us", &["5000", "50000"], &["flushes"]),
    ("buffer.intake_mb_s", &["20", "100"], &["the controller"]),
];

/// An override as drawn: its parameter's index and its value.
type Override = (usize, &'static str);

fn spec(preset: &str, overrides: &[Override]) -> String {
    let pairs = overrides.iter().map(|(index, value)| format!("{}={value}", OVERRIDES[*index].0));
    let pairs: Vec<String> = pairs.collect();
    format!("sim:{preset}?{}", pairs.join("&"))
}

fn quick(spec: &str, seed: u64) -> Option<Run> {
    let place = tempfile::tempdir().expect("a directory");
    let mut request =
        Request { store: Some(place.path().join("runs")), ..Request::on(spec.to_string()) };
    request.instrument.seed = seed;
    let options = Options { seed, ..Options::default() };
    let work = Work::method("quick", &options).expect("a method");
    let interrupt = Arc::new(AtomicBool::new(false));
    let planned = request.plan(&work).ok()?;
    let recorded = planned.begin(Box::new(Quiet), &interrupt).expect("begun").run(&interrupt);
    recorded.ended.is_ok().then_some(recorded.run)
}

fn rate(run: &Run, cell: &str) -> f64 {
    run.metric(cell).and_then(|metric| metric.value).unwrap_or(0.0)
}

#[derive(Debug, PartialEq)]
enum Judgement {
    /// Nothing was lost, and no loss is claimed.
    Nothing,
    /// The largest loss is named with a true cause.
    Right,
    /// The largest loss is named, and its cause is unknown.
    Unknown,
    /// Another cell, a loss that does not exist, or a cause that is none.
    Wrong,
    /// A loss is not named.
    Silent,
}

fn judge(preset: &str, overrides: &[Override], seed: u64) -> Option<(Judgement, String)> {
    let shipped = quick(&spec(preset, &[]), seed)?;
    let run = quick(&spec(preset, overrides), seed)?;
    let headline = run.answer.as_ref()?.headline.clone();
    let losses = CELLS.map(|(cell, _)| rate(&shipped, cell) / rate(&run, cell).max(1e-9));
    let largest = losses.iter().copied().fold(0.0, f64::max);
    // The longest name first: the cells at depth 1 are the later ones.
    let named = CELLS.iter().rposition(|(_, words)| headline.contains(words));
    let judgement = match named {
        None if largest >= LOST => Judgement::Silent,
        None => Judgement::Nothing,
        Some(index) if losses[index] < MOVED || losses[index] * ALIKE < largest => Judgement::Wrong,
        Some(_) if headline.contains("cause unknown") => Judgement::Unknown,
        Some(index) => {
            let is_cause = (0..overrides.len()).any(|out| {
                let mut others = overrides.to_vec();
                let (lifted, _) = others.remove(out);
                let words = OVERRIDES[lifted].2;
                let is_named = words.iter().any(|words| headline.contains(words));
                let lifted = || quick(&spec(preset, &others), seed);
                let cell = CELLS[index].0;
                is_named && lifted().is_some_and(|l| rate(&l, cell) >= MOVED * rate(&run, cell))
            });
            if is_cause { Judgement::Right } else { Judgement::Wrong }
        }
    };
    Some((judgement, format!("x{largest:.1} {headline}")))
}

fn main() -> ExitCode {
    let words: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let draws = words.first().copied().unwrap_or(200);
    let seed = words.get(1).copied().unwrap_or(1);
    let presets = drives::presets().expect("well formed");
    let mut random = Random::new(seed);
    let mut counts = [0u32; 5];
    for draw in 0..draws {
        let preset = &presets[random.below(presets.len())].name;
        let mut overrides: Vec<Override> = Vec::new();
        for _ in 0..random.below(4) {
            let index = random.below(OVERRIDES.len());
            let values = OVERRIDES[index].1;
            if overrides.iter().all(|(other, _)| *other != index) {
                overrides.push((index, values[random.below(values.len())]));
            }
        }
        let session = seed * 1000 + draw;
        let Some((judgement, headline)) = judge(preset, &overrides, session) else { continue };
        if matches!(judgement, Judgement::Wrong | Judgement::Silent | Judgement::Unknown) {
            let spec = spec(preset, &overrides);
            println!("{judgement:?}: ssdyno run '{spec}' --seed {session}\n    {headline}");
        }
        counts[judgement as usize] += 1;
    }
    let [nothing, right, unknown, wrong, silent] = counts;
    let lost = f64::from((right + unknown + wrong + silent).max(1));
    let share = |count: u32| 100.0 * f64::from(count) / lost;
    println!(
        "{draws} drawn drives, seed {seed}: {nothing} lost nothing. Of {lost} losses, {:.0}% are \
         named with a true cause, {:.0}% with an unknown one, {:.1}% wrongly, {:.0}% not at all.",
        share(right),
        share(unknown),
        share(wrong),
        share(silent)
    );
    let is_met =
        share(right) >= RIGHT_MIN && share(unknown) <= UNKNOWN_MAX && share(wrong) <= WRONG_MAX;
    if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

//! Checks that the value of a cell depends neither on the number of rounds nor on the cell before
//! it: runs every preset, without variation, in two ways, and compares the cells.
//!
//! Two runs of a card that completes two operations per second differ by chance. A cell that
//! differs without a mark is therefore run in further sessions, and the mean ratio decides.

use std::collections::BTreeMap;

use analysis::estimate;
use model::DriveSpec;
use record::{Finding, FindingKind, MetricKey};
use script::{Options, Outcome};

use crate::order::detoured;
use crate::sample::{cells, outcome};

/// Relative difference within which values count as equal.
const WITHIN: f64 = 0.03;

/// Sessions of a cell that differs without a mark: few if they already confirm the difference,
/// otherwise many.
const SESSIONS: [u64; 2] = [4, 60];

/// Two ways of running `quick`.
struct Ways {
    /// Their description.
    title: &'static str,
    /// Heading of the ratio.
    ratio: &'static str,
    run: [fn(&str, u64) -> Outcome; 2],
}

/// Two rounds and eight.
const ROUNDS: Ways = Ways {
    title: "two rounds and eight",
    ratio: "8 rounds / 2 rounds",
    run: [|preset, seed| with(preset, seed, 2), |preset, seed| with(preset, seed, 8)],
};

/// Eight rounds, with and without detours.
const ORDER: Ways = Ways {
    title: "the usual order and another cell before each",
    ratio: "other cell before / usual order",
    run: [
        |preset, seed| with(preset, seed, 8),
        |preset, seed| detoured(preset, &[("vary", "0")], &rounds(8, seed)),
    ],
};

fn rounds(count: u32, seed: u64) -> Options {
    Options { replicates: Some(count), seed, ..Options::default() }
}

fn with(preset: &str, seed: u64, count: u32) -> Outcome {
    outcome(preset, &[("vary", "0")], &rounds(count, seed))
}

/// Compares numbers of rounds. Returns whether each cell that differs is marked.
pub fn rounds_do_not_matter() -> bool {
    compare(&ROUNDS)
}

/// Compares orders of cells. Returns whether each cell that differs is marked.
pub fn order_does_not_matter() -> bool {
    compare(&ORDER)
}

fn compare(ways: &Ways) -> bool {
    println!("| preset | cell | {} | marked |\n|---|---|---|---|", ways.ratio);
    let (mut presets, mut count, mut apart, mut chance, mut unmarked) = (0, 0, 0, 0, 0);
    for preset in DriveSpec::presets() {
        let both = ways.run.map(|run| run(preset, Options::default().seed));
        let findings = [&both[0].warnings, &both[1].warnings].map(Vec::clone);
        let [one, other]: [BTreeMap<_, _>; 2] = both.map(|out| cells(out.metrics));
        presets += 1;
        for (name, one) in &one {
            let Some(other) = other.get(name) else { continue };
            let ratio = other.value() / one.value();
            count += 1;
            if (ratio - 1.0).abs() <= WITHIN {
                continue;
            }
            apart += 1;
            let words = if marked(name, &findings) {
                "yes".to_string()
            } else {
                let (sessions, [low, high]) = ratio_over_sessions(ways, preset, name);
                let differs = low > 1.0 + WITHIN || high < 1.0 - WITHIN;
                *(if differs { &mut unmarked } else { &mut chance }) += 1;
                let word = if differs { "no" } else { "no: chance" };
                format!("{word}; {low:.3} to {high:.3} over {sessions} sessions")
            };
            println!("| {preset} | {name} | {ratio:.2} | {words} |");
        }
    }
    println!(
        "\n{presets} presets, {count} cells, {}: {apart} differ by more than {:.0}%, {chance} of them by \
         chance and {unmarked} without a mark.",
        ways.title,
        100.0 * WITHIN
    );
    unmarked == 0
}

/// Whether a finding of either run says that this cell is not steady or, for writes and mixes,
/// findings of both say that they stayed within a cache.
fn marked(name: &str, both: &[Vec<Finding>; 2]) -> bool {
    let inside = |findings: &Vec<Finding>| {
        findings.iter().any(|finding| finding.kind == FindingKind::InsideCache)
    };
    let words = MetricKey::parse(name).in_words();
    let drifts = |f: &Finding| f.kind == FindingKind::NotSteady && f.text.contains(words.as_str());
    // The reads of a mix wait for its writes.
    let writes = name.contains("write") || name.starts_with("mixed");
    writes && both.iter().all(inside) || both.iter().flatten().any(drifts)
}

/// The 95% interval of the mean ratio of a cell over further sessions, which differ in their
/// operations, with their number.
fn ratio_over_sessions(ways: &Ways, preset: &str, name: &str) -> (u64, [f64; 2]) {
    let value = |way: fn(&str, u64) -> Outcome, seed| {
        cells(way(preset, seed).metrics).get(name).map(|cell| cell.value())
    };
    let ratio = |seed| Some(value(ways.run[1], seed)? / value(ways.run[0], seed)?);
    let mut ratios: Vec<f64> = Vec::new();
    let mut found = (0, [f64::NAN; 2]);
    for sessions in SESSIONS {
        ratios.extend((ratios.len() as u64 + 1..=sessions).filter_map(ratio));
        let mean = estimate(&ratios);
        found = (sessions, [mean.low, mean.high].map(|end| end.unwrap_or(f64::NAN)));
        let [low, high] = found.1;
        if low > 1.0 + WITHIN || high < 1.0 - WITHIN {
            break;
        }
    }
    found
}

//! Checks that the value of a cell does not depend on the number of rounds: runs every preset,
//! without variation, with two rounds and with eight.

use std::collections::BTreeMap;

use methods::Options;
use model::DriveSpec;
use record::{Finding, FindingKind, MetricKey};

use crate::sample::{cells, outcome};

/// Relative difference within which values count as equal.
const WITHIN: f64 = 0.03;

/// Prints the cells that differ. Returns whether each is marked as working within a cache or
/// reaching its end.
pub fn run() -> bool {
    println!("| preset | cell | 8 rounds / 2 rounds | marked |\n|---|---|---|---|");
    let (mut presets, mut count, mut apart, mut unmarked) = (0, 0, 0, 0);
    for preset in DriveSpec::presets() {
        let with = |rounds| {
            let options = Options { replicates: Some(rounds), ..Options::default() };
            outcome(preset, &[("vary", "0")], &options)
        };
        let [few, many] = [2, 8].map(with);
        let both = [few.warnings.clone(), many.warnings.clone()];
        let inside = |findings: &Vec<Finding>| {
            findings.iter().any(|finding| finding.kind == FindingKind::InsideCache)
        };
        let cache = both.iter().all(inside);
        let drifts = |name: &str| {
            let words = MetricKey::parse(name).in_words();
            let about = |f: &Finding| f.kind == FindingKind::NotSteady && f.text.contains(&words);
            both.iter().any(|findings| findings.iter().any(about))
        };
        let marked = |name: &str| {
            // The reads of a mix wait for its writes.
            let writes = name.contains("write") || name.starts_with("mixed");
            writes && cache || drifts(name)
        };
        let [few, many]: [BTreeMap<_, _>; 2] = [few, many].map(|out| cells(out.metrics));
        presets += 1;
        for (name, few) in &few {
            let Some(many) = many.get(name) else { continue };
            let ratio = many.value() / few.value();
            count += 1;
            if (ratio - 1.0).abs() > WITHIN {
                let mark = marked(name);
                apart += 1;
                unmarked += u32::from(!mark);
                println!(
                    "| {preset} | {name} | {ratio:.2} | {} |",
                    if mark { "yes" } else { "no" }
                );
            }
        }
    }
    println!(
        "\n{presets} presets, {count} cells: {apart} differ by more than {:.0}% between two rounds and \
         eight, {unmarked} of them without a mark.",
        100.0 * WITHIN
    );
    unmarked == 0
}

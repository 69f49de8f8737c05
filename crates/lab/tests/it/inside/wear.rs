//! Tests `wear` on virtual drives that die, and on drives with a known number of faults.

use model::DriveSpec;
use script::Options;

use super::{find, preset, run_with, value};

/// Block size of the method, bytes.
const BLOCK: u64 = 128 << 10;

const MIB: u64 = 1 << 20;

/// A 32 MiB card with these parameters.
fn card(overrides: &[(&str, &str)]) -> DriveSpec {
    preset("sd-150x", &[&[("capacity", "32MiB"), ("vary", "0")], overrides].concat())
}

/// Blocks by fault: flipped, misplaced, stale, torn, lost.
fn faults(out: &script::Outcome) -> [f64; 5] {
    ["flipped", "misplaced", "stale", "torn", "lost"]
        .map(|name| value(out, &format!("wear-{name}")))
}

#[test]
fn a_card_dies_and_its_static_data_survive() {
    // Only the few free and spare blocks are cycled, and each endures 6 cycles.
    let out = worn(&card(&[("endurance", "6")]), 1, "2GB");
    let (written, verdict) = (value(&out, "wear-written"), &out.verdicts[0]);
    println!("{}", verdict.text);
    assert_eq!(verdict.kind.name(), "WEAR", "{}", verdict.text);
    assert!(written > 33e6 && written < 2e9, "{written}");
    assert_eq!(value(&out, "wear-static"), (31 * MIB) as f64);
    assert_eq!(faults(&out), [0.0; 5], "acknowledged data are intact");
    let headline = out.answer.expect("an answer").headline;
    assert!(headline.starts_with("The drive died after "), "{headline}");
    // With twice the cycles, the part after the fill lasts about twice as long.
    let twice = worn(&card(&[("endurance", "12")]), 1, "2GB");
    let fill = (31 * MIB) as f64;
    let ratio = (value(&twice, "wear-written") - fill) / (written - fill);
    assert!((ratio - 2.0).abs() < 0.3, "{ratio}");
}

#[test]
fn a_good_card_endures_a_given_amount() {
    let out = worn(&card(&[]), 1, "100MB");
    assert_eq!(out.verdicts[0].kind.name(), "ENDURED", "{}", out.verdicts[0].text);
    let blocks = 100_000_000u64.div_ceil(BLOCK);
    assert_eq!(value(&out, "wear-written"), (blocks * BLOCK) as f64);
    assert!(find(&out, "wear-life").is_some() && value(&out, "wear-amplification") >= 1.0);
    let series =
        out.series.iter().find(|series| series.name == "wear-cycle").expect("a time series");
    assert!(series.t_ns.len() > 20 && series.column("life").is_some());
}

/// Runs until this amount is written, or the drive fails.
pub(super) fn worn(spec: &DriveSpec, seed: u64, amount: &str) -> script::Outcome {
    let method = methods::find("wear").expect("a method");
    let mut options = Options { seed, ..Options::default() };
    let declared = method.options.iter().find(|option| option.name() == "amount");
    options.parse(*declared.expect("declared"), &[amount.to_string()]).expect("a size");
    run_with(method, spec, &options)
}

/// The number of faults injected, the faulty blocks found by class, and the verdict.
pub(super) fn injected(kind: &str, trim: &str, seed: u64) -> (f64, [f64; 5], String) {
    // The seed determines how many writes precede the first fault and separate the others. The
    // static data occupy 248 blocks; 8 more are cycled and cannot be stale before they have been
    // written once.
    let (every, after) = (1 + seed % 3, 256 + seed.wrapping_mul(7919) % 100);
    let (every, after) = (every.to_string(), after.to_string());
    let fault = [("fault", kind), ("fault.every", &every), ("fault.after", &after)];
    let card = [&[("capacity", "32MiB"), ("trim", trim)], &fault[..]].concat();
    let spec = super::rates::specimen("sd-150x", &card, seed);
    let out = worn(&spec, seed, "60MB");
    let writes = (value(&out, "wear-written") / BLOCK as f64) as u64;
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let due = writes.saturating_sub(number(&after)) / number(&every);
    (due as f64, faults(&out), out.verdicts[0].kind.to_string())
}

#[test]
fn every_injected_fault_is_found_and_identified() {
    for seed in [1, 2] {
        // The missing half of a torn write is empty after a discard, and stale without one.
        for (kind, trim) in
            [("flipped", "true"), ("stale", "false"), ("torn", "true"), ("torn", "false")]
        {
            let (due, found, verdict) = injected(kind, trim, seed);
            println!("{kind}, trim {trim}: {due} injected, found {found:?}");
            let index =
                ["flipped", "misplaced", "stale", "torn", "lost"].iter().position(|n| *n == kind);
            let mut expected = [0.0; 5];
            expected[index.expect("a class")] = due;
            assert!(due > 0.0 && verdict == "CONTENT LOST", "{kind} {seed}: {verdict}");
            assert_eq!(found, expected, "{kind}, trim {trim}, seed {seed}");
        }
        // After a discard no old content is left: the block is empty and counts as lost.
        let (due, found, _) = injected("stale", "true", seed);
        assert_eq!(found, [0.0, 0.0, 0.0, 0.0, due]);
        // Each misplaced write is missing from its place and overwrites static data elsewhere.
        let (due, found, _) = injected("misplaced", "false", seed);
        println!("misplaced: {due} injected, found {found:?}");
        assert_eq!(found[2] + found[4], due, "{found:?}");
        assert!(found[1] >= due, "{found:?}");
    }
    assert_eq!(injected("none", "true", 1).2, "ENDURED");
}

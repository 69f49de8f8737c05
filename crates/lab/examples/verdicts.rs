//! The proving ground of verdicts, printed as a table: for every cause, how often `quick` was right,
//! wrong and silent about the figures that the cause holds down.
//!
//! `cargo run --release -p lab --example verdicts -- [SEEDS [SECONDS [CAUSE]]]`; with a cause
//! it also lists the figures that stay open. It fails if more than 1% of
//! the verdicts are wrong, or more than a quarter of the figures stay open.

use std::process::ExitCode;

#[path = "../tests/proving/mod.rs"]
mod proving;

use proving::{SCENARIOS, Scenario, Tally, judge};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize| words.get(i).and_then(|word| word.parse::<u64>().ok());
    let (seeds, seconds) = (number(0).unwrap_or(10), number(1).unwrap_or(20));
    let only = words.get(2).map(String::as_str);
    let wanted = |scenario: &&Scenario| only.is_none_or(|only| scenario.name.contains(only));
    println!("{seeds} specimens and sessions of each cause, {seconds} virtual seconds of quick.\n");
    println!("| cause put in | right | wrong | open |\n|---|---|---|---|");
    let mut all = Tally::default();
    for scenario in SCENARIOS.iter().filter(wanted) {
        let mut tally = Tally::default();
        (1..=seeds).for_each(|seed| add(&mut tally, &judge(scenario, seed, seconds)));
        println!(
            "| {} | {} | {} | {} |",
            scenario.name,
            named(&tally.right),
            named(&tally.wrong),
            tally.open.len()
        );
        add(&mut all, &tally);
    }
    let sum = |kinds: &std::collections::BTreeMap<String, u32>| kinds.values().sum::<u32>();
    let (right, wrong, open) = (sum(&all.right), sum(&all.wrong), all.open.len() as u32);
    let share = |part: u32, of: u32| f64::from(part) / f64::from(of.max(1)) * 100.0;
    let (slips, silent) = (share(wrong, right + wrong), share(open, right + wrong + open));
    println!(
        "\n{right} right, {wrong} wrong ({slips:.1}%; goal: <= 1%), {open} open ({silent:.0}%; goal: <= 25%)."
    );
    all.slips.iter().for_each(|slip| println!("- wrong: {slip}"));
    if only.is_some() {
        all.open.iter().for_each(|line| println!("- open: {line}"));
    }
    if slips <= 1.0 && silent <= 25.0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn named(kinds: &std::collections::BTreeMap<String, u32>) -> String {
    let words: Vec<String> = kinds.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
    if words.is_empty() { "-".into() } else { words.join(", ") }
}

fn add(sum: &mut Tally, new: &Tally) {
    for (all, some) in [(&mut sum.right, &new.right), (&mut sum.wrong, &new.wrong)] {
        some.iter().for_each(|(kind, n)| *all.entry(kind.clone()).or_default() += n);
    }
    sum.open.extend(new.open.iter().cloned());
    sum.slips.extend(new.slips.iter().cloned());
}

//! `rulings.txt`: rulings of every rule, as a user reads them.
//!
//! `SSDYNO_WRITE_RULINGS=1 cargo test -p rules rulings` writes it; review the difference.

use crate::{Answer, Ruling};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/boundaries/rulings.txt");

fn entry(rule: &str, ruling: &Ruling) -> String {
    let verdict = &ruling.verdict;
    let answer = match ruling.answer {
        Answer::Yes => "yes, ",
        Answer::No => "no, ",
        Answer::Unknown => "unknown, ",
    };
    let mut text = format!("{rule}: {answer}{}\n  {}\n", verdict.kind.name(), verdict.text);
    for number in &verdict.evidence {
        text += &format!("  {} = {} {}\n", number.name, round(number.value), number.unit.name());
    }
    for explained in &verdict.explains {
        let share = explained.share.map(|share| format!(" by {}", round(share)));
        text += &format!("  explains {}{}\n", explained.metric, share.unwrap_or_default());
    }
    if let Some(test) = &verdict.next_test {
        text += &format!("  try {test}\n");
    }
    text
}

/// To six significant digits.
fn round(value: f64) -> f64 {
    format!("{value:.5e}").parse().expect("a number")
}

#[test]
fn the_texts_and_numbers_of_rulings_are_as_reviewed() {
    let rules: [(&str, Vec<Ruling>); 34] = [
        ("above drive", super::above_drive::examples()),
        ("cache end", super::cache_end::examples()),
        ("contenders", super::contenders::examples()),
        ("content", super::content::examples()),
        ("cpu", super::cpu::examples()),
        ("cpu shared", super::cpu_shared::examples()),
        ("depth", super::depth::examples()),
        ("device cache", super::device_cache::examples()),
        ("device depth", super::device_depth::examples()),
        ("fallen", super::fallen::examples()),
        ("flush", super::flush::examples()),
        ("flush cost", super::flush_cost::examples()),
        ("full", super::full::examples()),
        ("group", super::group::examples()),
        ("heat", super::heat::examples()),
        ("host", super::host::examples()),
        ("just written", super::just_written::examples()),
        ("link", super::link::examples()),
        ("map cache", super::map_cache::examples()),
        ("media", super::media::examples()),
        ("misaligned", super::misaligned::examples()),
        ("mix", super::mix::examples()),
        ("nearby", super::nearby::examples()),
        ("others", super::others::examples()),
        ("power", super::power::examples()),
        ("ram", super::ram::examples()),
        ("rate limit", super::rate_limit::examples()),
        ("speed", super::speed::examples()),
        ("stall", super::stall::examples()),
        ("steady", super::steady::examples()),
        ("throttle", super::throttle::examples()),
        ("trim", super::trim::examples()),
        ("untrimmed", super::untrimmed::examples()),
        ("wear", super::wear::examples()),
    ];
    let entries = rules
        .into_iter()
        .flat_map(|(rule, rulings)| rulings.into_iter().map(move |ruling| entry(rule, &ruling)));
    let text = entries.collect::<Vec<_>>().join("\n");
    if std::env::var_os("SSDYNO_WRITE_RULINGS").is_some() {
        std::fs::write(FILE, &text).expect("written");
    }
    let reviewed = std::fs::read_to_string(FILE).expect("rulings.txt");
    let changed = text.lines().zip(reviewed.lines()).find(|(new, old)| new != old);
    assert_eq!(changed, None, "SSDYNO_WRITE_RULINGS=1 writes the file");
    assert_eq!(text, reviewed);
}

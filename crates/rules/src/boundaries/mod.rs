//! Boundaries of the rules: a table for each threshold, with rows just below, at and just above it,
//! and what the rule says about each.
//!
//! Thresholds are repeated here as literals, so that a moved constant fails a row.

mod above_drive;
mod cache_end;
mod contenders;
mod content;
mod cpu;
mod cpu_shared;
mod depth;
mod device_cache;
mod device_depth;
mod digest;
mod fallen;
mod flush;
mod flush_cost;
mod full;
mod group;
mod heat;
mod host;
mod in_drive;
mod just_written;
mod link;
mod map_cache;
mod media;
mod misaligned;
mod mix;
mod mixed;
mod nearby;
mod others;
mod overrides;
mod power;
mod ram;
mod rate_limit;
mod rulings;
mod speed;
mod stall;
mod steady;
mod throttle;
mod time_series;
mod trim;
mod unsteady;
mod untrimmed;
mod wear;

use std::fmt::Debug;

use crate::{Answer, Checks, Ruling, percent};

/// Checks what is said about each row of a table; reports all wrong rows at once.
#[track_caller]
fn table<T: Debug + Clone>(
    judge: impl Fn(T) -> String,
    rows: impl IntoIterator<Item = (T, &'static str)>,
) {
    let mut wrong = String::new();
    for (measured, expected) in rows {
        let words = judge(measured.clone());
        if words != expected {
            wrong += &format!("\n{measured:?}: {words:?}, not {expected:?}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Rulings in short: `STALL: a 10%, b`, `no: COOL`, `unknown`, or `nothing` if there are none.
fn short(rulings: impl IntoIterator<Item = Ruling>) -> String {
    let words: Vec<String> = rulings.into_iter().map(|ruling| word(&ruling)).collect();
    if words.is_empty() { "nothing".to_string() } else { words.join("; ") }
}

fn word(ruling: &Ruling) -> String {
    let verdict = &ruling.verdict;
    let explained = verdict.explains.iter().map(|e| match e.share {
        Some(share) => format!("{} {}", e.metric, percent(share)),
        None => e.metric.clone(),
    });
    let explained = explained.collect::<Vec<_>>().join(", ");
    let word = match ruling.answer {
        Answer::Yes => verdict.kind.name().to_string(),
        Answer::No => format!("no: {}", verdict.kind.name()),
        Answer::Unknown => "unknown".to_string(),
    };
    if explained.is_empty() { word } else { format!("{word}: {explained}") }
}

/// The checks with one result.
fn checks<T: 'static>(result: T) -> Checks {
    let mut checks = Checks::default();
    checks.put(result);
    checks
}

/// `n` times the same value.
fn repeat(value: f64, n: usize) -> Vec<f64> {
    vec![value; n]
}

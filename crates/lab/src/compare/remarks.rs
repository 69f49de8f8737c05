//! Remarks on a comparison: findings of its records, and the text about each further side. In a
//! table of several sides, each further side has its own letter. The record of a comparison calls
//! its sides A and B.

use std::collections::BTreeSet;

use record::{FindingKind, Level, Run};

use super::conditions::Difference;
use super::{Comparison, Doubt, Odd, Side, name, sentence};

/// Remarks on a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// Conditions that differ, and findings that reduce confidence in a side.
    pub warnings: Vec<String>,
    /// The conditions known for only one side.
    pub notes: Vec<String>,
}

impl Comparison {
    /// The conclusion, with `b` as the letter of the second side.
    pub fn sentence_about(&self, b: char) -> String {
        sentence::of(&self.pairs, &self.odd, self.like_for_like.as_deref(), b)
    }

    /// The remarks, with `b` as the letter of the second side.
    pub fn remarks(&self, b: char) -> Remarks {
        let known = |d: &&Difference| d.a.is_some() && d.b.is_some();
        let (differ, unknown): (Vec<&Difference>, Vec<&Difference>) =
            self.conditions_differ.iter().partition(known);
        let shown = |side: &Option<String>| side.clone().unwrap_or_default();
        let line = |d: &&Difference| format!("{}: {} | {}", d.what, shown(&d.a), shown(&d.b));
        let mut warnings: Vec<String> = differ.iter().map(line).collect();
        if differ.len() > 1 {
            let text = "more than one condition differs: the cause of a difference cannot be named";
            warnings.push(text.into());
        }
        for doubt in &self.doubts {
            let side = if doubt.side == "B" { b.to_string() } else { doubt.side.to_string() };
            warnings.push(format!("{side}: {}", doubt.text));
        }
        let unknown: Vec<&str> = unknown.iter().map(|d| d.what).collect();
        let notes = match unknown.as_slice() {
            [] => Vec::new(),
            some => vec![format!("known for only one of them: {}", some.join(", "))],
        };
        Remarks { warnings, notes }
    }
}

pub(super) fn is_laid_out(run: &Run) -> bool {
    run.warnings.iter().any(|w| w.kind == FindingKind::LaidOut)
}

/// Finds runs that laid out their file when others found an existing one.
pub(super) fn odd(a: &Side, b: &Side) -> Vec<Odd> {
    let all = || a.runs.iter().chain(&b.runs);
    if all().all(is_laid_out) {
        return Vec::new();
    }
    let named = |run: &Run| Odd { run: name(run), why: "it laid out its file first".into() };
    all().filter(|run| is_laid_out(run)).map(named).collect()
}

/// Collects the warnings of both sides.
pub(super) fn doubts(a: &Side, b: &Side) -> Vec<Doubt> {
    let warnings = |side: &Side| {
        let all = side.runs.iter().flat_map(|run| &run.warnings);
        let known: BTreeSet<_> = all
            .filter(|w| w.level >= Level::Warn)
            .map(|w| (w.kind.name().to_string(), w.text.clone()))
            .collect();
        known
    };
    let (ours, theirs) = (warnings(a), warnings(b));
    let side = |w| match (ours.contains(w), theirs.contains(w)) {
        (true, true) => "both",
        (true, false) => "A",
        _ => "B",
    };
    let each = ours.union(&theirs);
    let never = |e: std::convert::Infallible| match e {};
    each.map(|w| Doubt {
        side: side(w),
        kind: w.0.parse().unwrap_or_else(never),
        text: w.1.clone(),
    })
    .collect()
}

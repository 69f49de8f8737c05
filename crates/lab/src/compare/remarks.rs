//! Remarks on a comparison: findings of its records, and the text about each further side. The
//! record of a comparison calls its sides A and B; text has their names.

use std::collections::BTreeSet;

use record::{FindingKind, Level, Run};

use super::conditions::Difference;
use super::{Doubt, LETTERS, Odd, RunComparison, Side, name, sentence};

/// Remarks on a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// Conditions that differ, and findings that reduce confidence in a side.
    pub warnings: Vec<String>,
    /// The conditions known for only one side.
    pub notes: Vec<String>,
}

impl RunComparison {
    /// The conclusion, with these names of the two sides.
    pub fn sentence_about(&self, names: [&str; 2]) -> String {
        let like_for_like = self.like_for_like.as_deref();
        let conclusion = sentence::compose(&self.pairs, &self.odd, like_for_like, names);
        sentence::headed(conclusion, &self.work_differs)
    }

    /// The remarks, with these names of the two sides.
    pub fn remarks(&self, names: [&str; 2]) -> Remarks {
        let (mut warnings, mut unknown) = (Vec::new(), Vec::new());
        for Difference { what, a, b } in &self.conditions_differ {
            match (a, b) {
                (Some(a), Some(b)) => warnings.push(format!("{what}: {a} | {b}")),
                _ => unknown.push(what.as_ref()),
            }
        }
        unknown.extend(self.work_unknown.iter().map(|fact| fact.what.as_ref()));
        if warnings.len() > 1 {
            let text = "more than one condition differs: the cause of a difference cannot be named";
            warnings.push(text.into());
        }
        for doubt in &self.doubts {
            let side = LETTERS.iter().position(|letter| *letter == doubt.side);
            let side = side.map_or(doubt.side, |place| names[place]);
            warnings.push(format!("{side}: {}", doubt.text));
        }
        let notes = match unknown.as_slice() {
            [] => Vec::new(),
            names => vec![format!("known for only one of them: {}", names.join(", "))],
        };
        Remarks { warnings, notes }
    }
}

pub(super) fn is_laid_out(run: &Run) -> bool {
    run.warnings.iter().any(|w| w.kind == FindingKind::LaidOut)
}

/// Finds runs that laid out their file when others found an existing one.
pub(super) fn odd(a: &Side, b: &Side) -> Vec<Odd> {
    let (laid_out, measured): (Vec<&Run>, Vec<&Run>) =
        a.runs.iter().chain(&b.runs).partition(|run| is_laid_out(run));
    if measured.is_empty() {
        return Vec::new();
    }
    let odd = laid_out.into_iter().map(name);
    odd.map(|run| Odd { run, why: "it laid out its file first".into() }).collect()
}

/// Collects the warnings of both sides.
pub(super) fn doubts(a: &Side, b: &Side) -> Vec<Doubt> {
    let (doubts_a, doubts_b) = (warnings(a), warnings(b));
    let doubts = doubts_a.union(&doubts_b).map(|warning| {
        let side = match (doubts_a.contains(warning), doubts_b.contains(warning)) {
            (true, true) => "both",
            (true, false) => "A",
            _ => "B",
        };
        let (name, text) = warning;
        Doubt { side, kind: name.parse().unwrap_or_else(|e| match e {}), text: text.clone() }
    });
    doubts.collect()
}

/// The names and texts of a side's warnings.
fn warnings(side: &Side) -> BTreeSet<(String, String)> {
    let warnings = side.runs.iter().flat_map(|run| &run.warnings);
    let warnings = warnings.filter(|w| w.level >= Level::Warn);
    warnings.map(|w| (w.kind.name().to_string(), w.text.clone())).collect()
}

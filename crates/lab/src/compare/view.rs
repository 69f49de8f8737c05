//! A comparison as it is shown: the types of `report` filled from those of this module.

use record::{MetricKey, Run};
use report::comparison::{self, Against, ComparedRow, GroupComparison, SideWords};

use super::{Pair, Remarks, RunComparison, Side, letter, name, names_of};

/// The caveat of records that were not measured in alternation.
pub const CONFOUNDED: &str = "not measured in alternation: drift between the sides (heat, cache, state) is part of \
                          the difference";

/// Maximum number of runs named in the heading of a side; more are only counted.
const NAMED: usize = 6;

/// The comparison for display; `all` shows every quantity rather than the primary ones.
pub fn view(
    titles: &[String],
    sides: &[Side],
    comparisons: &[RunComparison],
    caveat: &str,
    all: bool,
) -> GroupComparison {
    let titled = sides.iter().zip(titles).enumerate();
    let first_runs: Vec<(char, &Run)> =
        sides.iter().enumerate().filter_map(|(i, s)| Some((letter(i), s.runs.first()?))).collect();
    let curves = comparison::overlay(&first_runs);
    let names = names_of(sides);
    GroupComparison {
        sides: titled
            .map(|(i, (side, title))| comparison::ComparedSide {
                letter: letter(i),
                name: names[i].clone(),
                heading: heading(side, title),
            })
            .collect(),
        against: comparisons
            .iter()
            .enumerate()
            .map(|(i, c)| against(c, all, letter(i + 1), [&names[0], &names[i + 1]]))
            .collect(),
        caveat: caveat.to_string(),
        curves,
    }
}

fn heading(side: &Side, title: &str) -> String {
    let names = match side.runs.as_slice() {
        some if some.len() <= NAMED => some.iter().map(name).collect::<Vec<_>>().join(", "),
        many => format!("{} runs", many.len()),
    };
    let Some(run) = side.runs.first() else { return String::new() };
    let model = run.target.drive.as_ref().and_then(|d| d.model.clone());
    let place = run.environment.board.clone().filter(|_| run.origin.is_some());
    let subject = [model, place].into_iter().flatten().collect::<Vec<_>>().join(", ");
    let subject = if subject.is_empty() { run.target.spec.clone() } else { subject };
    let word = match &run.origin {
        None => "",
        Some(origin) if origin.is_own_fio() => "imported from ssdyno fio's output",
        Some(_) => "not measured by ssdyno",
    };
    let parts = [title.to_string(), names, run.method.clone(), subject, word.into()];
    let parts = parts.iter().filter(|part| !part.is_empty()).map(|part| emit::plain(part));
    parts.collect::<Vec<_>>().join("   ")
}

fn against(comparison: &RunComparison, all: bool, letter: char, names: [&str; 2]) -> Against {
    let pairs: Vec<&Pair> = comparison.pairs.iter().filter(|p| all || p.primary).collect();
    // If they share no primary metric, everything is shown.
    let pairs = if pairs.is_empty() { comparison.pairs.iter().collect() } else { pairs };
    // Conditions and doubts matter to a result only.
    let Remarks { warnings, notes } =
        if comparison.pairs.is_empty() { Remarks::default() } else { comparison.remarks(names) };
    let letter_words = letter.to_string();
    let letters = ["A", letter_words.as_str()];
    Against {
        letter,
        names: names.map(String::from),
        sentence: comparison.sentence_about(names),
        left_out: comparison.pairs.len() - pairs.len(),
        rows: pairs.into_iter().map(|pair| row(pair, names, letters)).collect(),
        warnings,
        notes,
    }
}

fn row(pair: &Pair, names: [&str; 2], letters: [&str; 2]) -> ComparedRow {
    let factor = pair.factor();
    let [words, words_lettered] = [names, letters].map(|sides| SideWords {
        ratio: factor.map(|factor| factor.words_about(sides)).unwrap_or_default(),
        claim: pair.claim.words(sides),
    });
    ComparedRow {
        name: label(pair),
        is_rate: pair.is_rate(),
        a: value(pair, 0, pair.a),
        b: value(pair, 1, pair.b),
        ratio: pair.ratio,
        interval: pair.low.zip(pair.high).map(|(low, high)| [low, high]),
        named: words,
        lettered: words_lettered,
        interval_words: factor.map(|factor| factor.interval_words()).unwrap_or_default(),
        certain: pair.is_certain(),
    }
}

/// The quantity in words; in those of both sides if they differ.
fn label(pair: &Pair) -> String {
    let label_b = pair.name_b.as_ref().map(|name| MetricKey::parse(name).in_words());
    match label_b.filter(|label_b| *label_b != pair.label) {
        Some(label_b) => format!("{} | {label_b}", pair.label),
        None => pair.label.clone(),
    }
}

fn value(pair: &Pair, side: usize, value: Option<f64>) -> String {
    match (pair.ranges[side], value) {
        (Some([low, high]), _) => {
            let [low, high] = [low, high].map(|v| report::quantity(pair.unit, v));
            // The unit once, if both have the same.
            let number = match (low.split_once(' '), high.split_once(' ')) {
                (Some((number, unit)), Some((_, unit_high))) if unit == unit_high => number,
                _ => &low,
            };
            format!("{number} to {high}")
        }
        (None, Some(v)) => report::quantity(pair.unit, v),
        (None, None) => "unknown".to_string(),
    }
}

//! Reads a tool's output whole and disturbed, and compares the figures.

use std::collections::{BTreeMap, BTreeSet};

use compat::import::{decode, read};
use record::{Metric, Run, Statistic, Unit};

use super::disturb::{DISTURBANCES, Dice, cut};

/// Names, units and values of a run's metrics.
type Figures = Vec<(String, Unit, f64)>;

/// Counts over outputs, and the first failures in words.
#[derive(Default)]
pub struct Tally {
    /// Outputs, and those read as they are.
    pub outputs: usize,
    pub read: usize,
    /// Disturbed texts, and those of them that were refused.
    pub disturbed: usize,
    pub refused: usize,
    /// Refusals of texts by their disturbance.
    pub refused_by: BTreeMap<&'static str, usize>,
    /// Pairs of formats of one run that were compared.
    pub compared: usize,
    /// Wrong figures, with what shows them.
    pub wrong: Vec<String>,
    /// Records without a figure.
    pub empty: Vec<String>,
    /// Reasons of refusals.
    pub reasons: Vec<String>,
}

fn figures(run: &Run) -> Figures {
    let figure = |m: &Metric| Some((m.name.clone(), m.unit, m.value?));
    run.metrics.iter().filter_map(figure).collect()
}

fn all_figures(runs: &[Run]) -> Vec<Figures> {
    runs.iter().map(figures).collect()
}

impl Tally {
    /// Checks an output, with a name for messages.
    pub fn check(&mut self, name: &str, bytes: &[u8], seed: u64) {
        let text = decode(bytes);
        self.outputs += 1;
        let mut dice = Dice::new(seed);
        let runs = match read(&text, None) {
            Ok(runs) => runs,
            Err(error) => {
                self.reasons.push(format!("{name}: {error}"));
                return;
            }
        };
        self.read += 1;
        self.find_empty(name, &runs);
        self.agree(name, &text);
        let whole = all_figures(&runs);
        for (what, disturb) in DISTURBANCES {
            let disturbed = disturb(&text, &mut dice);
            let before = self.refused;
            self.compare(&format!("{name}, {what}"), &disturbed, &whole);
            *self.refused_by.entry(what).or_default() += self.refused - before;
        }
        let twice = [whole.clone(), whole.clone()].concat();
        self.compare(&format!("{name}, twice"), &format!("{text}\n{text}"), &twice);
        // What is left of several states of a run is an earlier state, so its figures differ.
        if !has_states(&text) {
            self.check_cut(name, &cut(&text, &mut dice), &whole);
        }
    }

    fn find_empty(&mut self, name: &str, runs: &[Run]) {
        if runs.iter().any(|run| run.metrics.is_empty()) {
            self.empty.push(name.to_string());
        }
    }

    /// A disturbed text must give the same figures or be refused.
    fn compare(&mut self, name: &str, text: &str, whole: &[Figures]) {
        self.disturbed += 1;
        match read(text, None) {
            Ok(runs) => {
                self.find_empty(name, &runs);
                let disturbed = all_figures(&runs);
                if disturbed != whole {
                    self.wrong.push(format!("{name}: {disturbed:?}\n  instead of {whole:?}"));
                }
            }
            Err(error) => {
                self.refused += 1;
                self.reasons.push(format!("{name}: {error}"));
            }
        }
    }

    /// A text that ends early has the figures of its whole blocks, or none. A name may have the
    /// depth asked for, and a rate fewer digits, where the lines that say more are cut off.
    fn check_cut(&mut self, name: &str, text: &str, whole: &[Figures]) {
        self.disturbed += 1;
        let Ok(runs) = read(text, None) else {
            self.refused += 1;
            return;
        };
        self.find_empty(name, &runs);
        let bare = |name: &str| name.split("-q").next().unwrap_or(name).to_string();
        let all: Vec<_> = whole.iter().flatten().collect();
        for (metric, unit, value) in all_figures(&runs).into_iter().flatten() {
            let tail = metric.rsplit_once('.').map(|(_, tail)| tail.to_string());
            // Terse output has whole microseconds.
            let digits = if unit == Unit::Nanoseconds { 1e3 } else { 1.0 };
            let is_equal = |(other, other_unit, other_value): &&&(String, Unit, f64)| {
                let other_tail = other.rsplit_once('.').map(|(_, tail)| tail.to_string());
                // Without its options, fio's rate is that of operations.
                let is_rate = tail.is_none() && *other_unit != unit;
                let is_value = (other_value - value).abs() <= digits + 0.02 * value;
                tail == other_tail
                    && if is_direction_of(&metric, other) {
                        is_rate || is_value
                    } else {
                        bare(other) == bare(&metric) && *other_unit == unit && is_value
                    }
            };
            let is_percentile = metric.contains(".p");
            if !is_percentile && !all.iter().any(|figure| is_equal(&figure)) {
                self.wrong.push(format!("{name}, cut: {metric} {value} is not in {whole:?}"));
            }
        }
    }

    /// Several formats of one run of fio have equal figures within the digits printed.
    fn agree(&mut self, name: &str, text: &str) {
        let parts = formats(text);
        let read = |text: &String| read(text, None).ok().filter(|runs| runs.len() == 1);
        let runs: Vec<Vec<Run>> = parts.iter().filter_map(read).collect();
        for pair in runs.windows(2) {
            self.compared += 1;
            if let Some(difference) = difference(&pair[0][0], &pair[1][0]) {
                self.wrong.push(format!("{name}: formats differ: {difference}"));
            }
        }
    }
}

/// Whether a name without a shape, `read` or `read-job2`, is the direction of another name.
fn is_direction_of(name: &str, other: &str) -> bool {
    let main = |name: &str| name.split('.').next().unwrap_or_default().to_string();
    let (name, other) = (main(name), main(other));
    let direction = name.split('-').next().unwrap_or_default();
    let is_bare = ["read", "write", "trim", "both"].contains(&direction);
    // The sum of one direction is that direction, where the options tell it.
    is_bare && (direction == "both" || other.split('-').any(|word| word == direction))
}

/// Whether a text has several states of one run of fio: several objects, or a process twice.
fn has_states(text: &str) -> bool {
    let headings = text.lines().filter(|line| line.contains(": (groupid="));
    let pids: Vec<&str> =
        headings.filter_map(|line| line.split_once("pid=")?.1.split(':').next()).collect();
    let distinct: BTreeSet<&str> = pids.iter().copied().collect();
    text.matches("\n  \"fio version\"").count() > 1 || distinct.len() < pids.len()
}

/// The JSON, the terse lines and the text of one run, if it was printed in several formats.
fn formats(text: &str) -> Vec<String> {
    if has_states(text) {
        return Vec::new();
    }
    let is_terse = |line: &&str| line.contains(";0;0;") && line.matches(';').count() > 80;
    let start = text.find("{\n  \"fio version\"");
    let end = text.rfind("\n}\n").map(|end| end + 3);
    let json = start.zip(end).map(|(start, end)| text[start..end].to_string());
    let rest = start
        .zip(end)
        .map_or(text.to_string(), |(start, end)| format!("{}{}", &text[..start], &text[end..]));
    let terse: String = rest.lines().filter(is_terse).map(|line| format!("{line}\n")).collect();
    let plain: String =
        rest.lines().filter(|line| !is_terse(line)).map(|line| format!("{line}\n")).collect();
    let parts = [json.unwrap_or_default(), plain, terse];
    let parts: Vec<String> =
        parts.into_iter().filter(|part| part.contains("fio") || part.contains(';')).collect();
    if parts.len() > 1 { parts } else { Vec::new() }
}

/// The first figure in which two formats differ. Names differ where one has no options, so values
/// are compared by direction and statistic, in order.
fn difference(one: &Run, other: &Run) -> Option<String> {
    let directions = ["read", "write", "trim", "both", "flush"];
    let statistics = [
        None,
        Some(Statistic::P50),
        Some(Statistic::P99),
        Some(Statistic::Max),
        Some(Statistic::Mean),
    ];
    let values = |run: &Run, direction: &str, statistic: Option<Statistic>| -> Vec<(Unit, f64)> {
        let is_meant = |m: &&Metric| {
            let main = m.name.split('.').next().unwrap_or_default();
            main.split('-').any(|word| word == direction)
                && m.key().statistic == statistic
                && !m.name.contains("submission")
        };
        run.metrics.iter().filter(is_meant).filter_map(|m| Some((m.unit, m.value?))).collect()
    };
    for direction in directions {
        for statistic in statistics {
            let (a, b) = (values(one, direction, statistic), values(other, direction, statistic));
            if a.len() != b.len() {
                continue;
            }
            for ((unit, a), (other_unit, b)) in a.into_iter().zip(b) {
                let printed = if unit == Unit::Nanoseconds { grain(a).max(grain(b)) } else { 1.0 };
                if unit == other_unit && (a - b).abs() > printed + 0.01 * a.max(b) {
                    return Some(format!("{direction} {statistic:?}: {a} and {b} {unit:?}"));
                }
            }
        }
    }
    None
}

/// The unit in which a time was printed, in nanoseconds.
fn grain(ns: f64) -> f64 {
    [1e9, 1e6, 1e3].into_iter().find(|unit| ns % unit == 0.0).unwrap_or(1.0)
}

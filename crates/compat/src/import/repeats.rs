//! Results that a text holds twice. fio prints one run in several formats
//! (`--output-format=normal,json,terse`), and the state of a run while it lasts
//! (`--status-interval`); a program that wraps a text in JSON often has it as a string and as lines.
//! What is measured once becomes one record, the fullest.

use jiff::Timestamp;
use record::{Run, Statistic, Unit};

use super::Listed;
use super::found::own_title;

/// fio's formats, the fullest first.
const FIO: [&str; 3] = ["fio-json", "fio", "fio-terse"];

/// The records of a text without repeats.
pub(super) fn merge(results: Vec<Listed>) -> Vec<Run> {
    let mut merged: Vec<Listed> = Vec::new();
    for result in results {
        match merged.iter().rposition(|before| is_same_run(before, &result)) {
            // A later state of a run replaces an earlier one, a fuller format another.
            Some(at) if rank(&result) <= rank(&merged[at]) => merged[at] = result,
            Some(_) => {}
            None => merged.push(result),
        }
    }
    merged.into_iter().map(|listed| listed.run).collect()
}

fn rank(result: &Listed) -> usize {
    FIO.iter().position(|name| *name == result.format).unwrap_or(0)
}

fn is_same_run(before: &Listed, result: &Listed) -> bool {
    let are_fio = FIO.contains(&before.format) && FIO.contains(&result.format);
    if !are_fio || own_title(&before.run) != own_title(&result.run) {
        return false;
    }
    if before.format != result.format {
        return before.run.seconds == result.run.seconds
            && have_equal_figures(&before.run, &result.run);
    }
    before.format == "fio-json" && continues(&before.run, &result.run)
}

/// Whether a run is a later state of another: both began in the same moment.
fn continues(before: &Run, run: &Run) -> bool {
    let start = |run: &Run| {
        let is_known = run.origin.as_ref().is_some_and(|origin| origin.start_known);
        run.started.parse::<Timestamp>().ok().filter(|_| is_known)
    };
    let Some((one, other)) = start(before).zip(start(run)) else { return false };
    let lasted = before.seconds.unwrap_or(0.0);
    let apart = (one.as_millisecond() - other.as_millisecond()).abs() as f64 / 1e3;
    // fio stops a job's clock and takes its time stamp at different moments.
    apart < (lasted / 2.0).min(1.0) && lasted < run.seconds.unwrap_or(0.0)
}

/// Whether rates of the same unit and the longest latencies are equal within the digits that fio
/// prints, in order, of which terse output has the fewest: whole microseconds.
fn have_equal_figures(before: &Run, run: &Run) -> bool {
    let rates = |run: &Run| -> Vec<(Unit, f64)> {
        let rates = run.metrics.iter().filter(|m| m.key().statistic.is_none());
        rates.filter_map(|m| Some((m.unit, m.value?))).collect()
    };
    let longest = |run: &Run| -> Vec<f64> {
        let longest = run.metrics.iter().filter(|m| m.key().statistic == Some(Statistic::Max));
        longest.filter_map(|m| m.value).collect()
    };
    let (one, other) = (rates(before), rates(run));
    let are_rates_equal = one.len() == other.len()
        && one.iter().zip(&other).all(|((unit, a), (other, b))| {
            unit != other || (a - b).abs() <= 1.0 + 0.02 * a.max(*b)
        });
    let (one, other) = (longest(before), longest(run));
    are_rates_equal
        && one.len() == other.len()
        && one.iter().zip(&other).all(|(a, b)| (a - b).abs() <= 1e3 + 0.001 * a.max(*b))
}

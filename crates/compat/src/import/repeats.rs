//! Results that a text holds twice. fio prints one run in several formats
//! (`--output-format=normal,json,terse`), and the state of a run while it lasts
//! (`--status-interval`); a program that wraps a text in JSON often has it as a string and as lines.
//! What is measured once becomes one record, the fullest.

use jiff::Timestamp;
use record::{Run, Statistic};

use super::Listed;
use super::found::own_title;

/// fio's formats, the fullest first.
const FIO: [&str; 3] = ["fio-json", "fio", "fio-terse"];

/// The records of a text without repeats: of every state the fullest format, of every run the last
/// state.
pub(super) fn merge(results: Vec<Listed>) -> Vec<Run> {
    let one_format =
        merge_by(results, is_same_state, |before, result| rank(result) <= rank(before));
    let last_states = merge_by(one_format, is_later_state, |_, _| true);
    last_states.into_iter().map(|listed| listed.run).collect()
}

/// Merges results with the last one before them that is the same; the later one stays if it is
/// better.
fn merge_by(
    results: Vec<Listed>,
    is_same: fn(&Listed, &Listed) -> bool,
    is_better: fn(&Listed, &Listed) -> bool,
) -> Vec<Listed> {
    let mut list: Vec<Listed> = Vec::new();
    for result in results {
        match list.iter().rposition(|before| is_same(before, &result)) {
            Some(at) if is_better(&list[at], &result) => list[at] = result,
            Some(_) => {}
            None => list.push(result),
        }
    }
    list
}

fn rank(result: &Listed) -> usize {
    FIO.iter().position(|name| *name == result.format).unwrap_or(0)
}

fn are_of_one_job(before: &Listed, result: &Listed) -> bool {
    let are_fio = FIO.contains(&before.format) && FIO.contains(&result.format);
    are_fio && own_title(&before.run) == own_title(&result.run)
}

/// Whether two formats show the same state.
fn is_same_state(before: &Listed, result: &Listed) -> bool {
    are_of_one_job(before, result)
        && before.format != result.format
        && before.run.seconds == result.run.seconds
        && have_equal_figures(&before.run, &result.run)
}

/// Whether JSON shows a later state of a run.
fn is_later_state(before: &Listed, result: &Listed) -> bool {
    are_of_one_job(before, result)
        && [before.format, result.format] == [FIO[0]; 2]
        && continues(&before.run, &result.run)
}

/// Whether a run is a later state of another: both began in the same moment.
fn continues(before: &Run, run: &Run) -> bool {
    let [Some(start_before), Some(start)] = [before, run].map(|run| {
        let is_known = run.origin.as_ref().is_some_and(|origin| origin.start_known);
        run.started.parse::<Timestamp>().ok().filter(|_| is_known)
    }) else {
        return false;
    };
    let lasted = before.seconds.unwrap_or(0.0);
    let gap = (start_before.as_millisecond() - start.as_millisecond()).abs() as f64 / 1e3;
    // fio stops a job's clock and takes its time stamp at different moments.
    gap < (lasted / 2.0).min(1.0) && lasted < run.seconds.unwrap_or(0.0)
}

/// Whether rates of the same unit and the longest latencies are equal within the digits that fio
/// prints, in order, of which terse output has the fewest: whole microseconds.
fn have_equal_figures(before: &Run, run: &Run) -> bool {
    let [first, other] = [before, run].map(|run| {
        let rates = run.metrics.iter().filter(|m| m.key().statistic.is_none());
        rates.filter_map(|m| Some((m.unit, m.value?))).collect::<Vec<_>>()
    });
    let are_rates_equal = first.len() == other.len()
        && first.iter().zip(&other).all(|((unit, a), (other, b))| {
            unit != other || (a - b).abs() <= 1.0 + 0.02 * a.max(*b)
        });
    let [first, other] = [before, run].map(|run| {
        let maxima = run.metrics.iter().filter(|m| m.key().statistic == Some(Statistic::Max));
        maxima.filter_map(|m| m.value).collect::<Vec<_>>()
    });
    are_rates_equal
        && first.len() == other.len()
        && first.iter().zip(&other).all(|(a, b)| (a - b).abs() <= 1e3 + 0.001 * a.max(*b))
}

//! The answer shown for a record: the stored one, or one computed from a record without an answer.
//! If the run ended early, the headline states how far it got.

use record::{Answer, Ending, HEADLINE_MAX, Run, Series, Stamp, Unit};
use workload::units::{decimal, duration};

use super::{by_hand, general};
use crate::quick::{self, Usual};
use crate::wear::ADDED;
use crate::{PREPARE, find};
use script::Outcome;
use script::draft::answer;

/// The answer to a run's question. Every run has one, even a run that measured nothing. Its stamp
/// is the worse of the stored one and the one derived from the record.
pub fn of_record(run: &Run) -> Answer {
    let stored = run.answer.clone();
    let mut answer = stored.or_else(|| computed(run)).unwrap_or_else(|| nothing(run));
    let stamp = Stamp::of_run(run);
    if stamp.level() >= answer.stamp.level() {
        answer.stamp = stamp;
    }
    if run.ending() != Ending::Whole && !begins_as_ended(&answer.headline) {
        answer.headline = ended(run, &answer.headline);
    }
    answer
}

/// The first words of the headline of a run that ended early.
const CUT: &str = "Cut short";
const FAILED: &str = "Failed";

fn begins_as_ended(headline: &str) -> bool {
    headline.starts_with(CUT) || headline.starts_with(FAILED)
}

/// The answer of a complete run of `quick` whose intervals are those for the next run, with its
/// figures held against the usual ones of such a drive; `None` for other runs.
pub fn answer_against(run: &Run, usual: Option<&Usual>) -> Option<Answer> {
    let is_quick = run.method == quick::INFO.name && run.ending() == Ending::Whole;
    is_quick.then(|| answer(&outcome(run), |out| quick::answer_against(out, usual))).flatten()
}

/// The outcome that a record keeps.
fn outcome(run: &Run) -> Outcome {
    let mut outcome = Outcome::default();
    outcome.metrics.clone_from(&run.metrics);
    outcome.series.clone_from(&run.series);
    outcome.latencies.clone_from(&run.latencies);
    outcome.verdicts.clone_from(&run.verdicts);
    outcome.errors.clone_from(&run.errors);
    outcome.warnings.clone_from(&run.warnings);
    outcome.state_after = run.state_after;
    outcome
}

fn computed(run: &Run) -> Option<Answer> {
    let outcome = outcome(run);
    let declared = match run.method.as_str() {
        "io" | "fio" => by_hand(&outcome),
        "prepare" => (PREPARE.answer)(&outcome),
        name => find(name).ok().and_then(|method| answer(&outcome, method.answer)),
    };
    declared.or_else(|| general(&outcome, run.naming()))
}

/// The answer for a run without measurements.
fn nothing(run: &Run) -> Answer {
    let question = find(&run.method).map_or(String::new(), |method| method.summary.into());
    Answer::new(question, NOTHING, Stamp::of_run(run))
}

const NOTHING: &str = "Nothing was measured.";

/// Prefixes the headline with how far the run got: `Cut short after 41.0 GB written: Reads 5 GB/s.`
fn ended(run: &Run, headline: &str) -> String {
    // Only `wear` counts them: its rates cover only part of an interval.
    let counted = run.metric(ADDED.name).and_then(|metric| metric.value);
    let written_bytes = counted.unwrap_or_else(|| run.series.iter().map(written).sum());
    let amount = match (written_bytes >= 1e6, run.seconds) {
        (true, _) => format!(" after {} written", decimal(written_bytes as u64)),
        (false, Some(seconds)) => format!(" after {}", duration(seconds)),
        (false, None) => String::new(),
    };
    let begin = format!("{}{amount}: ", if run.ending() == Ending::Failed { FAILED } else { CUT });
    let headline = match headline {
        NOTHING => "nothing was measured.",
        known => known,
    };
    let room = HEADLINE_MAX.saturating_sub(begin.chars().count());
    let clauses = headline.match_indices(['.', ';', ',']).map(|(at, _)| &headline[..at]);
    // A decimal point does not end a clause. One without a figure, such as `When full`, says
    // nothing by itself.
    let longest = clauses
        .filter(|part| !headline[part.len() + 1..].starts_with(|c: char| c.is_ascii_digit()))
        .filter(|part| part.contains(|c: char| c.is_ascii_digit()))
        .rfind(|part| part.chars().count() < room);
    match (headline.chars().count() <= room, longest) {
        (true, _) => begin + headline,
        (false, Some(clause)) => format!("{begin}{clause}."),
        (false, None) => begin.trim_end_matches(": ").to_string() + ".",
    }
}

/// The bytes written during a series, computed from its rate.
fn written(series: &Series) -> f64 {
    let column = series.column("write").filter(|column| column.unit == Unit::BytesPerSecond);
    let Some(column) = column else { return 0.0 };
    let starts = std::iter::once(&0).chain(&series.t_ns);
    let spans = series.t_ns.iter().zip(starts).map(|(end, start)| end.saturating_sub(*start));
    let bytes = column.values.iter().zip(spans).filter_map(|(v, ns)| Some((*v)? * ns as f64 / 1e9));
    bytes.sum()
}

#[cfg(test)]
mod tests {
    use record::{Metric, Target, TargetKind};

    use super::*;

    fn run(cut_short: &str) -> Run {
        let target = Target { kind: TargetKind::Virtual, ..Target::default() };
        let cut_short = Some(cut_short.to_string());
        Run { cut_short, seconds: Some(3.0), ..Run::new("quick", target) }
    }

    #[test]
    fn a_run_that_ended_early_says_after_how_much() {
        let mut run = run("interrupted");
        assert_eq!(of_record(&run).headline, "Cut short after 3.0 s: nothing was measured.");
        let rate = |name: &str, v| Metric::single(name, Unit::BytesPerSecond, v);
        run.metrics = vec![rate("seq-read-1MiB-q8", 3.4e9), rate("seq-write-1MiB-q8", 2.9e9)];
        let mut series = Series::new("fill", 0, 0);
        series.push(1_000_000_000, &[("write", Unit::BytesPerSecond, Some(41e9))]);
        run.series.push(series);
        let headline = of_record(&run).headline;
        assert_eq!(headline, "Cut short after 41.0 GB written: Reads 3.40 GB/s, writes 2.90 GB/s.");
        run.cut_short = Some("I/O error: EIO".into());
        assert!(of_record(&run).headline.starts_with("Failed after 41.0 GB"));
        run.complete = true;
        assert_eq!(of_record(&run).headline, "Reads 3.40 GB/s, writes 2.90 GB/s.");
    }

    #[test]
    fn a_headline_is_not_cut_to_words_without_a_figure() {
        let full =
            "When full, random writes fall from 12.6 MB/s to 2.44 MB/s; a discard restores it.";
        let mut written = run("interrupted");
        let mut series = Series::new("fill", 0, 0);
        series.push(1_000_000_000, &[("write", Unit::BytesPerSecond, Some(41e9))]);
        written.series.push(series);
        assert_eq!(ended(&written, full), "Cut short after 41.0 GB written.");
        let quick =
            "Reads 3.40 GB/s, writes 2.90 GB/s; the link limits sequential reads and writes.";
        let said = "Cut short after 3.0 s: Reads 3.40 GB/s, writes 2.90 GB/s.";
        assert_eq!(ended(&run("interrupted"), quick), said);
    }

    #[test]
    fn bytes_that_were_counted_are_not_computed_from_a_rate() {
        let mut run = run("interrupted");
        let mut series = Series::new("wear-cycle", 0, 0);
        for t_ns in [1_000_000_000, 2_000_000_000] {
            series.push(t_ns, &[("write", Unit::BytesPerSecond, Some(42e9))]);
        }
        run.series.push(series);
        run.metrics.push(Metric::single("wear-added", Unit::Bytes, 42e9));
        let headline = of_record(&run).headline;
        assert!(headline.starts_with("Cut short after 42.0 GB written: "), "{headline}");
    }

    #[test]
    fn a_record_from_elsewhere_has_an_answer_of_its_figures_in_words() {
        let mut run = Run { complete: true, ..run("") };
        run.method = "text".into();
        run.metrics = vec![Metric::single("rand-read-4KiB-q32", Unit::Iops, 88_000.0)];
        let answer = of_record(&run);
        assert_eq!(answer.headline, "Random 4 KiB reads at depth 32: 88k IOPS.");
        assert_eq!((answer.tiles.len(), answer.charts.len()), (1, 1));
    }
}

//! The screen: calm and aligned; one page with the answer (`brief.rs`), or the full screen.
//!
//! The full screen shows, top to bottom: the run, its drive and its host; the answer; the numbers;
//! latencies; conclusions (`why`); doubts (`distrust`); the location of the record. Everything is
//! laid out for the width of the [`Style`], and colour is never the only sign.

mod brief;
mod io;
mod page;
mod tables;

use record::{Column, Level, Run, Series, Unit, VerdictKind};
use workload::units::span;

use crate::facts::{self, Doubt, StampTone};
use crate::grid::Grid;
use crate::names::{DIRECTIONS, is_direction};
use crate::quantity;
use crate::spark::sparkline;
use crate::split::SplitTime;
use crate::style::{Ink, Style};
use crate::wear;
use page::Page;

/// Maximum number of notes shown; warnings and worse are all shown.
const NOTES_MAX: usize = 3;

/// Minimum number of intervals and minimum duration of a workload for drawing its time series
/// (arbitrary: a second of noise shows nothing).
const INTERVALS_MIN: usize = 20;
const SERIES_NS_MIN: u64 = 5_000_000_000;

/// Maximum number of time series.
const SERIES_MAX: usize = 4;

/// The run as a screen of text: its answer within one page, or everything if it has none.
pub fn terminal(run: &Run, style: &Style) -> String {
    let Some(answer) = &run.answer else { return in_full(run, style, tables::left_out) };
    let mut page = Page::new(style);
    brief::brief(&mut page, run, answer);
    page.finish()
}

/// The grid of a run in progress, for its progress screen: values as they are measured, and
/// placeholders for the rest of the plan. `None` for a method without a grid.
pub fn grid_so_far(run: &Run, style: &Style) -> Option<String> {
    brief::so_far(run, style)
}

/// The rates of a run with a grid, each in MB/s and in operations per second; `None` without one.
pub fn terminal_grid(run: &Run, style: &Style) -> Option<String> {
    let grid = Grid::new(run);
    let has_rates = grid.rows.iter().any(|row| row.has_rate());
    has_rates.then(|| {
        let mut page = Page::new(style);
        brief::header(&mut page, run);
        page.blank();
        let table = tables::roomy(style, |roomy| tables::rates(&grid, style, roomy));
        page.block(&table.render(style));
        page.finish()
    })
}

/// The run as text with all values of the grid, time series, conclusions, doubts and the machine.
pub fn terminal_in_full(run: &Run, style: &Style) -> String {
    in_full(run, style, |_| 0)
}

/// The run as text. `leave_out` returns how many of the metrics beside a grid are left out.
fn in_full(run: &Run, style: &Style, leave_out: impl Fn(&Grid<'_>) -> usize) -> String {
    let mut page = Page::new(style);
    header(&mut page, run);
    if let Some(answer) = &run.answer {
        page.blank();
        page.labelled("answer", Ink::Strong, &answer.headline);
        if !answer.rest.is_empty() {
            page.labelled("", Ink::Plain, &answer.rest);
        }
    }
    if let Some((tone, stamp)) = facts::stamp(run) {
        let stamp: Vec<String> =
            [Some(stamp), facts::next_time(run)].into_iter().flatten().collect();
        page.labelled("stamp", stamp_ink(tone), &stamp.join("; "));
    }
    page.blank();
    let mut left_out = 0;
    if run.metrics.is_empty() && run.latencies.is_empty() {
        page.labelled("result", Ink::Plain, "nothing was measured");
    } else if run.method == "io" {
        io::body(&mut page, run);
    } else {
        let grid = Grid::new(run);
        left_out = leave_out(&grid);
        tables::body(&mut page, &grid, left_out);
        let splits = SplitTime::from_run(run);
        if !splits.is_empty() {
            page.blank();
        }
        io::times_of(&mut page, &splits, run);
    }
    time_series(&mut page, run);
    page.blank();
    conclusions(&mut page, run);
    run.answer.iter().for_each(|answer| brief::normal(&mut page, answer));
    if left_out > 0 {
        let text = match run.number {
            Some(number) => format!("{left_out} more values: ssdyno show {number} --html"),
            None => format!("{left_out} more values: --html, --csv, --json"),
        };
        page.labelled("more", Ink::Dim, &text);
    }
    page.blank();
    footer(&mut page, run);
    page.finish()
}

fn header(page: &mut Page, run: &Run) {
    let ink = if run.complete { Ink::Plain } else { Ink::Warn };
    let title = [
        (Ink::Strong, facts::run_name(run)),
        (Ink::Strong, run.method.clone()),
        (if run.origin.is_some() { Ink::Warn } else { ink }, facts::ending(run)),
        (Ink::Dim, facts::when(run)),
    ];
    page.title(&title);
    page.blank();
    page.items("labels", &facts::labels(run));
    facts::note(run).iter().for_each(|note| page.labelled("remark", Ink::Plain, note));
    page.items("from", &facts::origin(run));
    page.items("drive", &facts::drive(run, true));
    page.items("target", &facts::target(run, true));
    page.items("host", &facts::host(run));
    page.items("wear", &wear::line(run));
}

fn stamp_ink(tone: StampTone) -> Ink {
    match tone {
        StampTone::Predicted => Ink::Predicted,
        StampTone::Good => Ink::Good,
        StampTone::Warn => Ink::Warn,
        StampTone::Bad => Ink::Bad,
    }
}

/// Throughput over time of the workloads that took long enough.
fn time_series(page: &mut Page, run: &Run) {
    let long = run.series.iter().filter(|s| s.replicate == 0 && is_long(s));
    let columns = long.flat_map(|s| s.columns.iter().map(move |c| (s, c)));
    for (series, column) in columns.filter(|(_, c)| is_rate(c)).take(SERIES_MAX) {
        let line = sparkline(&column.values, page.text_width(), page.style);
        if line.is_empty() {
            continue;
        }
        let max = column.values.iter().flatten().copied().fold(0.0, f64::max);
        let max = quantity::show(column.unit, max);
        let time = span(series.t_ns.last().map_or(0.0, |t| *t as f64 / 1e9));
        let op = DIRECTIONS.into_iter().find(|op| op.name() == column.name);
        let workload = run.naming().workload(&series.name, op);
        let text = format!("{workload} over {time}, up to {max}");
        page.blank();
        page.labelled("rate", Ink::Dim, &text);
        page.raw("rate", &line);
    }
}

fn is_long(series: &Series) -> bool {
    let long = series.t_ns.last().is_some_and(|t| *t >= SERIES_NS_MIN);
    long && series.t_ns.len() >= INTERVALS_MIN
}

fn is_rate(column: &Column) -> bool {
    column.unit == Unit::BytesPerSecond && is_direction(&column.name)
}

fn conclusions(page: &mut Page, run: &Run) {
    for verdict in &run.verdicts {
        let text = format!("{}: {}", verdict.kind, verdict.text);
        page.labelled("why", Ink::Plain, &text);
        // On one screen, a known cause needs no further test.
        let is_undetermined = verdict.kind == VerdictKind::Undetermined;
        if let Some(test) = verdict.next_test.as_ref().filter(|_| is_undetermined) {
            page.indented_text(Ink::Dim, &format!("try: {test}"));
        }
    }
    let doubts = facts::doubts(run);
    let notes = doubts.iter().filter(|d| d.finding.level == Level::Note).count();
    // An author's remarks belong with the figures.
    let notes_max = if run.origin.is_some() { usize::MAX } else { NOTES_MAX };
    let shown_count = doubts.len() - notes.saturating_sub(notes_max);
    doubts[..shown_count].iter().for_each(|doubt| distrust(page, doubt));
    if shown_count < doubts.len() {
        let hidden_count = doubts.len() - shown_count;
        let s = if hidden_count == 1 { "" } else { "s" };
        page.labelled("distrust", Ink::Dim, &format!("- and {hidden_count} more note{s}"));
    }
    for errors in &run.errors {
        page.labelled("errors", Ink::Bad, &facts::errors(errors, run.naming()));
    }
}

fn distrust(page: &mut Page, doubt: &Doubt<'_>) {
    let (mark, ink) = match doubt.finding.level {
        Level::Bad | Level::Other(_) => ("!!", Ink::Bad),
        Level::Warn => ("!", Ink::Warn),
        Level::Note => ("-", Ink::Plain),
    };
    page.labelled("distrust", ink, &format!("{mark} {}", doubt.text()));
    advice(page, doubt);
}

fn advice(page: &mut Page, doubt: &Doubt<'_>) {
    if let Some(advice) = &doubt.finding.advice {
        page.indented_text(Ink::Dim, &format!("try: {advice}"));
    }
}

fn footer(page: &mut Page, run: &Run) {
    match run.number {
        Some(number) => page.raw("saved", &format!("run {number}     ssdyno show {number} --html")),
        // Published figures are not in a store.
        None if run.origin.is_some() => {}
        None => page.labelled("record", Ink::Dim, &format!("{}, not in this store", run.id)),
    }
}

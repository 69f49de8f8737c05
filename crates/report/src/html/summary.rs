//! The top of the page: the subject, the answer in a sentence with its stamp, the numbers in tiles,
//! and then drive and target.
//!
//! For a method that declares no answer, the sentence is its first verdict, and the tiles are its
//! metrics.

use maud::{Markup, html as markup};
use record::{Answer, LatencyKind, Level, Metric, MetricKey, Order, Run, Statistic};

use crate::describe;
use crate::facts::{self, StampTone};
use crate::grid::Grid;
use crate::names::DIRECTIONS;
use crate::quantity;

/// Maximum number of tiles: three rows on a phone, one on a desktop.
const TILES_MAX: usize = 6;

/// The drive's name if known, otherwise the target.
pub(super) fn subject(run: &Run) -> String {
    let drive = run.target.drive.as_ref();
    let model = drive.and_then(facts::model).or_else(|| drive.map(|d| d.name.clone()));
    let mut names = model.into_iter().chain([run.target.spec.clone()]);
    names.find(|name| !name.is_empty()).unwrap_or_else(|| "unknown drive".to_string())
}

pub(super) fn summary(run: &Run, grid: &Grid<'_>) -> Markup {
    let (tone, sentence) = verdict(run);
    markup! {
        section.summary {
            h1 { (facts::marked(subject(run), run)) }
            p.verdict.(tone) { (sentence) }
            @if let Some(rest) = rest(run) { p.rest { (rest) } }
            p.status {
                @if let Some((tone, stamp)) = facts::stamp(run) {
                    span.(class(tone)) { (stamp) }
                }
                span.(if run.complete && run.origin.is_none() { "good" } else { "warn" }) { (facts::ending(run)) }
                @for count in doubt_counts(run) { a href="#distrust" { (count) } }
            }
            @let tiles = tiles(run, grid);
            @if !tiles.is_empty() {
                ul.tiles aria-label="The main numbers" {
                    @for tile in &tiles { (draw(tile)) }
                }
            }
            @let labels = facts::labels(run);
            @if !labels.is_empty() {
                p.facts { @for label in &labels { span { (label) } } }
            }
            @if let Some(note) = facts::note(run) { p.rest { (note) } }
            @if run.origin.is_some() {
                p.facts { @for fact in facts::origin(run) { span { (fact) } } }
            }
            p.facts {
                // The name is already the title.
                @for fact in facts::drive(run, true).iter().filter(|f| **f != subject(run)) {
                    span { (fact) }
                }
            }
            p.facts { @for fact in facts::target(run, true) { span { (fact) } } }
        }
    }
}

/// What the concluding sentence has no room for.
fn rest(run: &Run) -> Option<&str> {
    let answer = run.answer.as_ref().filter(|_| !run.metrics.is_empty())?;
    Some(answer.rest.as_str()).filter(|rest| !rest.is_empty())
}

/// The concluding sentence.
fn verdict(run: &Run) -> (&'static str, String) {
    if run.metrics.is_empty() {
        return ("warn", "Nothing was measured.".to_string());
    }
    if let Some(answer) = &run.answer {
        let tone = if answer.stamp.level() < Level::Bad { "plain" } else { "bad" };
        return (tone, answer.headline.clone());
    }
    let doubts = facts::doubts(run);
    if let Some(bad) = doubts.iter().find(|d| d.finding.level == Level::Bad) {
        return ("bad", format!("These numbers do not describe the drive: {}", bad.text()));
    }
    let concluded = run.verdicts.first().map(|verdict| verdict.text.clone());
    let mut issued = run.known_workloads();
    // A single workload has no verdict: its result is the headline.
    let workload = issued.next().filter(|_| issued.next().is_none());
    let description = workload.map(|w| describe::workload(&w).join(", "));
    let nothing = "No conclusion was drawn from these numbers.";
    ("plain", concluded.or(description).unwrap_or_else(|| nothing.to_string()))
}

fn class(tone: StampTone) -> &'static str {
    match tone {
        StampTone::Predicted => "predicted",
        StampTone::Good => "good",
        StampTone::Warn => "warn",
        StampTone::Bad => "bad",
    }
}

fn doubt_counts(run: &Run) -> Vec<String> {
    let doubts = facts::doubts(run);
    let [bad, warnings, notes] = [Level::Bad, Level::Warn, Level::Note]
        .map(|level| doubts.iter().filter(|d| d.finding.level == level).count() as u64);
    let io_errors: u64 = run.errors.iter().map(|e| e.count).sum();
    let counts = [
        (bad, "reason to disbelieve it", "reasons to disbelieve it"),
        (warnings, "warning", "warnings"),
        (notes, "note", "notes"),
        (io_errors, "I/O error", "I/O errors"),
    ];
    let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
    counts.map(|(n, one, many)| format!("{n} {}", if n == 1 { one } else { many })).collect()
}

struct SummaryTile {
    label: String,
    value: String,
    below: String,
}

fn draw(tile: &SummaryTile) -> Markup {
    // The number and its unit are set separately: `3518` large, `MB/s` small.
    let (number, unit) = tile.value.split_once(' ').unwrap_or((&tile.value, ""));
    markup! {
        li {
            span.label { (tile.label) }
            span.value { (number) " " small { (unit) } }
            span.below { (tile.below) }
        }
    }
}

fn tiles(run: &Run, grid: &Grid<'_>) -> Vec<SummaryTile> {
    let mut tiles = match &run.answer {
        Some(answer) => of_answer(answer, run),
        None if grid.rows.is_empty() => leading(run),
        None => of_grid(grid, run),
    };
    tiles.truncate(TILES_MAX);
    tiles
}

/// The tiles of the answer, in its order. The metric adds the interval and its basis.
fn of_answer(answer: &Answer, run: &Run) -> Vec<SummaryTile> {
    let tiles = answer.tiles.iter().map(|tile| match run.metric(&tile.metric) {
        Some(metric) => of_metric(tile.label.clone(), metric, run),
        None => SummaryTile {
            label: tile.label.clone(),
            value: quantity::show_known(tile.unit, tile.value),
            below: String::new(),
        },
    });
    tiles.collect()
}

/// The first (largest, then deepest) sequential and random rows in both directions, then the median
/// latency of random I/O at depth 1.
fn of_grid(grid: &Grid<'_>, run: &Run) -> Vec<SummaryTile> {
    let mut tiles = Vec::new();
    for order in [Order::Sequential, Order::Random] {
        let Some(row) = grid.rows.iter().find(|r| r.key.order == order) else { continue };
        for direction in DIRECTIONS {
            let Some(rate) = row.side(direction).rate else { continue };
            tiles.push(of_metric(format!("{} {}", row.label(), direction.name()), rate, run));
        }
    }
    for row in grid.rows.iter().filter(|r| r.key.order == Order::Random && r.key.depth == 1).take(1)
    {
        for direction in DIRECTIONS {
            let Some(ns) = row.side(direction).latency[0] else { continue };
            tiles.push(SummaryTile {
                label: format!("{} {}", row.label(), direction.name()),
                value: workload::units::latency(ns),
                below: "median latency".to_string(),
            });
        }
    }
    tiles
}

/// The first metrics of a method without a grid.
fn leading(run: &Run) -> Vec<SummaryTile> {
    let times = |clock: LatencyKind, statistic| MetricKey::of_run(statistic).clocked(clock);
    let order = [
        MetricKey::of_run(Statistic::Iops),
        MetricKey::of_run(Statistic::Throughput),
        times(LatencyKind::Response, Statistic::P99),
        times(LatencyKind::Service, Statistic::P99),
        times(LatencyKind::Service, Statistic::P50),
        MetricKey::of_run(Statistic::EffectiveDepth),
    ];
    let metrics = order.iter().filter_map(|key| run.metric(&key.to_string()));
    let with_values: Vec<&Metric> = metrics.filter(|m| m.value.is_some()).collect();
    let metrics = if with_values.is_empty() { run.metrics.iter().collect() } else { with_values };
    metrics.into_iter().map(|m| of_metric(m.name.replace('_', " "), m, run)).collect()
}

fn of_metric(label: String, metric: &Metric, run: &Run) -> SummaryTile {
    let value = quantity::show_known(metric.unit, metric.value);
    // A number without an interval is shown alone.
    let words = metric.low.map(|_| quantity::interval_words(metric)).unwrap_or_default();
    let interval = match quantity::grounds(metric, run) {
        Some(grounds) => format!("{words} ({grounds})"),
        None => words,
    };
    SummaryTile { label, value, below: interval }
}

//! Placeholders for the charts, with tables that summarize their data.
//!
//! A chart is an empty element with a `data-chart`; `script/` fills it.

use maud::{Markup, html as markup};
use record::{Column, Histogram, Run, Series, Unit};
use workload::units::{amount, span};

use super::numbers;
use super::sheet::{latency_cell, sheet};
use crate::grid::Grid;
use crate::names::DIRECTIONS;
use crate::quantity;
use crate::table::Align::{Left, Right};
use crate::times::Times;

pub(super) fn over_time(run: &Run) -> Markup {
    if run.series.iter().all(|s| s.t_ns.is_empty()) {
        return markup! {};
    }
    markup! {
        section {
            h2 { "Over time" }
            p.note {
                "Drag across a chart to zoom in. Where there are more values than the screen "
                "can show, the line is the median and the band spans minimum to maximum."
            }
            div data-chart="timeline" {}
            h3 data-for="repeats" { "Replicates overlaid" }
            div.multiples data-chart="repeats" {}
            noscript { p { "The charts need JavaScript; the tables do not." } }
            details { summary { "As a table" } (time_series(run)) }
        }
    }
}

fn time_series(run: &Run) -> Markup {
    let headings = [
        ("Workload", Left),
        ("Replicate", Right),
        ("Start", Right),
        ("Duration", Right),
        ("Quantity", Left),
        ("Minimum", Right),
        ("Median", Right),
        ("Maximum", Right),
    ];
    let rows = markup! {
        @for series in &run.series {
            @for column in series.columns.iter().filter(|c| c.unit == Unit::BytesPerSecond) {
                (spread_of(series, column))
            }
        }
    };
    sheet("Throughput over time", &headings, rows)
}

fn spread_of(series: &Series, column: &Column) -> Markup {
    let [start, duration] =
        [series.start_ns, series.t_ns.last().copied().unwrap_or(0)].map(|ns| span(ns as f64 / 1e9));
    let Some(spread) = spread(&column.values) else { return markup! {} };
    markup! {
        tr {
            th scope="row" { (series.name) }
            td.number { (series.replicate + 1) }
            td.number { (start) }
            td.number { (duration) }
            td { (column.name) }
            @for value in spread { td.number { (quantity::show(column.unit, value)) } }
        }
    }
}

fn spread(values: &[Option<f64>]) -> Option<[f64; 3]> {
    let mut numbers: Vec<f64> = values.iter().flatten().copied().collect();
    numbers.sort_unstable_by(f64::total_cmp);
    Some([*numbers.first()?, *numbers.get(numbers.len() / 2)?, *numbers.last()?])
}

pub(super) fn latencies(run: &Run, grid: &Grid<'_>) -> Markup {
    let (times, _) = Times::split(&run.metrics);
    let sides = DIRECTIONS.map(|d| grid.has_latency(d).then(|| numbers::percentiles(grid, d)));
    let tables = sides.iter().any(Option::is_some) || !times.rows.is_empty();
    if !tables && run.latencies.is_empty() {
        return markup! {};
    }
    markup! {
        section {
            h2 { "Latency" }
            @if !times.rows.is_empty() { (numbers::times(&times)) }
            div.pair { @for side in sides.into_iter().flatten() { (side) } }
            @if tables {
                p.note {
                    "–: fewer than ten operations were slower, too few for that percentile."
                }
            }
            @if !run.latencies.is_empty() { (distributions(run)) }
        }
    }
}

fn distributions(run: &Run) -> Markup {
    markup! {
        h3 { "How many operations took at least this long" }
        div.pair data-chart="tails" {}
        h3 { "Distribution of latencies" }
        div.multiples data-chart="histograms" {}
        details { summary { "As a table" } (profiles(run)) }
    }
}

const PERCENTILES: [(&str, f64); 4] =
    [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];

fn profiles(run: &Run) -> Markup {
    let mut headings = vec![("Workload", Left), ("Time", Left), ("Operations", Right)];
    headings.extend([("min", Right), ("mean", Right)]);
    headings.extend(PERCENTILES.map(|(name, _)| (name, Right)));
    headings.push(("max", Right));
    let rows = markup! {
        @for profile in &run.latencies {
            @let name = format!("{} {}", profile.name, profile.op);
            (profile_row(&name, "service", &profile.service))
            @if let Some(response) = &profile.response {
                (profile_row(&name, "response", response))
            }
        }
    };
    sheet("Latencies", &headings, rows)
}

fn profile_row(name: &str, time: &str, histogram: &Histogram) -> Markup {
    let ns = |value: Option<u64>| latency_cell(value.map(|ns| ns as f64));
    markup! {
        tr {
            th scope="row" { (name) }
            td { (time) }
            td.number { (amount(histogram.count() as f64)) }
            (ns(histogram.min()))
            (latency_cell(histogram.mean()))
            @for (_, q) in PERCENTILES { (ns(histogram.percentile(q))) }
            (ns(histogram.max()))
        }
    }
}

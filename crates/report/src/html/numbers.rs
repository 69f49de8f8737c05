//! The grid with its intervals, and a plain table of other metrics.

use maud::{Markup, html as markup};
use record::{Metric, Run, Unit};
use workload::units::amount;

use super::sheet::{head, latency_cell, sheet};
use crate::grid::{Grid, GridRow, rates_of};
use crate::names::{DIRECTIONS, STATISTICS};
use crate::quantity;
use crate::split::SplitTime;
use crate::style::Style;
use crate::table::Align::{Left, Right};
use crate::times::Times;
use workload::OpKind;

const STYLE: Style = Style { colour: false, width: 120, unicode: true };

pub(super) fn numbers(run: &Run, grid: &Grid<'_>) -> Markup {
    if grid.rows.is_empty() && grid.others.is_empty() {
        return markup! {};
    }
    markup! {
        section {
            h2 { "Numbers" }
            @if grid.rows.iter().any(GridRow::has_rate) {
                (rates(grid))
                p.note {
                    (claim(grid, run)) "n=1: measured once, without an interval. "
                    "Bars: MB/s, all on the same scale."
                }
            }
            @let (_, others) = Times::split(grid.others.iter().copied());
            @if !others.is_empty() {
                @if !grid.rows.is_empty() { h3 { "Other measurements" } }
                (plain(&others))
            }
        }
    }
}

/// The sentence that explains the intervals under the rates.
fn claim(grid: &Grid<'_>, run: &Run) -> String {
    let mut rates = rates_of(grid.rows.iter());
    if rates.clone().all(|metric| metric.low.is_none()) {
        return String::new();
    }
    let heading = quantity::interval_heading(rates.clone());
    let grounds = rates.find_map(|metric| quantity::grounds(metric, run));
    let grounds = grounds.map(|grounds| format!(" ({grounds})")).unwrap_or_default();
    format!("Below a rate: {heading}{grounds}. ")
}

fn rates(grid: &Grid<'_>) -> Markup {
    let rows = grid.rows.iter().filter(|row| row.has_rate());
    let row_maxima = rows.clone().map(|row| {
        let rates = row.sides.iter().map(|s| s.rate).chain([row.both]).flatten();
        rates.filter_map(|r| row.bytes_per_s(r)).fold(0.0, f64::max)
    });
    let fastest = row_maxima.fold(0.0, f64::max);
    markup! {
        table.grid {
            (head(&[("Workload", Left), ("Read", Left), ("Write", Left)]))
            tbody { @for row in rows { (rate_row(row, fastest)) } }
        }
    }
}

fn rate_row(row: &GridRow<'_>, fastest: f64) -> Markup {
    markup! {
        tr {
            th scope="row" { (row.label()) }
            @if let Some(both) = row.both {
                td colspan="2" { (rate(row, both, fastest)) small { "reads and writes together" } }
            } @else {
                @for direction in DIRECTIONS {
                    td.(direction.name()) { @if let Some(metric) = row.side(direction).rate { (rate(row, metric, fastest)) } }
                }
            }
        }
    }
}

/// The rate in its unit in large type, the interval and MB/s in small type, and a bar.
fn rate(row: &GridRow<'_>, metric: &Metric, fastest: f64) -> Markup {
    let Some(value) = metric.value else { return markup! { (quantity::UNKNOWN) } };
    let bytes = row.bytes_per_s(metric).unwrap_or(0.0);
    let share = if fastest > 0.0 { 100.0 * bytes / fastest } else { 0.0 };
    let unit = if metric.unit == Unit::Iops { "IOPS" } else { "MB/s" };
    markup! {
        span.value { (quantity::bare(metric.unit, value)) " " small { (unit) } }
        span.below {
            span { (quantity::interval(metric)) }
            @if metric.unit == Unit::Iops {
                span { (amount(bytes / 1e6)) " MB/s" }
            }
        }
        span.bar aria-hidden="true" style=(format!("--share:{share:.1}%")) {}
    }
}

fn plain(metrics: &[&Metric]) -> Markup {
    let headings = [("Metric", Left), ("Value", Right), ("Interval", Left), ("n", Right)];
    let rows = markup! {
        @for metric in metrics {
            tr {
                th scope="row" { (metric.name) }
                td.number { (quantity::show_or_dash(metric, &STYLE)) }
                td { (quantity::interval_words(metric)) }
                td.number { (metric.n) }
            }
        }
    };
    sheet("Metrics", &headings, rows)
}

/// A stacked bar for the mean time of each workload whose time is split.
pub(super) fn splits(run: &Run) -> Markup {
    let splits = SplitTime::from_run(run);
    markup! {
        @for split in &splits {
            p.split {
                (split.in_words())
                span.parts aria-hidden="true" {
                    @for (name, ns) in &split.parts {
                        span title=(name) style=(format!("--share:{:.1}%", 100.0 * ns / split.total_ns)) {}
                    }
                }
            }
        }
    }
}

/// Percentiles of one direction, one row per workload.
pub(super) fn percentiles(grid: &Grid<'_>, direction: OpKind) -> Markup {
    let mut headings = vec![(direction.name(), Left)];
    headings.extend(STATISTICS.map(|statistic| (statistic.name(), Right)));
    markup! {
        table.(direction.name()) {
            (head(&headings))
            tbody {
                @for row in grid.rows.iter().filter(|row| row.side(direction).latency.iter().any(Option::is_some)) {
                    tr {
                        th scope="row" { (row.label()) }
                        @for ns in row.side(direction).latency { (latency_cell(ns)) }
                    }
                }
            }
        }
    }
}

/// Service and response times of a single workload, one row each.
pub(super) fn times(times: &Times) -> Markup {
    let mut headings = vec![("Time", Left)];
    headings.extend(times.statistics.iter().map(|statistic| (*statistic, Right)));
    let rows = markup! {
        @for (label, values) in &times.rows {
            tr {
                th scope="row" { (label) }
                @for ns in values { (latency_cell(*ns)) }
            }
        }
    };
    markup! {
        (sheet("Service and response times", &headings, rows))
        p.note {
            "Service time: issue to completion. Response time: from the moment an operation was "
            "due; the difference was spent waiting."
        }
    }
}

//! Places for the charts, with a table beside each that says the same.
//!
//! A chart is an empty element with a `data-chart`; `report.js` fills it.

use maud::{Markup, html as markup};
use record::{LatencyProfile, Run, Series, Unit};
use workload::units::{amount, latency, span};

use super::numbers;
use crate::grid::Grid;
use crate::names::Direction;
use crate::quantity;
use crate::times::Times;

pub(super) fn over_time(run: &Run) -> Markup {
    if run.series.iter().all(|s| s.t_ns.is_empty()) {
        return markup! {};
    }
    markup! {
        section {
            h2 { "Over time" }
            p.note {
                "Drag across a chart to look closer. Where there are more values than the screen "
                "can show, the line is the median and the band reaches from the least to the greatest."
            }
            div data-chart="timeline" {}
            h3 data-for="repeats" { "Replicates, one over the other" }
            div.multiples data-chart="repeats" {}
            noscript { p { "The charts need JavaScript; the tables do not." } }
            details {
                summary { "As a table" }
                div.scroll tabindex="0" role="region" aria-label="Throughput over time" { (courses(run)) }
            }
        }
    }
}

fn courses(run: &Run) -> Markup {
    markup! {
        table {
            thead {
                tr {
                    th { "Workload" } th.number { "Replicate" } th.number { "Begins at" } th.number { "Lasts" }
                    th { "Of" } th.number { "Least" } th.number { "Median" } th.number { "Greatest" }
                }
            }
            tbody {
                @for series in &run.series {
                    @for column in series.columns.iter().filter(|c| c.unit == Unit::BytesPerSecond) {
                        @if let Some([least, median, greatest]) = spread(&column.values) {
                            tr {
                                th scope="row" { (series.name) }
                                td.number { (series.replicate + 1) }
                                td.number { (span(series.start_ns as f64 / 1e9)) }
                                td.number { (span(lasts(series))) }
                                td { (column.name) }
                                @for value in [least, median, greatest] {
                                    td.number { (quantity::show(column.unit, value)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn lasts(series: &Series) -> f64 {
    series.t_ns.last().map_or(0.0, |t| *t as f64 / 1e9)
}

fn spread(values: &[Option<f64>]) -> Option<[f64; 3]> {
    let mut known: Vec<f64> = values.iter().flatten().copied().collect();
    known.sort_unstable_by(f64::total_cmp);
    Some([*known.first()?, *known.get(known.len() / 2)?, *known.last()?])
}

pub(super) fn latencies(run: &Run) -> Markup {
    let grid = Grid::of(run);
    let sides: Vec<_> = Direction::BOTH.into_iter().filter(|d| grid.has_latency(*d)).collect();
    let (times, _) = Times::of(&run.metrics);
    if sides.is_empty() && times.rows.is_empty() && run.latencies.is_empty() {
        return markup! {};
    }
    markup! {
        section {
            h2 { "Latency" }
            @if !times.rows.is_empty() {
                (numbers::times(&times))
                p.note {
                    "Service time: issue to completion. Response time: from the moment an operation was "
                    "due; the difference was spent waiting."
                }
            }
            @if !sides.is_empty() {
                div.pair { @for side in &sides { (numbers::percentiles(&grid, *side)) } }
            }
            @if !sides.is_empty() || !times.rows.is_empty() {
                p.note { "–: fewer than ten operations were slower, so that the percentile would be chance." }
            }
            @if !run.latencies.is_empty() {
                h3 { "How many operations took at least this long" }
                div.pair data-chart="tails" {}
                h3 { "Where most of them lie" }
                div.multiples data-chart="histograms" {}
                details {
                    summary { "As a table" }
                    div.scroll tabindex="0" role="region" aria-label="Latencies" { (profiles(run)) }
                }
            }
        }
    }
}

fn profiles(run: &Run) -> Markup {
    markup! {
        table {
            thead {
                tr {
                    th { "Workload" } th { "Time" } th.number { "Operations" } th.number { "min" }
                    th.number { "mean" } th.number { "p50" } th.number { "p99" } th.number { "p99.9" }
                    th.number { "p99.99" } th.number { "max" }
                }
            }
            tbody {
                @for profile in &run.latencies {
                    (profile_row(profile, "service", &profile.service))
                    @if let Some(response) = &profile.response { (profile_row(profile, "response", response)) }
                }
            }
        }
    }
}

fn profile_row(profile: &LatencyProfile, time: &str, histogram: &record::Histogram) -> Markup {
    let percentiles = [0.5, 0.99, 0.999, 0.9999].map(|q| histogram.percentile(q));
    let ns = |value: Option<u64>| value.map_or_else(|| "–".to_string(), |ns| latency(ns as f64));
    markup! {
        tr {
            th scope="row" { (profile.name) " " (profile.op) }
            td { (time) }
            td.number { (amount(histogram.count() as f64)) }
            td.number { (ns(histogram.min())) }
            td.number { (histogram.mean().map_or_else(|| "–".to_string(), latency)) }
            @for percentile in percentiles { td.number { (ns(percentile)) } }
            td.number { (ns(histogram.max())) }
        }
    }
}

//! The comparison as a page: text, bars and lines, without a script.
//!
//! The forest plot is positioned in percent, and the lines of the overlay are stretched, so that
//! both fit a phone and a desktop; text is never scaled.

use maud::{Markup, html as markup};
use record::capitalised;
use workload::units::{decimal, throughput};

use super::{Against, ComparedRow, Curve, GroupComparison};
use crate::html::{PageLink, document};

/// Number of grid lines on the overlay's vertical axis.
const LEVELS: usize = 4;

/// The comparison as one self-contained HTML file. `version` is the program's.
pub fn html(comparison: &GroupComparison, version: &str) -> String {
    linked_html(comparison, version, &[])
}

/// The same with links to other pages.
pub fn linked_html(comparison: &GroupComparison, version: &str, links: &[PageLink]) -> String {
    let several = comparison.against.len() > 1;
    let body = markup! {
        section.summary {
            h1 { "Comparison" }
            @for against in &comparison.against {
                p.verdict { @if several { b { (pair(against)) ": " } } (against.sentence) }
            }
            dl.sides {
                @for side in &comparison.sides {
                    div { dt { (side.name) } dd { (side.heading) } }
                }
            }
        }
        @for against in &comparison.against { (forest(against, several)) }
        (overlay(comparison))
        @for against in &comparison.against { (ledger(against, &comparison.caveat)) }
        @for against in &comparison.against { (values(against)) }
    };
    document(&format!("comparison of {}", names(comparison)), version, links, &body)
}

fn names(comparison: &GroupComparison) -> String {
    comparison.sides.iter().map(|side| side.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// The two sides of one of several comparisons.
fn pair(against: &Against) -> String {
    let [first, second] = &against.names;
    format!("{second} and {first}")
}

/// The ratios on one logarithmic axis, with 1 in the middle. One of several names its sides.
fn forest(against: &Against, several: bool) -> Markup {
    let rows: Vec<&ComparedRow> = against.rows.iter().filter(|row| row.ratio.is_some()).collect();
    if rows.is_empty() {
        return markup! {};
    }
    let ([first, second], reach) = (&against.names, against.reach());
    let question = if rows.iter().all(|row| row.is_rate) {
        "Which is faster, and how many times?"
    } else {
        "Which has more, and how many times?"
    };
    markup! {
        section {
            h2 { @if several { (capitalised(&pair(against))) ": " (question.to_lowercase()) } @else { (question) } }
            ul.forest aria-label={ "The larger value of " (first) " and " (second) " over the smaller one, with intervals" } {
                @for row in rows {
                    li {
                        span.name { (row.name) }
                        (bar(row, reach))
                        span.ratio.certain[row.certain] { (row.named.ratio) " " small { (row.interval_words) } }
                        span.claim { (row.named.claim) }
                    }
                }
                li.axis {
                    span.name {}
                    span.track {
                        span { (first) " " (times(reach)) }
                        span { "same" }
                        span { (second) " " (times(reach)) }
                    }
                    span.ratio {}
                    span.claim {}
                }
            }
        }
    }
}

fn times(factor: f64) -> String {
    format!("{} times", workload::units::significant(factor))
}

fn bar(row: &ComparedRow, reach: f64) -> Markup {
    let place = |ratio: f64| {
        let ratio = ratio.clamp(1.0 / reach, reach);
        50.0 + 50.0 * libm::log(ratio) / libm::log(reach)
    };
    let span = row.interval.map(|[low, high]| (place(low), place(high)));
    markup! {
        span.track role="img" aria-label={ (row.name) ": " (row.named.ratio) " " (row.interval_words) } {
            i.same {}
            @if let Some((low, high)) = span {
                i.interval style={ (format!("left:{low:.2}%;width:{:.2}%", (high - low).max(0.3))) } {}
            }
            @if let Some(ratio) = row.ratio {
                i.point style={ (format!("left:{:.2}%", place(ratio))) } {}
            }
        }
    }
}

/// The rates of all sides over the bytes written.
fn overlay(comparison: &GroupComparison) -> Markup {
    let curves = &comparison.curves;
    let Some(first) = curves.first() else { return markup! {} };
    let [bytes, rate] = [0, 1].map(|axis| {
        let points = curves.iter().flat_map(|curve| &curve.points);
        points.map(|point| point[axis]).fold(0.0, f64::max)
    });
    let rate = rate * 1.05;
    if bytes <= 0.0 || rate <= 0.0 {
        return markup! {};
    }
    let path = |curve: &Curve| {
        let positions = curve.points.iter().map(|point| {
            let (x, y) = (1000.0 * point[0] / bytes, 300.0 - 300.0 * point[1] / rate);
            format!("{x:.1},{y:.1}")
        });
        positions.collect::<Vec<_>>().join(" ")
    };
    let levels = (0..=LEVELS).map(|i| rate * i as f64 / LEVELS as f64).rev();
    markup! {
        section {
            h2 { "Write rate while the drive fills (" (first.workload) ")" }
            p.status {
                @for (i, curve) in curves.iter().enumerate() {
                    span.key style={ "--colour:var(--c" (i % 8) ")" } { (name_of(comparison, curve)) }
                }
            }
            div.overlay {
                div.levels { @for level in levels { span { (throughput(level)) } } }
                svg viewBox="0 0 1000 300" preserveAspectRatio="none" role="img"
                    aria-label={ "Write rate of " (curves.len()) " drives over the bytes written" } {
                    @for i in 0..=LEVELS {
                        @let y = 300 * i / LEVELS;
                        line x1="0" x2="1000" y1=(y) y2=(y) stroke="var(--line)" vector-effect="non-scaling-stroke" {}
                    }
                    @for (i, curve) in curves.iter().enumerate() {
                        polyline points=(path(curve)) fill="none" stroke={ "var(--c" (i % 8) ")" }
                            stroke-width="2" vector-effect="non-scaling-stroke" {}
                    }
                }
                div.written { span { "0" } span { "written" } span { (decimal(bytes as u64)) } }
            }
        }
    }
}

fn name_of<'c>(comparison: &'c GroupComparison, curve: &Curve) -> &'c str {
    let side = comparison.sides.iter().find(|side| side.letter == curve.letter);
    side.map_or("", |side| side.name.as_str())
}

fn ledger(against: &Against, caveat: &str) -> Markup {
    markup! {
        section {
            h2 { "What else differs between " (against.names[0]) " and " (against.names[1]) }
            @for warning in &against.warnings { div.finding.is-warning { p { (warning) } } }
            @for note in against.notes.iter().map(String::as_str).chain([caveat]) {
                div.finding { p { (note) } }
            }
        }
    }
}

fn values(against: &Against) -> Markup {
    if against.rows.is_empty() {
        return markup! {};
    }
    let [first, second] = &against.names;
    markup! {
        details {
            summary { "Values of " (first) " and " (second) }
            div.scroll tabindex="0" {
                table {
                    thead { tr {
                        th {}
                        th.number { (first) }
                        th.number { (second) }
                        th.number { "ratio" }
                        th { "interval" }
                        th { "claim" }
                    } }
                    tbody {
                        @for row in &against.rows {
                            tr {
                                th scope="row" { (row.name) }
                                td.number { (row.a) }
                                td.number { (row.b) }
                                td.number { (row.named.ratio) }
                                td { (row.interval_words) }
                                td { (row.named.claim) }
                            }
                        }
                    }
                }
            }
            @if against.left_out > 0 { p.note { (against.left_out) " more without a claim: --all" } }
        }
    }
}

//! Several drives as a page: text and bars, without a script.

use maud::{Markup, html as markup};

use super::{QuantityRow, SetTable, deviation, range, share};
use crate::html::document;

/// The least deviation at the ends of the axis, as a fraction.
const REACH_MIN: f64 = 0.1;

/// The set as one self-contained HTML file. `version` is the program's.
pub fn html(set: &SetTable, version: &str) -> String {
    let count = set.drives.len();
    let is_shared = set.quantities.iter().any(|row| row.sums.is_some());
    let body = markup! {
        section.summary {
            h1 { (count) " drives, " (set.method) }
            p.verdict.warn[set.is_limited] { (set.sentence) }
        }
        @if is_shared { (sums(set)) }
        @if !set.quantities.is_empty() {
            section {
                h2 { "Which drive differs from the others?" }
                @for (i, row) in set.quantities.iter().enumerate() { (drives(set, i, row)) }
                @if !set.caveat.is_empty() { p.note { "Alone; " (set.caveat) "." } }
            }
            (values(set))
        }
    };
    document(&format!("{count} drives"), version, &[], &body)
}

/// What is left of the sums.
fn sums(set: &SetTable) -> Markup {
    let rows = set.quantities.iter().filter_map(|row| Some((row, row.sums.as_ref()?)));
    markup! {
        section {
            h2 { "What does the host cost when all drives work?" }
            table {
                thead { tr {
                    th {} th.number { "sum alone" } th.number { "together" } th.number { "kept" }
                } }
                tbody {
                    @for (row, [alone, together]) in rows {
                        tr {
                            th scope="row" { (row.name) " " small { (row.loss) } }
                            td.number { (alone) }
                            td.number { (together) }
                            td.number {
                                (share(row))
                                span.bar style={ "--share:" (format!("{:.1}%", 100.0 * row.share.unwrap_or(0.0).clamp(0.0, 1.0))) } {}
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The drives at one figure, each on the same axis of deviations.
fn drives(set: &SetTable, index: usize, figure: &QuantityRow) -> Markup {
    let deviations = || set.drives.iter().filter_map(|row| row.deviations[index]);
    let reach = deviations().map(f64::abs).fold(REACH_MIN, f64::max);
    let place = |value: f64| format!("left:{:.2}%", 50.0 + 50.0 * value / reach);
    markup! {
        details open[index == 0 || set.drives.iter().any(|row| row.stands_out[index])] {
            summary { (figure.name) ", " (range(figure)) }
            ul.forest aria-label={ "Deviation of each drive from the others at " (figure.name) } {
                @for row in &set.drives {
                    @let stands_out = row.stands_out[index];
                    li {
                        span.name { (row.name) }
                        span.track role="img" aria-label=(deviation(row.deviations[index], stands_out)) {
                            i.same {}
                            @if let Some(value) = row.deviations[index] { i.point style=(place(value)) {} }
                        }
                        span.ratio.certain[stands_out] { (deviation(row.deviations[index], false)) "%" }
                        span.claim { @if stands_out { "stands out" } }
                    }
                }
                li.axis {
                    span.name {}
                    span.track {
                        span { (format!("-{:.0}%", 100.0 * reach)) }
                        span { "the others" }
                        span { (format!("+{:.0}%", 100.0 * reach)) }
                    }
                    span.ratio {}
                    span.claim {}
                }
            }
        }
    }
}

fn values(set: &SetTable) -> Markup {
    markup! {
        details {
            summary { "Deviations of all drives" }
            div.scroll tabindex="0" {
                table {
                    thead { tr {
                        th { "drive" }
                        @for row in &set.quantities { th.number { (row.name) } }
                        th { "runs" }
                    } }
                    tbody {
                        @for row in &set.drives {
                            tr {
                                th scope="row" { (row.name) }
                                @for (value, stands_out) in row.deviations.iter().zip(&row.stands_out) {
                                    td.number.warn[*stands_out] { (deviation(*value, *stands_out)) }
                                }
                                td { (row.runs) }
                            }
                        }
                    }
                }
            }
        }
    }
}

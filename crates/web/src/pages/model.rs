//! A model: the distributions of its figures over all of its drives.

use maud::{Markup, html};
use record::capitalised;
use report::Distribution;
use store::{RunSummary, StoredDrive};

use super::drives::unit;
use crate::figures::{self, FigureGroup};
use crate::frame::{Venue, forms};
use crate::names;

/// The page of a model with the runs of all its drives, latest first.
pub fn page(venue: &Venue, model: &str, drives: &[&StoredDrive], runs: &[RunSummary]) -> String {
    let groups = figures::groups(runs);
    let distributions: Vec<Distribution> = groups.iter().map(FigureGroup::distribution).collect();
    let charts: Vec<Markup> = distributions.iter().filter_map(Distribution::figure).collect();
    let body = html! {
        h1 { (emit::plain(model)) }
        p.facts {
            span { (drives.len()) @if drives.len() == 1 { " drive" } @else { " drives" } }
            span { (runs.len()) @if runs.len() == 1 { " record" } @else { " records" } }
        }
        section {
            h2 { "Distributions" }
            p.note { "Each record counts once; cut short ones are left out." }
            (table(&groups, &distributions))
        }
        @if !charts.is_empty() { section { @for chart in &charts { (chart) } } }
        section {
            h2 { "Drives" }
            ul {
                @for drive in drives {
                    li {
                        a href=(names::html(&names::drive(&drive.key))) {
                            @match drive.serial.as_deref() {
                                Some(serial) => (emit::plain(serial)),
                                None => { "the drive of run " (drive.latest) }
                            }
                        }
                        ", " (drive.runs) @if drive.runs == 1 { " record" } @else { " records" }
                    }
                }
            }
        }
    };
    venue.page(model, forms(&names::model(model)), &body)
}

fn table(groups: &[FigureGroup<'_>], distributions: &[Distribution]) -> Markup {
    let points = ["least", "10%", "median", "90%", "most"];
    html! {
        div.scroll tabindex="0" role="region" aria-label="Distributions" {
            table.list {
                thead {
                    tr {
                        th scope="col" { "Method" }
                        th scope="col" { "Figure" }
                        th.number scope="col" { "Records" }
                        @for point in points { th.number scope="col" { (capitalised(point)) } }
                    }
                }
                tbody {
                    @for (group, distribution) in groups.iter().zip(distributions) {
                        @if let Some(q) = distribution.quantiles() {
                            tr {
                                @let values = [q.least, q.tenth, q.median, q.ninetieth, q.most];
                                td.inline { (emit::plain(group.method)) }
                                th.inline scope="row" { (emit::plain(&group.name())) }
                                td.number.inline {
                                    (distribution.count())
                                    (unit(distribution.count() as u64, " record"))
                                }
                                @for (point, value) in points.iter().zip(values) {
                                    td.number.inline {
                                        span.unit { (point) " " }
                                        (report::quantity(group.unit, value))
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

//! A model: the distributions of its figures over all of its drives.

use maud::{Markup, html};
use report::Distribution;
use store::{RunSummary, StoredDrive};

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
    let headings = ["Method", "Figure", "Records", "Least", "10%", "Median", "90%", "Most"];
    html! {
        div.scroll tabindex="0" role="region" aria-label="Distributions" {
            table {
                thead { tr { @for (i, heading) in headings.iter().enumerate() { th.number[i > 1] scope="col" { (heading) } } } }
                tbody {
                    @for (group, distribution) in groups.iter().zip(distributions) {
                        @if let Some(q) = distribution.quantiles() {
                            tr {
                                td { (emit::plain(group.method)) }
                                th scope="row" { (emit::plain(&group.name())) }
                                td.number { (distribution.count()) }
                                @for value in [q.least, q.tenth, q.median, q.ninetieth, q.most] {
                                    td.number { (report::quantity(group.unit, value)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

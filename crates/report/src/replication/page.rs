//! The page of a repeated publication: the document's charts, its figures in a table, then the
//! reasons why some were missed.

use maud::{Markup, html as markup};

use super::{Headline, ReplicatedFigure, Replication, claims};
use crate::chart;
use crate::html::{document, sheet::sheet};
use crate::quantity::UNKNOWN;
use crate::table::Align::{Left, Right};

/// The repeated publication as one self-contained HTML file. `version` is the program's.
pub fn html(view: &Replication, version: &str) -> String {
    let body = markup! {
        section.summary {
            h1 { (view.title) }
            p.verdict.(if view.met { "plain" } else { "warn" }) { (view.sentence) }
            @if !view.claims.sentence.is_empty() { p { (view.claims.sentence) } }
            p.note { (view.about) }
        }
        @let drawings: Vec<Markup> = chart::drawn(&view.charts, &view.sources);
        @if !drawings.is_empty() { section { @for figure in &drawings { (figure) } } }
        @if let Some(headline) = &view.headline { (own_result(headline)) }
        @for [ask, answer] in &view.answers { section { h2 { (ask) } p { (answer) } } }
        section {
            h2 { "Published and repeated" }
            (figures(&view.figures))
        }
        @if !view.missed.is_empty() {
            section {
                h2 { "Why some figures were missed" }
                @for [names, reason] in &view.missed {
                    div.finding { p { b { (names) } } p { (reason) } }
                }
            }
        }
        @if !view.claims.places.is_empty() { (claims::section(&view.claims)) }
        section {
            details {
                summary { "Runs" }
                (sheet("Runs", &[("run", Left), ("experiment", Left), ("target", Left)], markup! {
                    @for run in &view.runs {
                        tr { td { (run.number) } td { (run.experiment) } td { (run.target) } }
                    }
                }))
            }
        }
    };
    document(&view.title, version, &[], &body)
}

fn own_result(headline: &Headline) -> Markup {
    markup! {
        section {
            h2 { (headline.title) }
            (sheet(&headline.title, &[("machine", Left), ("tool", Left), ("result", Left)], markup! {
                @for row in &headline.rows { tr { @for part in row { td { (part) } } } }
            }))
            @if let Some(hidden) = &headline.hidden { p.note { (hidden) } }
        }
    }
}

fn figures(figures: &[ReplicatedFigure]) -> Markup {
    let headings = [
        ("figure", Left),
        ("published", Right),
        ("here", Right),
        ("off", Right),
        ("allowed", Right),
        ("", Left),
        ("from", Left),
    ];
    sheet(
        "Published figures and ours",
        &headings,
        markup! {
            @for figure in figures {
                tr {
                    th scope="row" { (figure.what) }
                    td.number { (figure.published) " " (figure.unit) }
                    td.number {
                        @match &figure.here {
                            Some(here) => { (here) " " (figure.unit) }
                            None => { (UNKNOWN) }
                        }
                    }
                    @for off in &figure.off { td.number { (off) } }
                    td { @if figure.met { "met" } @else { b { "missed" } } ", " (figure.basis) }
                    td { (figure.source) }
                }
            }
        },
    )
}

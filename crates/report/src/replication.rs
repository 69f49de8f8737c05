//! The page of a repeated publication: published and repeated figures side by side in the document's
//! own charts, then in a table, then the reasons why some were missed.

use maud::{Markup, html as markup};
use record::{Chart, Run};

use crate::chart;
use crate::html::{document, sheet::sheet};
use crate::table::Align::{Left, Right};

/// A repeated publication, in words and numbers that are ready to be shown.
#[derive(Clone, Debug)]
pub struct Replication {
    /// Title of the document.
    pub title: String,
    /// The document in a few sentences.
    pub about: String,
    /// The result in one sentence.
    pub sentence: String,
    /// Whether every figure is within its tolerance.
    pub met: bool,
    /// The document's own result, if it has one.
    pub headline: Option<Headline>,
    /// The document's charts; their sources are in `sources`.
    pub charts: Vec<Chart>,
    /// Metrics and series of the charts.
    pub sources: Run,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// Names of missed figures, and their reason.
    pub missed: Vec<[String; 2]>,
    /// Open questions of the document, and their answers.
    pub answers: Vec<[String; 2]>,
    /// Number, experiment and target of each run.
    pub runs: Vec<[String; 3]>,
}

/// The document's own result.
#[derive(Clone, Debug)]
pub struct Headline {
    /// Its title.
    pub title: String,
    /// Machine, tool and value.
    pub rows: Vec<[String; 3]>,
    /// A difference that these values do not show.
    pub hidden: Option<String>,
}

/// A published figure and ours.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The quantity.
    pub what: String,
    /// As published, with its unit.
    pub published: String,
    /// As it came out here; `unknown` if it could not be read.
    pub here: String,
    /// Difference in percent, and the difference that is allowed.
    pub off: [String; 2],
    /// Whether it is within its tolerance.
    pub met: bool,
    /// Whether it was fitted, stated or predicted.
    pub basis: String,
    /// Its place in the document.
    pub source: String,
}

/// The repeated publication as one HTML file that loads nothing. `version` is that of the program.
pub fn html(view: &Replication, version: &str) -> String {
    let body = markup! {
        section.summary {
            h1 { (view.title) }
            p.verdict.(if view.met { "plain" } else { "warn" }) { (view.sentence) }
            p.note { (view.about) }
        }
        @let drawn: Vec<Markup> = chart::drawn(&view.charts, &view.sources);
        @if !drawn.is_empty() { section { @for figure in &drawn { (figure) } } }
        @if let Some(headline) = &view.headline { (own_result(headline)) }
        @for [ask, answer] in &view.answers { section { h2 { (ask) } p { (answer) } } }
        section {
            h2 { "Published and here" }
            (figures(&view.figures))
        }
        @if !view.missed.is_empty() {
            section {
                h2 { "Why some are missed" }
                @for [names, reason] in &view.missed {
                    div.finding { p { b { (names) } } p { (reason) } }
                }
            }
        }
        section {
            details {
                summary { "Runs behind it" }
                (sheet("Runs", &[("run", Left), ("experiment", Left), ("target", Left)], markup! {
                    @for run in &view.runs { tr { @for part in run { td { (part) } } } }
                }))
            }
        }
    };
    document(&view.title, version, &body)
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

fn figures(figures: &[Figure]) -> Markup {
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
                    td.number { (figure.published) }
                    td.number { (figure.here) }
                    @for off in &figure.off { td.number { (off) } }
                    td { @if figure.met { "met" } @else { b { "missed" } } ", " (figure.basis) }
                    td { (figure.source) }
                }
            }
        },
    )
}

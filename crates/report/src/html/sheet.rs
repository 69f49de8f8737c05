//! A table of the page: headings, rows, and a frame that scrolls horizontally on a phone.

use maud::{Markup, html as markup};

use crate::quantity::UNKNOWN;
use crate::table::Align;

/// A table with these headings; `label` names its frame for screen readers.
pub fn sheet(label: &str, headings: &[(&str, Align)], rows: Markup) -> Markup {
    markup! {
        div.scroll tabindex="0" role="region" aria-label=(label) {
            table { (head(headings)) tbody { (rows) } }
        }
    }
}

/// The headings of a table.
pub(super) fn head(headings: &[(&str, Align)]) -> Markup {
    markup! {
        thead {
            tr {
                @for (heading, align) in headings {
                    th.number[*align == Align::Right] scope="col" { (heading) }
                }
            }
        }
    }
}

/// A fact and its value; `None` is shown as unknown.
pub(super) type Fact = (&'static str, Option<String>);

/// Facts, one per line.
pub(super) fn facts(facts: &[Fact]) -> Markup {
    markup! {
        dl {
            @for (name, value) in facts {
                div {
                    dt { (name) }
                    @match value {
                        Some(value) => dd { (value) },
                        None => dd.unknown { (UNKNOWN) },
                    }
                }
            }
        }
    }
}

/// A cell with a latency; a dash if there were too few operations.
pub(super) fn latency_cell(ns: Option<f64>) -> Markup {
    let text = ns.map_or_else(|| "–".to_string(), workload::units::latency);
    markup! { td.number { (text) } }
}

//! The history of a drive: its figures over time, with marks where the firmware changed.

use maud::html;
use report::PageLink;
use store::{RunSummary, StoredDrive};

use super::drives::drive_name;
use super::{records, text};
use crate::frame::{Venue, forms};
use crate::{figures, names};

/// Runs in the table; the charts have all.
const ROWS_MAX: usize = 200;

/// The page of a drive with its runs, latest first.
pub fn page(venue: &Venue, drive: &StoredDrive, runs: &[RunSummary]) -> String {
    let name = drive_name(drive);
    let charts = figures::histories(runs);
    let charts: Vec<_> = charts.iter().filter_map(report::History::figure).collect();
    let model = drive.model.as_ref();
    let model = model.map(|model| PageLink::new("Its model", names::html(&names::model(model))));
    let rows = &runs[..runs.len().min(ROWS_MAX)];
    let body = html! {
        h1 { (emit::plain(&name)) }
        p.facts {
            span { "serial number " (text(drive.serial.as_deref())) }
            span { (drive.runs) @if drive.runs == 1 { " record" } @else { " records" } }
            @if drive.weak { span { "known by its slot only: it may be several drives" } }
        }
        section {
            h2 { "Over time" }
            @if charts.is_empty() { p { "No finished run has figures and a known start." } }
            @for chart in &charts { (chart) }
        }
        section {
            h2 { "Records" }
            @if rows.len() < runs.len() { p.note { "The latest " (rows.len()) " of " (runs.len()) "." } }
            (records::table(rows, false))
        }
    };
    let further = model.into_iter().chain(forms(&names::drive(&drive.key))).collect();
    venue.page(&name, further, &body)
}

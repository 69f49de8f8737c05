//! The drives with records, and their models.

use std::collections::BTreeMap;

use maud::{Markup, html};
use store::StoredDrive;

use super::text;
use crate::frame::Venue;
use crate::names;

/// The models of the drives, by name: number of drives and of runs.
pub fn models(drives: &[StoredDrive]) -> BTreeMap<&str, (usize, u64)> {
    let mut models: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    for drive in drives {
        if let Some(model) = &drive.model {
            let (count, runs) = models.entry(model).or_default();
            *count += 1;
            *runs += drive.runs;
        }
    }
    models
}

pub fn page(venue: &Venue, drives: &[StoredDrive]) -> String {
    let body = html! {
        h1 { "Drives" }
        section {
            h2 { "Models" }
            (model_table(drives))
        }
        section {
            h2 { "Drives" }
            (drive_table(drives))
        }
    };
    venue.page("drives", Vec::new(), &body)
}

fn model_table(drives: &[StoredDrive]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Models" {
            table.list {
                thead { tr { th scope="col" { "Model" } th.number scope="col" { "Drives" } th.number scope="col" { "Records" } } }
                tbody {
                    @for (model, (count, runs)) in models(drives) {
                        tr {
                            th scope="row" { a href=(names::html(&names::model(model))) { (emit::plain(model)) } }
                            td.number.inline { (count) (unit(count as u64, " drive")) }
                            td.number.inline { (runs) (unit(runs, " record")) }
                        }
                    }
                }
            }
        }
    }
}

fn drive_table(drives: &[StoredDrive]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Drives" {
            table.list {
                thead {
                    tr {
                        th scope="col" { "Drive" } th scope="col" { "Serial number" }
                        th.number scope="col" { "Records" } th scope="col" { "Latest" }
                    }
                }
                tbody {
                    @for drive in drives {
                        tr {
                            th scope="row" { a href=(names::html(&names::drive(&drive.key))) { (emit::plain(&drive_name(drive))) } }
                            td.inline { (text(drive.serial.as_deref())) }
                            td.number.inline { (drive.runs) (unit(drive.runs, " record")) }
                            td.inline { a href=(names::html(&names::run(drive.latest))) { "run " (drive.latest) } }
                        }
                    }
                }
            }
        }
    }
}

/// The word after a number on a phone, where the heading of its column is not shown.
pub fn unit(count: u64, word: &str) -> Markup {
    html! { span.unit { (word) @if count != 1 { "s" } } }
}

/// Vendor and model, unless the model begins with the vendor.
pub fn drive_name(drive: &StoredDrive) -> String {
    let model = drive.model.as_deref().unwrap_or("unknown model");
    match drive.vendor.as_deref() {
        Some(vendor) if !model.to_lowercase().starts_with(&vendor.to_lowercase()) => {
            format!("{vendor} {model}")
        }
        _ => model.to_string(),
    }
}

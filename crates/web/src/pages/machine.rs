//! The drives of this machine, as `ssdyno list` has them.

use drive::BlockDevice;
use lab::machine::{self, Listed};
use maud::{Markup, html};
use record::Safety;
use workload::units;

use super::text;
use crate::frame::Venue;

/// The page. Reads the devices, which can take long.
pub fn page(venue: &Venue) -> String {
    let drives = machine::all_drives();
    let body = html! {
        h1 { "Drives of this machine" }
        @if drives.is_empty() { p { "No block devices found." } }
        div.scroll tabindex="0" role="region" aria-label="Drives of this machine" {
            table.list {
                thead {
                    tr {
                        th scope="col" { "Drive" } th.number scope="col" { "Size" } th scope="col" { "Model" }
                        th scope="col" { "Serial number" } th scope="col" { "Firmware" }
                        th scope="col" { "Allowed" } th scope="col" { "Used for" }
                    }
                }
                tbody { @for listed in &drives { (row(listed)) } }
            }
        }
    };
    venue.page("this machine", Vec::new(), &body)
}

/// The devices that a run may read: path and model.
pub fn targets() -> Vec<(String, String)> {
    let devices = machine::drives().into_iter().filter(|device| device.allowance.most.is_some());
    let targets = devices.filter_map(|device| {
        let model = device.drive.model.unwrap_or_else(|| "unknown model".into());
        Some((device.drive.path?, format!("{model}, reads only")))
    });
    targets.collect()
}

fn row(listed: &Listed) -> Markup {
    match listed {
        Listed::Device(device) => device_row(device),
        Listed::Bound(bound) => html! {
            tr {
                th scope="row" { (emit::plain(&bound.target)) }
                td.number { (bound.bytes.map_or_else(|| "unknown".into(), units::decimal)) }
                td { (text(bound.model.as_deref())) }
                td { (text(bound.serial.as_deref())) }
                td.empty {}
                td { "detached from the kernel" }
                td { (emit::plain(&bound.holder)) }
            }
        },
    }
}

fn device_row(device: &BlockDevice) -> Markup {
    let id = &device.drive;
    let tone = match device.allowance.most {
        None => "bad",
        Some(Safety::Destroys) => "warn",
        Some(_) => "good",
    };
    let uses = device.allowance.uses.join(", ");
    html! {
        tr {
            th scope="row" { (emit::plain(id.path.as_deref().unwrap_or(&id.name))) }
            td.number.inline { (id.bytes.map_or_else(|| "unknown".into(), units::decimal)) }
            td.inline { (text(id.model.as_deref())) }
            td.inline { (text(id.serial.as_deref())) }
            td.inline.empty[id.firmware.is_none()] { @if let Some(firmware) = &id.firmware { (emit::plain(firmware)) } }
            td.(tone) { (emit::plain(&device.allowance.reason)) }
            td.empty[uses.is_empty()] { (emit::plain(&uses)) }
        }
    }
}

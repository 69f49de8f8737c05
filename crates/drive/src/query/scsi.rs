//! Queries a SCSI device: vital product data, from the kernel's copy or from the device.

use workload::units;

use super::Query;
use crate::response::scsi::{self, Inquiry, inquiry};
use crate::sys;

/// Requested page length; the pages used are shorter.
const PAGE_BYTES: u8 = 252;

pub(super) fn run(query: &mut Query<'_>) {
    report(query, true);
}

/// Adds the content of the pages. With `commands`, pages that the kernel has not copied are
/// requested from the device; some USB sticks hang if an unsupported page is requested.
pub(super) fn report(query: &mut Query<'_>, commands: bool) {
    let page = |name: &str, page: Option<u8>| {
        let copy = std::fs::read(query.disk.dir.join("device").join(name)).ok();
        copy.or_else(|| commands.then(|| fetch(query, page)).flatten())
    };
    let standard = page("inquiry", None).and_then(|data| Inquiry::parse(&data));
    let serial = page("vpd_pg80", Some(0x80)).and_then(|page| scsi::unit_serial(&page));
    let name = page("vpd_pg83", Some(0x83)).and_then(|page| scsi::world_wide_name(&page));
    let limits = page("vpd_pgb0", Some(0xb0)).and_then(|page| scsi::limits(&page));
    let rotation = page("vpd_pgb1", Some(0xb1)).and_then(|page| scsi::rotation(&page));
    let discard = page("vpd_pgb2", Some(0xb2)).and_then(|page| scsi::provisioning(&page));
    let id = &mut *query.id;
    if let Some(Inquiry { vendor, model, revision, version }) = standard {
        id.vendor = id.vendor.take().or(vendor);
        id.model = id.model.take().or(model);
        id.firmware = id.firmware.take().or(revision);
        version.into_iter().for_each(|version| query.detail("commands", version));
    }
    report_names(query, serial, name);
    match rotation {
        Some(0) => query.detail("rotation", "none"),
        Some(rpm) => query.detail("rotation", format!("{rpm} rpm")),
        None => {}
    }
    discard.into_iter().for_each(|words| query.detail("discard", words));
    let block_bytes = u64::from(query.id.logical_block_bytes.unwrap_or(512));
    let limits = limits.unwrap_or_default();
    for (name, blocks) in [
        ("optimal transfer size", limits.transfer_optimal),
        ("optimal discard size", limits.unmap_granularity),
    ] {
        if let Some(blocks) = blocks {
            query.detail(name, units::binary(u64::from(blocks) * block_bytes));
        }
    }
}

/// Names must not depend on privileges, because the serial number confirms the drive and finds it
/// later. Only files readable by every user count. Values obtained with commands are listed
/// separately.
fn report_names(query: &mut Query<'_>, serial: Option<String>, name: Option<String>) {
    let is_public = query.disk.dir.join("device/vpd_pg83").exists();
    if is_public && query.id.hardware_id.is_none() {
        query.id.hardware_id.clone_from(&name);
    }
    let values = [
        ("serial (by command)", serial, query.id.serial.is_some()),
        ("name (by command)", name, query.id.hardware_id.is_some()),
    ];
    for (what, value, known) in values {
        value.filter(|_| !known).into_iter().for_each(|value| query.detail(what, value));
    }
}

fn fetch(query: &Query<'_>, page: Option<u8>) -> Option<Vec<u8>> {
    let mut data = vec![0; usize::from(PAGE_BYTES)];
    let command = inquiry(page, PAGE_BYTES);
    let received = query.with(|file| sys::scsi::read(file, &command, &mut data)).ok()?;
    data.truncate(received);
    Some(data)
}

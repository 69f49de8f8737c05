//! Asks a SCSI device: its pages of vital product data, from the kernel's copy or from the device.

use workload::units;

use super::Asked;
use crate::answer::scsi::{self, Inquiry, inquiry};
use crate::sys;

/// Length of a page that is asked for; those read here are shorter.
const PAGE_BYTES: u8 = 252;

pub(super) fn ask(asked: &mut Asked<'_>) {
    tell(asked, true);
}

/// Enters what the pages tell. Pages that the kernel keeps no copy of are asked for with `commands`:
/// some USB sticks hang when they are asked for a page they do not have.
pub(super) fn tell(asked: &mut Asked<'_>, commands: bool) {
    let kept = |page: &str| std::fs::read(asked.disk.dir.join("device").join(page)).ok();
    let get = |name: &str, page: Option<u8>| {
        kept(name).or_else(|| commands.then(|| fetch(asked, page)).flatten())
    };
    let standard = get("inquiry", None).and_then(|data| Inquiry::parse(&data));
    let serial = get("vpd_pg80", Some(0x80)).and_then(|page| scsi::unit_serial(&page));
    let name = get("vpd_pg83", Some(0x83)).and_then(|page| scsi::world_wide_name(&page));
    let limits = get("vpd_pgb0", Some(0xb0)).and_then(|page| scsi::limits(&page));
    let rotation = get("vpd_pgb1", Some(0xb1)).and_then(|page| scsi::rotation(&page));
    let discard = get("vpd_pgb2", Some(0xb2)).and_then(|page| scsi::provisioning(&page));
    let id = &mut *asked.id;
    if let Some(Inquiry { vendor, model, revision, version }) = standard {
        id.vendor = id.vendor.take().or(vendor);
        id.model = id.model.take().or(model);
        id.firmware = id.firmware.take().or(revision);
        version.into_iter().for_each(|version| asked.detail("commands", version));
    }
    tell_names(asked, serial, name);
    match rotation {
        Some(0) => asked.detail("rotation", "none"),
        Some(rpm) => asked.detail("rotation", format!("{rpm} rpm")),
        None => {}
    }
    discard.into_iter().for_each(|words| asked.detail("discard", words));
    let block = u64::from(asked.id.logical_block_bytes.unwrap_or(512));
    let sizes = limits.map(|l| {
        [("best transfer", l.transfer_optimal), ("best discarded by", l.unmap_granularity)]
    });
    for (name, blocks) in sizes.into_iter().flatten() {
        if let Some(blocks) = blocks {
            asked.detail(name, units::binary(u64::from(blocks) * block));
        }
    }
}

/// What names a drive (its serial number gives it away, and finds it again later) is the same for
/// everybody: only what anyone may read. What takes a command to know is told beside it.
fn tell_names(asked: &mut Asked<'_>, serial: Option<String>, name: Option<String>) {
    let anyone = |page: &str| asked.disk.dir.join("device").join(page).exists();
    if anyone("vpd_pg83") && asked.id.hardware_id.is_none() {
        asked.id.hardware_id.clone_from(&name);
    }
    let found = [
        ("serial, when asked", serial, asked.id.serial.is_some()),
        ("name, when asked", name, asked.id.hardware_id.is_some()),
    ];
    for (what, answer, known) in found {
        answer.filter(|_| !known).into_iter().for_each(|answer| asked.detail(what, answer));
    }
}

fn fetch(asked: &Asked<'_>, page: Option<u8>) -> Option<Vec<u8>> {
    let mut data = vec![0; usize::from(PAGE_BYTES)];
    let command = inquiry(page, PAGE_BYTES);
    let received = asked.with(|file| sys::scsi::read(file, &command, &mut data)).ok()?;
    data.truncate(received);
    Some(data)
}

//! Queries a USB drive: the stick or enclosure, and a SATA drive inside an enclosure that passes
//! commands through.

use super::{Query, ata, scsi};
use crate::bus::usb_device;
use crate::machine::read_text;

pub(super) fn run(query: &mut Query<'_>) {
    let usb = usb_device(query.disk);
    let attribute = |file: &str| usb.as_ref().and_then(|dir| read_text(&dir.join(file)));
    query.id.hardware_id =
        attribute("idVendor").zip(attribute("idProduct")).map(|(v, p)| format!("{v}:{p}"));
    if let Some(version) = attribute("version") {
        query.detail("version", format!("USB {}", version.trim()));
    }
    let link = query.id.link.as_ref().and_then(|link| link.now.as_deref()).unwrap_or_default();
    let uas = link.ends_with("uas");
    query.detail("transport", if uas { "UAS" } else { "bulk only" });
    scsi::report(query, uas);
    ask_inside(query);
}

/// Sticks and card readers report themselves as removable and get no ATA commands; an enclosure
/// with a drive may pass them through.
fn ask_inside(query: &mut Query<'_>) {
    if query.disk.value::<u8>("removable") == Some(1) {
        return;
    }
    match query.with(ata::identify) {
        Ok(inside) => {
            let names = [
                inside.model(),
                inside.serial().map(|s| format!("sn {s}")),
                inside.firmware().map(|f| format!("fw {f}")),
            ];
            let names: Vec<String> = names.into_iter().flatten().collect();
            query.detail("drive inside", names.join("  "));
            ata::report(query, &inside);
        }
        Err(error) => query.miss("wear and errors of a drive inside", &error),
    }
}

//! Asks a USB drive: the stick or case itself, and the SATA drive in a case that passes commands on.

use super::{Asked, ata, scsi};
use crate::identity::usb_device;
use crate::machine::read_text;

pub(super) fn ask(asked: &mut Asked<'_>) {
    let usb = usb_device(asked.disk);
    let told = |file: &str| usb.as_ref().and_then(|dir| read_text(&dir.join(file)));
    asked.id.hardware_id = told("idVendor").zip(told("idProduct")).map(|(v, p)| format!("{v}:{p}"));
    if let Some(version) = told("version") {
        asked.detail("version", format!("USB {}", version.trim()));
    }
    let link = asked.id.link.as_ref().and_then(|link| link.now.as_deref()).unwrap_or_default();
    let uas = link.ends_with("uas");
    asked.detail("transport", if uas { "UAS" } else { "bulk only" });
    scsi::tell(asked, uas);
    ask_inside(asked);
}

/// Sticks and card readers call themselves removable, and are not bothered with ATA commands; a case
/// with a drive in it mostly passes them on.
fn ask_inside(asked: &mut Asked<'_>) {
    if asked.disk.value::<u8>("removable") == Some(1) {
        return;
    }
    match asked.with(ata::identify) {
        Ok(inside) => {
            let names = [
                inside.model(),
                inside.serial().map(|s| format!("sn {s}")),
                inside.firmware().map(|f| format!("fw {f}")),
            ];
            let names: Vec<String> = names.into_iter().flatten().collect();
            asked.detail("drive inside", names.join("  "));
            ata::tell(asked, &inside);
        }
        Err(error) => asked.miss("wear and errors of a drive inside", &error),
    }
}

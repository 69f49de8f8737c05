//! What the kernel or a bridge leaves unused on the way to a drive, as far as sysfs shows it.

use record::{Finding, FindingKind, Level};

use crate::bus::{Bus, usb_device};
use crate::link::usb_driver;
use crate::node::Node;
use crate::response::scsi::takes_discards;

/// Type of an interface descriptor, and the class, subclass and protocol of UAS (USB Attached SCSI,
/// 5.2.3).
const INTERFACE: u8 = 4;
const UAS: [u8; 3] = [0x08, 0x06, 0x62];

/// The faults of a drive's path, each with its remedy.
pub(crate) fn find(disk: &Node, bus: Bus) -> Vec<Finding> {
    [uas_unused(disk, bus), discard_hidden(disk)].into_iter().flatten().collect()
}

/// A bridge that offers UAS while the kernel sends one command at a time.
fn uas_unused(disk: &Node, bus: Bus) -> Option<Finding> {
    let device = usb_device(disk).filter(|_| bus == Bus::Usb)?;
    let descriptors = std::fs::read(device.join("descriptors")).ok()?;
    let is_bulk_only = usb_driver(disk, &device).as_deref() == Some("usb-storage");
    (is_bulk_only && offers_uas(&descriptors)).then(|| {
        let text = format!(
            "{}: the bridge offers UAS, but the kernel uses its bulk-only transport, one command \
             at a time",
            disk.name
        );
        let advice = "load the module uas, or remove a quirk u for this bridge from \
                      usb-storage.quirks; if the kernel lists the bridge as faulty, use another \
                      one";
        Finding::new(FindingKind::UasUnused, Level::Warn, text).advise(advice)
    })
}

/// Whether one of the interfaces of a device is UAS.
fn offers_uas(mut descriptors: &[u8]) -> bool {
    while let [length, kind, ..] = *descriptors {
        if kind == INTERFACE && descriptors.get(5..8) == Some(&UAS[..]) {
            return true;
        }
        descriptors = descriptors.get(usize::from(length).max(1)..).unwrap_or(&[]);
    }
    false
}

/// A drive that takes discards, which the kernel does not send.
fn discard_hidden(disk: &Node) -> Option<Finding> {
    let is_sent = disk.value::<u64>("queue/discard_max_bytes")? > 0;
    let page = std::fs::read(disk.dir.join("device/vpd_pgb2")).ok()?;
    let way = takes_discards(&page).filter(|_| !is_sent)?;
    let address = crate::machine::names(&disk.dir.join("device/scsi_disk")).into_iter().next()?;
    let text = format!(
        "{}: the drive takes discards by {}, but the kernel sends none (provisioning mode {})",
        disk.name,
        way.command,
        disk.text(&format!("device/scsi_disk/{address}/provisioning_mode"))?
    );
    let advice =
        format!("echo {} > /sys/class/scsi_disk/{address}/provisioning_mode, as root", way.mode);
    Some(Finding::new(FindingKind::DiscardHidden, Level::Warn, text).advise(advice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alternate_setting_of_uas_is_an_offer() {
        let device = [18u8, 1, 0, 3, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 1, 2, 3, 1];
        let bulk_only = [9u8, 4, 0, 0, 2, 0x08, 0x06, 0x50, 0];
        let endpoint = [7u8, 5, 0x81, 2, 0, 4, 0];
        let uas = [9u8, 4, 0, 1, 4, 0x08, 0x06, 0x62, 0];
        let with = |last: &[u8]| [&device[..], &bulk_only, &endpoint, last].concat();
        assert!(offers_uas(&with(&uas)) && !offers_uas(&with(&endpoint)));
        assert!(!offers_uas(&with(&uas[..7])) && !offers_uas(&[0, 0]) && !offers_uas(&[]));
    }
}

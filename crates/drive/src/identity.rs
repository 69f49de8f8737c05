//! Identity of a drive, as shown by sysfs without privileges.
//!
//! Each bus keeps model, serial number and firmware in a different place; missing values stay
//! unknown. SATA drives are identified by the kernel's copy of their IDENTIFY data (`vpd_pg89`),
//! because sysfs truncates their SCSI names to 16 and 4 characters. `query` adds values that need
//! commands.

use record::{DeclaredSizes, DriveIdentity, Health};

use crate::bus::{Bus, usb_device};
use crate::link;
use crate::machine::{Machine, printable, read_text};
use crate::node::Node;
use crate::response::ata::Identify;
use crate::response::scsi::unit_serial;
use crate::sensor;

/// Identity of a whole device. `ram` marks a device backed by memory whose driver is not a memory
/// driver (a loop device over a file in tmpfs).
pub(crate) fn identify(machine: &Machine, disk: &Node, ram: bool) -> DriveIdentity {
    let bus = Bus::from_node(disk);
    let names = names(disk, bus);
    let sensor = sensor::find(disk);
    let input = sensor.as_ref().and_then(|s| std::fs::read(&s.input).ok());
    DriveIdentity {
        name: disk.name.clone(),
        path: Some(disk.path()),
        bus: bus.name().to_string(),
        vendor: names.vendor.as_deref().map(printable),
        model: names.model.as_deref().map(printable),
        serial: names.serial.as_deref().map(printable),
        firmware: names.firmware.as_deref().map(printable),
        bytes: disk.bytes(),
        logical_block_bytes: disk.value("queue/logical_block_size"),
        physical_block_bytes: disk.value("queue/physical_block_size"),
        rotational: flag(disk, "queue/rotational"),
        read_only: flag(disk, "ro"),
        write_cache: disk.text("queue/write_cache").map(|mode| mode == "write back"),
        discard_max_bytes: disk.value("queue/discard_max_bytes"),
        transfer_max_bytes: disk.value::<u64>("queue/max_sectors_kb").map(|kib| kib << 10),
        scheduler: disk.text("queue/scheduler").map(|all| chosen(&all)),
        ram: ram || disk.is_ram(),
        link: link::read(machine, disk, bus),
        health: Health {
            temperature_c: input.and_then(|text| sensor::celsius(&text)),
            temperature_warn_c: sensor.and_then(|s| s.warn_c),
            ..Health::default()
        },
        hardware_id: None,
        formats: Vec::new(),
        declared: declared(disk),
        path_faults: crate::path_faults::find(disk, bus),
        details: Vec::new(),
        missing: Vec::new(),
    }
}

/// Sizes in sysfs, where 0 means none.
fn declared(disk: &Node) -> DeclaredSizes {
    let [preferred_erase, discard_granularity] =
        ["device/preferred_erase_size", "queue/discard_granularity"]
            .map(|file| disk.value::<u64>(file).filter(|bytes| *bytes > 0));
    DeclaredSizes {
        preferred_erase,
        discard_granularity,
        discard_alignment: discard_granularity.and_then(|_| disk.value("discard_alignment")),
        ..DeclaredSizes::default()
    }
}

fn flag(disk: &Node, file: &str) -> Option<bool> {
    disk.value::<u8>(file).map(|value| value != 0)
}

/// The bracketed entry, as in `none [mq-deadline] kyber`.
fn chosen(all: &str) -> String {
    let inside = all.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(all, |(name, _)| name).to_string()
}

#[derive(Debug, Default)]
struct Names {
    vendor: Option<String>,
    model: Option<String>,
    serial: Option<String>,
    firmware: Option<String>,
}

fn names(disk: &Node, bus: Bus) -> Names {
    match bus {
        Bus::Nvme => Names {
            vendor: None,
            model: disk.text("device/model"),
            serial: disk.text("device/serial"),
            firmware: disk.text("device/firmware_rev"),
        },
        Bus::Sata => sata_names(disk),
        Bus::Usb => usb_names(disk),
        Bus::Mmc | Bus::Sd => card_names(disk),
        Bus::Virtio | Bus::Scsi | Bus::Ufs => {
            let scsi = scsi_names(disk);
            Names { serial: disk.text("serial").or(scsi.serial), ..scsi }
        }
        Bus::DeviceMapper => Names { model: disk.text("dm/name"), ..Names::default() },
        Bus::Md => Names { model: disk.text("md/level"), ..Names::default() },
        _ => Names::default(),
    }
}

fn scsi_names(disk: &Node) -> Names {
    let vendor = disk.text("device/vendor").filter(|v| !v.starts_with("0x"));
    let page = std::fs::read(disk.dir.join("device/vpd_pg80")).ok();
    Names {
        vendor,
        model: disk.text("device/model"),
        serial: page.and_then(|page| unit_serial(&page)),
        firmware: disk.text("device/rev"),
    }
}

fn sata_names(disk: &Node) -> Names {
    let scsi = scsi_names(disk);
    let ata = Identify::read(disk);
    let from_ata = |field: fn(&Identify) -> Option<String>| ata.as_ref().and_then(field);
    Names {
        // "ATA" names the translation layer, not the manufacturer.
        vendor: scsi.vendor.filter(|vendor| vendor != "ATA"),
        model: from_ata(Identify::model).or(scsi.model),
        serial: from_ata(Identify::serial).or(scsi.serial),
        firmware: from_ata(Identify::firmware).or(scsi.firmware),
    }
}

fn usb_names(disk: &Node) -> Names {
    let scsi = scsi_names(disk);
    let usb = usb_device(disk);
    let attribute = |file: &str| usb.as_ref().and_then(|dir| read_text(&dir.join(file)));
    // The serial number reported by an enclosure is on its label and shown by lsusb.
    Names {
        vendor: scsi.vendor.or_else(|| attribute("manufacturer")),
        model: scsi.model.or_else(|| attribute("product")),
        serial: attribute("serial").or(scsi.serial),
        firmware: scsi.firmware.or_else(|| attribute("bcdDevice")),
    }
}

fn card_names(disk: &Node) -> Names {
    let maker = disk.text("device/manfid");
    let maker_name = maker.as_deref().and_then(parse_hex).and_then(card_maker);
    // SD cards have a hardware and a firmware nibble, eMMC one register of eight bytes.
    let revisions = (disk.text("device/hwrev"), disk.text("device/fwrev"));
    let firmware = match revisions {
        (Some(hardware), Some(firmware)) if Bus::from_node(disk) == Bus::Sd => {
            Some(format!("{hardware}/{firmware}"))
        }
        (_, firmware) => firmware,
    };
    Names {
        vendor: maker_name.map(str::to_string).or(maker),
        model: disk.text("device/name"),
        serial: disk.text("device/serial"),
        firmware,
    }
}

fn parse_hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// Manufacturers by the identifier in the CID. The associations publish no list; card collectors
/// have agreed on these.
pub(crate) fn card_maker(id: u32) -> Option<&'static str> {
    Some(match id {
        0x01 => "Panasonic",
        0x02 | 0x11 => "Toshiba",
        0x03 | 0x45 => "SanDisk",
        0x13 | 0xfe => "Micron",
        0x15 | 0x1b => "Samsung",
        0x1d => "ADATA",
        0x27 => "Phison",
        0x28 => "Lexar",
        0x41 | 0x70 => "Kingston",
        0x74 => "Transcend",
        0x76 => "Patriot",
        0x82 => "Sony",
        0x90 => "SK hynix",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheduler_in_use_is_in_brackets() {
        assert_eq!(chosen("none [mq-deadline] kyber bfq"), "mq-deadline");
        assert_eq!(chosen("none"), "none");
    }

    #[test]
    fn manufacturer_identifiers_are_hexadecimal() {
        assert_eq!(parse_hex("0x000003").and_then(card_maker), Some("SanDisk"));
        assert_eq!(parse_hex("3"), None);
    }
}

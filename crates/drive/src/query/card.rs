//! Registers of SD cards and eMMC, which the kernel reads when it initialises the card.

use record::{DriveIdentity, Health};
use workload::units;

use super::detail;
use crate::bus::Bus;
use crate::identity::card_maker;
use crate::machine::Machine;
use crate::node::Node;
use crate::response::card::{self, Cid, Csd, ExtCsd, SdStatus, from_hex};

pub(super) fn run(machine: &Machine, disk: &Node, id: &mut DriveIdentity) {
    let register = |name: &str| disk.text(&format!("device/{name}"));
    let bytes = |name: &str| register(name).and_then(|text| from_hex(&text));
    id.hardware_id = register("cid");
    let cid = bytes("cid");
    if Bus::from_node(disk) == Bus::Sd {
        report_cid(id, cid.and_then(|cid| Cid::parse_sd(&cid)));
        report_csd(id, bytes("csd").and_then(|csd| Csd::parse(&csd)));
        report_status(id, bytes("ssr").and_then(|ssr| SdStatus::parse(&ssr)));
        return;
    }
    let extended = ext_csd(machine, disk, id);
    let revision = extended.as_ref().map(|e| e.revision);
    // The boot partitions, separate devices, have no registers.
    report_cid(id, cid.and_then(|cid| Cid::parse_mmc(&cid, revision)));
    report_life(id, register("life_time"), register("pre_eol_info"), extended.as_ref());
    extended.iter().for_each(|extended| report_extended(id, extended));
}

/// Uses the terms of card collectors: manufacturer, OEM, name, revision, date, serial number.
fn report_cid(id: &mut DriveIdentity, cid: Option<Cid>) {
    let Some(cid) = cid else { return };
    let maker = card_maker(u32::from(cid.maker)).map(|name| format!(" ({name})"));
    detail(id, "manufacturer", format!("{:#04x}{}", cid.maker, maker.unwrap_or_default()));
    let unknown = || "unknown".to_string();
    detail(id, "OEM", cid.oem.clone().unwrap_or_else(unknown));
    detail(id, "name", cid.name.clone().unwrap_or_else(unknown));
    detail(id, "revision", cid.revision.clone());
    detail(id, "date", cid.date().unwrap_or_else(unknown));
    detail(id, "serial", format!("{:#010x}", cid.serial));
}

fn report_csd(id: &mut DriveIdentity, csd: Option<Csd>) {
    let Some(csd) = csd else { return };
    let bytes = units::decimal(csd.bytes);
    detail(id, "kind", format!("{} of {bytes} ({} bytes)", csd.class, csd.bytes));
    csd.write_protected.into_iter().for_each(|kind| detail(id, "write protection", kind));
}

fn report_status(id: &mut DriveIdentity, status: Option<SdStatus>) {
    let Some(status) = status else { return };
    let classes = match status.classes.as_slice() {
        [] => "none".to_string(),
        classes => classes.join(", "),
    };
    detail(id, "speed classes", classes);
    let unit = status.unit_bytes.map_or_else(|| "unknown".into(), units::binary);
    detail(id, "allocation unit", unit);
    id.declared.allocation_unit = status.unit_bytes;
    if let Some((units, seconds)) = status.erase {
        detail(id, "erase", format!("{units} allocation units in at most {seconds} s"));
    }
    let support = match (status.discard, status.full_erase) {
        (true, true) => "yes; full erase supported",
        (true, false) => "yes",
        (false, true) => "no; full erase supported",
        (false, false) => "no",
    };
    detail(id, "discard", support);
}

/// The EXT_CSD register of an eMMC, which debugfs exposes only to root.
fn ext_csd(machine: &Machine, disk: &Node, id: &mut DriveIdentity) -> Option<ExtCsd> {
    let device = disk.dir.join("device").canonicalize().ok()?;
    let card = device.file_name()?.to_str()?.to_string();
    // A boot partition, a separate device, is below the card's block device.
    let (host, _) = card.split_once(':')?;
    let text = machine.text(format!("/sys/kernel/debug/{host}/{card}/ext_csd"));
    let ext_csd = text.and_then(|text| ExtCsd::parse(&from_hex(&text)?));
    if ext_csd.is_none() {
        id.missing.push("EXT_CSD: needs root and a mounted debugfs".into());
    }
    ext_csd
}

fn report_life(
    id: &mut DriveIdentity,
    life: Option<String>,
    end: Option<String>,
    extended: Option<&ExtCsd>,
) {
    // The sysfs form: `0x01 0x02`.
    let reported = life.and_then(|text| {
        let (a, b) = text.split_once(' ')?;
        Some([parse_code(a)?, parse_code(b)?])
    });
    let end = end.and_then(|text| parse_code(&text)).or(extended.map(|e| e.end_of_life));
    let warnings = end.and_then(card::spares).map(str::to_string);
    let reported = Health {
        wear_percent: reported.or(extended.map(|e| e.life)).and_then(card::life_used),
        warnings: warnings.into_iter().collect(),
        ..Health::default()
    };
    id.health = std::mem::take(&mut id.health).or(reported);
}

fn parse_code(text: &str) -> Option<u8> {
    u8::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

fn report_extended(id: &mut DriveIdentity, extended: &ExtCsd) {
    let version = extended.version.map_or_else(|| "unknown".to_string(), |v| format!("eMMC {v}"));
    detail(id, "version", version);
    let sizes = [
        ("cache", extended.cache_bytes),
        ("optimal write size", extended.write_bytes),
        ("optimal discard size", extended.trim_bytes),
    ];
    for (name, bytes) in sizes.into_iter().filter(|(_, bytes)| *bytes > 0) {
        detail(id, name, units::binary(bytes));
    }
    if extended.native_4k {
        detail(id, "sectors", "4096 B native");
    }
}

//! Asks an NVMe drive: controller, namespace, health, firmware slots, traffic to its flash.

use std::fs::File;
use std::io;

use workload::units;

use super::Asked;
use crate::answer::nvme::{self, BlockFormat, Controller, IDENTIFY_BYTES, LOG_BYTES, Namespace};
use crate::sys::nvme::{Admin, admin};

const IDENTIFY: u8 = 0x06;
const GET_LOG: u8 = 0x02;
/// What identify gives: a namespace, the controller.
const CNS_NAMESPACE: u32 = 0;
const CNS_CONTROLLER: u32 = 1;
/// Logs.
const LOGS: u8 = 0x00;
const HEALTH: u8 = 0x02;
const FIRMWARE: u8 = 0x03;
const OCP_HEALTH: u8 = 0xc0;
/// Every namespace: the health log is the controller's.
const ALL: u32 = u32::MAX;
const TIMEOUT_MS: u32 = 5000;

pub(super) fn ask(asked: &mut Asked<'_>) {
    asked.id.hardware_id = asked.disk.text("wwid");
    let controller = asked.with(controller);
    if let Some(controller) = asked.or_missing("controller, formats and health log", controller) {
        tell_controller(asked, &controller);
        let namespace = asked.with(|file| namespace(file, nsid(asked.disk.value("nsid"))));
        if let Some(namespace) = asked.or_missing("namespace and its formats", namespace) {
            tell_namespace(asked, &namespace, controller.formats);
        }
        tell_health(asked, &controller);
    }
}

/// The namespace of a node; drives with one have number 1.
pub(crate) fn nsid(told: Option<u32>) -> u32 {
    told.unwrap_or(1)
}

pub(crate) fn controller(file: &File) -> io::Result<Controller> {
    let mut data = vec![0; IDENTIFY_BYTES];
    identify(file, 0, CNS_CONTROLLER, &mut data)?;
    Controller::parse(&data).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

pub(crate) fn namespace(file: &File, nsid: u32) -> io::Result<Namespace> {
    let mut data = vec![0; IDENTIFY_BYTES];
    identify(file, nsid, CNS_NAMESPACE, &mut data)?;
    Namespace::parse(&data).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn identify(file: &File, nsid: u32, cns: u32, data: &mut [u8]) -> io::Result<()> {
    let command =
        Admin { opcode: IDENTIFY, nsid, cdw10: cns, timeout_ms: TIMEOUT_MS, ..Admin::default() };
    admin(file, &command, data)
}

/// A log page; its length is told in dwords less one.
pub(crate) fn log(file: &File, page: u8, bytes: usize) -> io::Result<Vec<u8>> {
    let mut data = vec![0; bytes];
    let dwords = (bytes / 4 - 1) as u32;
    let command = Admin {
        opcode: GET_LOG,
        nsid: ALL,
        cdw10: u32::from(page) | dwords << 16,
        timeout_ms: TIMEOUT_MS,
        ..Admin::default()
    };
    admin(file, &command, &mut data)?;
    Ok(data)
}

fn tell_controller(asked: &mut Asked<'_>, controller: &Controller) {
    let version = controller.version.as_ref().map(|v| format!("NVMe {v}"));
    version.into_iter().for_each(|version| asked.detail("version", version));
    // Behind several paths sysfs has the names at another place.
    let id = &mut *asked.id;
    id.model = id.model.take().or_else(|| controller.model.clone());
    id.serial = id.serial.take().or_else(|| controller.serial.clone());
    id.firmware = id.firmware.take().or_else(|| controller.firmware.clone());
    id.health.temperature_warn_c = id.health.temperature_warn_c.or(controller.warn_c);
    if let Some(critical) = controller.critical_c {
        asked.detail("critical temperature", format!("{critical:.0} C"));
    }
    let commands = [
        (controller.discards, "discard"),
        (controller.zeroes, "write zeroes"),
        (controller.formats && controller.format_is_global, "format (all namespaces at once)"),
        (controller.formats && !controller.format_is_global, "format"),
        (controller.sanitize[0], "sanitize by crypto erase"),
        (controller.sanitize[1], "sanitize by block erase"),
        (controller.sanitize[2], "sanitize by overwriting"),
    ];
    asked.detail("can", listed(&commands));
}

fn listed(words: &[(bool, &str)]) -> String {
    let has: Vec<&str> = words.iter().filter(|(has, _)| *has).map(|(_, word)| *word).collect();
    if has.is_empty() { "none of the optional commands".into() } else { has.join(", ") }
}

fn tell_namespace(asked: &mut Asked<'_>, namespace: &Namespace, can_format: bool) {
    if can_format {
        asked.id.formats = namespace.block_sizes();
    }
    let current = namespace.formats.iter().find(|f| f.index == namespace.current);
    let shown = |f: &BlockFormat| {
        let metadata = match f.metadata_bytes {
            0 => String::new(),
            bytes => format!(" + {bytes} B metadata"),
        };
        let current = if f.index == namespace.current { " (in use)" } else { "" };
        format!("{}: {} B{metadata}{current}", f.index, f.block_bytes)
    };
    let formats: Vec<String> = namespace.formats.iter().map(shown).collect();
    asked.detail("formats", formats.join(", "));
    let block = u64::from(current.map_or(512, |f| f.block_bytes));
    if namespace.used < namespace.size {
        let of = |blocks: u64| units::decimal(blocks.saturating_mul(block));
        let used = format!("{} of {}", of(namespace.used), of(namespace.size));
        asked.detail("allocated", used);
    }
    if let Some(reads) = namespace.discarded_reads {
        asked.detail("after discard", format!("reads {reads}"));
    }
    let sizes = [
        ("best written by", namespace.write_blocks),
        ("best discarded by", namespace.discard_blocks),
    ];
    for (name, blocks) in sizes {
        if let Some(blocks) = blocks {
            asked.detail(name, units::binary(u64::from(blocks) * block));
        }
    }
    let names = [("NGUID", &namespace.nguid), ("EUI-64", &namespace.eui64)];
    for (name, value) in names {
        value.iter().for_each(|value| asked.detail(name, value.clone()));
    }
}

fn tell_health(asked: &mut Asked<'_>, controller: &Controller) {
    let health = asked.with(|file| log(file, HEALTH, LOG_BYTES));
    if let Some(log) = asked.or_missing("health log", health)
        && let Some(told) = nvme::health(&log)
    {
        asked.id.health = std::mem::take(&mut asked.id.health).or(told);
    }
    if let Ok(slots) = asked.with(|file| log(file, FIRMWARE, LOG_BYTES)) {
        nvme::firmware_slots(&slots).into_iter().for_each(|s| asked.detail("firmware slots", s));
    }
    // A log a drive does not have counts as an error in its books, so it is not asked for.
    let list = || asked.with(|file| log(file, LOGS, 1024)).ok();
    let list = controller.lists_logs.then(list).flatten();
    if list.is_some_and(|list| nvme::has_log(&list, OCP_HEALTH)) {
        let more = asked.with(|file| log(file, OCP_HEALTH, LOG_BYTES)).ok();
        asked.id.health.flash_written_bytes = more.and_then(|log| nvme::flash_written(&log));
    }
}

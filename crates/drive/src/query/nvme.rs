//! Queries an NVMe drive: controller, namespace, health, firmware slots, traffic to flash.

use std::fs::File;
use std::io;

use workload::units;

use super::Query;
use crate::response::nvme::{self, BlockFormat, Controller, IDENTIFY_BYTES, LOG_BYTES, Namespace};
use crate::sys::nvme::{Admin, admin};

const IDENTIFY: u8 = 0x06;
const GET_LOG: u8 = 0x02;
/// Structures returned by identify: a namespace, the controller.
const CNS_NAMESPACE: u32 = 0;
const CNS_CONTROLLER: u32 = 1;
/// Log pages.
const LOGS: u8 = 0x00;
const HEALTH: u8 = 0x02;
const FIRMWARE: u8 = 0x03;
const OCP_HEALTH: u8 = 0xc0;
/// All namespaces: the health log belongs to the controller.
const ALL: u32 = u32::MAX;
const TIMEOUT_MS: u32 = 5000;

pub(super) fn run(query: &mut Query<'_>) {
    query.id.hardware_id = query.disk.text("wwid");
    let controller = query.with(controller);
    if let Some(controller) = query.or_missing("controller, formats and health log", controller) {
        report_controller(query, &controller);
        let namespace = query.with(|file| namespace(file, nsid(query.disk.value("nsid"))));
        if let Some(namespace) = query.or_missing("namespace and its formats", namespace) {
            report_namespace(query, &namespace, controller.formats);
        }
        report_health(query, &controller);
    }
}

/// The namespace of a node; a drive with only one has number 1.
pub(crate) fn nsid(reported: Option<u32>) -> u32 {
    reported.unwrap_or(1)
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

/// Reads a log page, whose length is encoded in dwords less one.
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

fn report_controller(query: &mut Query<'_>, controller: &Controller) {
    let version = controller.version.as_ref().map(|v| format!("NVMe {v}"));
    version.into_iter().for_each(|version| query.detail("version", version));
    // With multipath the names are elsewhere in sysfs.
    let id = &mut *query.id;
    id.model = id.model.take().or_else(|| controller.model.clone());
    id.serial = id.serial.take().or_else(|| controller.serial.clone());
    id.firmware = id.firmware.take().or_else(|| controller.firmware.clone());
    id.health.temperature_warn_c = id.health.temperature_warn_c.or(controller.warn_c);
    if let Some(critical) = controller.critical_c {
        query.detail("critical temperature", format!("{critical:.0} C"));
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
    query.detail("can", listed(&commands));
}

fn listed(words: &[(bool, &str)]) -> String {
    let has: Vec<&str> = words.iter().filter(|(has, _)| *has).map(|(_, word)| *word).collect();
    if has.is_empty() { "none of the optional commands".into() } else { has.join(", ") }
}

fn report_namespace(query: &mut Query<'_>, namespace: &Namespace, can_format: bool) {
    if can_format {
        query.id.formats = namespace.block_sizes();
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
    query.detail("formats", formats.join(", "));
    let block = u64::from(current.map_or(512, |f| f.block_bytes));
    if namespace.used < namespace.size {
        let of = |blocks: u64| units::decimal(blocks.saturating_mul(block));
        let used = format!("{} of {}", of(namespace.used), of(namespace.size));
        query.detail("allocated", used);
    }
    if let Some(reads) = namespace.discarded_reads {
        query.detail("after discard", format!("reads {reads}"));
    }
    let sizes = [
        ("optimal write size", namespace.write_blocks),
        ("optimal discard size", namespace.discard_blocks),
    ];
    for (name, blocks) in sizes {
        if let Some(blocks) = blocks {
            query.detail(name, units::binary(u64::from(blocks) * block));
        }
    }
    let names = [("NGUID", &namespace.nguid), ("EUI-64", &namespace.eui64)];
    for (name, value) in names {
        value.iter().for_each(|value| query.detail(name, value.clone()));
    }
}

fn report_health(query: &mut Query<'_>, controller: &Controller) {
    let health = query.with(|file| log(file, HEALTH, LOG_BYTES));
    if let Some(log) = query.or_missing("health log", health)
        && let Some(reported) = nvme::health(&log)
    {
        query.id.health = std::mem::take(&mut query.id.health).or(reported);
    }
    if let Ok(slots) = query.with(|file| log(file, FIRMWARE, LOG_BYTES)) {
        nvme::firmware_slots(&slots).into_iter().for_each(|s| query.detail("firmware slots", s));
    }
    // Reading an unsupported log would count as an error in the drive's error log.
    let list = || query.with(|file| log(file, LOGS, 1024)).ok();
    let list = controller.lists_logs.then(list).flatten();
    if list.is_some_and(|list| nvme::has_log(&list, OCP_HEALTH)) {
        let more = query.with(|file| log(file, OCP_HEALTH, LOG_BYTES)).ok();
        query.id.health.flash_written_bytes = more.and_then(|log| nvme::flash_written(&log));
    }
}

//! Queries an NVMe drive: controller, namespace, health, firmware slots, traffic to flash.

use std::fs::File;
use std::io;

use nvme::health::{HealthLog, flash_written, has_log};
use nvme::identify::{CONTROLLER, Info, NAMESPACE, Namespace, STRUCTURE_BYTES};
use workload::units;

use super::Query;
use crate::response::nvme::{FORMATS, block_sizes, firmware_slots, formats, health, version};
use crate::response::{hex, text};
use crate::sys::nvme::{Admin, admin};

const IDENTIFY: u8 = 0x06;
const GET_LOG: u8 = 0x02;
/// Log pages.
const LOGS: u8 = 0x00;
const FIRMWARE: u8 = 0x03;
const OCP_HEALTH: u8 = 0xc0;
/// All namespaces, because the health log belongs to the controller.
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

/// Number of the namespace of a node; 1, the usual number of an only one, if sysfs lacks it.
pub(crate) fn nsid(reported: Option<u32>) -> u32 {
    reported.unwrap_or(1)
}

pub(crate) fn controller(file: &File) -> io::Result<Info> {
    let mut data = vec![0; STRUCTURE_BYTES];
    identify(file, 0, CONTROLLER, &mut data)?;
    Info::parse(&data).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

pub(crate) fn namespace(file: &File, nsid: u32) -> io::Result<Namespace> {
    let mut data = vec![0; STRUCTURE_BYTES];
    identify(file, nsid, NAMESPACE, &mut data)?;
    Namespace::parse(&data).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn identify(file: &File, nsid: u32, cns: u32, data: &mut [u8]) -> io::Result<()> {
    let command =
        Admin { opcode: IDENTIFY, nsid, cdw10: cns, timeout_ms: TIMEOUT_MS, ..Admin::default() };
    admin(file, &command, data)
}

/// Reads a log page. The command encodes its length in dwords minus one.
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

fn report_controller(query: &mut Query<'_>, controller: &Info) {
    let version = version(controller).map(|v| format!("NVMe {v}"));
    version.into_iter().for_each(|version| query.detail("version", version));
    // Names that sysfs does not report.
    let id = &mut *query.id;
    id.model = id.model.take().or_else(|| text(&controller.model));
    id.serial = id.serial.take().or_else(|| text(&controller.serial));
    id.firmware = id.firmware.take().or_else(|| text(&controller.firmware));
    id.health.temperature_warn_c =
        id.health.temperature_warn_c.or(controller.warn_c.map(f64::from));
    if let Some(critical) = controller.critical_c {
        query.detail("critical temperature", format!("{critical} C"));
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
    let commands: Vec<&str> = words.iter().filter(|(has, _)| *has).map(|(_, word)| *word).collect();
    if commands.is_empty() { "none of the optional commands".into() } else { commands.join(", ") }
}

fn report_namespace(query: &mut Query<'_>, namespace: &Namespace, can_format: bool) {
    if can_format {
        query.id.formats = block_sizes(namespace);
    }
    let current = namespace.format();
    query.detail(FORMATS, formats(namespace));
    let block = u64::from(current.map_or(512, |f| f.block_bytes));
    if namespace.used < namespace.size {
        let [used, size] = [namespace.used, namespace.size]
            .map(|blocks| units::decimal(blocks.saturating_mul(block)));
        query.detail("allocated", format!("{used} of {size}"));
    }
    if let Some(reads) = namespace.discarded_reads {
        let reads = if reads == 0 { "zeros" } else { "FFh" };
        query.detail("after discard", format!("reads {reads}"));
    }
    let sizes = [
        ("write granularity", namespace.write_blocks),
        ("optimal write size", namespace.optimal_blocks),
        ("discard granularity", namespace.discard_blocks),
    ];
    let sizes = sizes.map(|(name, blocks)| (name, blocks.map(|blocks| u64::from(blocks) * block)));
    for (name, bytes) in sizes {
        bytes.into_iter().for_each(|bytes| query.detail(name, units::binary(bytes)));
    }
    query.id.declared.write_granularity = sizes[0].1;
    query.id.declared.optimal_write = sizes[1].1;
    let (nguid, eui64) = (namespace.nguid.map(|n| hex(&n)), namespace.eui64.map(|n| hex(&n)));
    for (name, value) in [("NGUID", nguid), ("EUI-64", eui64)] {
        value.into_iter().for_each(|value| query.detail(name, value));
    }
}

fn report_health(query: &mut Query<'_>, controller: &Info) {
    let health_log = query.with(|file| log(file, HealthLog::PAGE, HealthLog::BYTES));
    if let Some(log) = query.or_missing("health log", health_log)
        && let Some(reported) = health(&log)
    {
        query.id.health = std::mem::take(&mut query.id.health).or(reported);
    }
    if let Ok(slots) = query.with(|file| log(file, FIRMWARE, HealthLog::BYTES)) {
        firmware_slots(&slots).into_iter().for_each(|s| query.detail("firmware slots", s));
    }
    // Reading an unsupported log would add an entry to the drive's error log.
    if controller.lists_logs
        && query.with(|file| log(file, LOGS, 1024)).is_ok_and(|list| has_log(&list, OCP_HEALTH))
    {
        let ocp_log = query.with(|file| log(file, OCP_HEALTH, HealthLog::BYTES)).ok();
        query.id.health.flash_written_bytes = ocp_log.and_then(|log| flash_written(&log));
    }
}

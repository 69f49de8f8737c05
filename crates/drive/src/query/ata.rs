//! Queries a SATA drive: IDENTIFY if the kernel has no copy, SMART, device statistics.

use std::fs::File;
use std::io;

use record::Health;

use super::Query;
use crate::response::ata::{
    Identify, PAGE_BYTES, identify_command, smart_command, statistic, statistics_command,
};
use crate::response::smart;
use crate::sys;

pub(super) fn run(query: &mut Query<'_>) {
    query.id.hardware_id = query.disk.text("device/wwid");
    let identify = match Identify::read(query.disk) {
        Some(kept) => Ok(kept),
        None => query.with(identify),
    };
    if let Some(identify) = query.or_missing("IDENTIFY", identify) {
        report(query, &identify);
    }
}

/// Requests IDENTIFY from the drive.
pub(super) fn identify(file: &File) -> io::Result<Identify> {
    let data = page(file, &identify_command())?;
    Identify::parse_words(&data).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn page(file: &File, command: &[u8]) -> io::Result<Vec<u8>> {
    let mut data = vec![0; PAGE_BYTES];
    let received = sys::scsi::read(file, command, &mut data)?;
    data.truncate(received);
    Ok(data)
}

/// Adds the drive's IDENTIFY data and health.
pub(super) fn report(query: &mut Query<'_>, identify: &Identify) {
    match identify.rotation() {
        Some(0) => query.detail("rotation", "none"),
        Some(rpm) => query.detail("rotation", format!("{rpm} rpm")),
        None => query.detail("rotation", "not reported"),
    }
    let trim = match (identify.trims(), identify.trim_ranges()) {
        (false, _) => "no".to_string(),
        (true, None) => identify.after_trim().words().to_string(),
        (true, Some(ranges)) => {
            format!("{}, {ranges} ranges per command", identify.after_trim().words())
        }
    };
    query.detail("TRIM", trim);
    let (logical, physical) = identify.sectors();
    let offset = match identify.alignment_bytes() {
        0 => String::new(),
        bytes => format!(", the first {bytes} B into a physical one"),
    };
    query.detail("sectors", format!("{logical} B in {physical} B{offset}"));
    identify.security().into_iter().for_each(|word| query.detail("security", word));
    let health = query.with(|file| health(file, identify));
    if let Some(reported) = query.or_missing("SMART and wear", health) {
        query.id.health = std::mem::take(&mut query.id.health).or(reported);
    }
}

/// SMART attributes, with the standard's device statistics taking precedence.
fn health(file: &File, identify: &Identify) -> io::Result<Health> {
    if !identify.smart() {
        return Err(io::Error::other("not supported or disabled"));
    }
    let attributes = smart::attributes(&page(file, &smart_command())?);
    let by_attributes = smart::health(&attributes, &identify.model().unwrap_or_default());
    let by_statistics =
        if identify.logs() { statistics(file, identify.sectors().0) } else { Health::default() };
    Ok(by_statistics.or(by_attributes))
}

/// Pages of ACS-3, A.5: general (1), general errors (4), transport (6) and solid state device (7).
/// Missing pages are skipped.
fn statistics(file: &File, sector_bytes: u32) -> Health {
    let [general, errors, transport, solid_state] =
        [1, 4, 6, 7].map(|number| (number, page(file, &statistics_command(number)).ok()));
    let value = |(number, page): &(u8, Option<Vec<u8>>), at: usize, bits: u32| {
        statistic(page.as_deref()?, *number, at, bits)
    };
    let bytes = |at| value(&general, at, 48).map(|n| n.saturating_mul(u64::from(sector_bytes)));
    Health {
        power_cycles: value(&general, 8, 32),
        power_on_hours: value(&general, 16, 32),
        written_bytes: bytes(24),
        read_bytes: bytes(40),
        media_errors: value(&errors, 8, 32),
        link_errors: value(&transport, 24, 32),
        wear_percent: value(&solid_state, 8, 8).map(|percent| percent as f64),
        ..Health::default()
    }
}

//! Parsers of log pages: health, the extended health log of data-centre drives, sanitize status,
//! firmware slots, and supported logs.
//!
//! They accept any input, of any length, without panicking. Source: NVM Express Base
//! Specification 1.4, figures 194 (health), 195 (firmware slots) and 253 (sanitize); NVM Express
//! 2.0 for the supported logs; OCP Datacenter NVMe SSD Specification 2.0, SMART-3 and SMART-26, for
//! the extended health.

use crate::identify::{bytes, celsius, trimmed, u16_at, u32_at};

/// Unit of the health log's traffic counters: a thousand blocks of 512 bytes.
const DATA_UNIT_BYTES: u128 = 512_000;
/// The GUID at the end of the extended health log.
const OCP_GUID: [u8; 16] = [
    0xc5, 0xaf, 0x10, 0x28, 0xea, 0xbf, 0xf2, 0xa4, 0x9c, 0x4f, 0x6f, 0x7c, 0xc9, 0x14, 0xd5, 0xaf,
];
/// Meanings of the critical warning bits, from bit 0.
const WARNINGS: [&str; 6] = [
    "spare below threshold",
    "temperature outside its limits",
    "reliability degraded",
    "read-only",
    "backup of volatile memory failed",
    "persistent memory unreliable",
];

/// The health log. Counts saturate: no drive has written 2^64 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HealthLog {
    /// Bits of the critical warning; see [`HealthLog::warnings`].
    pub critical: u8,
    /// Composite temperature, degrees Celsius.
    pub temperature_c: Option<i16>,
    /// Available spare, percent.
    pub spare_percent: u8,
    /// Rated life used, percent; may exceed 100.
    pub wear_percent: u8,
    /// Bytes read by hosts.
    pub read_bytes: u64,
    /// Bytes written by hosts.
    pub written_bytes: u64,
    /// Power cycles.
    pub power_cycles: u64,
    /// Power-on hours.
    pub power_on_hours: u64,
    /// Power losses without a shutdown.
    pub unsafe_shutdowns: u64,
    /// Unrecovered media or data errors.
    pub media_errors: u64,
    /// Total error log entries.
    pub logged_errors: u64,
    /// Temperature sensors, degrees Celsius; `None` if absent.
    pub sensors_c: [Option<i16>; 8],
}

impl HealthLog {
    /// Number of the log page.
    pub const PAGE: u8 = 0x02;
    /// Size of the log page, bytes.
    pub const BYTES: usize = 512;

    /// Parses the log; `None` if it is too short.
    pub fn parse(log: &[u8]) -> Option<HealthLog> {
        let count = |at| u128_at(log, at).map(saturate);
        let traffic = |at| Some(saturate(u128_at(log, at)?.saturating_mul(DATA_UNIT_BYTES)));
        let mut sensors_c = [None; 8];
        for (i, sensor) in sensors_c.iter_mut().enumerate() {
            *sensor = u16_at(log, 200 + 2 * i).and_then(celsius);
        }
        Some(HealthLog {
            critical: *log.first()?,
            temperature_c: celsius(u16_at(log, 1)?),
            spare_percent: *log.get(3)?,
            wear_percent: *log.get(5)?,
            read_bytes: traffic(32)?,
            written_bytes: traffic(48)?,
            power_cycles: count(112)?,
            power_on_hours: count(128)?,
            unsafe_shutdowns: count(144)?,
            media_errors: count(160)?,
            logged_errors: count(176)?,
            sensors_c,
        })
    }

    /// The active critical warnings, in words.
    pub fn warnings(&self) -> impl Iterator<Item = &'static str> {
        let critical = self.critical;
        let raised =
            WARNINGS.iter().copied().enumerate().filter(move |(bit, _)| critical & (1 << bit) != 0);
        raised.map(|(_, words)| words)
    }
}

fn u128_at(log: &[u8], at: usize) -> Option<u128> {
    bytes(log, at).map(u128::from_le_bytes)
}

fn saturate(count: u128) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Bytes written to flash, from the extended health log of data-centre drives.
pub fn flash_written(log: &[u8]) -> Option<u64> {
    let is_ocp = bytes::<16>(log, 496)? == OCP_GUID;
    is_ocp.then(|| u128_at(log, 0).map(saturate))?
}

/// Whether a log is in the list of supported logs.
pub fn has_log(list: &[u8], log: u8) -> bool {
    u32_at(list, 4 * usize::from(log)).is_some_and(|entry| entry & 1 != 0)
}

/// The occupied firmware slots: number, revision without padding, whether it is active.
pub fn firmware_slots(log: &[u8]) -> impl Iterator<Item = (usize, &[u8], bool)> {
    let active = usize::from(log.first().copied().unwrap_or(0) & 7);
    (1..=7).filter_map(move |slot| {
        let revision = trimmed(log.get(8 * slot..8 * slot + 8)?);
        (!revision.is_empty()).then_some((slot, revision, slot == active))
    })
}

/// State of the last sanitize (log 81h).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SanitizeStatus {
    /// Fraction done, 0 to 1.
    InProgress(f64),
    /// Done.
    Done,
    /// Failed; must be repeated.
    Failed,
    /// The drive was never sanitized.
    Never,
}

/// State of the last sanitize.
pub fn sanitize_status(log: &[u8]) -> Option<SanitizeStatus> {
    Some(match u16_at(log, 2)? & 7 {
        0 => SanitizeStatus::Never,
        1 | 4 => SanitizeStatus::Done,
        2 => SanitizeStatus::InProgress(f64::from(u16_at(log, 0)?) / 65536.0),
        _ => SanitizeStatus::Failed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(data: &mut [u8], at: usize, bytes: &[u8]) {
        data[at..at + bytes.len()].copy_from_slice(bytes);
    }

    #[test]
    fn the_health_log() {
        let mut log = [0; HealthLog::BYTES];
        log[0] = 0b1001;
        put(&mut log, 1, &314u16.to_le_bytes());
        log[3] = 100;
        log[5] = 2;
        put(&mut log, 48, &1_000_000u128.to_le_bytes());
        put(&mut log, 128, &4321u128.to_le_bytes());
        put(&mut log, 144, &u128::MAX.to_le_bytes());
        put(&mut log, 202, &330u16.to_le_bytes());
        let health = HealthLog::parse(&log).expect("whole");
        assert_eq!(health.temperature_c, Some(41));
        assert_eq!((health.wear_percent, health.spare_percent), (2, 100));
        assert_eq!(health.written_bytes, 512_000_000_000);
        assert_eq!((health.power_on_hours, health.unsafe_shutdowns), (4321, u64::MAX));
        assert!(health.sensors_c.into_iter().flatten().eq([57]), "absent sensors are none");
        assert!(health.warnings().eq(["spare below threshold", "read-only"]));
    }

    #[test]
    fn flash_writes_require_the_guid() {
        let mut log = [0; HealthLog::BYTES];
        put(&mut log, 0, &77u128.to_le_bytes());
        assert_eq!(flash_written(&log), None);
        put(&mut log, 496, &OCP_GUID);
        assert_eq!(flash_written(&log), Some(77));
    }

    #[test]
    fn firmware_slots_mark_the_running_one() {
        let mut log = [0; HealthLog::BYTES];
        log[0] = 2;
        put(&mut log, 8, b"4B2P    ");
        put(&mut log, 16, b"4B2Q    ");
        let expected: [(usize, &[u8], bool); 2] = [(1, b"4B2P", false), (2, b"4B2Q", true)];
        assert!(firmware_slots(&log).eq(expected));
        assert_eq!(firmware_slots(&[]).count(), 0);
    }

    #[test]
    fn the_progress_of_a_sanitize() {
        let log = |progress: u16, status: u16| {
            let mut log = [0; 4];
            put(&mut log, 0, &progress.to_le_bytes());
            put(&mut log, 2, &status.to_le_bytes());
            sanitize_status(&log)
        };
        assert_eq!(log(0x8000, 2), Some(SanitizeStatus::InProgress(0.5)));
        assert_eq!(log(0xffff, 0x101), Some(SanitizeStatus::Done));
        assert_eq!(log(0, 3), Some(SanitizeStatus::Failed));
        assert_eq!(sanitize_status(&[]), None);
    }

    #[test]
    fn input_of_any_length_is_accepted() {
        let log = [0xff; 600];
        for length in 0..600 {
            let log = &log[..length];
            let _ = (HealthLog::parse(log), flash_written(log), sanitize_status(log));
            let _ = (firmware_slots(log).count(), has_log(log, 0xc0));
        }
    }
}

//! NVMe data structures: identify controller and namespace, the health log, firmware slots.
//!
//! Little-endian. Source: NVM Express Base Specification 1.4, figures 245 (namespace), 247
//! (controller), 194 (health), 195 (firmware slots); NVM Express 2.0 for the supported log pages;
//! OCP Datacenter NVMe SSD Specification 2.0, SMART-3 and SMART-26, for the extended health log.

use record::Health;

use super::{bytes, hex, text};

/// Size of the identify structures.
pub(crate) const IDENTIFY_BYTES: usize = 4096;
/// Size of the health log, the firmware log and the extended health log.
pub(crate) const LOG_BYTES: usize = 512;
/// Unit of the health log's traffic counters: a thousand blocks of 512 bytes.
const DATA_UNIT_BYTES: u128 = 512_000;
/// The GUID at the end of the extended health log.
const OCP_GUID: [u8; 16] = [
    0xc5, 0xaf, 0x10, 0x28, 0xea, 0xbf, 0xf2, 0xa4, 0x9c, 0x4f, 0x6f, 0x7c, 0xc9, 0x14, 0xd5, 0xaf,
];
/// Meaning of the bits of the critical warning, from bit 0.
const WARNINGS: [&str; 6] = [
    "spare below threshold",
    "temperature outside its limits",
    "reliability degraded",
    "read-only",
    "backup of volatile memory failed",
    "persistent memory unreliable",
];

/// The controller.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Controller {
    pub serial: Option<String>,
    pub model: Option<String>,
    pub firmware: Option<String>,
    /// `1.4`.
    pub version: Option<String>,
    /// Maximum namespaces.
    pub namespaces_max: u32,
    /// Warning temperature, degrees Celsius.
    pub warn_c: Option<f64>,
    /// Temperature at which it throttles or stops.
    pub critical_c: Option<f64>,
    /// Optional commands: Format NVM, Dataset Management (discard), Write Zeroes.
    pub formats: bool,
    pub discards: bool,
    pub zeroes: bool,
    /// Whether it can sanitize by crypto erase, block erase, overwrite.
    pub sanitize: [bool; 3],
    /// Whether a format or erase of one namespace affects all.
    pub format_is_global: bool,
    /// Whether it lists its log pages.
    pub lists_logs: bool,
    /// Maximum transfer, as a power of two in units of its smallest page; 0: no limit.
    pub transfer_max: u8,
}

impl Controller {
    pub fn parse(data: &[u8]) -> Option<Controller> {
        let byte = |at: usize| data.get(at).copied();
        let word = |at| bytes(data, at).map(u16::from_le_bytes);
        let long = |at| bytes(data, at).map(u32::from_le_bytes);
        let (commands, optional, clean) = (word(256)?, word(520)?, long(328)?);
        let fna = byte(524)?;
        Some(Controller {
            serial: text(data.get(4..24)?),
            model: text(data.get(24..64)?),
            firmware: text(data.get(64..72)?),
            version: version(long(80)?),
            namespaces_max: long(516)?,
            warn_c: celsius(word(266)?),
            critical_c: celsius(word(268)?),
            formats: commands & 2 != 0,
            discards: optional & 4 != 0,
            zeroes: optional & 8 != 0,
            sanitize: [clean & 1 != 0, clean & 2 != 0, clean & 4 != 0],
            format_is_global: fna & 3 != 0,
            lists_logs: byte(261)? & 0x20 != 0,
            transfer_max: byte(77)?,
        })
    }
}

/// `1.4`, or `1.3.1`; drives before 1.2 need not report it.
fn version(word: u32) -> Option<String> {
    let (major, minor, third) = (word >> 16, word >> 8 & 0xff, word & 0xff);
    match (major, third) {
        (0, _) => None,
        (_, 0) => Some(format!("{major}.{minor}")),
        _ => Some(format!("{major}.{minor}.{third}")),
    }
}

/// Kelvin to degrees Celsius; `None` for 0 (not reported) and for nonsense.
fn celsius(kelvin: u16) -> Option<f64> {
    let degrees = f64::from(kelvin) - 273.0;
    (kelvin != 0 && (-60.0..=200.0).contains(&degrees)).then_some(degrees)
}

/// A format supported by a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockFormat {
    /// Number, as used by Format NVM.
    pub index: u8,
    /// Logical block size, bytes.
    pub block_bytes: u32,
    /// Metadata per block, bytes.
    pub metadata_bytes: u16,
    /// 0 best, 1 better, 2 good, 3 degraded.
    pub performance: u8,
}

/// A namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Namespace {
    /// Size, capacity and utilisation, blocks.
    pub size: u64,
    pub capacity: u64,
    pub used: u64,
    /// All supported formats.
    pub formats: Vec<BlockFormat>,
    /// Number of the format in use.
    pub current: u8,
    /// Content of discarded blocks: `zeros`, `FFh`, or not reported.
    pub discarded_reads: Option<&'static str>,
    /// Optimal write size in blocks, if reported.
    pub write_blocks: Option<u32>,
    /// Optimal discard size in blocks.
    pub discard_blocks: Option<u32>,
    /// World-wide unique name.
    pub nguid: Option<String>,
    pub eui64: Option<String>,
}

impl Namespace {
    pub fn parse(data: &[u8]) -> Option<Namespace> {
        let byte = |at: usize| data.get(at).copied();
        let word = |at| bytes(data, at).map(u16::from_le_bytes);
        let long = |at| bytes(data, at).map(u64::from_le_bytes);
        let (features, flbas) = (byte(24)?, byte(26)?);
        let count = usize::from(byte(25)?.min(63)) + 1;
        let reported = |at| Some(u32::from(word(at)?) + 1).filter(|_| features & 0x10 != 0);
        let name = |range| data.get(range).filter(|b: &&[u8]| b.iter().any(|b| *b != 0)).map(hex);
        Some(Namespace {
            size: long(0)?,
            capacity: long(8)?,
            used: long(16)?,
            formats: (0..count).filter_map(|index| format(data, index)).collect(),
            current: flbas & 15 | if count > 16 { flbas >> 1 & 0x30 } else { 0 },
            discarded_reads: match byte(33)? & 7 {
                1 => Some("zeros"),
                2 => Some("FFh"),
                _ => None,
            },
            write_blocks: reported(64),
            discard_blocks: reported(68),
            nguid: name(104..120),
            eui64: name(120..128),
        })
    }

    /// Number of the fastest format with these blocks and no metadata.
    pub fn format_of(&self, block_bytes: u32) -> Option<u8> {
        let fits = |f: &&BlockFormat| f.block_bytes == block_bytes && f.metadata_bytes == 0;
        self.formats.iter().filter(fits).min_by_key(|f| f.performance).map(|f| f.index)
    }

    /// Block sizes without metadata, ascending.
    pub fn block_sizes(&self) -> Vec<u32> {
        let plain = self.formats.iter().filter(|f| f.metadata_bytes == 0);
        let mut sizes: Vec<u32> = plain.map(|f| f.block_bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }
}

/// An entry of the format table; `None` if unused, which has a block size of zero.
fn format(data: &[u8], index: usize) -> Option<BlockFormat> {
    let [metadata_low, metadata_high, power, performance] = bytes(data, 128 + 4 * index)?;
    let block_bytes = (9..=24).contains(&power).then(|| 1u32 << power)?;
    Some(BlockFormat {
        index: index as u8,
        block_bytes,
        metadata_bytes: u16::from_le_bytes([metadata_low, metadata_high]),
        performance: performance & 3,
    })
}

/// The health log in the form of the record.
pub(crate) fn health(log: &[u8]) -> Option<Health> {
    let byte = |at: usize| log.get(at).copied();
    let word = |at| bytes(log, at).map(u16::from_le_bytes);
    let count = |at| bytes(log, at).map(u128::from_le_bytes).map(saturate);
    let traffic = |at| {
        Some(saturate(bytes(log, at).map(u128::from_le_bytes)?.saturating_mul(DATA_UNIT_BYTES)))
    };
    let critical = byte(0)?;
    let raised = WARNINGS.iter().enumerate().filter(|(bit, _)| critical & (1 << bit) != 0);
    let sensors = (0..8).filter_map(|i| word(200 + 2 * i)).filter_map(celsius);
    Some(Health {
        temperature_c: celsius(word(1)?),
        spare_percent: byte(3).map(f64::from),
        wear_percent: byte(5).map(f64::from),
        read_bytes: traffic(32),
        written_bytes: traffic(48),
        power_cycles: count(112),
        power_on_hours: count(128),
        unsafe_shutdowns: count(144),
        media_errors: count(160),
        logged_errors: Some(count(176)?),
        sensors_c: sensors.collect(),
        warnings: raised.map(|(_, text)| text.to_string()).collect(),
        ..Health::default()
    })
}

/// Saturates: no drive has written 2^64 bytes.
fn saturate(count: u128) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Bytes written to flash, from the extended health log of data-centre drives.
pub(crate) fn flash_written(log: &[u8]) -> Option<u64> {
    let ours = bytes::<16>(log, 496)? == OCP_GUID;
    ours.then(|| bytes(log, 0).map(u128::from_le_bytes).map(saturate))?
}

/// Whether a log is in the list of supported logs.
pub(crate) fn has_log(list: &[u8], log: u8) -> bool {
    bytes(list, 4 * usize::from(log)).is_some_and(|entry| u32::from_le_bytes(entry) & 1 != 0)
}

/// The occupied firmware slots, with the running one marked: `1: 4B2Q (runs), 2: 4B2P`.
pub(crate) fn firmware_slots(log: &[u8]) -> Option<String> {
    let active = usize::from(*log.first()? & 7);
    let slot = |n: usize| {
        let revision = text(log.get(8 * n..8 * n + 8)?)?;
        Some(format!("{n}: {revision}{}", if n == active { " (runs)" } else { "" }))
    };
    let slots: Vec<String> = (1..=7).filter_map(slot).collect();
    (!slots.is_empty()).then(|| slots.join(", "))
}

/// Progress of a sanitize (log 81h, NVMe 1.4 figure 253).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sanitizing {
    /// Share done, 0 to 1.
    GoingOn(f64),
    Done,
    Failed,
    Never,
}

/// State of the last sanitize.
pub(crate) fn sanitizing(log: &[u8]) -> Option<Sanitizing> {
    let word = |at| bytes(log, at).map(u16::from_le_bytes);
    Some(match word(2)? & 7 {
        0 => Sanitizing::Never,
        1 | 4 => Sanitizing::Done,
        2 => Sanitizing::GoingOn(f64::from(word(0)?) / 65536.0),
        _ => Sanitizing::Failed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn put(data: &mut [u8], at: usize, bytes: &[u8]) {
        data[at..at + bytes.len()].copy_from_slice(bytes);
    }

    #[test]
    fn a_controller() {
        let mut data = vec![0; IDENTIFY_BYTES];
        put(&mut data, 4, b"S6Z1NJ0W            ");
        put(&mut data, 24, b"ACME X1 1TB                             ");
        put(&mut data, 64, b"4B2QEXM7");
        put(&mut data, 80, &0x0001_0400u32.to_le_bytes());
        put(&mut data, 256, &2u16.to_le_bytes());
        put(&mut data, 266, &358u16.to_le_bytes());
        put(&mut data, 328, &6u32.to_le_bytes());
        put(&mut data, 516, &32u32.to_le_bytes());
        put(&mut data, 520, &0x0cu16.to_le_bytes());
        let controller = Controller::parse(&data).expect("whole");
        assert_eq!(controller.serial.as_deref(), Some("S6Z1NJ0W"));
        assert_eq!(controller.model.as_deref(), Some("ACME X1 1TB"));
        assert_eq!(controller.version.as_deref(), Some("1.4"));
        assert_eq!((controller.warn_c, controller.critical_c), (Some(85.0), None));
        assert!(controller.formats && controller.discards && controller.zeroes);
        assert_eq!(controller.sanitize, [false, true, true]);
        assert_eq!(version(0x0001_0301).as_deref(), Some("1.3.1"));
        assert_eq!(version(0), None);
    }

    #[test]
    fn a_namespace_and_its_formats() {
        let mut data = vec![0; IDENTIFY_BYTES];
        put(&mut data, 0, &131_072u64.to_le_bytes());
        data[25] = 3;
        data[26] = 1;
        data[33] = 1;
        put(&mut data, 128, &[0, 0, 9, 2]);
        put(&mut data, 132, &[8, 0, 9, 2]);
        put(&mut data, 136, &[0, 0, 12, 0]);
        put(&mut data, 140, &[64, 0, 12, 0]);
        let namespace = Namespace::parse(&data).expect("whole");
        assert_eq!((namespace.size, namespace.current), (131_072, 1));
        assert_eq!(namespace.block_sizes(), [512, 4096]);
        assert_eq!((namespace.format_of(4096), namespace.format_of(520)), (Some(2), None));
        assert_eq!(namespace.discarded_reads, Some("zeros"));
        assert_eq!((namespace.nguid, namespace.write_blocks), (None, None));
    }

    #[test]
    fn the_health_log() {
        let mut log = vec![0; LOG_BYTES];
        log[0] = 0b1001;
        put(&mut log, 1, &314u16.to_le_bytes());
        log[3] = 100;
        log[5] = 2;
        put(&mut log, 48, &1_000_000u128.to_le_bytes());
        put(&mut log, 128, &4321u128.to_le_bytes());
        put(&mut log, 202, &330u16.to_le_bytes());
        let health = health(&log).expect("whole");
        assert_eq!(health.temperature_c, Some(41.0));
        assert_eq!((health.wear_percent, health.spare_percent), (Some(2.0), Some(100.0)));
        assert_eq!(health.written_bytes, Some(512_000_000_000));
        assert_eq!(health.power_on_hours, Some(4321));
        assert_eq!(health.sensors_c, [57.0], "absent sensors are skipped");
        assert_eq!(health.warnings, ["spare below threshold", "read-only"]);
    }

    #[test]
    fn flash_writes_require_the_guid() {
        let mut log = vec![0; LOG_BYTES];
        put(&mut log, 0, &77u128.to_le_bytes());
        assert_eq!(flash_written(&log), None);
        put(&mut log, 496, &OCP_GUID);
        assert_eq!(flash_written(&log), Some(77));
    }

    #[test]
    fn firmware_slots_mark_the_running_one() {
        let mut log = vec![0; LOG_BYTES];
        log[0] = 2;
        put(&mut log, 8, b"4B2P    ");
        put(&mut log, 16, b"4B2Q    ");
        assert_eq!(firmware_slots(&log).as_deref(), Some("1: 4B2P, 2: 4B2Q (runs)"));
    }

    #[test]
    fn the_progress_of_a_sanitize() {
        let log =
            |progress: u16, status: u16| [progress.to_le_bytes(), status.to_le_bytes()].concat();
        assert_eq!(sanitizing(&log(0x8000, 2)), Some(Sanitizing::GoingOn(0.5)));
        assert_eq!(sanitizing(&log(0xffff, 0x101)), Some(Sanitizing::Done));
        assert_eq!(sanitizing(&log(0, 3)), Some(Sanitizing::Failed));
        assert_eq!(sanitizing(&[]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(data in prop::collection::vec(any::<u8>(), 0..700)) {
            Controller::parse(&data);
            if let Some(namespace) = Namespace::parse(&data) {
                let _ = namespace.block_sizes();
            }
            let _ = (health(&data), flash_written(&data), firmware_slots(&data), sanitizing(&data));
            has_log(&data, 0xc0);
        }
    }
}

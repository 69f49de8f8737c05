//! NVMe structures in the form of the record. The parsers are in the crate `nvme`, whose driver
//! reads the same structures without the kernel; this module adds texts and units.

use nvme::health;
use nvme::identify::{Info, Namespace};
use record::{DriveIdentity, Health};

use super::text;

/// `1.4`, or `1.3.1`; drives before 1.2 need not report it.
pub(crate) fn version(info: &Info) -> Option<String> {
    match info.version {
        (0, ..) => None,
        (major, minor, 0) => Some(format!("{major}.{minor}")),
        (major, minor, third) => Some(format!("{major}.{minor}.{third}")),
    }
}

/// Block sizes without metadata, ascending.
pub(crate) fn block_sizes(namespace: &Namespace) -> Vec<u32> {
    let plain = namespace.formats().filter(|f| f.metadata_bytes == 0);
    let mut sizes: Vec<u32> = plain.map(|f| f.block_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The formats of a namespace in words, with the one in use marked: `0: 512 B (in use), 1: 4096 B`.
pub(crate) fn formats(namespace: &Namespace) -> String {
    namespace
        .formats()
        .map(|f| {
            let metadata = match f.metadata_bytes {
                0 => String::new(),
                bytes => format!(" + {bytes} B metadata"),
            };
            let current = if f.index == namespace.current { " (in use)" } else { "" };
            format!("{}: {} B{metadata}{current}", f.index, f.block_bytes)
        })
        .collect::<Vec<_>>()
        .join(", ")
}

/// Name of the detail with the formats.
pub(crate) const FORMATS: &str = "formats";

/// Updates the identity of a drive whose namespace was formatted.
pub fn formatted(drive: &mut DriveIdentity, namespace: &Namespace) {
    let Some(format) = namespace.format() else { return };
    drive.bytes = Some(namespace.size * u64::from(format.block_bytes));
    drive.logical_block_bytes = Some(format.block_bytes);
    let details = drive.details.iter_mut().filter(|detail| detail.name == FORMATS);
    details.for_each(|detail| detail.value = formats(namespace));
}

/// Parses the health log into the form of the record.
pub(crate) fn health(log: &[u8]) -> Option<Health> {
    health::HealthLog::parse(log).map(|log| reported(&log))
}

/// Converts a parsed health log to the form of the record.
pub fn reported(log: &health::HealthLog) -> Health {
    Health {
        temperature_c: log.temperature_c.map(f64::from),
        spare_percent: Some(f64::from(log.spare_percent)),
        wear_percent: Some(f64::from(log.wear_percent)),
        read_bytes: Some(log.read_bytes),
        written_bytes: Some(log.written_bytes),
        power_cycles: Some(log.power_cycles),
        power_on_hours: Some(log.power_on_hours),
        unsafe_shutdowns: Some(log.unsafe_shutdowns),
        media_errors: Some(log.media_errors),
        logged_errors: Some(log.logged_errors),
        sensors_c: log.sensors_c.into_iter().flatten().map(f64::from).collect(),
        warnings: log.warnings().map(str::to_string).collect(),
        ..Health::default()
    }
}

/// The occupied firmware slots, with the active one marked: `1: 4B2Q (runs), 2: 4B2P`.
pub(crate) fn firmware_slots(log: &[u8]) -> Option<String> {
    let slots: Vec<String> = health::firmware_slots(log)
        .filter_map(|(slot, revision, runs)| {
            Some(format!("{slot}: {}{}", text(revision)?, if runs { " (runs)" } else { "" }))
        })
        .collect();
    (!slots.is_empty()).then(|| slots.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvme::identify::STRUCTURE_BYTES;
    use proptest::prelude::*;

    #[test]
    fn versions_omit_a_third_number_of_zero() {
        let of = |word: u32| {
            let mut data = [0; STRUCTURE_BYTES];
            data[80..84].copy_from_slice(&word.to_le_bytes());
            version(&Info::parse(&data).expect("whole"))
        };
        assert_eq!(of(0x0001_0301).as_deref(), Some("1.3.1"));
        assert_eq!(of(0x0001_0400).as_deref(), Some("1.4"));
        assert_eq!(of(0), None);
    }

    #[test]
    fn block_sizes_exclude_formats_with_metadata() {
        let mut data = [0; STRUCTURE_BYTES];
        data[25] = 3;
        let formats = [[0, 0, 12, 0], [8, 0, 9, 2], [0, 0, 9, 2], [64, 0, 12, 0]];
        data[128..144].copy_from_slice(formats.as_flattened());
        assert_eq!(block_sizes(&Namespace::parse(&data).expect("whole")), [512, 4096]);
    }

    #[test]
    fn firmware_slots_mark_the_running_one() {
        let mut log = vec![0; 512];
        log[0] = 2;
        log[8..24].copy_from_slice(b"4B2P    4B2Q    ");
        assert_eq!(firmware_slots(&log).as_deref(), Some("1: 4B2P, 2: 4B2Q (runs)"));
        assert_eq!(firmware_slots(&[]), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(data in prop::collection::vec(any::<u8>(), 0..700)) {
            Info::parse(&data).as_ref().map(version);
            Namespace::parse(&data).as_ref().map(block_sizes);
            let _ = (health(&data), firmware_slots(&data), health::sanitize_status(&data));
            let _ = (health::flash_written(&data), health::has_log(&data, 0xc0));
        }
    }
}

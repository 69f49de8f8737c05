//! SMART attributes of SATA drives: two bytes of revision, then 30 entries of 12 bytes.
//!
//! Attribute numbers and units are specific to the manufacturer. This module reads the attributes
//! shared by nearly all drives. It reads traffic and wear only for manufacturers that publish their
//! units; for other drives these values stay unknown. The device statistics of ACS-3 take
//! precedence if a drive has them. Sources: the manufacturers' attribute tables (Samsung, Micron,
//! Intel, Kingston, Western Digital).

use record::Health;

const ENTRIES: usize = 30;
const ENTRY_BYTES: usize = 12;
const GIB: u64 = 1 << 30;
const SECTOR: u64 = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attribute {
    pub id: u8,
    /// Normalised value: about 100 when new, on the manufacturer's scale.
    pub value: u8,
    /// Raw value, 48 bits.
    pub raw: u64,
}

/// The attributes in a page of SMART data.
pub(crate) fn attributes(page: &[u8]) -> Vec<Attribute> {
    let entries = page.get(2..).unwrap_or(&[]).chunks_exact(ENTRY_BYTES).take(ENTRIES);
    entries
        .map(|entry| {
            let mut raw = [0; 8];
            raw[..6].copy_from_slice(&entry[5..11]);
            Attribute { id: entry[0], value: entry[3], raw: u64::from_le_bytes(raw) }
        })
        .filter(|a| a.id != 0)
        .collect()
}

/// A manufacturer's attributes for traffic and wear.
struct Maker {
    /// Prefixes of its model names.
    models: &'static [&'static str],
    /// Bytes written by the host: attribute number, and unit in bytes.
    written: Option<(u8, u64)>,
    /// Bytes written to flash.
    flash: Option<(u8, u64)>,
    /// Attribute whose normalised value is the remaining life, percent.
    life_left: Option<u8>,
}

const MAKERS: [Maker; 5] = [
    Maker { models: &["Samsung"], written: Some((241, SECTOR)), flash: None, life_left: Some(177) },
    Maker {
        models: &["CT", "Crucial", "Micron"],
        written: Some((246, SECTOR)),
        flash: None,
        life_left: Some(202),
    },
    Maker {
        models: &["INTEL SSDSC", "SSDSC2", "SOLIDIGM SSDSC"],
        written: Some((241, 32 << 20)),
        flash: Some((243, 32 << 20)),
        life_left: Some(233),
    },
    Maker {
        models: &["KINGSTON"],
        written: Some((241, GIB)),
        flash: Some((233, GIB)),
        life_left: Some(231),
    },
    Maker {
        models: &["WDC WDS", "WD Blue SA510", "SanDisk SD"],
        written: Some((241, GIB)),
        flash: Some((233, GIB)),
        life_left: None,
    },
];

/// Health data from the attributes of a drive of this model.
pub(crate) fn health(attributes: &[Attribute], model: &str) -> Health {
    let find = |id: u8| attributes.iter().find(|a| a.id == id);
    // Some manufacturers store minimum and maximum in the upper bytes.
    let low_bits = |id: u8, bits: u32| find(id).map(|a| a.raw & ((1 << bits) - 1));
    let maker = MAKERS.iter().find(|m| m.models.iter().any(|start| model.starts_with(start)));
    let [written_bytes, flash_written_bytes] =
        [maker.and_then(|m| m.written), maker.and_then(|m| m.flash)].map(|attribute| {
            let (id, unit) = attribute?;
            Some(find(id)?.raw.saturating_mul(unit))
        });
    let life_left = maker.and_then(|m| m.life_left).and_then(find).map(|a| f64::from(a.value));
    let celsius = [194, 190].map(|id| low_bits(id, 8).filter(|c| (1..=120).contains(c)));
    Health {
        reallocated: low_bits(5, 32),
        power_on_hours: low_bits(9, 32),
        power_cycles: low_bits(12, 32),
        media_errors: low_bits(187, 32),
        link_errors: low_bits(199, 32),
        temperature_c: celsius.into_iter().flatten().next().map(|c| c as f64),
        written_bytes,
        flash_written_bytes,
        wear_percent: life_left
            .filter(|life_left| *life_left <= 100.0)
            .map(|life_left| 100.0 - life_left),
        ..Health::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(set: &[(u8, u8, u64)]) -> Vec<u8> {
        let mut page = vec![0; 512];
        for (i, (id, value, raw)) in set.iter().enumerate() {
            let entry = &mut page[2 + i * ENTRY_BYTES..][..ENTRY_BYTES];
            entry[0] = *id;
            entry[3] = *value;
            entry[5..11].copy_from_slice(&raw.to_le_bytes()[..6]);
        }
        page
    }

    #[test]
    fn attributes_common_to_all_drives() {
        let reported = page(&[
            (5, 100, 3),
            (9, 99, 4321),
            (12, 99, 77),
            (194, 67, 0x0021_000a_0021),
            (199, 100, 2),
        ]);
        let health = health(&attributes(&reported), "Nobody's drive");
        assert_eq!((health.reallocated, health.link_errors), (Some(3), Some(2)));
        assert_eq!((health.power_on_hours, health.power_cycles), (Some(4321), Some(77)));
        assert_eq!(health.temperature_c, Some(33.0), "minimum and maximum are in the upper bytes");
        assert_eq!((health.written_bytes, health.wear_percent), (None, None));
    }

    #[test]
    fn units_depend_on_the_manufacturer() {
        let reported =
            attributes(&page(&[(241, 99, 1000), (177, 98, 12), (233, 0, 1500), (231, 95, 0)]));
        let samsung = health(&reported, "Samsung SSD 870 EVO 1TB");
        assert_eq!((samsung.written_bytes, samsung.wear_percent), (Some(512_000), Some(2.0)));
        let kingston = health(&reported, "KINGSTON SA400S37240G");
        assert_eq!(kingston.written_bytes, Some(1000 << 30));
        assert_eq!(
            (kingston.flash_written_bytes, kingston.wear_percent),
            (Some(1500 << 30), Some(5.0))
        );
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..520), model in ".{0,20}") {
            health(&attributes(&bytes), &model);
        }
    }
}

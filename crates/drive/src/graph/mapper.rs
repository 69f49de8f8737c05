//! Tables of the device mapper: where the bytes of a volume are.
//!
//! Source: `struct dm_target_spec` in `include/uapi/linux/dm-ioctl.h`, and the kernel's
//! `Documentation/admin-guide/device-mapper`. Targets not named here (RAID, caches, snapshots) spread
//! their bytes over all of the devices below: they give no piece here. The table of a crypt target
//! contains its key, so tables are never shown.

use super::region::Order;
use crate::machine::DevNumber;
use crate::node::SECTOR;
use crate::response::{u32_at, u64_at};
use crate::sys::stacked::DmTable;

/// A part of a volume on one device, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Segment {
    pub start: u64,
    pub bytes: u64,
    pub device: DevNumber,
    pub offset: u64,
    /// Size on the device; the rest of it, if larger.
    pub device_bytes: u64,
    pub order: Order,
}

/// The segments of a table; `None` if it has a target whose bytes can be anywhere.
pub(crate) fn segments(table: &DmTable) -> Option<Vec<Segment>> {
    let mut segments = Vec::new();
    let mut offset = 0usize;
    for _ in 0..table.segments {
        let spec = table.bytes.get(offset..)?;
        let start = u64_at(spec, 0)?.checked_mul(SECTOR)?;
        let bytes = u64_at(spec, 8)?.checked_mul(SECTOR)?;
        let kind = text(spec.get(24..40)?)?;
        let words: Vec<&str> = text(spec.get(40..)?)?.split_whitespace().collect();
        segments.extend(of_target(kind, &words, start, bytes)?);
        offset = u32_at(spec, 20)? as usize;
    }
    Some(segments)
}

fn of_target(kind: &str, words: &[&str], start: u64, bytes: u64) -> Option<Vec<Segment>> {
    let segment = |device: &str, sector: &str, device_bytes: u64, order: Order| {
        let offset = sector.parse::<u64>().ok()?.checked_mul(SECTOR)?;
        let device = device.parse().ok()?;
        Some(Segment { start, bytes, device, offset, device_bytes, order })
    };
    let whole_device = |device: &str, order: Order| segment(device, "0", u64::MAX, order);
    match (kind, words) {
        ("error" | "zero", _) => Some(Vec::new()),
        ("linear", [device, sector, ..]) => {
            Some(vec![segment(device, sector, bytes, Order::Linear)?])
        }
        ("crypt", [_, _, _, device, sector, ..]) => {
            Some(vec![segment(device, sector, bytes, Order::Linear)?])
        }
        ("snapshot-origin", [device, ..]) => {
            Some(vec![segment(device, "0", bytes, Order::Linear)?])
        }
        ("striped", [count, _chunk, stripes @ ..]) => {
            let count = count.parse::<u64>().ok().filter(|count| *count > 0)?;
            let pairs = stripes.chunks_exact(2).take(count as usize);
            let stripe = bytes.div_ceil(count);
            pairs.map(|pair| segment(pair[0], pair[1], stripe, Order::Spread)).collect()
        }
        // A volume outside the pool may have the blocks that were never written.
        ("thin", [pool, number, origin @ ..]) => {
            let pool = whole_device(pool, Order::Thin(number.parse().ok()?))?;
            let origin = origin.iter().map(|device| whole_device(device, Order::Spread));
            std::iter::once(Some(pool)).chain(origin).collect()
        }
        _ => None,
    }
}

/// Text up to the first NUL.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes.split(|byte| *byte == 0).next()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(targets: &[(u64, u64, &str, &str)]) -> DmTable {
        let mut bytes = Vec::new();
        for (start, sectors, kind, words) in targets {
            let length = (40 + words.len() + 1).next_multiple_of(8);
            let mut spec = vec![0; length];
            spec[..8].copy_from_slice(&start.to_le_bytes());
            spec[8..16].copy_from_slice(&sectors.to_le_bytes());
            spec[20..24].copy_from_slice(&((bytes.len() + length) as u32).to_le_bytes());
            spec[24..24 + kind.len()].copy_from_slice(kind.as_bytes());
            spec[40..40 + words.len()].copy_from_slice(words.as_bytes());
            bytes.extend(spec);
        }
        DmTable { segments: targets.len() as u32, bytes }
    }

    #[test]
    fn a_volume_of_two_segments_is_in_two_places() {
        let both = table(&[(0, 8, "linear", "8:1 2048"), (8, 16, "linear", "8:17 0")]);
        let places = segments(&both).expect("linear");
        let place = |s: &Segment| (s.start, s.bytes, s.device.to_string(), s.offset);
        let expected = [(0, 4096, "8:1".into(), 1 << 20), (4096, 8192, "8:17".into(), 0)];
        assert_eq!(places.iter().map(place).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn stripes_share_the_size_and_keep_no_order() {
        let striped = table(&[(0, 32, "striped", "2 16 8:1 0 8:17 64")]);
        let places = segments(&striped).expect("striped");
        let place = |s: &Segment| (s.device_bytes, s.offset, s.order);
        assert_eq!(
            places.iter().map(place).collect::<Vec<_>>(),
            [(8192, 0, Order::Spread), (8192, 32768, Order::Spread)]
        );
    }

    #[test]
    fn an_encrypted_volume_begins_after_its_header() {
        let crypt = table(&[(0, 8, "crypt", "aes-xts-plain64 00 0 8:1 32768 1 allow_discards")]);
        assert_eq!(segments(&crypt).expect("crypt")[0].offset, 16 << 20);
    }

    #[test]
    fn a_thin_volume_has_blocks_of_its_own_in_the_pool() {
        let thin = |words| segments(&table(&[(0, 8, "thin", words)])).expect("thin");
        let orders = |words| thin(words).iter().map(|s| s.order).collect::<Vec<_>>();
        assert_eq!(orders("252:3 7"), [Order::Thin(7)]);
        assert_eq!(orders("252:3 7 252:9"), [Order::Thin(7), Order::Spread]);
        assert_eq!(segments(&table(&[(0, 8, "thin", "252:3")])), None);
    }

    #[test]
    fn other_targets_and_damaged_tables_are_anywhere() {
        assert_eq!(segments(&table(&[(0, 8, "snapshot", "252:3 252:4 P 8")])), None);
        assert_eq!(segments(&table(&[(0, 8, "linear", "8:1")])), None);
        assert_eq!(segments(&DmTable { segments: 1, bytes: vec![0; 20] }), None);
        assert_eq!(segments(&table(&[(0, 8, "zero", "")])), Some(vec![]));
    }
}

//! Partition tables: read from a device, named, checked, planned and written.
//!
//! Tables are read from the device, not from the kernel, which may not have scanned it (loop
//! devices) or may report the state before the last change. As in the kernel, a sector in a boot
//! record is a logical block of the drive. A GPT is also searched for at 512 and 4096 bytes,
//! because a drive written through an adapter with another block size has its table elsewhere.

mod gpt;
mod kind;
mod layout;
mod mbr;
mod write;

use std::fs::File;
use std::io;
use std::path::Path;

use serde::Serialize;

pub use self::kind::PartitionType;
pub use self::layout::{LayoutError, PartitionLayout, PartitionRequest, PlannedPartition};
pub use self::write::{boot_record, bring_into_order};
pub(crate) use self::write::{order, renumber, write};

use crate::image::Image;
use crate::machine::Machine;
use crate::node::Node;
use crate::sys;

/// Type of the MBR entry that covers a drive with a GPT.
const PROTECTIVE: u8 = 0xee;

/// More entries than any tool creates; any further entries are ignored.
const ENTRIES_MAX: u32 = 256;

/// A partition table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartitionTable {
    /// `gpt` or `mbr`.
    pub kind: &'static str,
    /// Partitions in table order.
    pub entries: Vec<PartitionEntry>,
}

/// A partition in a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartitionEntry {
    /// Number, from 1; logical partitions of an MBR from 5.
    pub number: u32,
    /// Offset of the first byte.
    pub start: u64,
    /// Size, bytes.
    pub bytes: u64,
    /// Type in the table.
    #[serde(rename = "type")]
    pub kind: PartitionType,
    /// Name in a GPT.
    pub name: Option<String>,
}

impl PartitionEntry {
    /// Exclusive end, in bytes.
    pub fn end(&self) -> u64 {
        self.start + self.bytes
    }

    /// Whether it begins on a multiple of `unit` bytes.
    pub fn is_aligned(&self, unit: u64) -> bool {
        self.start.is_multiple_of(unit)
    }
}

impl PartitionTable {
    /// Reads the table on the first `bytes` of a device with blocks of `block_bytes`, if any.
    pub(crate) fn read(device: &File, bytes: u64, block_bytes: u32) -> Option<PartitionTable> {
        find(device, bytes, block_bytes, false)
    }

    /// Parses the boot record in the first block of a drive of `bytes` bytes.
    pub fn parse(block: &[u8], bytes: u64) -> Option<PartitionTable> {
        mbr::read(block, bytes, block.len() as u64)
    }

    /// Irregularities of the table, one per line: overlaps, and partitions numbered out of order.
    pub fn oddities(&self) -> Vec<String> {
        let mut by_start: Vec<&PartitionEntry> =
            self.entries.iter().filter(|e| !e.kind.is_extended()).collect();
        by_start.sort_by_key(|e| e.start);
        let mut lines = Vec::new();
        let mut farthest: Option<&PartitionEntry> = None;
        for &entry in &by_start {
            if let Some(before) = farthest.filter(|before| before.end() > entry.start) {
                lines.push(format!("partitions {} and {} overlap", before.number, entry.number));
            }
            farthest = farthest.into_iter().chain([entry]).max_by_key(|e| e.end());
        }
        // The logical partitions of an MBR are numbered along their chain, inside a primary one.
        let numbers = by_start.iter().map(|e| e.number);
        if !numbers.filter(|number| self.kind != "mbr" || *number < 5).is_sorted() {
            lines.push("the partition numbers are not in order of position".into());
        }
        lines
    }
}

/// Makes the kernel reread the table of a device after it was written and closed.
pub fn reread(device: impl AsRef<Path>) -> io::Result<()> {
    sys::block::reread_partitions(&File::open(device)?)
}

/// Whether a device is a partition of another.
pub fn is_partition(device: impl AsRef<Path>) -> bool {
    let node = Node::at_path(&Machine::here(), device.as_ref());
    node.is_some_and(|node| node.partition().is_some())
}

/// Finds the table of an image. With `boot_sector`, sector 0 belongs to a file system, and its
/// signature does not indicate a partition table. As in the kernel, an MBR without a protective
/// entry precedes a GPT, which is then a remnant.
pub(crate) fn find<I: Image + ?Sized>(
    image: &I,
    bytes: u64,
    block_bytes: u32,
    boot_sector: bool,
) -> Option<PartitionTable> {
    let sizes = [u64::from(block_bytes), 512, 4096];
    let gpt = || sizes.into_iter().find_map(|block| gpt::read(image, bytes, block));
    if boot_sector {
        return gpt();
    }
    let mbr = mbr::read(image, bytes, u64::from(block_bytes.clamp(512, 65_536)));
    match mbr {
        Some(mbr) if mbr.entries.iter().all(|e| e.kind != PartitionType::Mbr(PROTECTIVE)) => {
            Some(mbr)
        }
        mbr => gpt().or(mbr),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(sector: &mut [u8], index: usize, kind: u8, first: u32, sectors: u32) {
        let entry = &mut sector[446 + 16 * index..][..16];
        entry[4] = kind;
        entry[8..12].copy_from_slice(&first.to_le_bytes());
        entry[12..16].copy_from_slice(&sectors.to_le_bytes());
        sector[510..512].copy_from_slice(&[0x55, 0xaa]);
    }

    fn places(table: &PartitionTable) -> Vec<(u32, u64, u64)> {
        table.entries.iter().map(|e| (e.number, e.start / 512, e.bytes / 512)).collect()
    }

    #[test]
    fn primary_and_logical_partitions() {
        let mut image = vec![0u8; 512 * 1000];
        record(&mut image[..512], 0, 0x0c, 8, 92);
        record(&mut image[..512], 1, 0x05, 100, 900);
        record(&mut image[100 * 512..][..512], 0, 0x83, 10, 40);
        record(&mut image[100 * 512..][..512], 1, 0x05, 200, 100);
        record(&mut image[300 * 512..][..512], 0, 0x83, 10, 50);
        // Points back to the first record: the chain must end.
        record(&mut image[300 * 512..][..512], 1, 0x05, 0, 100);
        let table = find(image.as_slice(), image.len() as u64, 512, false).expect("signed");
        assert_eq!(table.kind, "mbr");
        assert_eq!(places(&table), [(1, 8, 92), (2, 100, 900), (5, 110, 40), (6, 310, 50)]);
        assert_eq!(find(image.as_slice(), image.len() as u64, 512, true), None);
    }

    fn gpt_image(block: usize) -> Vec<u8> {
        let mut image = vec![0u8; 256 * 4096];
        let header = &mut image[block..][..92];
        header[..8].copy_from_slice(b"EFI PART");
        header[72..80].copy_from_slice(&2u64.to_le_bytes());
        header[80..84].copy_from_slice(&128u32.to_le_bytes());
        header[84..88].copy_from_slice(&128u32.to_le_bytes());
        let entry = &mut image[2 * block + 128..][..128];
        entry[0] = 1;
        entry[32..40].copy_from_slice(&64u64.to_le_bytes());
        entry[40..48].copy_from_slice(&127u64.to_le_bytes());
        entry[56] = b'E';
        entry[58] = b'F';
        entry[60] = b'I';
        image
    }

    #[test]
    fn a_gpt_with_either_block_size() {
        for block in [512, 4096] {
            let image = gpt_image(block);
            let table = find(image.as_slice(), image.len() as u64, 512, false).expect("signed");
            assert_eq!(table.kind, "gpt");
            let entry = PartitionEntry {
                number: 2,
                start: 64 * block as u64,
                bytes: 64 * block as u64,
                kind: PartitionType::Gpt(1 << 96),
                name: Some("EFI".into()),
            };
            assert_eq!(table.entries, [entry]);
        }
    }

    #[test]
    fn the_copy_at_the_end_is_found() {
        let mut image = vec![0u8; 512 * 100];
        image[512 * 99..][..8].copy_from_slice(b"EFI PART");
        let table = find(image.as_slice(), image.len() as u64, 512, false);
        assert_eq!(table, Some(PartitionTable { kind: "gpt", entries: vec![] }));
    }

    /// An image written over a drive with a GPT leaves the copy at the end, or a header.
    #[test]
    fn an_mbr_precedes_the_remnant_of_a_gpt_unless_it_protects_it() {
        for remnant in [512, 512 * 99] {
            let mut image = vec![0u8; 512 * 100];
            image[remnant..][..8].copy_from_slice(b"EFI PART");
            record(&mut image[..512], 0, 0x0c, 8, 20);
            record(&mut image[..512], 1, 0x83, 40, 20);
            let find = |image: &[u8]| find(image, 512 * 100, 512, false).expect("a table");
            let table = find(&image);
            assert_eq!((table.kind, places(&table)), ("mbr", vec![(1, 8, 20), (2, 40, 20)]));
            record(&mut image[..512], 2, PROTECTIVE, 1, 7);
            assert_eq!(find(&image).kind, "gpt", "also beside other entries");
        }
    }

    /// The kernel numbers the records with a partition.
    #[test]
    fn an_extended_record_without_a_partition_has_no_number() {
        let mut image = vec![0u8; 512 * 1000];
        record(&mut image[..512], 0, 0x05, 100, 900);
        record(&mut image[100 * 512..][..512], 1, 0x05, 200, 100);
        record(&mut image[300 * 512..][..512], 0, 0x83, 10, 50);
        let table = find(image.as_slice(), image.len() as u64, 512, false).expect("signed");
        assert_eq!(places(&table), [(1, 100, 900), (5, 310, 50)]);
    }

    #[test]
    fn every_overlap_and_any_number_out_of_order_is_reported() {
        let entry = |number, start, bytes| PartitionEntry {
            number,
            start,
            bytes,
            kind: PartitionType::Gpt(1),
            name: None,
        };
        let oddities = |kind, entries: &[PartitionEntry]| {
            PartitionTable { kind, entries: entries.to_vec() }.oddities()
        };
        let inside = [entry(1, 0, 100), entry(2, 10, 10), entry(3, 30, 10), entry(4, 100, 10)];
        let overlaps = ["partitions 1 and 2 overlap", "partitions 1 and 3 overlap"];
        assert_eq!(oddities("gpt", &inside), overlaps);
        let order = "the partition numbers are not in order of position";
        let high = [entry(6, 0, 10), entry(5, 10, 10)];
        assert_eq!(oddities("gpt", &high), [order]);
        assert_eq!(oddities("mbr", &high), [""; 0], "logical partitions");
        // Around logical partitions.
        let primary = [entry(2, 0, 10), entry(5, 10, 10), entry(1, 20, 10)];
        assert_eq!(oddities("mbr", &primary), [order]);
    }
}

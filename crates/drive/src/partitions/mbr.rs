//! MBR: four entries in the boot record, and a chain of extended records with logical partitions.

use super::kind::PartitionType;
use super::{ENTRIES_MAX, PartitionEntry, PartitionTable};
use crate::image::Image;
use crate::response::u32_at;

/// One of the four entries of a boot record: type, first sector, sectors.
struct Record {
    kind: u8,
    first: u64,
    sectors: u64,
}

impl Record {
    fn is_extended(&self) -> bool {
        PartitionType::Mbr(self.kind).is_extended()
    }
}

/// The four entries, if the sector is a boot record: it has the signature and no impossible entry.
fn records<I: Image + ?Sized>(image: &I, at: u64) -> Option<Vec<Record>> {
    let sector = image.look(at, 512)?;
    let entries = sector[446..510].chunks_exact(16);
    let sane = entries.clone().all(|entry| entry[0] & 0x7f == 0);
    let records = entries.filter_map(|entry| {
        let [first, sectors] = [8, 12].map(|at| u32_at(entry, at).map(u64::from));
        Some(Record { kind: entry[4], first: first?, sectors: sectors? })
    });
    (sane && sector[510..] == [0x55, 0xaa]).then(|| records.collect())
}

/// The table of an image with sectors of `sector` bytes.
pub(super) fn read<I: Image + ?Sized>(
    image: &I,
    bytes: u64,
    sector: u64,
) -> Option<PartitionTable> {
    let primary = records(image, 0)?;
    let mut entries = Vec::new();
    let mut extended = None;
    for (record, number) in primary.iter().zip(1..) {
        if record.kind == 0 || record.sectors == 0 {
            continue;
        }
        entries.extend(entry(record, 0, number, (bytes, sector)));
        extended = extended.or(record.is_extended().then_some(record.first));
    }
    if let Some(first) = extended {
        logical(image, first, (bytes, sector), &mut entries);
    }
    (!entries.is_empty()).then_some(PartitionTable { kind: "mbr", entries })
}

/// Converts a record to a partition of a drive of `(bytes, sector)`.
fn entry(record: &Record, base: u64, number: u32, drive: (u64, u64)) -> Option<PartitionEntry> {
    let (bytes, sector) = drive;
    let start = (base + record.first) * sector;
    // A table made for a larger drive is truncated at the end of this drive.
    let end = (start + record.sectors * sector).min(bytes);
    let kind = PartitionType::Mbr(record.kind);
    let entry =
        PartitionEntry { number, start, bytes: end.saturating_sub(start), kind, name: None };
    (start > 0 && entry.bytes > 0).then_some(entry)
}

/// Number of the first logical partition.
const FIRST_LOGICAL: u32 = 5;

/// Follows the chain of extended boot records. Each contains one partition, relative to the record,
/// and the position of the next record, relative to the first. A chain that goes backwards is
/// broken; it ends there.
fn logical<I: Image + ?Sized>(
    image: &I,
    first: u64,
    drive: (u64, u64),
    entries: &mut Vec<PartitionEntry>,
) {
    let (mut sector, mut number) = (first, FIRST_LOGICAL);
    for _ in FIRST_LOGICAL..ENTRIES_MAX {
        let Some(records) = records(image, sector * drive.1) else { return };
        let mut partitions = records.iter().filter(|r| r.kind != 0 && !r.is_extended());
        if let Some(partition) = partitions.find(|r| r.sectors > 0) {
            entries.extend(entry(partition, sector, number, drive));
            number += 1;
        }
        match records.iter().find(|record| record.is_extended()) {
            Some(next) if first + next.first > sector => sector = first + next.first,
            _ => return,
        }
    }
}

//! Partition tables: GPT (UEFI 2.10, chapter 5) and MBR with its chain of logical partitions.
//!
//! Read from the bytes and not from the kernel, which may not have looked (loop devices), or may
//! show what it found before the last change.

use super::Image;

/// More entries than any tool makes; a table that claims more is read up to here.
const ENTRIES_MAX: u32 = 256;
const SECTOR: u64 = 512;

/// A partition table.
#[derive(Debug, PartialEq)]
pub(super) struct Table {
    /// `gpt` or `mbr`.
    pub kind: &'static str,
    pub entries: Vec<Entry>,
}

/// A partition of a table.
#[derive(Debug, PartialEq)]
pub(super) struct Entry {
    pub number: u32,
    pub start: u64,
    pub bytes: u64,
    pub name: Option<String>,
}

/// The table of an image. `boot_sector` says that sector 0 belongs to a file system, and that its
/// last bytes do not make it a table.
pub(super) fn find<I: Image + ?Sized>(
    image: &I,
    bytes: u64,
    block_bytes: u32,
    boot_sector: bool,
) -> Option<Table> {
    // A drive written behind an adapter with other blocks has its table in another place.
    let sizes = [u64::from(block_bytes), 512, 4096];
    let gpt = sizes.into_iter().find_map(|block| gpt(image, bytes, block));
    gpt.or_else(|| if boot_sector { None } else { mbr(image, bytes) })
}

fn gpt<I: Image + ?Sized>(image: &I, bytes: u64, block: u64) -> Option<Table> {
    let signed = |at| image.look(at, 92).filter(|header| header.starts_with(b"EFI PART"));
    let Some(header) = signed(block) else {
        // The copy in the last block outlives an overwritten start.
        let copy = bytes.checked_sub(block).filter(|_| block > 0).and_then(signed);
        return copy.map(|_| Table { kind: "gpt", entries: Vec::new() });
    };
    let first = u64_at(&header, 72)?.checked_mul(block)?;
    let (count, size) = (u32_at(&header, 80)?.min(ENTRIES_MAX), u32_at(&header, 84)?);
    let plausible = (128..=4096).contains(&size);
    let numbers = 0..if plausible { count } else { 0 };
    let entry = |index: u32| {
        let at = first.checked_add(u64::from(index) * u64::from(size))?;
        gpt_entry(&image.look(at, 128)?, index + 1, block, bytes)
    };
    Some(Table { kind: "gpt", entries: numbers.filter_map(entry).collect() })
}

fn gpt_entry(entry: &[u8], number: u32, block: u64, bytes: u64) -> Option<Entry> {
    if entry[..16].iter().all(|byte| *byte == 0) {
        return None;
    }
    let (first, last) = (u64_at(entry, 32)?, u64_at(entry, 40)?);
    let start = first.checked_mul(block)?;
    let end = last.checked_add(1)?.checked_mul(block)?;
    let units: Vec<u16> = entry[56..]
        .chunks_exact(2)
        .map(|c| u16::from_le_bytes([c[0], c[1]]))
        .take_while(|u| *u != 0)
        .collect();
    let name = String::from_utf16_lossy(&units).trim().to_string();
    let name = (!name.is_empty()).then_some(name);
    (start < end && end <= bytes).then(|| Entry { number, start, bytes: end - start, name })
}

/// One of the four entries of a boot record: type, first sector, sectors.
struct Record {
    kind: u8,
    first: u64,
    sectors: u64,
}

impl Record {
    fn is_extended(&self) -> bool {
        matches!(self.kind, 0x05 | 0x0f | 0x85)
    }
}

/// The four entries, if the sector is a boot record: signed, and no entry that cannot be one.
fn records<I: Image + ?Sized>(image: &I, at: u64) -> Option<Vec<Record>> {
    let sector = image.look(at, 512)?;
    let entries = sector[446..510].chunks_exact(16);
    let sane = entries.clone().all(|entry| entry[0] & 0x7f == 0);
    let read = |entry: &[u8]| {
        let number = |at| u32_at(entry, at).map(u64::from);
        Some(Record { kind: entry[4], first: number(8)?, sectors: number(12)? })
    };
    (sane && sector[510..] == [0x55, 0xaa]).then(|| entries.filter_map(read).collect())
}

fn mbr<I: Image + ?Sized>(image: &I, bytes: u64) -> Option<Table> {
    let primary = records(image, 0)?;
    let mut entries = Vec::new();
    let mut extended = None;
    for (record, number) in primary.iter().zip(1..) {
        if record.kind == 0 || record.sectors == 0 {
            continue;
        }
        entries.extend(entry(record, 0, number, bytes));
        extended = extended.or(record.is_extended().then_some(record.first));
    }
    if let Some(first) = extended {
        logical(image, first, bytes, &mut entries);
    }
    (!entries.is_empty()).then_some(Table { kind: "mbr", entries })
}

fn entry(record: &Record, base: u64, number: u32, bytes: u64) -> Option<Entry> {
    let start = (base + record.first) * SECTOR;
    // A table made for a larger drive counts as far as this one goes.
    let end = (start + record.sectors * SECTOR).min(bytes);
    (start > 0 && start < end).then(|| Entry { number, start, bytes: end - start, name: None })
}

/// The chain of extended boot records: each holds one partition, relative to itself, and the place
/// of the next, relative to the first. A chain that goes back is broken, and ends.
fn logical<I: Image + ?Sized>(image: &I, first: u64, bytes: u64, entries: &mut Vec<Entry>) {
    let mut at = first;
    for number in 5..ENTRIES_MAX {
        let Some(records) = records(image, at * SECTOR) else { return };
        let partition = records.iter().find(|r| r.kind != 0 && !r.is_extended());
        entries.extend(partition.and_then(|record| entry(record, at, number, bytes)));
        match records.iter().find(|record| record.is_extended()) {
            Some(next) if first + next.first > at => at = first + next.first,
            _ => return,
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
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

    fn places(table: &Table) -> Vec<(u32, u64, u64)> {
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
        // Back to the first: must end.
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
    fn a_gpt_of_either_block_size() {
        for block in [512, 4096] {
            let image = gpt_image(block);
            let table = find(image.as_slice(), image.len() as u64, 512, false).expect("signed");
            assert_eq!(table.kind, "gpt");
            let entry = Entry {
                number: 2,
                start: 64 * block as u64,
                bytes: 64 * block as u64,
                name: Some("EFI".into()),
            };
            assert_eq!(table.entries, [entry]);
        }
    }

    #[test]
    fn the_copy_at_the_end_is_seen() {
        let mut image = vec![0u8; 512 * 100];
        image[512 * 99..][..8].copy_from_slice(b"EFI PART");
        let table = find(image.as_slice(), image.len() as u64, 512, false);
        assert_eq!(table, Some(Table { kind: "gpt", entries: vec![] }));
    }
}

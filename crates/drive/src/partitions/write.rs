//! Writes an MBR and removes traces of earlier contents.
//!
//! Signatures outlive tables: a GPT has a copy at the end of the drive, and an old file system at
//! the start or the end of a new partition would be recognised as its content. Therefore the first
//! and the last MiB of the drive and of each partition are zeroed, and the table is written last: a
//! power cut before that leaves a blank drive.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::{PROTECTIVE, PartitionType, PlannedPartition};
use crate::response::u32_at;

/// Bytes zeroed at each end: the farthest signatures from an end, ZFS labels, are within 768 KiB.
const WIPED: u64 = 1 << 20;

/// The geometry used by BIOSes and partitioning tools.
const HEADS: u64 = 255;
const SECTORS: u64 = 63;

/// Writes a table of `places` to a drive of `bytes` with sectors of `sector` bytes, durably.
/// `signature` identifies the disk to operating systems; 0: none.
pub(crate) fn write(
    drive: &File,
    (bytes, sector): (u64, u32),
    places: &[PlannedPartition],
    signature: u32,
) -> io::Result<()> {
    let zeros = vec![0; WIPED as usize];
    let ranges = places.iter().map(|place| (place.start, place.start + place.bytes));
    for (start, end) in std::iter::once((0, bytes)).chain(ranges) {
        for at in [start, end.saturating_sub(WIPED).max(start)] {
            let length = WIPED.min(bytes - at) as usize;
            drive.write_all_at(&zeros[..length], at)?;
        }
    }
    drive.sync_data()?;
    drive.write_all_at(&boot_record(places, sector, signature), 0)?;
    drive.sync_data()
}

/// Renumbers the partitions of an MBR in their order on the drive, durably; returns their old
/// numbers in the new order. Only the positions of the entries in the table change. `None` if the
/// order is already right or there is no table to change.
pub(crate) fn renumber(drive: &File, sector: u32) -> io::Result<Option<Vec<u32>>> {
    let mut block = vec![0; sector.max(512) as usize];
    drive.read_exact_at(&mut block, 0)?;
    let Some(order) = bring_into_order(&mut block) else { return Ok(None) };
    drive.write_all_at(&block, 0)?;
    drive.sync_data()?;
    Ok(Some(order))
}

/// The old numbers of the entries in the order of the drive, as [`renumber`] would return them.
pub(crate) fn order(drive: &File, sector: u32) -> io::Result<Option<Vec<u32>>> {
    let mut block = vec![0; sector.max(512) as usize];
    drive.read_exact_at(&mut block, 0)?;
    Ok(bring_into_order(&mut block))
}

/// Sorts the four entries of a boot record by their first sector, with unused entries last; returns
/// the old numbers of the used ones. `None` if they were in order, if the block is no boot record,
/// or if it is the protective record of a GPT, whose numbers are elsewhere.
pub fn bring_into_order(block: &mut [u8]) -> Option<Vec<u32>> {
    if block[510..512] != [0x55, 0xaa] {
        return None;
    }
    let mut entries: Vec<(u32, Vec<u8>)> =
        (1..).zip(block[446..510].chunks_exact(16).map(<[u8]>::to_vec)).collect();
    if entries.iter().any(|(_, entry)| entry[4] == PROTECTIVE || entry[0] & 0x7f != 0) {
        return None;
    }
    entries.sort_by_key(|(_, entry)| (!is_used(entry), u32_at(entry, 8).unwrap_or(0)));
    let partitions = entries.iter().filter(|(_, entry)| is_used(entry));
    let order: Vec<u32> = partitions.map(|(number, _)| *number).collect();
    for ((_, entry), place) in entries.iter().zip(block[446..510].chunks_exact_mut(16)) {
        place.copy_from_slice(entry);
    }
    (!order.iter().copied().eq(1..=order.len() as u32)).then_some(order)
}

fn is_used(entry: &[u8]) -> bool {
    entry[4] != 0 && u32_at(entry, 12).unwrap_or(0) > 0
}

/// The boot record in a block of the drive, without boot code. The order of `places` is that of the
/// table.
pub fn boot_record(places: &[PlannedPartition], sector: u32, signature: u32) -> Vec<u8> {
    let mut block = vec![0; sector.max(512) as usize];
    block[440..444].copy_from_slice(&signature.to_le_bytes());
    for (place, entry) in places.iter().zip(block[446..510].chunks_exact_mut(16)) {
        let (first, count) = (place.start / u64::from(sector), place.bytes / u64::from(sector));
        entry[1..4].copy_from_slice(&cylinder_head_sector(first));
        if let PartitionType::Mbr(code) = place.kind {
            entry[4] = code;
        }
        entry[5..8].copy_from_slice(&cylinder_head_sector(first + count - 1));
        entry[8..12].copy_from_slice(&(first as u32).to_le_bytes());
        entry[12..16].copy_from_slice(&(count as u32).to_le_bytes());
    }
    block[510..512].copy_from_slice(&[0x55, 0xaa]);
    block
}

/// The CHS address of a sector; beyond cylinder 1023, the highest address.
fn cylinder_head_sector(at: u64) -> [u8; 3] {
    let (cylinder, rest) = (at / (HEADS * SECTORS), at % (HEADS * SECTORS));
    if cylinder > 1023 {
        return [0xfe, 0xff, 0xff];
    }
    let (head, sector) = (rest / SECTORS, rest % SECTORS + 1);
    [head as u8, (sector | (cylinder >> 2 & 0xc0)) as u8, cylinder as u8]
}

#[cfg(test)]
mod tests {
    use super::super::{PartitionLayout, find};
    use super::*;

    #[test]
    fn a_written_table_is_read_back() {
        for sector in [512u32, 4096] {
            let drive = tempfile::tempfile().expect("a file");
            let bytes = (2 << 30) + 4096;
            drive.set_len(bytes).expect("sparse");
            // An old GPT and an old file system, which must not reappear.
            drive.write_all_at(b"EFI PART", u64::from(sector)).expect("written");
            drive.write_all_at(b"EFI PART", bytes - u64::from(sector)).expect("written");
            drive.write_all_at(&[0x53, 0xef], (1 << 20) + 1080).expect("written");
            let layout =
                PartitionLayout::parse("loader,filecore=300M,fat32=600M,ext4").expect("words");
            let places = layout.plan(bytes, sector).expect("it fits");
            // The superblock of a member of md with metadata 1.0, 8 KiB before its end.
            let ends: Vec<u64> = places.iter().map(|p| p.start + p.bytes).collect();
            for end in &ends {
                drive.write_all_at(&[0xfc, 0x4e, 0x2b, 0xa9, 1], end - 8192).expect("written");
            }
            write(&drive, (bytes, sector), &places, 0x1234_5678).expect("written");
            for end in &ends {
                let mut last = vec![1; WIPED as usize];
                drive.read_exact_at(&mut last, end - WIPED).expect("read");
                assert!(last.iter().all(|byte| *byte == 0), "the end at {end}");
            }
            let table = find(&drive, bytes, sector, false).expect("a table");
            assert_eq!(table.kind, "mbr");
            let read: Vec<_> =
                table.entries.iter().map(|e| (e.number, e.start, e.bytes, e.kind)).collect();
            let planned: Vec<_> =
                places.iter().map(|p| (p.number, p.start, p.bytes, p.kind)).collect();
            assert_eq!(read, planned);
            assert_eq!(table.oddities(), Vec::<String>::new());
            assert!(crate::contents::part(&drive, places[0].start, places[0].bytes).is_empty());
        }
    }

    #[test]
    fn partitions_are_renumbered_in_the_order_of_the_drive_and_keep_their_entries() {
        let drive = tempfile::tempfile().expect("a file");
        let bytes = 2 << 30;
        drive.set_len(bytes).expect("sparse");
        let layout = PartitionLayout::parse("loader,filecore=300M,fat32=600M,ext4").expect("words");
        let mut places = layout.plan(bytes, 512).expect("it fits");
        // The state after a deletion by a partitioning tool: last number first, one unused.
        places.remove(1);
        places.rotate_right(1);
        write(&drive, (bytes, 512), &places, 1).expect("written");
        let table = || find(&drive, bytes, 512, false).expect("a table");
        assert_eq!(table().oddities().len(), 1, "{:?}", table().oddities());
        let mut sorted: Vec<_> = places.iter().map(|p| (p.start, p.bytes, p.kind)).collect();
        sorted.sort_by_key(|place| place.0);
        assert_eq!(order(&drive, 512).expect("read"), Some(vec![2, 3, 1]));
        assert_eq!(renumber(&drive, 512).expect("written"), Some(vec![2, 3, 1]));
        let read: Vec<_> = table().entries.iter().map(|e| (e.start, e.bytes, e.kind)).collect();
        assert_eq!((read, table().oddities()), (sorted, Vec::<String>::new()));
        assert_eq!(renumber(&drive, 512).expect("read"), None, "already in order");
        drive.write_all_at(&[0xee], 446 + 4).expect("written");
        drive.write_all_at(&[0xff; 4], 446 + 8).expect("written");
        assert_eq!(renumber(&drive, 512).expect("read"), None, "a GPT is ignored");
    }

    #[test]
    fn chs_addresses() {
        assert_eq!(cylinder_head_sector(2048), [32, 33, 0]);
        assert_eq!(cylinder_head_sector(u64::MAX >> 20), [0xfe, 0xff, 0xff]);
    }
}

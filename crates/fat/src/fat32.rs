//! On-disk structures of FAT32: boot sector, FSInfo, FAT entries and directory entries.

use crate::bytes::{put, put_u16, put_u32, u16_at, u32_at};
use crate::layout::VolumeLayout;
use crate::name::Name;

/// The end of a chain.
pub(crate) const LAST: u32 = 0x0fff_ffff;

/// Minimum number of sectors before the first FAT, and the sectors of FSInfo and of the backup
/// copies.
pub(crate) const RESERVED: u64 = 32;
pub(crate) const INFO_SECTOR: u64 = 1;
pub(crate) const BACKUP_SECTOR: u64 = 6;

/// The byte of the boot sector with the dirty bit, its lowest.
pub(crate) const DIRTY_AT: usize = 65;

/// Attributes.
pub(crate) const VOLUME: u8 = 0x08;
pub(crate) const DIRECTORY: u8 = 0x10;
pub(crate) const ARCHIVE: u8 = 0x20;
pub(crate) const LONG_NAME: u8 = 0x0f;
/// The first byte of a deleted entry.
pub(crate) const DELETED: u8 = 0xe5;

/// Value of an unknown hint, and offsets of the hints: free clusters, next free cluster.
pub(crate) const UNKNOWN: u32 = u32::MAX;
pub(crate) const FREE_AT: usize = 488;
pub(crate) const NEXT_AT: usize = 492;

/// The boot sector.
pub(crate) fn boot_sector(
    layout: &VolumeLayout,
    serial: u32,
    offset: u64,
    label: &str,
    out: &mut [u8],
) {
    out.fill(0);
    put(out, 0, &[0xeb, 0x58, 0x90]);
    put(out, 3, b"SSDYNO  ");
    put_u16(out, 11, layout.sector_bytes as u16);
    out[13] = (layout.cluster_bytes / layout.sector_bytes) as u8;
    put_u16(out, 14, layout.fat_sector as u16);
    out[16] = layout.fats as u8;
    out[21] = 0xf8;
    // The geometry that partitioning tools commonly use.
    put_u16(out, 24, 63);
    put_u16(out, 26, 255);
    put_u32(out, 28, offset.min(u64::from(u32::MAX)) as u32);
    put_u32(out, 32, layout.sectors as u32);
    put_u32(out, 36, layout.fat_sectors as u32);
    put_u32(out, 44, layout.root_cluster);
    put_u16(out, 48, INFO_SECTOR as u16);
    put_u16(out, 50, BACKUP_SECTOR as u16);
    (out[64], out[66]) = (0x80, 0x29);
    put_u32(out, 67, serial);
    put(out, 71, &padded(label));
    put(out, 82, b"FAT32   ");
    put_u16(out, 510, 0xaa55);
}

/// The FSInfo sector with its hints.
pub(crate) fn info_sector(free: u32, next: u32, out: &mut [u8]) {
    out.fill(0);
    put_u32(out, 0, 0x4161_5252);
    put_u32(out, 484, 0x6141_7272);
    put_u32(out, FREE_AT, free);
    put_u32(out, NEXT_AT, next);
    put_u32(out, 508, 0xaa55_0000);
}

/// Number of free clusters according to FSInfo, if the sector is valid.
pub(crate) fn info_free(sector: &[u8]) -> Option<u32> {
    let signed = u32_at(sector, 0) == 0x4161_5252 && u32_at(sector, 484) == 0x6141_7272;
    signed.then(|| u32_at(sector, FREE_AT))
}

/// The entry of a label.
pub(crate) fn label_entry(label: &str) -> [u8; 32] {
    let mut entry = [0; 32];
    put(&mut entry, 0, &padded(label));
    entry[11] = VOLUME;
    entry
}

/// The entry of a file.
pub(crate) fn file_entry(name: &Name, first: u32, bytes: u32, time: u32) -> [u8; 32] {
    let mut entry = [0; 32];
    put(&mut entry, 0, name.padded());
    entry[11] = ARCHIVE;
    let (clock, date) = (time as u16, (time >> 16) as u16);
    for (at, value) in [(14, clock), (16, date), (18, date), (22, clock), (24, date)] {
        put_u16(&mut entry, at, value);
    }
    put_u16(&mut entry, 20, (first >> 16) as u16);
    put_u16(&mut entry, 26, first as u16);
    put_u32(&mut entry, 28, bytes);
    entry
}

/// First cluster and size of an entry.
pub(crate) fn place(entry: &[u8]) -> (u32, u32) {
    (u32::from(u16_at(entry, 20)) << 16 | u32::from(u16_at(entry, 26)), u32_at(entry, 28))
}

fn padded(label: &str) -> [u8; 11] {
    let mut padded = [b' '; 11];
    for (to, byte) in padded.iter_mut().zip(label.bytes()) {
        *to = byte.to_ascii_uppercase();
    }
    padded
}

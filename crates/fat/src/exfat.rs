//! On-disk structures of exFAT: boot region, checksums and entry sets. Section numbers refer to the
//! exFAT specification.

use crate::bytes::{put, put_u16, put_u32, put_u64, u16_at, u32_at, u64_at};
use crate::layout::{FIRST_CLUSTER, VolumeLayout};
use crate::name::Name;

/// Size in bytes of a directory entry, and of the entry set of a recording.
pub(crate) const ENTRY: usize = 32;
pub(crate) const SET: usize = 3 * ENTRY;

/// Entry types (section 6.2.1).
pub(crate) const BITMAP: u8 = 0x81;
pub(crate) const UPCASE: u8 = 0x82;
pub(crate) const LABEL: u8 = 0x83;
pub(crate) const FILE: u8 = 0x85;
pub(crate) const STREAM: u8 = 0xc0;
pub(crate) const NAME: u8 = 0xc1;
/// The bit of an entry type that marks the entry as in use.
pub(crate) const IN_USE: u8 = 0x80;
/// Entry type of the end of a directory.
pub(crate) const END: u8 = 0;

/// Flags of a stream extension (section 7.6.2).
pub(crate) const ALLOCATED: u8 = 1;
pub(crate) const NO_CHAIN: u8 = 2;

/// File attributes (section 7.4.4).
pub(crate) const DIRECTORY: u16 = 0x10;
const ARCHIVE: u16 = 0x20;

/// Volume flags (section 3.1.13): not cleanly unmounted; the drive reported errors.
pub(crate) const DIRTY: u16 = 2;
pub(crate) const MEDIA_FAILED: u16 = 4;
pub(crate) const FLAGS_AT: usize = 106;
pub(crate) const PERCENT_AT: usize = 112;

/// Number of sectors in a boot region, and index of the last, which contains the checksum.
pub(crate) const BOOT_SECTORS: u64 = 12;
pub(crate) const CHECKSUM_SECTOR: u64 = 11;

/// The up-case table, which maps only the letters a to z: 60 bytes in the compressed form of
/// section 7.2.5 (FFFFh and a count: that many characters map to themselves).
pub(crate) fn upcase_table() -> [u8; 60] {
    let mut table = [0; 60];
    put_u16(&mut table, 0, 0xffff);
    put_u16(&mut table, 2, u16::from(b'a'));
    for i in 0..26 {
        put_u16(&mut table, 4 + 2 * usize::from(i), u16::from(b'A') + i);
    }
    put_u16(&mut table, 56, 0xffff);
    put_u16(&mut table, 58, (0x1_0000u32 - u32::from(b'z') - 1) as u16);
    table
}

/// The rotating sum of sections 3.4 and 7.2.2.
pub(crate) fn checksum32(sum: u32, bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(sum, |sum, byte| sum.rotate_right(1).wrapping_add(u32::from(byte)))
}

/// The rotating sum of sections 6.3.3 and 7.6.4.
pub(crate) fn checksum16(sum: u16, bytes: impl Iterator<Item = u8>) -> u16 {
    bytes.fold(sum, |sum, byte| sum.rotate_right(1).wrapping_add(u16::from(byte)))
}

/// Adds a sector of the boot region to its checksum, which excludes the flags and the percentage.
pub(crate) fn boot_sum(sum: u32, number: u64, sector: &[u8]) -> u32 {
    let counted = sector.iter().enumerate();
    let counted = counted.filter(|(at, _)| number != 0 || !matches!(at, 106 | 107 | 112));
    checksum32(sum, counted.map(|(_, byte)| *byte))
}

/// Builds sector `number` of the boot region, except the checksum sector.
pub(crate) fn boot_sector(
    layout: &VolumeLayout,
    number: u64,
    serial: u32,
    offset: u64,
    out: &mut [u8],
) {
    out.fill(0);
    let size = out.len();
    match number {
        0 => {
            put(out, 0, &[0xeb, 0x76, 0x90]);
            put(out, 3, b"EXFAT   ");
            put_u64(out, 64, offset);
            put_u64(out, 72, layout.sectors);
            put_u32(out, 80, layout.fat_sector as u32);
            put_u32(out, 84, layout.fat_sectors as u32);
            put_u32(out, 88, layout.heap_sector as u32);
            put_u32(out, 92, layout.clusters);
            put_u32(out, 96, layout.root_cluster);
            put_u32(out, 100, serial);
            put_u16(out, 104, 0x0100);
            out[108] = layout.sector_bytes.trailing_zeros() as u8;
            out[109] = (layout.cluster_bytes / layout.sector_bytes).trailing_zeros() as u8;
            (out[110], out[111], out[PERCENT_AT]) = (1, 0x80, 0xff);
            out[120..510].fill(0xf4);
            put_u16(out, 510, 0xaa55);
        }
        1..=8 => put_u32(out, size - 4, 0xaa55_0000),
        _ => {}
    }
}

/// The first three entries of the root directory. The label comes first, where some readers expect
/// it.
pub(crate) fn root_entries(label: &str, bitmap: (u32, u64), upcase: u32) -> [u8; SET] {
    let mut set = [0; SET];
    set[0] = LABEL;
    for (i, unit) in label.encode_utf16().take(11).enumerate() {
        put_u16(&mut set, 2 + 2 * i, unit);
        set[1] = i as u8 + 1;
    }
    set[ENTRY] = BITMAP;
    put_u32(&mut set, ENTRY + 20, bitmap.0);
    put_u64(&mut set, ENTRY + 24, bitmap.1);
    let table = upcase_table();
    set[2 * ENTRY] = UPCASE;
    put_u32(&mut set, 2 * ENTRY + 4, checksum32(0, table.into_iter()));
    put_u32(&mut set, 2 * ENTRY + 20, upcase);
    put_u64(&mut set, 2 * ENTRY + 24, table.len() as u64);
    set
}

/// The entry set of a contiguous file: name, first cluster, bytes with content, size, and the time
/// for all three timestamps.
pub(crate) fn file_set(name: &Name, first: u32, valid: u64, bytes: u64, time: u32) -> [u8; SET] {
    let mut set = [0; SET];
    let (characters, length) = name.dotted();
    (set[0], set[1]) = (FILE, 2);
    put_u16(&mut set, 4, ARCHIVE);
    for at in [8, 12, 16] {
        put_u32(&mut set, at, time);
    }
    // A valid UTC offset of 0.
    set[22..25].fill(0x80);
    set[ENTRY] = STREAM;
    set[ENTRY + 1] = ALLOCATED | NO_CHAIN;
    set[ENTRY + 3] = length as u8;
    put_u32(&mut set, ENTRY + 20, first);
    put_u64(&mut set, ENTRY + 24, bytes);
    put_u64(&mut set, ENTRY + 8, valid);
    set[2 * ENTRY] = NAME;
    for (i, byte) in characters[..length].iter().enumerate() {
        put_u16(&mut set, 2 * ENTRY + 2 + 2 * i, u16::from(*byte));
    }
    put_u16(&mut set, ENTRY + 4, name_hash(name));
    seal(&mut set);
    set
}

/// The hash of a name (section 7.6.4), which needs no up-casing here.
pub(crate) fn name_hash(name: &Name) -> u16 {
    let (characters, length) = name.dotted();
    checksum16(0, characters[..length].iter().flat_map(|byte| [*byte, 0]))
}

/// Sets the checksum of an entry set.
pub(crate) fn seal(set: &mut [u8]) {
    let sum = set_sum(set);
    put_u16(set, 2, sum);
}

/// The checksum of an entry set, which excludes its own field.
pub(crate) fn set_sum(set: &[u8]) -> u16 {
    let counted = set.iter().enumerate().filter(|(at, _)| !matches!(at, 2 | 3));
    checksum16(0, counted.map(|(_, byte)| *byte))
}

/// The stream extension of a set: flags, first cluster, bytes with content, size.
pub(crate) fn stream(entry: &[u8]) -> (u8, u32, u64, u64) {
    let flags = entry.get(1).copied().unwrap_or(0);
    (flags, u32_at(entry, 20), u64_at(entry, 8), u64_at(entry, 24))
}

/// The attributes of a file entry.
pub(crate) fn attributes(entry: &[u8]) -> u16 {
    u16_at(entry, 4)
}

/// The byte and the mask of a cluster's bit in the bitmap.
pub(crate) fn bit(cluster: u32) -> (u64, u8) {
    let bit = u64::from(cluster.saturating_sub(FIRST_CLUSTER));
    (bit / 8, 1 << (bit % 8))
}

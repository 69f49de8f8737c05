//! Magic numbers of drive contents.
//!
//! Most are bytes at a fixed position, listed in [`MAGICS`]; the others have a function each.
//! Sources: the on-disk documentation of each file system (Linux Documentation/filesystems, xfs and
//! btrfs on-disk formats, the exFAT and FAT specifications, UEFI, md(4), LUKS 1 and 2).

use super::{DeviceContent, Image};
use crate::response::u32_at;

/// Bytes that identify a kind, and the position of its label (length 0: none).
struct Magic {
    kind: &'static str,
    at: u64,
    bytes: &'static [u8],
    label: (u64, usize),
}

const fn magic(kind: &'static str, at: u64, bytes: &'static [u8]) -> Magic {
    Magic { kind, at, bytes, label: (0, 0) }
}

const BCACHE: &[u8] = b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81";
const BCACHEFS: &[u8] = b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef";

const MAGICS: &[Magic] = &[
    Magic { label: (108, 12), ..magic("xfs", 0, b"XFSB") },
    Magic { label: (0x1_012b, 256), ..magic("btrfs", 0x1_0040, b"_BHRfS_M") },
    magic("ntfs", 3, b"NTFS    "),
    magic("BitLocker", 3, b"-FVE-FS-"),
    magic("crypto_LUKS", 0, b"LUKS\xba\xbe"),
    magic("bcache", 4096 + 24, BCACHE),
    magic("bcachefs", 4096 + 24, BCACHEFS),
    Magic { label: (32808, 32), ..magic("iso9660", 32769, b"CD001") },
    magic("squashfs", 0, b"hsqs"),
    magic("f2fs", 1024, b"\x10\x20\xf5\xf2"),
    magic("erofs", 1024, b"\xe2\xe1\xf5\xe0"),
    magic("apfs", 32, b"NXSB"),
    magic("hfsplus", 1024, b"H+\0\x04"),
    magic("hfsplus", 1024, b"HX\0\x05"),
];

/// Everything recognised in the first `bytes` of an image, except partition tables.
pub(super) fn find<I: Image + ?Sized>(image: &I, bytes: u64) -> Vec<DeviceContent> {
    let fixed = MAGICS.iter().filter(|magic| is_at(image, magic.at, magic.bytes));
    let mut contents: Vec<DeviceContent> =
        fixed.map(|magic| DeviceContent::new(magic.kind, label(image, magic.label))).collect();
    let superblocks = [ext(image), fat(image), exfat(image), swap(image), lvm(image), zfs(image)];
    contents.extend(superblocks.into_iter().chain([raid(image, bytes), filecore(image)]).flatten());
    contents
}

fn is_at<I: Image + ?Sized>(image: &I, at: u64, magic: &[u8]) -> bool {
    image.look(at, magic.len()).is_some_and(|bytes| bytes == magic)
}

/// Text up to the first NUL, trimmed.
fn label<I: Image + ?Sized>(image: &I, (at, length): (u64, usize)) -> Option<String> {
    let bytes = image.look(at, length)?;
    let text = bytes.split(|byte| *byte == 0).next()?;
    let text = String::from_utf8_lossy(text).trim().to_string();
    (!text.is_empty()).then_some(text)
}

/// ext2, 3 and 4 share a magic number; their feature flags distinguish them.
fn ext<I: Image + ?Sized>(image: &I) -> Option<DeviceContent> {
    let superblock = image.look(1024, 1024)?;
    if superblock.get(0x38..0x3a)? != b"\x53\xef" {
        return None;
    }
    let [compatible, incompatible, read_only] =
        [u32_at(&superblock, 0x5c)?, u32_at(&superblock, 0x60)?, u32_at(&superblock, 0x64)?];
    // Extents, 64 bit, flexible groups and later; huge files, checksums, large directories and
    // later.
    let is_ext4 = incompatible & !0x1f != 0 || read_only & !0x07 != 0;
    let kind = if incompatible & 0x08 != 0 {
        "jbd"
    } else if is_ext4 {
        "ext4"
    } else if compatible & 0x04 != 0 {
        "ext3"
    } else {
        "ext2"
    };
    Some(DeviceContent::new(kind, label(image, (1024 + 0x78, 16))))
}

fn fat<I: Image + ?Sized>(image: &I) -> Option<DeviceContent> {
    let sector = image.look(0, 512)?;
    let has_text = |at: usize, text: &[u8]| sector.get(at..at + text.len()) == Some(text);
    let label_at = if has_text(0x52, b"FAT32   ") {
        0x47
    } else if [b"FAT16   ", b"FAT12   ", b"FAT     "].iter().any(|text| has_text(0x36, *text)) {
        0x2b
    } else {
        return None;
    };
    let name = label(image, (label_at, 11)).filter(|label| label != "NO NAME");
    has_text(510, b"\x55\xaa").then(|| DeviceContent::new("vfat", name))
}

fn exfat<I: Image + ?Sized>(image: &I) -> Option<DeviceContent> {
    is_at(image, 3, b"EXFAT   ").then(|| DeviceContent::new("exfat", exfat_label(image)))
}

/// The label of exFAT is an entry of type 0x83 in the root directory, usually the first: a
/// character count, then the characters in UTF-16 (exFAT specification, 3.1 and 7.3). The first 4
/// KiB are searched.
fn exfat_label<I: Image + ?Sized>(image: &I) -> Option<String> {
    let sector = image.look(0, 512)?;
    let (heap, root) = (u32_at(&sector, 88)?, u32_at(&sector, 96)?);
    let (sector_bits, cluster_bits) = (u32::from(sector[108]), u32::from(sector[109]));
    if !(9..=12).contains(&sector_bits) || sector_bits + cluster_bits > 25 {
        return None;
    }
    let clusters = u64::from(root.checked_sub(2)?) << cluster_bits;
    let entries = image.look((u64::from(heap) + clusters) << sector_bits, 4096)?;
    let mut entries = entries.chunks(32).take_while(|entry| entry[0] != 0);
    let entry = entries.find(|entry| entry[0] == 0x83)?;
    let units = entry[2..24].chunks(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
    let text: Vec<u16> = units.take(usize::from(entry[1])).collect();
    let text = String::from_utf16_lossy(&text);
    let text = text.trim_matches(['\0', ' ']).to_string();
    (!text.is_empty()).then_some(text)
}

/// Swap ends its first page with its magic number, so the position depends on the machine's page
/// size.
fn swap<I: Image + ?Sized>(image: &I) -> Option<DeviceContent> {
    let magics: [&[u8]; 2] = [b"SWAPSPACE2", b"SWAP-SPACE"];
    let pages = [4u64, 8, 16, 32, 64].map(|kib| (kib << 10) - 10);
    pages
        .iter()
        .any(|at| magics.iter().any(|magic| is_at(image, *at, magic)))
        .then(|| DeviceContent::new("swap", label(image, (1052, 16))))
}

/// The label of a physical volume is in one of the first four sectors.
fn lvm<I: Image + ?Sized>(image: &I) -> Option<DeviceContent> {
    let sectors = image.look(0, 4 * 512)?;
    sectors
        .chunks(512)
        .any(|s| s.starts_with(b"LABELONE") && &s[24..32] == b"LVM2 001")
        .then(|| DeviceContent::new("LVM2_member", None))
}

/// md: version 1.1 at the start, 1.2 after 4 KiB, 1.0 and 0.90 near the end.
fn raid<I: Image + ?Sized>(image: &I, bytes: u64) -> Option<DeviceContent> {
    let sectors = bytes / 512;
    let version_1_0 = (sectors.saturating_sub(16) & !7) * 512;
    let version_0_90 = (bytes & !0xffff).saturating_sub(0x1_0000);
    let magic = 0xa92b_4efc_u32.to_le_bytes();
    let places = [0, 4096, version_1_0, version_0_90];
    let place = places.into_iter().find(|at| is_at(image, *at, &magic))?;
    let name =
        (place != version_0_90).then(|| label(image, (place.checked_add(32)?, 32))).flatten();
    Some(DeviceContent::new("linux_raid_member", name))
}

/// The uberblocks of the first ZFS label: magic number, then version, in the writer's byte order.
fn zfs<I: Image + ?Sized>(image: &I) -> Option<DeviceContent> {
    let ring = image.look(128 << 10, 128 << 10)?;
    let is_zfs = ring.chunks(1024).any(|block| {
        let magic = 0x00ba_b10c_u64;
        block[..8] == magic.to_le_bytes() || block[..8] == magic.to_be_bytes()
    });
    is_zfs.then(|| DeviceContent::new("zfs_member", None))
}

/// FileCore, the file system of RISC OS: a boot block at 0xC00 whose last byte is the sum of the
/// others with end-around carry, and a sector size of 256 to 4096 bytes in its disc record.
fn filecore<I: Image + ?Sized>(image: &I) -> Option<DeviceContent> {
    let block = image.look(0xc00, 512)?;
    let (sum, body) = block.split_last()?;
    let checksum =
        body.iter().rev().fold(0u32, |sum, byte| (sum & 0xff) + (sum >> 8) + u32::from(*byte));
    let sector_bits = block[0x1c0];
    let plausible = (8..=12).contains(&sector_bits) && block[0x1c1] > 0;
    (plausible && checksum & 0xff == u32::from(*sum)).then(|| DeviceContent::new("filecore", None))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Marks<'a> = &'a [(usize, &'a [u8])];

    fn found_in(marks: Marks) -> Vec<String> {
        let mut image = vec![0u8; 512 << 10];
        for (at, bytes) in marks {
            image[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        let found = find(image.as_slice(), image.len() as u64);
        found.into_iter().map(|f| f.kind + f.label.as_deref().unwrap_or("")).collect()
    }

    #[test]
    fn kinds_are_recognised_by_their_magic() {
        let extents = [0x40, 0, 0, 0];
        let table: [(&str, Marks); 14] = [
            ("ext2root", &[(0x438, b"\x53\xef"), (0x478, b"root")]),
            ("ext3", &[(0x438, b"\x53\xef"), (0x45c, &[4])]),
            ("ext4", &[(0x438, b"\x53\xef"), (0x45c, &[4]), (0x460, &extents)]),
            ("xfsdata", &[(0, b"XFSB"), (108, b"data")]),
            ("btrfs", &[(0x10040, b"_BHRfS_M")]),
            ("vfatCARD", &[(0x52, b"FAT32   "), (0x47, b"CARD       "), (510, b"\x55\xaa")]),
            ("exfat", &[(3, b"EXFAT   ")]),
            ("swap", &[(4086, b"SWAPSPACE2")]),
            ("swap", &[(65526, b"SWAPSPACE2")]),
            ("LVM2_member", &[(512, b"LABELONE"), (536, b"LVM2 001")]),
            ("linux_raid_memberbox:0", &[(4096, b"\xfc\x4e\x2b\xa9"), (4128, b"box:0")]),
            ("linux_raid_member", &[((448 << 10), b"\xfc\x4e\x2b\xa9")]),
            ("zfs_member", &[((132 << 10), b"\x0c\xb1\xba\0\0\0\0\0")]),
            ("filecore", &[(0xdc0, &[9, 1]), (0xdff, &[10])]),
        ];
        for (kind, marks) in table {
            assert_eq!(found_in(marks), [kind]);
        }
        assert_eq!(found_in(&[]), Vec::<String>::new());
    }

    #[test]
    fn the_label_of_exfat_is_in_its_root_directory() {
        // 512-byte sectors, 8 per cluster, the heap at sector 256, the root in cluster 4.
        let boot: [(usize, &[u8]); 4] =
            [(3, b"EXFAT   "), (88, &[0, 1, 0, 0]), (96, &[4, 0, 0, 0]), (108, &[9, 3])];
        let root = 256 * 512 + 2 * 4096;
        let bitmap: (usize, &[u8]) = (root, &[0x81]);
        let label: (usize, &[u8]) = (root + 32, b"\x83\x03C\0\xc4\0R\0D\0");
        let with = |more: Marks| found_in(&[&boot[..], more].concat());
        assert_eq!(with(&[bitmap, label]), ["exfatCÄR"]);
        // After the end of the directory, an unused entry, and an impossible length.
        assert_eq!(with(&[label]), ["exfat"]);
        assert_eq!(with(&[(root, b"\x03\x03C\0A\0R\0")]), ["exfat"]);
        assert_eq!(with(&[(root, b"\x83\xffC\0A\0R\0")]), ["exfatCAR"]);
        // A root directory beyond the end of the image.
        let lost: (usize, &[u8]) = (96, &[0xff, 0xff, 0xff, 0xff]);
        assert_eq!(with(&[lost]), ["exfat"]);
    }

    #[test]
    fn all_recognised_kinds_are_reported() {
        let both = found_in(&[(0x438, b"\x53\xef"), (4086, b"SWAPSPACE2")]);
        assert_eq!(both, ["ext2", "swap"]);
    }
}

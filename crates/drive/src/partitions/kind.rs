//! Partition types.

use std::fmt;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// A type in a partition table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionType {
    /// The type byte of an MBR.
    Mbr(u8),
    /// The type of a GPT, in the byte order of its text form.
    Gpt(u128),
}

/// Type bytes in use, named as in `sfdisk --list-types` and the RISC OS tools.
const MBR: &[(u8, &str)] = &[
    (0x01, "FAT12"),
    (0x04, "FAT16 under 32 MiB"),
    (0x05, "extended"),
    (0x06, "FAT16"),
    (0x07, "NTFS or exFAT"),
    (0x0b, "FAT32"),
    (0x0c, "FAT32 (LBA)"),
    (0x0e, "FAT16 (LBA)"),
    (0x0f, "extended (LBA)"),
    (0x11, "hidden FAT12"),
    (0x16, "hidden FAT16"),
    (0x17, "hidden NTFS"),
    (0x1b, "hidden FAT32"),
    (0x1c, "hidden FAT32 (LBA)"),
    (0x27, "Windows recovery"),
    (0x82, "Linux swap"),
    (0x83, "Linux"),
    (0x85, "Linux extended"),
    (0x8e, "Linux LVM"),
    (0xa5, "FreeBSD"),
    (0xa6, "OpenBSD"),
    (0xa9, "NetBSD"),
    (0xad, "FileCore"),
    (0xaf, "HFS"),
    (0xbf, "Solaris"),
    (0xda, "no file system"),
    (0xee, "GPT protective"),
    (0xef, "EFI system"),
    (0xfd, "Linux RAID"),
];

const GPT: &[(u128, &str)] = &[
    (0xC12A7328_F81F_11D2_BA4B_00A0C93EC93B, "EFI system"),
    (0x21686148_6449_6E6F_744E_656564454649, "BIOS boot"),
    (0xE3C9E316_0B5C_4DB8_817D_F92DF00215AE, "Microsoft reserved"),
    (0xEBD0A0A2_B9E5_4433_87C0_68B6B72699C7, "Microsoft basic data"),
    (0xDE94BBA4_06D1_4D40_A16A_BFD50179D6AC, "Windows recovery"),
    (0x0FC63DAF_8483_4772_8E79_3D69D8477DE4, "Linux"),
    (0x4F68BCE3_E8CD_4DB1_96E7_FBCAF984B709, "Linux root (x86-64)"),
    (0xB921B045_1DF0_41C3_AF44_4C6F280D3FAE, "Linux root (ARM-64)"),
    (0x933AC7E1_2EB4_4F13_B844_0E14E2AEF915, "Linux home"),
    (0x0657FD6D_A4AB_43C4_84E5_0933C84B4F4F, "Linux swap"),
    (0xE6D6D379_F507_44C2_A23C_238F2A3DF928, "Linux LVM"),
    (0xA19D880F_05FC_4D3B_A006_743F0F84911E, "Linux RAID"),
    (0xCA7D7CCB_63ED_4C53_861C_1742536059CC, "LUKS"),
    (0x48465300_0000_11AA_AA11_00306543ECAC, "HFS+"),
    (0x7C3457EF_0000_11AA_AA11_00306543ECAC, "APFS"),
    (0x6A898CC3_1DD2_11B2_99A6_080020736631, "ZFS"),
];

impl PartitionType {
    /// The type in a GPT entry, whose first three fields are little-endian.
    pub(super) fn gpt(bytes: [u8; 16]) -> PartitionType {
        let [a, b, c, d, e, f, g, h, tail @ ..] = bytes;
        let head = [d, c, b, a, f, e, h, g];
        let [i, j, k, l, m, n, o, p] = tail;
        let [q, r, s, t, u, v, w, x] = head;
        PartitionType::Gpt(u128::from_be_bytes([q, r, s, t, u, v, w, x, i, j, k, l, m, n, o, p]))
    }

    /// Name of the type, if known.
    pub fn name(&self) -> Option<&'static str> {
        match self {
            PartitionType::Mbr(code) => MBR.iter().find(|t| t.0 == *code).map(|t| t.1),
            PartitionType::Gpt(code) => GPT.iter().find(|t| t.0 == *code).map(|t| t.1),
        }
    }

    /// Whether it contains other partitions.
    pub fn is_extended(&self) -> bool {
        matches!(self, PartitionType::Mbr(0x05 | 0x0f | 0x85))
    }
}

/// The code: `0c`, or the 36 characters of a GPT type.
impl fmt::Display for PartitionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartitionType::Mbr(code) => write!(f, "{code:02x}"),
            PartitionType::Gpt(code) => {
                let hex = format!("{code:032X}");
                let (a, b, c) = (&hex[..8], &hex[8..12], &hex[12..16]);
                write!(f, "{a}-{b}-{c}-{}-{}", &hex[16..20], &hex[20..])
            }
        }
    }
}

impl Serialize for PartitionType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("PartitionType", 2)?;
        fields.serialize_field("code", &self.to_string())?;
        fields.serialize_field("name", &self.name())?;
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpt_type_matches_its_text_form() {
        let bytes = [
            0x28, 0x73, 0x2a, 0xc1, 0x1f, 0xf8, 0xd2, 0x11, 0xba, 0x4b, 0x00, 0xa0, 0xc9, 0x3e,
            0xc9, 0x3b,
        ];
        let kind = PartitionType::gpt(bytes);
        assert_eq!(kind.to_string(), "C12A7328-F81F-11D2-BA4B-00A0C93EC93B");
        assert_eq!(kind.name(), Some("EFI system"));
    }

    #[test]
    fn documented_types_have_names() {
        let names =
            [0x07, 0x0b, 0x0c, 0x83, 0xad, 0xee].map(|code| PartitionType::Mbr(code).name());
        assert!(names.iter().all(Option::is_some), "{names:?}");
        assert_eq!(PartitionType::Mbr(0x42).name(), None);
    }
}

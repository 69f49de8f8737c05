//! Registers of SD cards and eMMC: CID, CSD, SD status, EXT_CSD.
//!
//! In the hexadecimal form of the kernel; big-endian, except EXT_CSD, which is little-endian.
//! Sources: SD Physical Layer Simplified Specification 9.00, chapters 5.2 (CID), 5.3 (CSD) and
//! 4.10.2 (SD status); JEDEC eMMC 5.1 (JESD84-B51), 7.2 (CID) and 7.4 (EXT_CSD).

use super::{bytes, text, u32_at};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Parses the hexadecimal text of sysfs and debugfs; `None` if malformed.
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim().as_bytes();
    let digit_of = |d: u8| char::from(d).to_digit(16).map(|d| d as u8);
    digits.chunks(2).map(|pair| Some(digit_of(pair[0])? << 4 | digit_of(*pair.get(1)?)?)).collect()
}

/// Identity of a card, from its CID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cid {
    pub maker: u8,
    /// Characters that identify the OEM: two for an SD card, one for an eMMC.
    pub oem: Option<String>,
    pub name: Option<String>,
    /// `8.0`.
    pub revision: String,
    pub serial: u32,
    pub month: u8,
    pub year: u16,
}

impl Cid {
    /// Parses the CID of an SD card.
    pub fn parse_sd(cid: &[u8]) -> Option<Cid> {
        let date = u16::from_be_bytes(bytes(cid, 13)?);
        Some(Cid {
            maker: *cid.first()?,
            oem: text(cid.get(1..3)?),
            name: text(cid.get(3..8)?),
            revision: format!("{}.{}", cid.get(8)? >> 4, cid[8] & 15),
            serial: u32::from_be_bytes(bytes(cid, 9)?),
            month: (date & 15) as u8,
            year: 2000 + (date >> 4 & 0xff),
        })
    }

    /// Parses the CID of an eMMC. The year counts from 1997. Since revision 5 of the EXT_CSD
    /// (2010), the codes of 1997 to 2009 mean 2013 to 2025.
    pub fn parse_mmc(cid: &[u8], ext_csd_revision: Option<u8>) -> Option<Cid> {
        let date = *cid.get(14)?;
        let year = 1997 + u16::from(date & 15);
        let wrapped = ext_csd_revision.is_some_and(|revision| revision > 4) && year < 2010;
        Some(Cid {
            maker: *cid.first()?,
            oem: text(cid.get(2..3)?).filter(|oem| oem.is_ascii()),
            name: text(cid.get(3..9)?),
            revision: format!("{}.{}", cid.get(9)? >> 4, cid[9] & 15),
            serial: u32::from_be_bytes(bytes(cid, 10)?),
            month: date >> 4,
            year: if wrapped { year + 16 } else { year },
        })
    }

    /// `2009-06`; `None` for an invalid month.
    pub fn date(&self) -> Option<String> {
        (1..=12).contains(&self.month).then(|| format!("{}-{:02}", self.year, self.month))
    }
}

/// Kind and size of an SD card, from its CSD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Csd {
    /// `SDSC`, `SDHC or SDXC`, `SDUC`.
    pub class: &'static str,
    /// Capacity, bytes.
    pub bytes: u64,
    /// `permanent`, `temporary`.
    pub write_protected: Option<&'static str>,
}

impl Csd {
    pub fn parse(csd: &[u8]) -> Option<Csd> {
        let register = u128::from_be_bytes(bytes(csd, 0)?);
        let bits = |high: u32, low: u32| (register >> low & ((1 << (high - low + 1)) - 1)) as u64;
        let (class, capacity) = match bits(127, 126) {
            0 => {
                let power = bits(49, 47) + 2 + bits(83, 80);
                ("SDSC", (bits(73, 62) + 1) << power)
            }
            1 => ("SDHC or SDXC", (bits(69, 48) + 1) * 512 * KIB),
            2 => ("SDUC", (bits(75, 48) + 1) * 512 * KIB),
            _ => return None,
        };
        let write_protected = match bits(13, 12) {
            0 => None,
            1 => Some("temporary"),
            _ => Some("permanent"),
        };
        Some(Csd { class, bytes: capacity, write_protected })
    }
}

/// Performance class and features of an SD card, from its status register.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SdStatus {
    /// The declared classes: `class 10`, `U3`, `V30`, `A2`.
    pub classes: Vec<String>,
    /// Allocation unit, bytes.
    pub unit_bytes: Option<u64>,
    /// Number of allocation units for an efficient erase, and its maximum time, seconds.
    pub erase: Option<(u16, u8)>,
    /// Whether discard and full erase are supported.
    pub discard: bool,
    pub full_erase: bool,
}

impl SdStatus {
    pub fn parse(ssr: &[u8]) -> Option<SdStatus> {
        let mut classes = Vec::new();
        classes.extend(match *ssr.get(8)? {
            n @ 1..=3 => Some(format!("class {}", 2 * n)),
            4 => Some("class 10".into()),
            _ => None,
        });
        let numbers = [("U", ssr.get(14)? >> 4), ("V", *ssr.get(15)?), ("A", ssr.get(21)? & 15)];
        let numbers = numbers.into_iter().filter(|(_, n)| *n > 0);
        classes.extend(numbers.map(|(letter, n)| format!("{letter}{n}")));
        // Large units have a separate code next to the video classes.
        let large_units = u16::from_be_bytes(bytes(ssr, 16)?) & 0x3ff;
        let unit = unit_bytes(ssr.get(10)? >> 4);
        let size = u16::from_be_bytes(bytes(ssr, 11)?);
        let flags = ssr.get(24)?;
        Some(SdStatus {
            classes,
            unit_bytes: if large_units > 0 { Some(u64::from(large_units) * MIB) } else { unit },
            erase: (size > 0).then_some((size, ssr.get(13)? >> 2)),
            discard: flags & 2 != 0,
            full_erase: flags & 1 != 0,
        })
    }
}

/// AU_SIZE: powers of two from 16 KiB to 8 MiB, then the larger sizes below.
fn unit_bytes(code: u8) -> Option<u64> {
    Some(match code {
        1..=0xa => (16 * KIB) << (code - 1),
        0xb => 12 * MIB,
        0xc => 16 * MIB,
        0xd => 24 * MIB,
        0xe => 32 * MIB,
        0xf => 64 * MIB,
        _ => return None,
    })
}

/// Further information about an eMMC, from its EXT_CSD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExtCsd {
    pub revision: u8,
    /// `5.1`.
    pub version: Option<&'static str>,
    pub cache_bytes: u64,
    /// Codes for the life used of both kinds of flash, and for the spare blocks; see [`life_used`]
    /// and [`spares`].
    pub life: [u8; 2],
    pub end_of_life: u8,
    /// Optimal write and trim sizes, bytes.
    pub write_bytes: u64,
    pub trim_bytes: u64,
    pub native_4k: bool,
}

impl ExtCsd {
    pub fn parse(data: &[u8]) -> Option<ExtCsd> {
        let revision = *data.get(192)?;
        let unit = 4 * KIB;
        Some(ExtCsd {
            revision,
            version: match revision {
                5 => Some("4.41"),
                6 => Some("4.5"),
                7 => Some("5.0"),
                8 => Some("5.1"),
                _ => None,
            },
            cache_bytes: u64::from(u32_at(data, 249)?) * 128,
            life: bytes(data, 268)?,
            end_of_life: *data.get(267)?,
            // OPTIMAL_WRITE_SIZE counts units of 4 KiB; OPTIMAL_TRIM_UNIT_SIZE is 1 for one
            // unit, and each increment doubles it.
            write_bytes: u64::from(*data.get(265)?) * unit,
            trim_bytes: match *data.get(264)? {
                power @ 1..=0x15 => unit << (power - 1),
                _ => 0,
            },
            native_4k: data.get(63)? & 1 != 0,
        })
    }
}

/// Upper bound of the life used, percent, from DEVICE_LIFE_TIME_EST: 1 is up to 10%, 11 is more
/// than 100%.
pub(crate) fn life_used(estimates: [u8; 2]) -> Option<f64> {
    let reported = estimates.into_iter().filter(|code| (1..=11).contains(code));
    reported.max().map(|code| 10.0 * f64::from(code))
}

/// Warning from PRE_EOL_INFO.
pub(crate) fn spares(code: u8) -> Option<&'static str> {
    match code {
        2 => Some("80% of the spare blocks are used up"),
        3 => Some("90% of the spare blocks are used up"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn real_cids_are_parsed() {
        // SU04G of 2009-06: maker 3, "SD", revision 8.0.
        let cid = from_hex("035344535530344780 2e550112 0096 01".replace(' ', "").as_str());
        let cid = Cid::parse_sd(&cid.expect("hexadecimal")).expect("whole");
        assert_eq!(
            (cid.maker, cid.oem.as_deref(), cid.name.as_deref()),
            (3, Some("SD"), Some("SU04G"))
        );
        assert_eq!((cid.revision.as_str(), cid.serial), ("8.0", 0x2e55_0112));
        assert_eq!(cid.date().as_deref(), Some("2009-06"));
        let mmc = from_hex("150100424a4e423452078912345671 00".replace(' ', "").as_str());
        let mmc = Cid::parse_mmc(&mmc.expect("hexadecimal"), Some(8)).expect("whole");
        assert_eq!((mmc.maker, mmc.name.as_deref()), (0x15, Some("BJNB4R")));
        assert_eq!(mmc.date().as_deref(), Some("2014-07"));
    }

    #[test]
    fn malformed_hexadecimal_is_rejected() {
        assert_eq!(from_hex("0aFf\n"), Some(vec![0x0a, 0xff]));
        assert_eq!((from_hex("0a0"), from_hex("zz"), from_hex("")), (None, None, Some(vec![])));
    }

    #[test]
    fn the_sizes_of_a_csd() {
        // Version 2: C_SIZE in bits 69:48.
        let two = (1u128 << 126 | 121_999 << 48).to_be_bytes();
        let csd = Csd::parse(&two).expect("whole");
        assert_eq!((csd.class, csd.bytes), ("SDHC or SDXC", 122_000 * 512 * KIB));
        // Version 1, a 2 GB card: blocks of 1024, C_SIZE 3751, C_SIZE_MULT 7.
        let one = (10u128 << 80 | 3751 << 62 | 7 << 47 | 1 << 12).to_be_bytes();
        let csd = Csd::parse(&one).expect("whole");
        assert_eq!((csd.class, csd.bytes), ("SDSC", 3752 * 512 * 1024));
        assert_eq!(csd.write_protected, Some("temporary"));
    }

    #[test]
    fn the_status_of_a_card() {
        let mut ssr = vec![0; 64];
        (ssr[8], ssr[10], ssr[14], ssr[15], ssr[21], ssr[24]) = (4, 0x90, 0x30, 30, 2, 2);
        ssr[12] = 16;
        ssr[13] = 1 << 2;
        let status = SdStatus::parse(&ssr).expect("whole");
        assert_eq!(status.classes, ["class 10", "U3", "V30", "A2"]);
        assert_eq!((status.unit_bytes, status.erase), (Some(4 * MIB), Some((16, 1))));
        assert!(status.discard && !status.full_erase);
        ssr[17] = 64;
        assert_eq!(SdStatus::parse(&ssr).and_then(|s| s.unit_bytes), Some(64 * MIB));
    }

    #[test]
    fn life_of_an_emmc() {
        assert_eq!(life_used([1, 2]), Some(20.0));
        assert_eq!((life_used([0, 0]), life_used([11, 1])), (None, Some(110.0)));
        assert_eq!((spares(1), spares(3).is_some()), (None, true));
        let mut data = vec![0; 512];
        (data[192], data[267], data[268], data[269]) = (8, 1, 1, 1);
        data[249..253].copy_from_slice(&4096u32.to_le_bytes());
        let found = ExtCsd::parse(&data).expect("whole");
        assert_eq!((found.version, found.cache_bytes), (Some("5.1"), 512 * KIB));
    }

    /// Register values of three eMMCs, published by their owners.
    #[test]
    fn registers_of_real_emmcs() {
        let parse = |values: &[(usize, u8)]| {
            let mut data = vec![0; 512];
            values.iter().for_each(|(at, value)| data[*at] = *value);
            ExtCsd::parse(&data).expect("whole")
        };
        // A Samsung chip with eMMC 4.41: no cache, no sizes, no life.
        let old = parse(&[(185, 1), (192, 5), (194, 2), (196, 7)]);
        assert_eq!((old.version, old.cache_bytes, life_used(old.life)), (Some("4.41"), 0, None));
        assert_eq!((old.write_bytes, old.trim_bytes, spares(old.end_of_life)), (0, 0, None));
        // An eMMC 5.1 with a cache of 4096 Kibit.
        let newer =
            [(192, 8), (250, 0x10), (264, 8), (265, 8), (266, 8), (267, 1), (268, 1), (269, 1)];
        let newer = parse(&newer);
        assert_eq!((newer.version, newer.cache_bytes), (Some("5.1"), 512 * KIB));
        assert_eq!((newer.write_bytes, newer.trim_bytes), (32 * KIB, 512 * KIB));
        assert_eq!((life_used(newer.life), spares(newer.end_of_life)), (Some(10.0), None));
        // An eMMC 5.0 with a cache of 64 MiB.
        let large = [(192, 7), (251, 8), (264, 1), (265, 0x10), (267, 1), (268, 1), (269, 1)];
        let large = parse(&large);
        assert_eq!((large.cache_bytes, large.write_bytes), (64 * MIB, 64 * KIB));
        assert_eq!((large.trim_bytes, large.native_4k), (4 * KIB, false));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(data in prop::collection::vec(any::<u8>(), 0..600), text in ".{0,40}") {
            from_hex(&text);
            for cid in [Cid::parse_sd(&data), Cid::parse_mmc(&data, data.first().copied())] {
                cid.map(|cid| cid.date());
            }
            let _ = (Csd::parse(&data), SdStatus::parse(&data), ExtCsd::parse(&data));
        }
    }
}

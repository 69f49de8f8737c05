//! A layout of up to four primary partitions: from the words of the user to places on the drive.
//!
//! The four-partition drive of a dual-boot RISC OS machine is the model: a loader that the firmware
//! boots from, FileCore, a FAT partition that both systems read, and Linux, numbered in the order
//! they stand in. Every partition begins on a MiB, so on every page and erase block there is.

use serde::Serialize;
use thiserror::Error;
use workload::units;

use super::PartitionType;

/// Partitions begin and end on multiples of this, bytes.
const GRAIN: u64 = 1 << 20;

/// Entries in an MBR.
const PARTITIONS_MAX: usize = 4;

/// Sectors that an MBR can count: its fields have 32 bits.
const MBR_SECTORS: u64 = (1 << 32) - 1;

/// Sectors FileCore can address: a disc address has 29 bits for the sector.
const FILECORE_SECTORS: u64 = 1 << 29;

/// FAT32 begins at this many clusters of at least a sector; below it is FAT16.
const FAT32_CLUSTERS: u64 = 65_525;

/// A use of a partition, as it is typed.
struct Purpose {
    word: &'static str,
    code: u8,
    /// Bytes where the user gives none; `None`: the rest of the drive.
    default_bytes: Option<u64>,
}

const PURPOSES: &[Purpose] = &[
    // The firmware of a Raspberry Pi boots from FAT; 512 MiB hold two kernels, and are enough
    // clusters for FAT32 on sectors of 4096 bytes too.
    Purpose { word: "loader", code: 0x0c, default_bytes: Some(512 << 20) },
    Purpose { word: "filecore", code: 0xad, default_bytes: None },
    Purpose { word: "fat32", code: 0x0c, default_bytes: None },
    Purpose { word: "fat16", code: 0x0e, default_bytes: None },
    Purpose { word: "exfat", code: 0x07, default_bytes: None },
    Purpose { word: "ntfs", code: 0x07, default_bytes: None },
    Purpose { word: "ext4", code: 0x83, default_bytes: None },
    Purpose { word: "linux", code: 0x83, default_bytes: None },
    Purpose { word: "swap", code: 0x82, default_bytes: None },
];

/// A partition as the user wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// What for: `loader`, `filecore`, `fat32`, ...
    pub word: &'static str,
    /// Its type.
    pub kind: PartitionType,
    /// Bytes; `None`: what is left of the drive.
    pub bytes: Option<u64>,
}

/// A layout as the user wants it, in the order of the drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout(pub Vec<Wish>);

/// A partition with its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Planned {
    /// Number in the table, from 1.
    pub number: u32,
    /// What for.
    pub purpose: &'static str,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: PartitionType,
    /// First byte.
    pub start: u64,
    /// Bytes.
    pub bytes: u64,
}

/// What is wrong with a layout.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// Not a word for a partition.
    #[error("'{0}' is no kind of partition: there are {kinds}", kinds = kinds())]
    Word(String),
    /// Not a size.
    #[error("the size of {0}: {1}")]
    Size(&'static str, String),
    /// None, or more than the table holds.
    #[error("{0} partitions: an MBR holds one to four")]
    Count(usize),
    /// More than one without a size.
    #[error("{0} and {1} have no size: only one partition can take the rest of the drive")]
    TwoRests(&'static str, &'static str),
    /// More than there is.
    #[error("{asked} are asked for, the drive has {there}", asked = units::binary(*.asked),
        there = units::binary(*.there))]
    NoRoom {
        /// Bytes asked for, with the MiB before the first partition.
        asked: u64,
        /// Bytes that a table on this drive can give out.
        there: u64,
    },
    /// A size its file system cannot have.
    #[error("{word} of {bytes}: {why}", bytes = units::binary(*.bytes))]
    Limit {
        /// Which partition.
        word: &'static str,
        /// Its size.
        bytes: u64,
        /// What speaks against it.
        why: String,
    },
}

fn kinds() -> String {
    PURPOSES.iter().map(|p| p.word).collect::<Vec<_>>().join(", ")
}

impl Layout {
    /// Reads `loader,filecore=110G,fat32=20G,ext4`.
    pub fn parse(text: &str) -> Result<Layout, LayoutError> {
        let wishes = text.split(',').map(str::trim).map(wish).collect::<Result<Vec<_>, _>>()?;
        if wishes.len() > PARTITIONS_MAX {
            return Err(LayoutError::Count(wishes.len()));
        }
        let rests: Vec<_> = wishes.iter().filter(|w| w.bytes.is_none()).map(|w| w.word).collect();
        match rests.as_slice() {
            [first, second, ..] => Err(LayoutError::TwoRests(first, second)),
            _ => Ok(Layout(wishes)),
        }
    }

    /// The places on a drive of `bytes` with sectors of `sector` bytes.
    pub fn plan(&self, bytes: u64, sector: u32) -> Result<Vec<Planned>, LayoutError> {
        let addressable = MBR_SECTORS.saturating_mul(u64::from(sector));
        let there = bytes.min(addressable) / GRAIN * GRAIN;
        let sized = self.0.iter().filter_map(|w| w.bytes).map(to_grain);
        let asked = sized.fold(GRAIN, u64::saturating_add);
        let rests = self.0.iter().any(|w| w.bytes.is_none());
        if asked > there || (rests && asked == there) {
            return Err(LayoutError::NoRoom { asked: asked + u64::from(rests) * GRAIN, there });
        }
        let mut at = GRAIN;
        let mut places = Vec::new();
        for (wish, number) in self.0.iter().zip(1..) {
            let bytes = wish.bytes.map_or(there - asked, to_grain);
            limits(wish.word, bytes, u64::from(sector))?;
            let Wish { word: purpose, kind, .. } = *wish;
            places.push(Planned { number, purpose, kind, start: at, bytes });
            at += bytes;
        }
        Ok(places)
    }
}

fn to_grain(bytes: u64) -> u64 {
    (bytes / GRAIN).max(1) * GRAIN
}

fn wish(text: &str) -> Result<Wish, LayoutError> {
    let (word, size) = match text.split_once('=') {
        Some((word, size)) => (word.trim(), Some(size.trim())),
        None => (text, None),
    };
    let purpose = PURPOSES.iter().find(|p| p.word.eq_ignore_ascii_case(word));
    let Purpose { word, code, default_bytes } =
        purpose.ok_or_else(|| LayoutError::Word(word.to_string()))?;
    let bytes = match size {
        None => *default_bytes,
        Some(size) => Some(bytes(size).map_err(|why| LayoutError::Size(word, why))?),
    };
    Ok(Wish { word, kind: PartitionType::Mbr(*code), bytes })
}

fn bytes(size: &str) -> Result<u64, String> {
    match units::parse_bytes(size)? {
        bytes if bytes < GRAIN => Err(format!("{size} is less than 1 MiB")),
        bytes => Ok(bytes),
    }
}

/// What the file systems can have.
fn limits(word: &'static str, bytes: u64, sector: u64) -> Result<(), LayoutError> {
    let limit = |why: String| Err(LayoutError::Limit { word, bytes, why });
    match word {
        "filecore" if bytes > FILECORE_SECTORS * sector => {
            let most = units::binary(FILECORE_SECTORS * sector);
            limit(format!("FileCore addresses 2^29 sectors of {sector} bytes, {most}"))
        }
        "loader" | "fat32" if bytes < FAT32_CLUSTERS * sector => {
            let least = units::binary((FAT32_CLUSTERS * sector).next_multiple_of(GRAIN) + GRAIN);
            limit(format!("FAT32 needs 65,525 clusters, {least} with sectors of {sector} bytes"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plan(text: &str, bytes: u64, sector: u32) -> Result<Vec<Planned>, LayoutError> {
        Layout::parse(text)?.plan(bytes, sector)
    }

    #[test]
    fn the_four_partitions_of_the_seed() {
        let drive = 512_110_190_592;
        let places = plan("loader,filecore=110G,fat32=20G,ext4", drive, 512).expect("it fits");
        let codes: Vec<String> = places.iter().map(|p| p.kind.to_string()).collect();
        assert_eq!(codes, ["0c", "ad", "0c", "83"]);
        assert_eq!(places[0].start, GRAIN);
        assert!(places.windows(2).all(|p| p[0].start + p[0].bytes == p[1].start));
        let last = &places[3];
        assert!(drive - (last.start + last.bytes) < GRAIN, "the rest goes to Linux");
    }

    #[test]
    fn filecore_grows_with_the_sector() {
        let terabyte = 1_000_204_886_016;
        let refused = plan("loader,filecore=750G,ext4", terabyte, 512).expect_err("2^29 sectors");
        assert!(refused.to_string().contains("256 GiB"), "{refused}");
        plan("loader,filecore=750G,ext4", terabyte, 4096).expect("2 TiB are addressable");
    }

    #[test]
    fn what_cannot_be_says_why() {
        let told = |text| plan(text, 64 << 30, 512).expect_err(text).to_string();
        assert!(told("loader,floppy").starts_with("'floppy' is no kind of partition"));
        assert!(told("ext4,linux").contains("ext4 and linux have no size"));
        assert!(told("ext4=1G,ext4=1G,ext4=1G,ext4=1G,ext4").starts_with("5 partitions"));
        assert!(told("ext4=60G,exfat=5G").contains("64 GiB"));
        assert!(told("fat32=16M").contains("FAT32 needs"));
        assert!(told("ext4=much").contains("not a size"));
    }

    #[test]
    fn an_mbr_ends_at_two_tebibytes_of_small_sectors() {
        let places = plan("ext4", 16 << 40, 512).expect("as far as it goes");
        assert_eq!(places[0].start + places[0].bytes, (2 << 40) - GRAIN);
        let places = plan("ext4", 16 << 40, 4096).expect("larger sectors, larger drives");
        assert_eq!(places[0].start + places[0].bytes, (16 << 40) - GRAIN);
    }

    proptest! {
        #[test]
        fn any_words_and_any_drive(text in "[a-z0-9=,.GMK ]{0,60}", bytes: u64, four_k: bool) {
            let sector = if four_k { 4096 } else { 512 };
            if let Ok(places) = plan(&text, bytes, sector) {
                let mut at = GRAIN;
                for place in &places {
                    prop_assert_eq!(place.start, at);
                    at += place.bytes;
                }
                prop_assert!(at <= bytes);
                prop_assert!(at / u64::from(sector) <= MBR_SECTORS);
            }
        }
    }
}

//! A layout of up to four primary partitions: from the user's specification to positions.
//!
//! Modelled on the four-partition drive of a dual-boot RISC OS machine: a loader from which the
//! firmware boots, FileCore, a FAT partition readable by both systems, and Linux, numbered in order
//! of position. All partitions are aligned to 1 MiB, a multiple of every page size; an erase block
//! may be larger.

use serde::Serialize;
use thiserror::Error;
use workload::units;

use super::PartitionType;

/// Partitions begin and end at multiples of this number of bytes.
const ALIGNMENT: u64 = 1 << 20;

/// Entries in an MBR.
const PARTITIONS_MAX: usize = 4;

/// Maximum sectors in an MBR, whose fields are 32 bits wide.
const MBR_SECTORS: u64 = (1 << 32) - 1;

/// Maximum sectors of FileCore: a disc address has 29 sector bits.
const FILECORE_SECTORS: u64 = 1 << 29;

/// Minimum clusters of FAT32, each of at least one sector; a volume with fewer is FAT16.
const FAT32_CLUSTERS: u64 = 65_525;

/// Maximum size of FAT16: 65,524 clusters of at most 64 KiB.
const FAT16_BYTES: u64 = 4 << 30;

/// A purpose of a partition, as typed by the user.
struct Purpose {
    word: &'static str,
    code: u8,
    /// Default size in bytes; `None`: the rest of the drive.
    default_bytes: Option<u64>,
}

const PURPOSES: &[Purpose] = &[
    // The firmware of a Raspberry Pi boots from FAT; 512 MiB is enough for two kernels and for the
    // clusters of FAT32 even with sectors of 4096 bytes.
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionRequest {
    /// Purpose: `loader`, `filecore`, `fat32`, ...
    pub word: &'static str,
    pub kind: PartitionType,
    /// Size in bytes; `None`: the rest of the drive.
    pub bytes: Option<u64>,
}

/// A requested layout, in order of position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionLayout(pub Vec<PartitionRequest>);

/// A partition with its position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedPartition {
    /// Number in the table, from 1.
    pub number: u32,
    pub purpose: &'static str,
    #[serde(rename = "type")]
    pub kind: PartitionType,
    /// Offset of the first byte.
    pub start: u64,
    /// Size, bytes.
    pub bytes: u64,
}

/// An invalid layout.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// An unknown purpose.
    #[error("'{0}' is not a kind of partition; known kinds: {kinds}", kinds = kinds())]
    Word(String),
    /// A malformed size.
    #[error("the size of {0}: {1}")]
    Size(&'static str, String),
    /// More partitions than fit in the table.
    #[error("{0} partitions: an MBR has one to four")]
    Count(usize),
    /// More than one partition without a size.
    #[error("{0} and {1} have no size: only one partition can take the rest of the drive")]
    TwoUnsized(&'static str, &'static str),
    /// The layout is larger than the drive.
    #[error("the layout needs {requested}, but the drive has {there}", requested = units::binary(*.requested),
        there = units::binary(*.there))]
    NoRoom {
        /// Bytes needed, including the MiB before the first partition.
        requested: u64,
        /// Bytes that a table on this drive can address.
        there: u64,
    },
    /// A size that its file system does not support.
    #[error("{word} of {bytes}: {why}", bytes = units::binary(*.bytes))]
    Limit {
        /// The partition.
        word: &'static str,
        /// Its size.
        bytes: u64,
        /// The reason.
        why: String,
    },
}

fn kinds() -> String {
    PURPOSES.iter().map(|p| p.word).collect::<Vec<_>>().join(", ")
}

impl PartitionLayout {
    /// Parses `loader,filecore=110G,fat32=20G,ext4`.
    pub fn parse(text: &str) -> Result<PartitionLayout, LayoutError> {
        let requests =
            text.split(',').map(str::trim).map(request).collect::<Result<Vec<_>, _>>()?;
        if requests.len() > PARTITIONS_MAX {
            return Err(LayoutError::Count(requests.len()));
        }
        let unsized_words: Vec<_> =
            requests.iter().filter(|w| w.bytes.is_none()).map(|w| w.word).collect();
        match unsized_words.as_slice() {
            [first, second, ..] => Err(LayoutError::TwoUnsized(first, second)),
            _ => Ok(PartitionLayout(requests)),
        }
    }

    /// Computes the positions on a drive of `bytes` with sectors of `sector` bytes.
    pub fn plan(&self, bytes: u64, sector: u32) -> Result<Vec<PlannedPartition>, LayoutError> {
        let addressable = MBR_SECTORS.saturating_mul(u64::from(sector));
        let usable = bytes.min(addressable) / ALIGNMENT * ALIGNMENT;
        let sized = self.0.iter().filter_map(|w| w.bytes).map(align);
        let requested = sized.fold(ALIGNMENT, u64::saturating_add);
        let has_rest = self.0.iter().any(|w| w.bytes.is_none());
        if requested > usable || (has_rest && requested == usable) {
            return Err(LayoutError::NoRoom {
                requested: requested.saturating_add(u64::from(has_rest) * ALIGNMENT),
                there: usable,
            });
        }
        let mut start = ALIGNMENT;
        let mut places = Vec::new();
        for (request, number) in self.0.iter().zip(1..) {
            let bytes = request.bytes.map_or(usable - requested, align);
            limits(request.word, bytes, u64::from(sector))?;
            let PartitionRequest { word: purpose, kind, .. } = *request;
            places.push(PlannedPartition { number, purpose, kind, start, bytes });
            start += bytes;
        }
        assert!(start <= usable, "partitions end at byte {start} of {usable}");
        Ok(places)
    }
}

fn align(bytes: u64) -> u64 {
    (bytes / ALIGNMENT).max(1) * ALIGNMENT
}

fn request(text: &str) -> Result<PartitionRequest, LayoutError> {
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
    Ok(PartitionRequest { word, kind: PartitionType::Mbr(*code), bytes })
}

fn bytes(size: &str) -> Result<u64, String> {
    match units::parse_bytes(size)? {
        bytes if bytes < ALIGNMENT => Err(format!("{size} is less than 1 MiB")),
        bytes => Ok(bytes),
    }
}

/// Checks the maximum sizes of FileCore and FAT16 and the minimum size of FAT32.
fn limits(word: &'static str, bytes: u64, sector: u64) -> Result<(), LayoutError> {
    let limit_error = |why: String| Err(LayoutError::Limit { word, bytes, why });
    match word {
        "filecore" if bytes > FILECORE_SECTORS * sector => {
            let size_max = units::binary(FILECORE_SECTORS * sector);
            limit_error(format!("FileCore addresses 2^29 sectors of {sector} bytes, {size_max}"))
        }
        "loader" | "fat32" if bytes < fat32_bytes(sector) => {
            let size_min = units::binary(fat32_bytes(sector));
            limit_error(format!(
                "FAT32 needs 65,525 clusters, {size_min} with sectors of {sector} bytes"
            ))
        }
        "fat16" if bytes > FAT16_BYTES => {
            limit_error(format!("FAT16 ends at {}", units::binary(FAT16_BYTES)))
        }
        _ => Ok(()),
    }
}

/// Minimum size of a FAT32 partition: its clusters, and a MiB for its two FATs and their alignment.
fn fat32_bytes(sector: u64) -> u64 {
    (FAT32_CLUSTERS * sector).next_multiple_of(ALIGNMENT) + ALIGNMENT
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plan(text: &str, bytes: u64, sector: u32) -> Result<Vec<PlannedPartition>, LayoutError> {
        PartitionLayout::parse(text)?.plan(bytes, sector)
    }

    #[test]
    fn the_four_partitions_of_a_dual_boot_drive() {
        let drive = 512_110_190_592;
        let places = plan("loader,filecore=110G,fat32=20G,ext4", drive, 512).expect("it fits");
        let codes: Vec<String> = places.iter().map(|p| p.kind.to_string()).collect();
        assert_eq!(codes, ["0c", "ad", "0c", "83"]);
        assert_eq!(places[0].start, ALIGNMENT);
        assert!(places.windows(2).all(|p| p[0].start + p[0].bytes == p[1].start));
        let last = &places[3];
        assert!(drive - (last.start + last.bytes) < ALIGNMENT, "Linux gets the rest");
    }

    #[test]
    fn the_maximum_of_filecore_grows_with_the_sector() {
        let terabyte = 1_000_204_886_016;
        let refused = plan("loader,filecore=750G,ext4", terabyte, 512).expect_err("2^29 sectors");
        assert!(refused.to_string().contains("256 GiB"), "{refused}");
        plan("loader,filecore=750G,ext4", terabyte, 4096).expect("2 TiB are addressable");
    }

    #[test]
    fn invalid_layouts_state_the_reason() {
        let refusal = |text| plan(text, 64 << 30, 512).expect_err(text).to_string();
        assert!(refusal("loader,floppy").starts_with("'floppy' is not a kind of partition"));
        assert!(refusal("ext4,linux").contains("ext4 and linux have no size"));
        assert!(refusal("ext4=1G,ext4=1G,ext4=1G,ext4=1G,ext4").starts_with("5 partitions"));
        assert!(refusal("ext4=60G,exfat=5G").contains("64 GiB"));
        assert!(refusal("fat32=16M").contains("FAT32 needs"));
        assert!(refusal("fat32=32M").contains("33 MiB"), "its FATs take some of the clusters");
        assert!(refusal("fat16=20G").contains("FAT16 ends at 4 GiB"));
        assert!(refusal("ext4=18446744073709551615,linux").contains("but the drive has 64 GiB"));
        assert!(refusal("ext4=much").contains("not a size"));
    }

    #[test]
    fn the_smallest_fat32_depends_on_the_sector() {
        for (sector, refused, taken) in [(512, "32M", "33M"), (4096, "256M", "257M")] {
            plan(&format!("fat32={refused}"), 64 << 30, sector).expect_err(refused);
            plan(&format!("loader={taken}"), 64 << 30, sector).expect(taken);
        }
    }

    #[test]
    fn an_mbr_with_small_sectors_ends_at_two_tebibytes() {
        let places = plan("ext4", 16 << 40, 512).expect("truncated");
        assert_eq!(places[0].start + places[0].bytes, (2 << 40) - ALIGNMENT);
        let places = plan("ext4", 16 << 40, 4096).expect("larger sectors");
        assert_eq!(places[0].start + places[0].bytes, (16 << 40) - ALIGNMENT);
    }

    proptest! {
        #[test]
        fn any_layout_and_any_drive(text in "[a-z0-9=,.GMK ]{0,60}", bytes: u64, four_k: bool) {
            let sector = if four_k { 4096 } else { 512 };
            if let Ok(places) = plan(&text, bytes, sector) {
                let mut at = ALIGNMENT;
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

//! Creates empty file systems on new partitions: FAT32, exFAT, and FileCore of format E+. Others
//! are left to the tools of the systems that use them.

use std::io;

use drive::partitions::PlannedPartition;
use fat::{Filecore, FormatParameters, SectorDrive, VolumeKind};
use journal::Storage;
use workload::units;

/// Buffer size of mkfs, bytes.
const ROOM: usize = 1 << 20;

/// Bytes that contain FileCore's boot block: whole sectors of any size.
const START: usize = 4096;

/// Width of FileCore identifiers that Linux and RISC OS before 5.24 support, bits.
const IDLEN_OF_ALL: u32 = 19;

/// A file system for a partition: its description, and how to create it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileSystem {
    Fat(VolumeKind, u32),
    Filecore(Filecore),
}

impl FileSystem {
    /// The file system for a partition; `None` for purposes that are left to other tools. `unit` is
    /// FileCore's allocation unit; `None`: the smallest that every system can read.
    pub(super) fn choose(
        place: &PlannedPartition,
        sector: u32,
        unit: Option<u32>,
    ) -> Result<Option<FileSystem>, String> {
        Ok(match place.purpose {
            "loader" | "fat32" => Some(FileSystem::fat(VolumeKind::Fat32, place, sector)?),
            "exfat" => Some(FileSystem::fat(VolumeKind::Exfat, place, sector)?),
            "filecore" => {
                let plan = |unit| Filecore::plan(place.bytes, sector, unit);
                let units = (10..=20).map(|bits| 1 << bits).filter(|unit| *unit >= sector);
                let mut discs = units.map(plan).filter_map(Result::ok);
                let disc = match unit {
                    Some(unit) => plan(unit).map_err(|why| match discs.next() {
                        Some(disc) => {
                            let unit_min = units::binary(u64::from(disc.unit_bytes));
                            format!("{why}; the smallest unit here is {unit_min}")
                        }
                        None => why.into(),
                    }),
                    None => discs
                        .find(|disc| disc.idlen <= IDLEN_OF_ALL)
                        .ok_or_else(|| "no allocation unit is large enough".to_string()),
                };
                Some(FileSystem::Filecore(disc.map_err(|why| format!("filecore: {why}"))?))
            }
            _ => None,
        })
    }

    /// FAT32 or exFAT with clusters of the usual size, if it fits.
    fn fat(kind: VolumeKind, place: &PlannedPartition, sector: u32) -> Result<FileSystem, String> {
        let cluster = cluster_bytes(kind, place.bytes, sector);
        let fits =
            FormatParameters::new(kind, cluster).fits(sector, place.bytes / u64::from(sector));
        fits.map(|()| FileSystem::Fat(kind, cluster))
            .map_err(|why| format!("{} of {}: {why}", place.purpose, units::binary(place.bytes)))
    }

    /// A description of the file system.
    pub(super) fn in_words(&self) -> String {
        match self {
            FileSystem::Fat(VolumeKind::Fat32, bytes) => {
                format!("FAT32, clusters of {}", units::binary(u64::from(*bytes)))
            }
            FileSystem::Fat(VolumeKind::Exfat, bytes) => {
                format!("exFAT, clusters of {}", units::binary(u64::from(*bytes)))
            }
            FileSystem::Filecore(disc) => {
                let unit = units::binary(u64::from(disc.unit_bytes));
                let least = units::binary(disc.fragment_bytes_min());
                format!("FileCore E+, LFAU {unit}, {least} a small file")
            }
        }
    }

    /// Creates the file system, empty and durable.
    pub(super) fn make(
        &self,
        drive: &dyn Storage,
        place: &PlannedPartition,
        sector: u32,
    ) -> io::Result<()> {
        let mut part = Part { drive, start: place.start, bytes: place.bytes, sector };
        let result = match self {
            FileSystem::Filecore(disc) => disc.format(&mut part, "HardDisc4"),
            FileSystem::Fat(kind, cluster) => {
                let format = FormatParameters {
                    label: if place.purpose == "loader" { "LOADER" } else { "SHARED" },
                    offset_sectors: place.start / u64::from(sector),
                    serial: place.start as u32 ^ 0x5d1a_0001,
                    ..FormatParameters::new(*kind, *cluster)
                };
                fat::mkfs(&mut part, &format, &mut vec![0; ROOM]).map(drop)
            }
        };
        result.map_err(|error| match error {
            fat::Error::Drive(error) => error,
            other => io::Error::other(format!("{}: {other}", place.purpose)),
        })
    }
}

/// Reads a file system back; returns its capacity in bytes.
pub(super) fn read_back(
    drive: &dyn Storage,
    place: &PlannedPartition,
    sector: u32,
) -> io::Result<u64> {
    let damage = || io::Error::other(format!("{}: no such file system", place.purpose));
    if place.purpose == "filecore" {
        let mut start = vec![0; START];
        drive.read_exact(place.start, &mut start)?;
        let disc = start.get(fat::BOOT_BLOCK_AT as usize..).and_then(Filecore::read);
        return disc.map(|disc| disc.bytes).ok_or_else(damage);
    }
    let mut part = Part { drive, start: place.start, bytes: place.bytes, sector };
    let volume = fat::Volume::open(&mut part).map_err(|_| damage())?;
    let layout = volume.layout();
    Ok(u64::from(layout.clusters) * u64::from(layout.cluster_bytes))
}

/// Default cluster sizes of Windows, except FAT32 up to 256 MiB (always 512 bytes; Windows: up to
/// 2 KiB) and above 32 GiB (32 KiB; Windows has no default). Source: Microsoft, "Default cluster
/// size for NTFS, FAT, and exFAT".
fn cluster_bytes(kind: VolumeKind, bytes: u64, sector: u32) -> u32 {
    const GIB: u64 = 1 << 30;
    let bytes = match (kind, bytes) {
        (VolumeKind::Fat32, small) if small <= GIB / 4 => 512,
        (VolumeKind::Fat32, small) if small <= 8 * GIB => 4096,
        (VolumeKind::Fat32, small) if small <= 16 * GIB => 8192,
        (VolumeKind::Fat32, small) if small <= 32 * GIB => 16 << 10,
        (VolumeKind::Fat32, _) => 32 << 10,
        (VolumeKind::Exfat, small) if small <= GIB / 4 => 4096,
        (VolumeKind::Exfat, small) if small <= 32 * GIB => 32 << 10,
        (VolumeKind::Exfat, _) => 128 << 10,
    };
    bytes.max(sector)
}

/// A partition as seen by the file systems.
struct Part<'a> {
    drive: &'a dyn Storage,
    start: u64,
    bytes: u64,
    sector: u32,
}

impl Part<'_> {
    /// Byte offset on the drive, if the range is inside the partition.
    fn at(&self, sector: u64, bytes: usize) -> io::Result<u64> {
        let offset = sector * u64::from(self.sector);
        if offset + bytes as u64 <= self.bytes {
            Ok(self.start + offset)
        } else {
            Err(io::Error::other("beyond the end of the partition"))
        }
    }
}

impl SectorDrive for Part<'_> {
    type Error = io::Error;

    fn sector_bytes(&self) -> u32 {
        self.sector
    }

    fn sectors(&self) -> u64 {
        self.bytes / u64::from(self.sector)
    }

    fn submit(&mut self, sector: u64, bytes: &[u8]) -> io::Result<()> {
        self.drive.write_all(self.at(sector, bytes.len())?, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.drive.sync()
    }

    fn read(&mut self, sector: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.drive.read_exact(self.at(sector, bytes.len())?, bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use drive::partitions::{PartitionLayout, PartitionType};

    use super::*;

    const GIB: u64 = 1 << 30;

    fn systems(layout: &str, bytes: u64, sector: u32) -> Vec<Option<FileSystem>> {
        let places =
            PartitionLayout::parse(layout).expect("a layout").plan(bytes, sector).expect("it fits");
        let of = |place| FileSystem::choose(place, sector, None).expect("a file system");
        places.iter().map(of).collect()
    }

    #[test]
    fn the_four_partitions_of_document_000() {
        let found = systems("loader,filecore=110G,fat32=20G,ext4", 512 * GIB, 512);
        let [loader, filecore, shared, linux] = &found[..] else { panic!("four") };
        assert_eq!(*loader, Some(FileSystem::Fat(VolumeKind::Fat32, 4096)));
        assert_eq!(*shared, Some(FileSystem::Fat(VolumeKind::Fat32, 16 << 10)));
        assert_eq!(*linux, None);
        let Some(FileSystem::Filecore(disc)) = filecore else { panic!("{filecore:?}") };
        assert!(disc.idlen <= IDLEN_OF_ALL, "{disc:?}");
    }

    #[test]
    fn a_file_system_that_does_not_fit_its_partition_is_refused_before_anything_is_written() {
        let cases = [
            ("loader", 32 << 20, 512, "loader of 32 MiB: the drive is too small"),
            ("loader", 256 << 20, 4096, "loader of 256 MiB: the drive is too small"),
            ("fat32", 10 << 40, 4096, "fat32 of 10 TiB: the clusters are too small"),
        ];
        for (purpose, bytes, sector, why) in cases {
            let (kind, start) = (PartitionType::Mbr(0x0c), 1 << 20);
            let place = PlannedPartition { number: 1, purpose, kind, start, bytes };
            let refused = FileSystem::choose(&place, sector, None).expect_err("it does not fit");
            assert!(refused.starts_with(why), "{refused}");
        }
    }

    #[test]
    fn a_unit_with_too_many_identifiers_is_refused_with_the_smallest_that_works() {
        let places = PartitionLayout::parse("filecore").expect("a layout").plan(200 * GIB, 512);
        let place = &places.expect("it fits")[0];
        let refused =
            FileSystem::choose(place, 512, Some(1024)).expect_err("21 bits do not suffice");
        let (_, least) = refused.split_once("; the smallest unit here is ").expect("it is named");
        let least = units::parse_bytes(least).expect("a size") as u32;
        assert!(FileSystem::choose(place, 512, Some(least)).is_ok(), "{refused}");
        assert!(FileSystem::choose(place, 512, Some(least / 2)).is_err(), "{refused}");
    }

    #[test]
    fn each_file_system_is_created_on_its_partition_and_recognised() {
        for sector in [512u32, 4096] {
            let drive = tempfile::tempfile().expect("a file");
            let bytes = 3 * GIB;
            drive.set_len(bytes).expect("sparse");
            let layout =
                PartitionLayout::parse("loader=600M,filecore=300M,exfat=600M,ext4").expect("words");
            let places = layout.plan(bytes, sector).expect("it fits");
            for place in &places {
                if let Some(system) = FileSystem::choose(place, sector, None).expect("it fits") {
                    system.make(&drive, place, sector).expect("made");
                }
            }
            let mut block = [0; fat::BOOT_BLOCK_BYTES];
            let at = places[1].start + fat::BOOT_BLOCK_AT;
            drive.read_exact_at(&mut block, at).expect("there");
            let disc = Filecore::read(&block).expect("a FileCore disc");
            assert!(disc.bytes <= places[1].bytes && places[1].bytes - disc.bytes < 1 << 20);
            for (place, kind) in [(&places[0], VolumeKind::Fat32), (&places[2], VolumeKind::Exfat)]
            {
                let mut part =
                    Part { drive: &drive, start: place.start, bytes: place.bytes, sector };
                let volume = fat::Volume::open(&mut part).expect("a volume");
                assert_eq!(volume.layout().kind, kind);
            }
            // Nothing was written beyond a partition.
            let mut last = [0; 4096];
            drive.read_exact_at(&mut last, places[3].start).expect("there");
            assert_eq!(last, [0; 4096]);
        }
    }
}

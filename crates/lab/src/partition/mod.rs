//! Partition tables (reading, planning and writing) and empty file systems on new partitions.

pub(crate) mod finished;
mod format;

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use drive::partitions::{self, LayoutError, PartitionLayout, PartitionTable, PlannedPartition};
use drive::{OpenRequest, Opened};
use journal::Storage;
use record::{Safety, TargetKind};
use rig::TargetInfo;

use crate::error::{ErrorKind, LabError, Result};
use crate::real::admit_overwrite;
use format::FileSystem;

/// Supported sector sizes of images, bytes.
const SECTORS: [u64; 4] = [512, 1024, 2048, 4096];

/// A drive or an image that can hold a partition table.
pub struct Disc {
    /// The device or image, as the user named it.
    pub target: String,
    /// Its capacity, bytes.
    pub bytes: u64,
    /// Its sector size, bytes.
    pub sector_bytes: u32,
    /// The data that a new table would destroy, if the user permitted that.
    pub destroys: Option<String>,
    info: TargetInfo,
    request: OpenRequest,
}

impl Disc {
    /// Checks that the target can have a table, without touching it. `destroy` is the confirmation
    /// for a new table, `sector` the sector size of an image (default 512).
    pub fn plan(target: &str, destroy: Option<String>, sector: Option<u64>) -> Result<Disc> {
        let wants = if destroy.is_some() { Safety::Destroys } else { Safety::Reads };
        let request = OpenRequest { destroy, ..OpenRequest::to(wants) };
        let drive::PlannedTarget { info, destroys, .. } = drive::plan_open(target, &request)?;
        if info.allowed == Safety::Destroys {
            admit_overwrite(target, None)?;
        }
        let sector_bytes = sector_bytes(target, &info, sector)?;
        let (target, bytes) = (target.to_string(), info.bytes);
        Ok(Disc { target, bytes, sector_bytes, destroys, info, request })
    }

    /// The locations of a layout's partitions on this drive.
    pub fn lay_out(&self, layout: &PartitionLayout) -> Result<Vec<PlannedPartition>> {
        Ok(layout.plan(self.bytes, self.sector_bytes)?)
    }

    /// Checks that a new table may be written; the error says how to permit it.
    pub fn check_writable(&self) -> Result<()> {
        if self.info.allowed >= Safety::Destroys {
            return Ok(());
        }
        let text =
            format!("{} may only be read: a wrong table would lose everything on it", self.target);
        let advice = "--destroy with its serial number, or its size in bytes if it has none";
        Err(LabError::new(ErrorKind::Refused, text).advise(advice))
    }

    /// The old partition numbers in the order of the drive; `None` if they are already in that
    /// order. Refuses a drive without an MBR.
    pub fn order(&self) -> Result<Option<Vec<u32>>> {
        let drive = self.open()?;
        let order = drive.partition_order(self.sector_bytes);
        let order = order.map_err(|e| self.failed("read", &e))?;
        if order.is_none() && self.table(&drive)?.kind == "gpt" {
            let text = format!("{} has a GPT: --renumber changes only an MBR", self.target);
            return Err(LabError::usage(text).advise(format!("sgdisk --sort {}", self.target)));
        }
        Ok(order)
    }

    /// Renumbers the partitions of an MBR in the order of the drive. No data are lost. Returns a
    /// warning if the kernel has not read the table yet.
    pub fn renumber(&self) -> Result<Option<String>> {
        self.check_writable()?;
        let drive = drive::open(&self.target, &self.request)?;
        drive.guard.check_again()?;
        drive.renumber_partitions(self.sector_bytes).map_err(|e| self.failed("write", &e))?;
        Ok(self.reread(drive))
    }

    fn failed(&self, action: &str, error: &std::io::Error) -> LabError {
        let text = format!("cannot {action} the partition table of {}: {error}", self.target);
        LabError::new(ErrorKind::Io, text)
    }

    /// Reads the table of the drive.
    pub fn read(&self) -> Result<PartitionTable> {
        self.table(&self.open()?)
    }

    fn open(&self) -> Result<Opened> {
        Ok(drive::open(&self.target, &OpenRequest::to(Safety::Reads))?)
    }

    fn table(&self, opened: &Opened) -> Result<PartitionTable> {
        let table = opened.partition_table(self.bytes, self.sector_bytes);
        table.ok_or_else(|| self.without_table(opened.file()))
    }

    /// The error if no table was found: the drive has none, or its first sector cannot be read.
    fn without_table(&self, drive: &dyn Storage) -> LabError {
        if let Err(error) = drive.read_exact(0, &mut [0; 512]) {
            return self.failed("read", &error);
        }
        let text = format!("{} has no partition table", self.target);
        let error = LabError::new(ErrorKind::Check, text);
        error.advise("--layout plans one: see ssdyno partition --help")
    }

    /// The file systems for [`Disc::write`] to create, one per partition. `unit` is FileCore's
    /// allocation unit (LFAU) in bytes; `None`: the smallest that every system can read.
    pub fn file_systems(
        &self,
        places: &[PlannedPartition],
        unit: Option<u64>,
    ) -> Result<Vec<NewVolume>> {
        let unit = unit.map(|unit| u32::try_from(unit).unwrap_or(u32::MAX));
        places
            .iter()
            .map(|place| {
                let system = FileSystem::choose(place, self.sector_bytes, unit);
                system.map(NewVolume).map_err(|why| {
                    let option = if place.purpose == "filecore" { "--lfau" } else { "size" };
                    LabError::usage(why).advise(format!("another {option}"))
                })
            })
            .collect()
    }

    /// Writes a new table and the file systems, if any, one per partition. Returns a warning if the
    /// kernel has not read the table yet.
    pub fn write(
        &self,
        places: &[PlannedPartition],
        volumes: &[NewVolume],
    ) -> Result<Option<String>> {
        self.check_writable()?;
        let drive = drive::open(&self.target, &self.request)?;
        drive.guard.check_again()?;
        let size = (self.bytes, self.sector_bytes);
        drive.write_partitions(size, places, signature()).map_err(|e| self.failed("write", &e))?;
        for (place, NewVolume(system)) in places.iter().zip(volumes) {
            let Some(system) = system else { continue };
            system.make(drive.file(), place, self.sector_bytes).map_err(|error| {
                let text = format!("cannot format partition {}: {error}", place.number);
                LabError::new(ErrorKind::Io, text)
            })?;
        }
        Ok(self.reread(drive))
    }

    /// Makes the kernel read the new table. Returns a warning if it does not.
    fn reread(&self, opened: Opened) -> Option<String> {
        let kind = opened.info.target.kind;
        // The kernel rereads the table only if nobody else has the drive open.
        drop(opened);
        if kind != TargetKind::Device {
            return None;
        }
        let error = partitions::reread(&self.target).err()?;
        Some(match error.kind() {
            // The kernel's answer for a loop device without partitions.
            io::ErrorKind::InvalidInput => "the table is written, but the kernel does not scan \
                                            this device for one (loop devices: losetup --partscan)"
                .to_string(),
            _ => format!("the table is written, but the kernel has not read it yet: {error}"),
        })
    }
}

/// An empty file system for a partition, or none.
pub struct NewVolume(Option<FileSystem>);

impl NewVolume {
    /// A description of the file system; `None` if there is none.
    pub fn in_words(&self) -> Option<String> {
        self.0.as_ref().map(FileSystem::in_words)
    }
}

/// The sector size of a whole drive or an image; nothing else can have a table.
fn sector_bytes(target: &str, info: &TargetInfo, sector: Option<u64>) -> Result<u32> {
    let kind = info.target.kind;
    if kind == TargetKind::Device && partitions::is_partition(target) {
        let text = format!("{target} is a partition; a table is on a whole drive");
        return Err(LabError::usage(text).advise(format!("ssdyno list {target}")));
    }
    match (kind, sector) {
        (TargetKind::File, None) => Ok(512),
        (TargetKind::File, Some(sector)) if SECTORS.contains(&sector) => Ok(sector as u32),
        (TargetKind::File, Some(sector)) => {
            let text = format!("a sector has 512, 1024, 2048 or 4096 bytes, not {sector}");
            Err(LabError::usage(text))
        }
        (TargetKind::Device, None) => Ok(info.logical_block_bytes),
        (TargetKind::Device, Some(_)) => {
            let text = format!("{target} reports its own sector size: --sector is for images");
            Err(LabError::usage(text))
        }
        _ => {
            let text = format!("{target} is not a drive: a table is on a device or an image");
            Err(LabError::usage(text).advise("ssdyno list"))
        }
    }
}

/// A disk signature that is unlikely to be in use. Operating systems identify disks by it.
fn signature() -> u32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now.as_secs() as u32).rotate_left(16) ^ now.subsec_nanos() | 1
}

impl From<LayoutError> for LabError {
    fn from(error: LayoutError) -> LabError {
        LabError::usage(error).advise("ssdyno partition --help")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// An image of 1 MiB with these bytes at these offsets.
    fn image(parts: &[(usize, &[u8])]) -> (tempfile::NamedTempFile, Disc) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let mut bytes = vec![0; 1 << 20];
        for (at, part) in parts {
            bytes[*at..][..part.len()].copy_from_slice(part);
        }
        fs::write(file.path(), bytes).expect("written");
        let disc = Disc::plan(&file.path().to_string_lossy(), None, None).expect("an image");
        (file, disc)
    }

    #[test]
    fn only_an_mbr_can_be_renumbered() {
        let entry = [0, 0, 0, 0, 0x83, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0, 0];
        let (_mbr, disc) = image(&[(446, &entry), (510, &[0x55, 0xaa])]);
        assert_eq!(disc.order().expect("an MBR"), None, "in order");
        let (_gpt, disc) = image(&[(512, b"EFI PART")]);
        let error = disc.order().expect_err("a GPT");
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.to_string().contains("has a GPT"), "{error}");
        let (_blank, disc) = image(&[]);
        let error = disc.order().expect_err("no table").to_string();
        assert!(error.contains("no partition table"), "{error}");
    }

    #[test]
    fn a_first_sector_that_cannot_be_read_is_not_a_missing_table() {
        let (file, disc) = image(&[]);
        let blank = disc.without_table(file.as_file());
        assert!(blank.to_string().ends_with("has no partition table"), "{blank}");
        // Reads fail on a descriptor for writing.
        let unreadable = fs::OpenOptions::new().write(true).open(file.path()).expect("ours");
        let error = disc.without_table(&unreadable);
        assert_eq!((error.kind(), error.advice()), (ErrorKind::Io, None));
        assert!(error.to_string().starts_with("cannot read the partition table"), "{error}");
    }
}

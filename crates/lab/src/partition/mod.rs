//! Partition tables: read, planned and written; and empty file systems on new partitions.

mod format;

use std::time::{SystemTime, UNIX_EPOCH};

use drive::partitions::{self, Layout, LayoutError, Planned, Table};
use drive::{OpenRequest, Opened};
use record::{Safety, TargetKind};
use rig::TargetInfo;

use crate::error::{ErrorKind, LabError, Result};
use format::FileSystem;

/// Sector sizes an image may have, bytes.
const SECTORS: [u64; 4] = [512, 1024, 2048, 4096];

/// A drive or an image that can hold a partition table.
pub struct Disc {
    /// The device or image, as the user named it.
    pub target: String,
    /// Its capacity, bytes.
    pub bytes: u64,
    /// Its sector size, bytes.
    pub sector_bytes: u32,
    /// The data a new table would destroy, if the user permitted that.
    pub destroys: Option<String>,
    info: TargetInfo,
    request: OpenRequest,
}

impl Disc {
    /// Checks that the target can hold a table, and touches nothing. `destroy` is the word that
    /// permits a new one, `sector` the sector size of an image (default 512).
    pub fn plan(target: &str, destroy: Option<String>, sector: Option<u64>) -> Result<Disc> {
        let wants = if destroy.is_some() { Safety::Destroys } else { Safety::Reads };
        let request = OpenRequest { destroy, ..OpenRequest::to(wants) };
        let drive::Planned { info, destroys, .. } = drive::plan_open(target, &request)?;
        let sector_bytes = sector_bytes(target, &info, sector)?;
        let (target, bytes) = (target.to_string(), info.bytes);
        Ok(Disc { target, bytes, sector_bytes, destroys, info, request })
    }

    /// The places of a layout's partitions on this drive.
    pub fn lay_out(&self, layout: &Layout) -> Result<Vec<Planned>> {
        Ok(layout.plan(self.bytes, self.sector_bytes)?)
    }

    /// Whether a new table may be written; the error says how to permit it.
    pub fn check_writable(&self) -> Result<()> {
        if self.info.allowed >= Safety::Destroys {
            return Ok(());
        }
        let text =
            format!("{} may only be read, and a wrong table loses everything on it", self.target);
        let advice = "--destroy with its serial number, or else its size in bytes, permits it";
        Err(LabError::new(ErrorKind::Refused, text).advise(advice))
    }

    /// The old numbers of the partitions in the order of the drive; `None` where they are in that
    /// order.
    pub fn order(&self) -> Result<Option<Vec<u32>>> {
        let request = OpenRequest::to(Safety::Reads);
        let opened = drive::open(&self.target, &request)?;
        opened.partition_order(self.sector_bytes).map_err(|e| self.failed("read", &e))
    }

    /// Brings the numbers of an MBR's partitions into the order of the drive. No data are lost.
    /// Gives a warning where the kernel has not read the table yet.
    pub fn renumber(&self) -> Result<Option<String>> {
        self.check_writable()?;
        let opened = drive::open(&self.target, &self.request)?;
        opened.guard.check_again()?;
        let done = opened.renumber_partitions(self.sector_bytes);
        done.map_err(|e| self.failed("write", &e))?;
        Ok(self.reread(opened))
    }

    fn failed(&self, action: &str, error: &std::io::Error) -> LabError {
        let text = format!("cannot {action} the table of {}: {error}", self.target);
        LabError::new(ErrorKind::Io, text)
    }

    /// The table on the drive.
    pub fn read(&self) -> Result<Table> {
        let request = OpenRequest::to(Safety::Reads);
        let opened = drive::open(&self.target, &request)?;
        opened.partition_table(self.bytes, self.sector_bytes).ok_or_else(|| {
            let text = format!("{} has no partition table", self.target);
            let error = LabError::new(ErrorKind::Check, text);
            error.advise("--layout plans one: see ssdyno partition --help")
        })
    }

    /// The file systems that [`Disc::write`] is to make, one for each place. `unit` is FileCore's
    /// allocation unit (LFAU) in bytes; `None`: the smallest that every system reads.
    pub fn file_systems(&self, places: &[Planned], unit: Option<u64>) -> Result<Vec<NewVolume>> {
        let unit = unit.map(|unit| u32::try_from(unit).unwrap_or(u32::MAX));
        let of = |place: &Planned| {
            let system = FileSystem::of(place, self.sector_bytes, unit);
            system.map(NewVolume).map_err(|why| LabError::usage(why).advise("another --lfau"))
        };
        places.iter().map(of).collect()
    }

    /// Writes a new table, and the file systems, if there are any, one for each place. Gives a warning
    /// where the kernel has not read the table yet.
    pub fn write(&self, places: &[Planned], volumes: &[NewVolume]) -> Result<Option<String>> {
        self.check_writable()?;
        let opened = drive::open(&self.target, &self.request)?;
        opened.guard.check_again()?;
        let size = (self.bytes, self.sector_bytes);
        let done = opened.write_partitions(size, places, signature());
        done.map_err(|e| self.failed("write", &e))?;
        for (place, NewVolume(system)) in places.iter().zip(volumes) {
            let Some(system) = system else { continue };
            system.make(&opened, place, self.sector_bytes).map_err(|error| {
                let text = format!("cannot format partition {}: {error}", place.number);
                LabError::new(ErrorKind::Io, text)
            })?;
        }
        Ok(self.reread(opened))
    }

    /// Makes the kernel read the new table; a warning where it does not.
    fn reread(&self, opened: Opened) -> Option<String> {
        let kind = opened.info.target.kind;
        // The kernel rereads the table only when nobody else has the drive open.
        drop(opened);
        if kind != TargetKind::Device {
            return None;
        }
        let unread = |e| format!("the table is written; the kernel has not read it yet: {e}");
        partitions::reread(&self.target).err().map(unread)
    }
}

/// An empty file system for a partition, or none.
pub struct NewVolume(Option<FileSystem>);

impl NewVolume {
    /// The file system in words; `None` where none is made.
    pub fn in_words(&self) -> Option<String> {
        self.0.as_ref().map(FileSystem::in_words)
    }
}

/// The sector size of a whole drive or of an image; nothing else holds a table.
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
            let text = format!("{target} is no drive: a table is on a device or an image");
            Err(LabError::usage(text).advise("ssdyno list"))
        }
    }
}

/// A disk signature that is unlikely to be in use: operating systems distinguish disks by it.
fn signature() -> u32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now.as_secs() as u32).rotate_left(16) ^ now.subsec_nanos() | 1
}

impl From<LayoutError> for LabError {
    fn from(error: LayoutError) -> LabError {
        LabError::usage(error).advise("ssdyno partition --help")
    }
}

//! Reads files in the root directory, written by any program.

use crate::cache::Cache;
use crate::directory::{Cursor, DirectoryEntry, Found};
use crate::drive::{Error, SectorDrive};
use crate::layout::{Link, VolumeLayout};
use crate::name::Name;

/// A volume opened for reading.
pub struct Volume {
    layout: VolumeLayout,
    fat: Cache,
    /// The last cluster looked up: its file's first cluster, its index in the file, its number.
    last: (u32, u64, u32),
}

impl Volume {
    /// Opens a volume.
    pub fn open<D: SectorDrive>(drive: &mut D) -> Result<Volume, Error<D::Error>> {
        Ok(Volume { layout: VolumeLayout::read(drive)?, fat: Cache::new(), last: (0, 0, 0) })
    }

    /// Returns the geometry of the volume.
    pub fn layout(&self) -> &VolumeLayout {
        &self.layout
    }

    /// Calls `each` for every file and directory in the root directory.
    pub fn list<D: SectorDrive>(
        &self,
        drive: &mut D,
        mut each: impl FnMut(&DirectoryEntry),
    ) -> Result<(), Error<D::Error>> {
        let mut cursor = Cursor::root(&self.layout);
        loop {
            match cursor.next(drive)? {
                Found::End => return Ok(()),
                Found::Entry(entry) => each(&entry),
                Found::Special(_) | Found::Torn(_) => {}
            }
        }
    }

    /// Returns the entry with the given name.
    pub fn find<D: SectorDrive>(
        &self,
        drive: &mut D,
        name: &Name,
    ) -> Result<Option<DirectoryEntry>, Error<D::Error>> {
        let mut matching = None;
        self.list(drive, |entry| {
            if entry.name == Some(*name) {
                matching = Some(*entry);
            }
        })?;
        Ok(matching)
    }

    /// Reads from `offset` and returns the number of bytes that belong to the file. Offset and
    /// length must be multiples of the sector size. Bytes beyond the valid length are zeros.
    pub fn read<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        file: &DirectoryEntry,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<usize, Error<D::Error>> {
        let (size, cluster) =
            (u64::from(self.layout.sector_bytes), u64::from(self.layout.cluster_bytes));
        if !offset.is_multiple_of(size) || !(bytes.len() as u64).is_multiple_of(size) {
            return Err(Error::Room);
        }
        let count = (bytes.len() as u64).min(file.bytes.saturating_sub(offset)) as usize;
        let mut filled = 0;
        while filled < count {
            let position = offset + filled as u64;
            let number = self.cluster(drive, file, position / cluster)?;
            let in_cluster = position % cluster;
            let piece = (cluster - in_cluster).min((bytes.len() - filled) as u64) as usize;
            let sector = self.layout.sector_of(number) + in_cluster / size;
            drive.read(sector, &mut bytes[filled..filled + piece]).map_err(Error::Drive)?;
            filled += piece;
        }
        let valid = file.valid.saturating_sub(offset).min(count as u64) as usize;
        bytes[valid..count].fill(0);
        Ok(count)
    }

    /// Returns the cluster at an index in a file.
    fn cluster<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        file: &DirectoryEntry,
        index: u64,
    ) -> Result<u32, Error<D::Error>> {
        let damaged = Error::Volume("a file has fewer clusters than its size requires");
        if file.contiguous {
            let cluster = u64::from(file.first) + index;
            let cluster = u32::try_from(cluster).ok().filter(|c| self.layout.has(*c));
            return cluster.ok_or(damaged);
        }
        let (first, mut position, mut cluster) = self.last;
        if first != file.first || position > index {
            (position, cluster) = (0, file.first);
        }
        while position < index {
            match self.layout.follow(drive, &mut self.fat, cluster)? {
                Link::To(next) => (position, cluster) = (position + 1, next),
                _ => return Err(damaged),
            }
        }
        if !self.layout.has(cluster) {
            return Err(damaged);
        }
        self.last = (file.first, position, cluster);
        Ok(cluster)
    }
}

//! Entries and clusters of a recorder's files: allocates, enters, shortens and removes them, and
//! marks the volume as in use. The parent module calls these steps in a crash-safe order.

use super::{Open, Recorder, file_bytes};
use crate::bytes::{put_u16, put_u32, u16_at};
use crate::cache::Cache;
use crate::directory::EntryLocation;
use crate::drive::{Error, SectorDrive};
use crate::exfat::{self, ENTRY, SET};
use crate::fat32;
use crate::layout::VolumeKind;

impl Recorder {
    /// Shortens a file to the placed bytes, or removes it if there are none, and frees the rest.
    pub(super) fn close<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        open: &Open,
    ) -> Result<(), Error<D::Error>> {
        let clusters = self.layout.clusters_for(open.placed) as u32;
        let time = self.recording.time;
        let whole = self.layout.kind == VolumeKind::Fat32 && open.placed == open.bytes;
        if !whole {
            let slot = match (clusters, self.layout.kind) {
                (0, kind) => self.remove(drive, open.place, kind)?,
                (_, VolumeKind::Exfat) => {
                    let set =
                        exfat::file_set(&open.name, open.first, open.placed, open.placed, time);
                    self.stage(drive, open.place, &set)?
                }
                (_, VolumeKind::Fat32) => {
                    let bytes = open.placed as u32;
                    let entry = fat32::file_entry(&open.name, open.first, bytes, time);
                    self.stage(drive, open.place, &entry)?
                }
            };
            self.sectors[slot].put(drive)?;
            drive.flush().map_err(Error::Drive)?;
        }
        if clusters < open.clusters {
            self.table.release(
                drive,
                open.first + clusters..open.first + open.clusters,
                clusters,
            )?;
        }
        drive.flush().map_err(Error::Drive)
    }

    /// Marks the entries of a file as unused.
    fn remove<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        place: EntryLocation,
        kind: VolumeKind,
    ) -> Result<usize, Error<D::Error>> {
        let slot = self.slot(place.sector);
        let bytes = self.sectors[slot].get_mut(drive, place.sector)?;
        match kind {
            VolumeKind::Fat32 => bytes[place.index * ENTRY] = fat32::DELETED,
            VolumeKind::Exfat => {
                let set = &mut bytes[place.index * ENTRY..][..SET];
                set.chunks_exact_mut(ENTRY).for_each(|entry| entry[0] &= !exfat::IN_USE);
            }
        }
        Ok(slot)
    }

    /// Allocates a file; its entry is written after a flush.
    pub(super) fn allocate<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        room: &mut [u8],
    ) -> Result<(u32, u32), Error<D::Error>> {
        let bytes = file_bytes(&self.layout, &self.recording);
        let clusters = bytes / u64::from(self.layout.cluster_bytes);
        self.reserve_entry(drive)?;
        let run = self.table.claim(drive, clusters.min(u64::from(u32::MAX)) as u32, room)?;
        Ok((run.start, run.end - run.start))
    }

    /// Advances the end of the directory to a place where the entries of a file fit into one
    /// sector. Pads skipped entries, which must not end the directory. Fails if there is no such
    /// place or no further file number.
    fn reserve_entry<D: SectorDrive>(&mut self, drive: &mut D) -> Result<(), Error<D::Error>> {
        let per_sector = self.layout.sector_bytes as usize / ENTRY;
        let place = self.end.place();
        let fits = self.layout.kind == VolumeKind::Fat32 || place.index + SET / ENTRY <= per_sector;
        if !fits {
            let slot = self.slot(place.sector);
            let bytes = self.sectors[slot].get_mut(drive, place.sector)?;
            // [`Recorder::stage`] has already padded its own sectors.
            if bytes[place.index * ENTRY] == exfat::END {
                pad(bytes, place.index);
                self.sectors[slot].put(drive)?;
            }
            self.end.next_sector(drive)?;
        }
        let numbered = self.recording.name.numbered(self.number + 1).is_some();
        if numbered && self.end.exists() { Ok(()) } else { Err(Error::DirectoryFull) }
    }

    /// Creates the next file in a cached directory sector, which the caller writes.
    pub(super) fn begin<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        (first, clusters): (u32, u32),
    ) -> Result<usize, Error<D::Error>> {
        let name = self.recording.name.numbered(self.number + 1).ok_or(Error::DirectoryFull)?;
        let bytes = u64::from(clusters) * u64::from(self.layout.cluster_bytes);
        let (place, time) = (self.end.place(), self.recording.time);
        let slot = match self.layout.kind {
            VolumeKind::Exfat => {
                let set = exfat::file_set(&name, first, 0, bytes, time);
                self.stage(drive, place, &set)?
            }
            VolumeKind::Fat32 => {
                let entry = fat32::file_entry(&name, first, bytes as u32, time);
                self.stage(drive, place, &entry)?
            }
        };
        let entries = if self.layout.kind == VolumeKind::Exfat { SET / ENTRY } else { 1 };
        for _ in 0..entries {
            self.end.advance(drive)?;
        }
        self.number += 1;
        let (index, placed, entered, safe) = (self.files + 1, 0, 0, 0);
        let file = Open { name, index, first, clusters, bytes, placed, entered, safe, place };
        self.next = Some(file);
        Ok(slot)
    }

    /// Puts entries into a cached directory sector, and pads it if no further set fits.
    pub(super) fn stage<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        place: EntryLocation,
        entries: &[u8],
    ) -> Result<usize, Error<D::Error>> {
        let slot = self.slot(place.sector);
        // Nothing follows the end of a directory, so its next sector need not be read.
        if place.index == 0 {
            self.sectors[slot].blank(place.sector);
        }
        let bytes = self.sectors[slot].get_mut(drive, place.sector)?;
        let (offset, per_sector) = (place.index * ENTRY, bytes.len() / ENTRY);
        bytes[offset..offset + entries.len()].copy_from_slice(entries);
        let next = place.index + entries.len() / ENTRY;
        let set = self.layout.kind == VolumeKind::Exfat;
        if set && next + SET / ENTRY > per_sector && next < per_sector {
            pad(bytes, next);
        }
        Ok(slot)
    }

    /// Returns the cache for a directory sector: the one that contains it, or else the one that
    /// does not contain the open file's.
    fn slot(&self, sector: u64) -> usize {
        let open = self.open.map(|open| open.place.sector);
        let sector_in = |slot: usize| self.sectors[slot].holds();
        match (0..2).find(|slot| sector_in(*slot) == Some(sector)) {
            Some(slot) => slot,
            None => usize::from(open.is_some() && sector_in(0) == open),
        }
    }

    /// Marks the volume as in use, or as clean with current counts.
    pub(super) fn mark<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        dirty: bool,
    ) -> Result<(), Error<D::Error>> {
        let mut sector = Cache::new();
        let (clusters, free) = (self.layout.clusters, self.table.free());
        if self.layout.kind == VolumeKind::Fat32 {
            let bytes = sector.get_mut(drive, fat32::INFO_SECTOR)?;
            if fat32::info_free(bytes).is_some() {
                put_u32(bytes, fat32::FREE_AT, if dirty { fat32::UNKNOWN } else { free });
                put_u32(bytes, fat32::NEXT_AT, fat32::UNKNOWN);
                sector.put(drive)?;
            }
        }
        let boot = sector.get_mut(drive, 0)?;
        match self.layout.kind {
            VolumeKind::Exfat => {
                let flags = u16_at(boot, exfat::FLAGS_AT) & !exfat::DIRTY;
                put_u16(boot, exfat::FLAGS_AT, flags | if dirty { exfat::DIRTY } else { 0 });
                let used = u64::from(clusters - free.min(clusters)) * 100 / u64::from(clusters);
                boot[exfat::PERCENT_AT] = if dirty { 0xff } else { used as u8 };
            }
            VolumeKind::Fat32 => boot[fat32::DIRTY_AT] = u8::from(dirty),
        }
        sector.put(drive)?;
        drive.flush().map_err(Error::Drive)
    }
}

/// Fills the rest of a sector with unused entries that do not end the directory.
fn pad(bytes: &mut [u8], from: usize) {
    for entry in bytes[from * ENTRY..].chunks_exact_mut(ENTRY) {
        entry.fill(0);
        entry[0] = exfat::FILE & !exfat::IN_USE;
    }
}

//! The streaming recorder. Each file is one run of clusters, allocated before its data arrive.
//!
//! The caller gets the location of the next bytes from [`Recorder::place`], writes them itself, and
//! calls [`Recorder::sync`] when told to, at the end of a file and at checkpoints. Crash safety
//! depends only on the order of writes. On exFAT, it is: bitmap, flush, entry with a valid length
//! of 0; a checkpoint flushes the data and then writes the valid length, one sector. On FAT32, it
//! is: both FATs, flush, entry with the full size. Closing shortens the entry, flushes, then frees
//! the excess clusters. A power cut in between leaves lost clusters, never an entry without its
//! clusters. Earlier files are never torn, because no entry set crosses a sector.

use crate::bytes::{put_u16, put_u32, u16_at};
use crate::cache::Cache;
use crate::directory::{Cursor, Entry, EntryLocation, Found};
use crate::drive::{Drive, Error};
use crate::exfat::{self, ENTRY, SET};
use crate::fat32;
use crate::layout::{Kind, Layout};
use crate::name::Name;
use crate::table::Table;

/// Parameters of a recording.
#[derive(Clone, Copy, Debug)]
pub struct Recording {
    /// The stem of the names; a number follows in the remaining digits.
    pub name: Name,
    /// Size of a file in bytes; reduced to whole clusters and to the file system's maximum.
    pub file_bytes: u64,
    /// On exFAT, the distance of checkpoints, which is the most that a power cut can lose, in
    /// bytes. `None`: a whole file.
    pub checkpoint_bytes: Option<u64>,
    /// Time of the files in FAT format: date in the upper half, time in the lower.
    pub time: u32,
}

/// The caller's next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Write this many bytes, starting at this sector.
    Write {
        /// First sector.
        sector: u64,
        /// Number of bytes: as requested, or fewer at the end of a file or before a checkpoint.
        bytes: u64,
    },
    /// Call [`Recorder::sync`].
    Sync,
}

/// The part of a recording that survives a power cut or the removal of the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Number of complete files.
    pub files: u32,
    /// Bytes of the next file, up to its last checkpoint. 0 on FAT32, which cannot record them.
    pub open_bytes: u64,
}

/// The open file.
#[derive(Clone, Copy, Debug)]
struct Open {
    name: Name,
    first: u32,
    clusters: u32,
    bytes: u64,
    /// Bytes placed so far, and the part of them that survives a power cut.
    placed: u64,
    safe: u64,
    place: EntryLocation,
}

/// A recorder on a volume.
pub struct Recorder {
    layout: Layout,
    recording: Recording,
    table: Table,
    /// The end of the root directory.
    end: Cursor,
    /// The directory sectors of the open file and of the next one.
    sectors: [Cache; 2],
    open: Option<Open>,
    number: u32,
    files: u32,
    /// The state according to the entries as written, and as of the last flush.
    entered: Kept,
    kept: Kept,
}

impl Recorder {
    /// Opens a volume and marks it as in use. `room` is a buffer for tables of at least one sector.
    pub fn open<D: Drive>(
        drive: &mut D,
        recording: Recording,
        room: &mut [u8],
    ) -> Result<Recorder, Error<D::Error>> {
        let layout = Layout::read(drive)?;
        let table = Table::open(drive, &layout, room)?;
        let mut end = Cursor::root(&layout);
        let mut number = 0;
        loop {
            match end.next(drive)? {
                Found::End => break,
                Found::Entry(Entry { name: Some(name), .. }) => {
                    number = number.max(name.number_of(recording.name).unwrap_or(0));
                }
                _ => {}
            }
        }
        let mut sectors = [Cache::new(), Cache::new()];
        if end.exists() {
            sectors[0].get(drive, end.place().sector)?;
        }
        let (entered, kept) = (Kept::default(), Kept::default());
        let (open, files) = (None, 0);
        let mut recorder =
            Recorder { layout, recording, table, end, sectors, open, number, files, entered, kept };
        recorder.mark(drive, true)?;
        Ok(recorder)
    }

    /// Returns the geometry of the volume.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Number of files started.
    pub fn files(&self) -> u32 {
        self.files
    }

    /// Returns the part of the recording that is certainly durable.
    pub fn kept(&self) -> Kept {
        self.kept
    }

    /// Number of bytes that can still be placed, in the open file and in the free run.
    pub fn left(&self) -> u64 {
        let open = self.open.map_or(0, |open| open.bytes - open.placed);
        open + u64::from(self.table.left()) * u64::from(self.layout.cluster_bytes)
    }

    /// Returns the location of the next `bytes`, rounded up to whole sectors. Performs no I/O.
    pub fn place(&mut self, bytes: u64) -> Step {
        let Some(open) = &mut self.open else { return Step::Sync };
        let limit = match (self.layout.kind, self.recording.checkpoint_bytes) {
            (Kind::Exfat, Some(most)) => {
                (open.safe + most).max(open.safe + u64::from(self.layout.sector_bytes))
            }
            _ => u64::MAX,
        };
        let unit = u64::from(self.layout.sector_bytes);
        let room = limit.min(open.bytes) - open.placed;
        let bytes = bytes.next_multiple_of(unit).min(room / unit * unit);
        if bytes == 0 {
            return Step::Sync;
        }
        let sector = self.layout.sector_of(open.first) + open.placed / unit;
        open.placed += bytes;
        Step::Write { sector, bytes }
    }

    /// Makes everything placed so far durable, and starts the next file if the open one is full.
    /// The caller must have submitted all its writes. Returns [`Error::Full`] or
    /// [`Error::DirectoryFull`] when space runs out; the recording so far is then durable.
    pub fn sync<D: Drive>(
        &mut self,
        drive: &mut D,
        room: &mut [u8],
    ) -> Result<(), Error<D::Error>> {
        let full = self.open.is_none_or(|open| open.placed == open.bytes);
        let (next, end) = match full.then(|| self.allocate(drive, room)) {
            None => (None, Ok(())),
            Some(Ok(next)) => (Some(next), Ok(())),
            Some(Err(end @ (Error::Full | Error::DirectoryFull))) => (None, Err(end)),
            Some(Err(error)) => return Err(error),
        };
        drive.flush().map_err(Error::Drive)?;
        let exfat = self.layout.kind == Kind::Exfat;
        // A FAT32 entry has the full size from the start, so the flush of the data completes the
        // file.
        let after = self.open.map_or(Kept::default(), |open| Kept {
            files: self.files - u32::from(!full),
            open_bytes: if full || !exfat { 0 } else { open.placed },
        });
        self.kept = if exfat { self.entered } else { after };
        let mut changed = [None; 2];
        if let (Some(open), Kind::Exfat) = (self.open, self.layout.kind) {
            let Open { name, first, placed, bytes, .. } = open;
            let set = exfat::file_set(&name, first, placed, bytes, self.recording.time);
            changed[0] = Some(self.stage(drive, open.place, &set)?);
        }
        self.open.iter_mut().for_each(|open| open.safe = open.placed);
        if let Some(next) = next {
            changed[1] = Some(self.begin(drive, next)?);
        }
        if changed[0] == changed[1] {
            changed[0] = None;
        }
        for slot in changed.into_iter().flatten() {
            self.sectors[slot].put(drive)?;
        }
        self.entered = after;
        if self.recording.checkpoint_bytes.is_some() {
            drive.flush().map_err(Error::Drive)?;
            self.kept = self.entered;
        }
        end
    }

    /// Ends the recording: shortens the open file to the placed bytes, frees the rest and marks the
    /// volume as clean. The caller must have submitted all its writes.
    pub fn finish<D: Drive>(mut self, drive: &mut D) -> Result<Kept, Error<D::Error>> {
        drive.flush().map_err(Error::Drive)?;
        let empty = self.open.is_some_and(|open| open.placed == 0);
        if let Some(open) = self.open.take() {
            self.close(drive, &open)?;
        }
        self.mark(drive, false)?;
        Ok(Kept { files: self.files - u32::from(empty), open_bytes: 0 })
    }

    fn close<D: Drive>(&mut self, drive: &mut D, open: &Open) -> Result<(), Error<D::Error>> {
        let kept = self.layout.clusters_for(open.placed) as u32;
        let time = self.recording.time;
        let whole = self.layout.kind == Kind::Fat32 && open.placed == open.bytes;
        if !whole {
            let slot = match (kept, self.layout.kind) {
                (0, kind) => self.remove(drive, open.place, kind)?,
                (_, Kind::Exfat) => {
                    let set =
                        exfat::file_set(&open.name, open.first, open.placed, open.placed, time);
                    self.stage(drive, open.place, &set)?
                }
                (_, Kind::Fat32) => {
                    let bytes = open.placed as u32;
                    let entry = fat32::file_entry(&open.name, open.first, bytes, time);
                    self.stage(drive, open.place, &entry)?
                }
            };
            self.sectors[slot].put(drive)?;
            drive.flush().map_err(Error::Drive)?;
        }
        if kept < open.clusters {
            self.table.release(drive, open.first + kept..open.first + open.clusters, kept)?;
        }
        drive.flush().map_err(Error::Drive)
    }

    /// Marks the entries of a file as unused.
    fn remove<D: Drive>(
        &mut self,
        drive: &mut D,
        place: EntryLocation,
        kind: Kind,
    ) -> Result<usize, Error<D::Error>> {
        let slot = self.slot(place.sector);
        let bytes = self.sectors[slot].get_mut(drive, place.sector)?;
        match kind {
            Kind::Fat32 => bytes[place.index * ENTRY] = fat32::DELETED,
            Kind::Exfat => {
                let set = &mut bytes[place.index * ENTRY..][..SET];
                set.chunks_exact_mut(ENTRY).for_each(|entry| entry[0] &= !exfat::IN_USE);
            }
        }
        Ok(slot)
    }

    /// Allocates a file; its entry is written after a flush.
    fn allocate<D: Drive>(
        &mut self,
        drive: &mut D,
        room: &mut [u8],
    ) -> Result<(u32, u32), Error<D::Error>> {
        let bytes = self.recording.file_bytes.min(self.layout.file_bytes_max());
        let wanted = (bytes / u64::from(self.layout.cluster_bytes)).max(1);
        self.reserve_entry(drive)?;
        let taken = self.table.claim(drive, wanted.min(u64::from(u32::MAX)) as u32, room)?;
        Ok((taken.start, taken.end - taken.start))
    }

    /// Advances the end of the directory to a place where the entries of a file fit into one
    /// sector. Pads skipped entries, which must not end the directory.
    fn reserve_entry<D: Drive>(&mut self, drive: &mut D) -> Result<(), Error<D::Error>> {
        let per_sector = self.layout.sector_bytes as usize / ENTRY;
        let place = self.end.place();
        let fits = self.layout.kind == Kind::Fat32 || place.index + SET / ENTRY <= per_sector;
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
        if self.end.exists() { Ok(()) } else { Err(Error::DirectoryFull) }
    }

    /// Creates the next file in a cached directory sector, which the caller writes.
    fn begin<D: Drive>(
        &mut self,
        drive: &mut D,
        (first, clusters): (u32, u32),
    ) -> Result<usize, Error<D::Error>> {
        let name = self.recording.name.numbered(self.number + 1).ok_or(Error::DirectoryFull)?;
        let bytes = u64::from(clusters) * u64::from(self.layout.cluster_bytes);
        let (place, time) = (self.end.place(), self.recording.time);
        let slot = match self.layout.kind {
            Kind::Exfat => {
                let set = exfat::file_set(&name, first, 0, bytes, time);
                self.stage(drive, place, &set)?
            }
            Kind::Fat32 => {
                let entry = fat32::file_entry(&name, first, bytes as u32, time);
                self.stage(drive, place, &entry)?
            }
        };
        let entries = if self.layout.kind == Kind::Exfat { SET / ENTRY } else { 1 };
        for _ in 0..entries {
            self.end.advance(drive)?;
        }
        (self.number, self.files) = (self.number + 1, self.files + 1);
        self.open = Some(Open { name, first, clusters, bytes, placed: 0, safe: 0, place });
        Ok(slot)
    }

    /// Puts entries into a cached directory sector, and pads it if no further set fits.
    fn stage<D: Drive>(
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
        let (from, per_sector) = (place.index * ENTRY, bytes.len() / ENTRY);
        bytes[from..from + entries.len()].copy_from_slice(entries);
        let next = place.index + entries.len() / ENTRY;
        let set = self.layout.kind == Kind::Exfat;
        if set && next + SET / ENTRY > per_sector && next < per_sector {
            pad(bytes, next);
        }
        Ok(slot)
    }

    /// Returns the cache for a directory sector: the one that contains it, or else the one that
    /// does not contain the open file's.
    fn slot(&self, sector: u64) -> usize {
        let open = self.open.map(|open| open.place.sector);
        let held = |slot: usize| self.sectors[slot].holds();
        match (0..2).find(|slot| held(*slot) == Some(sector)) {
            Some(slot) => slot,
            None => usize::from(open.is_some() && held(0) == open),
        }
    }

    /// Marks the volume as in use, or as clean with current counts.
    fn mark<D: Drive>(&mut self, drive: &mut D, dirty: bool) -> Result<(), Error<D::Error>> {
        let mut sector = Cache::new();
        let (clusters, free) = (self.layout.clusters, self.table.free());
        if self.layout.kind == Kind::Fat32 {
            let bytes = sector.get_mut(drive, fat32::INFO_SECTOR)?;
            if fat32::info_free(bytes).is_some() {
                put_u32(bytes, fat32::FREE_AT, if dirty { fat32::UNKNOWN } else { free });
                put_u32(bytes, fat32::NEXT_AT, fat32::UNKNOWN);
                sector.put(drive)?;
            }
        }
        let boot = sector.get_mut(drive, 0)?;
        match self.layout.kind {
            Kind::Exfat => {
                let flags = u16_at(boot, exfat::FLAGS_AT) & !exfat::DIRTY;
                put_u16(boot, exfat::FLAGS_AT, flags | if dirty { exfat::DIRTY } else { 0 });
                let used = u64::from(clusters - free.min(clusters)) * 100 / u64::from(clusters);
                boot[exfat::PERCENT_AT] = if dirty { 0xff } else { used as u8 };
            }
            Kind::Fat32 => boot[fat32::DIRTY_AT] = u8::from(dirty),
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

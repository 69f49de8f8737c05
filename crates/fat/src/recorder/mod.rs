//! The streaming recorder. Each file is one run of clusters, allocated before its data arrive.
//!
//! The caller gets the location of the next bytes from [`Recorder::place`], writes them itself, and
//! calls [`Recorder::advance`] after each write. The data never wait for metadata: the next file is
//! allocated while the open one is recorded, and a checkpoint proceeds in stages while data flow:
//!
//! 1. submit the allocation of the next file, start a flush;
//! 2. after that flush, write the valid lengths of the data that preceded it and the entry of the
//!    next file, start another flush;
//! 3. after that flush, the data of stage 1 are safe.
//!
//! A checkpoint begins some distance before the bytes at risk reach the promised maximum. The
//! recorder demands [`Recorder::sync`], which waits, only at that maximum, before the first file
//! and at the end of the space. Crash safety depends only on the order of writes. On exFAT, the
//! entry of a new file has a valid length of 0; on FAT32 it has the full size. Closing shortens the
//! entry, flushes, then frees the excess clusters. A power cut in between leaves lost clusters,
//! never an entry without its clusters. Earlier files are never torn, because no entry set crosses
//! a sector.
//!
//! Asserted at every placement and checkpoint: of each file, safe bytes <= bytes entered in the
//! directory <= bytes placed <= size; and never more bytes at risk than promised.

mod entries;

use core::cmp::Ordering;

use crate::cache::Cache;
use crate::directory::{Cursor, DirectoryEntry, EntryLocation, Found};
use crate::drive::{Error, SectorDrive};
use crate::exfat;
use crate::layout::{VolumeKind, VolumeLayout};
use crate::name::Name;
use crate::table::Table;

/// A checkpoint begins this far before the maximum at risk, so that data flow meanwhile: a quarter
/// of that maximum, but at most 256 MiB, which a fast drive writes in about 40 ms.
const SLACK_SHARE: u64 = 4;
const SLACK_BYTES_MAX: u64 = 256 << 20;

/// Parameters of a recording.
#[derive(Clone, Copy, Debug)]
pub struct Recording {
    /// The stem of the names; a number follows in the remaining digits.
    pub name: Name,
    /// Size of a file in bytes; reduced to whole clusters, at least one, and to the file system's
    /// maximum.
    pub file_bytes: u64,
    /// On exFAT, the most that a power cut can lose, in bytes, if less than a whole file. `None`: a
    /// whole file.
    pub checkpoint_bytes: Option<u64>,
    /// Time of the files in FAT format: date in the upper half, time in the lower.
    pub time: u32,
}

/// The caller's next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecorderStep {
    /// Write this many bytes, starting at this sector.
    Write {
        /// First sector.
        sector: u64,
        /// Number of bytes: as requested, or fewer at the end of a file or at the maximum at risk.
        bytes: u64,
    },
    /// Call [`Recorder::sync`].
    Sync,
}

/// The part of a recording that survives a power cut or the removal of the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SurvivingPart {
    /// Number of complete files.
    pub files: u32,
    /// Bytes of the next file, up to its last checkpoint. 0 on FAT32, which cannot record them.
    pub open_bytes: u64,
}

/// A file of the recording.
#[derive(Clone, Copy, Debug)]
struct Open {
    name: Name,
    /// Position in the recording, from 1.
    index: u32,
    first: u32,
    clusters: u32,
    bytes: u64,
    /// Bytes placed so far, the valid length in the entry, and the bytes that survive a power cut.
    placed: u64,
    entered: u64,
    safe: u64,
    place: EntryLocation,
}

/// A checkpoint that is under way.
#[derive(Clone, Copy, Debug)]
struct Checkpoint {
    /// Its extent: all files before this one, and this many bytes of it.
    file: u32,
    bytes: u64,
    /// The part of the recording that survives a power cut afterwards.
    kept: SurvivingPart,
    /// First cluster and number of clusters of the next file, if newly allocated.
    claimed: Option<(u32, u32)>,
    /// Whether its entries are written.
    entered: bool,
}

impl Checkpoint {
    /// Number of bytes of a file that it covers.
    fn covers(&self, file: &Open) -> u64 {
        match file.index.cmp(&self.file) {
            Ordering::Less => file.bytes,
            Ordering::Equal => self.bytes,
            Ordering::Greater => 0,
        }
    }
}

/// The reason why there is no further file.
#[derive(Clone, Copy, Debug)]
enum End {
    Volume,
    Directory,
}

/// A recorder on a volume.
pub struct Recorder {
    layout: VolumeLayout,
    recording: Recording,
    table: Table,
    /// The end of the root directory.
    end: Cursor,
    /// The directory sectors of the last files.
    sectors: [Cache; 2],
    /// The previous file, which may be partly at risk; the open file; the next file, allocated.
    previous: Option<Open>,
    open: Option<Open>,
    next: Option<Open>,
    ended: Option<End>,
    checkpoint: Option<Checkpoint>,
    /// Maximum bytes at risk.
    risk_max: u64,
    number: u32,
    files: u32,
    kept: SurvivingPart,
}

impl Recorder {
    /// Opens a volume and marks it as in use. `room` is a buffer for tables of at least one sector.
    pub fn open<D: SectorDrive>(
        drive: &mut D,
        recording: Recording,
        room: &mut [u8],
    ) -> Result<Recorder, Error<D::Error>> {
        let layout = VolumeLayout::read(drive)?;
        let table = Table::open(drive, &layout, room)?;
        let mut end = Cursor::root(&layout);
        let mut number = 0;
        loop {
            match end.next(drive)? {
                Found::End => break,
                Found::Entry(DirectoryEntry { name: Some(name), .. }) => {
                    number = number.max(name.number_of(recording.name).unwrap_or(0));
                }
                _ => {}
            }
        }
        let mut sectors = [Cache::new(), Cache::new()];
        if end.exists() {
            sectors[0].get(drive, end.place().sector)?;
        }
        let risk_max = match (layout.kind, recording.checkpoint_bytes) {
            (VolumeKind::Exfat, Some(bytes)) => bytes.min(file_bytes(&layout, &recording)),
            _ => file_bytes(&layout, &recording),
        };
        let mut recorder = Recorder {
            risk_max: risk_max.max(u64::from(layout.sector_bytes)),
            layout,
            recording,
            table,
            end,
            sectors,
            previous: None,
            open: None,
            next: None,
            ended: None,
            checkpoint: None,
            number,
            files: 0,
            kept: SurvivingPart::default(),
        };
        recorder.mark(drive, true)?;
        Ok(recorder)
    }

    /// Returns the geometry of the volume.
    pub fn layout(&self) -> &VolumeLayout {
        &self.layout
    }

    /// Number of files started.
    pub fn files(&self) -> u32 {
        self.files
    }

    /// Returns the part of the recording that is certainly durable.
    pub fn kept(&self) -> SurvivingPart {
        self.kept
    }

    /// Number of bytes that can still be placed, in the open file, the next, and the free run.
    pub fn left(&self) -> u64 {
        let files = [self.open, self.next].into_iter().flatten();
        let left: u64 = files.map(|file| file.bytes - file.placed).sum();
        left + u64::from(self.table.left()) * u64::from(self.layout.cluster_bytes)
    }

    /// Returns the location of the next `bytes`, rounded up to whole sectors, and opens the next
    /// file if the open one is full. Performs no I/O.
    pub fn place(&mut self, bytes: u64) -> RecorderStep {
        self.open_next();
        let (unit, room) = (u64::from(self.layout.sector_bytes), self.placeable());
        let Some(open) = &mut self.open else { return RecorderStep::Sync };
        let bytes = bytes.next_multiple_of(unit).min(room);
        if bytes == 0 {
            return RecorderStep::Sync;
        }
        let sector = self.layout.sector_of(open.first) + open.placed / unit;
        open.placed += bytes;
        self.check();
        RecorderStep::Write { sector, bytes }
    }

    /// Starts or continues a checkpoint if possible, without waiting. The caller must have
    /// submitted all its writes.
    pub fn advance<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        room: &mut [u8],
    ) -> Result<(), Error<D::Error>> {
        if self.checkpoint.is_some() {
            if !drive.is_flushed().map_err(Error::Drive)? {
                return Ok(());
            }
            self.proceed(drive)?;
        } else if self.is_due() {
            let claimed = self.claim(drive, room)?;
            self.begin_checkpoint(claimed);
        }
        match self.checkpoint {
            Some(_) => drive.start_flush().map_err(Error::Drive),
            None => Ok(()),
        }
    }

    /// Waits until more can be placed: for the checkpoint that is under way, and for another if
    /// that does not suffice. The caller must have submitted all its writes. Returns
    /// [`Error::Full`] or [`Error::DirectoryFull`] when space runs out; the recording so far is
    /// then durable.
    pub fn sync<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        room: &mut [u8],
    ) -> Result<(), Error<D::Error>> {
        self.complete(drive)?;
        self.open_next();
        if self.placeable() == 0 {
            let claimed = self.claim(drive, room)?;
            self.begin_checkpoint(claimed);
            self.complete(drive)?;
            self.open_next();
        }
        match self.ended {
            Some(end) if self.open.is_none_or(|open| open.placed == open.bytes) => Err(match end {
                End::Volume => Error::Full,
                End::Directory => Error::DirectoryFull,
            }),
            _ => Ok(()),
        }
    }

    /// Ends the recording: shortens the open file to the placed bytes, frees the rest and marks the
    /// volume as clean. The caller must have submitted all its writes.
    pub fn finish<D: SectorDrive>(
        mut self,
        drive: &mut D,
    ) -> Result<SurvivingPart, Error<D::Error>> {
        self.complete(drive)?;
        if self.at_risk() > 0 {
            self.begin_checkpoint(None);
            self.complete(drive)?;
        }
        drive.flush().map_err(Error::Drive)?;
        let empty = self.open.is_some_and(|open| open.placed == 0);
        // The later file first, so that the freed clusters join the free run.
        for file in [self.next.take(), self.open.take()].into_iter().flatten() {
            self.close(drive, &file)?;
        }
        self.mark(drive, false)?;
        Ok(SurvivingPart { files: self.files - u32::from(empty), open_bytes: 0 })
    }

    /// Whether a checkpoint is due because the bytes at risk approach the maximum. None is due if
    /// all the space left can be at risk, because metadata slow simple drives down.
    fn is_due(&self) -> bool {
        let slack = (self.risk_max / SLACK_SHARE).min(SLACK_BYTES_MAX);
        let limit = self.risk_max.saturating_sub(self.at_risk());
        limit <= slack && self.left() > limit
    }

    /// Number of bytes that can be placed now: whole sectors of the open file.
    fn placeable(&self) -> u64 {
        let limit = self.risk_max.saturating_sub(self.at_risk());
        let room = self.open.map_or(0, |open| limit.min(open.bytes - open.placed));
        room - room % u64::from(self.layout.sector_bytes)
    }

    /// Bytes placed that a power cut can lose.
    fn at_risk(&self) -> u64 {
        let files = [self.previous, self.open].into_iter().flatten();
        files.map(|file| file.placed - file.safe).sum()
    }

    fn check(&self) {
        for file in [&self.previous, &self.open].into_iter().flatten() {
            let Open { safe, entered, placed, bytes, .. } = *file;
            assert!(
                safe <= entered && entered <= placed && placed <= bytes,
                "{safe} bytes safe, {entered} entered, {placed} placed of {bytes}"
            );
        }
        let (at_risk, risk_max) = (self.at_risk(), self.risk_max);
        assert!(at_risk <= risk_max, "{at_risk} bytes at risk, {risk_max} promised");
    }

    /// Opens the next file if the open one is full. The one before it is then safe, because no
    /// more than the size of a file is at risk.
    fn open_next(&mut self) {
        let is_full = self.open.is_none_or(|file| file.placed == file.bytes);
        if is_full && self.next.is_some() {
            let unsafe_bytes = self.previous.map_or(0, |file| file.bytes - file.safe);
            assert_eq!(unsafe_bytes, 0, "a file would be left that is not safe");
            self.previous = self.open;
            self.open = self.next.take();
            self.files += 1;
        }
    }

    /// Allocates the next file, unless it is allocated or there is no space.
    fn claim<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        room: &mut [u8],
    ) -> Result<Option<(u32, u32)>, Error<D::Error>> {
        if self.next.is_some() || self.ended.is_some() {
            return Ok(None);
        }
        match self.allocate(drive, room) {
            Ok(claimed) => return Ok(Some(claimed)),
            Err(Error::Full) => self.ended = Some(End::Volume),
            Err(Error::DirectoryFull) => self.ended = Some(End::Directory),
            Err(error) => return Err(error),
        }
        Ok(None)
    }

    /// Begins a checkpoint of everything placed so far; a flush must follow.
    fn begin_checkpoint(&mut self, claimed: Option<(u32, u32)>) {
        let bytes = self.open.map_or(0, |open| open.placed);
        let is_full = self.open.is_some_and(|open| open.placed == open.bytes);
        let lasts = !is_full && self.layout.kind == VolumeKind::Exfat;
        let surviving = SurvivingPart {
            files: self.files - u32::from(self.open.is_some() && !is_full),
            open_bytes: if lasts { bytes } else { 0 },
        };
        let file = self.files;
        self.checkpoint =
            Some(Checkpoint { file, bytes, kept: surviving, claimed, entered: false });
    }

    /// Continues a checkpoint after a flush. If it is still under way, a flush must follow.
    fn proceed<D: SectorDrive>(&mut self, drive: &mut D) -> Result<(), Error<D::Error>> {
        let Some(mut now) = self.checkpoint.take() else { return Ok(()) };
        if !now.entered && self.enter(drive, &now)? {
            now.entered = true;
            self.checkpoint = Some(now);
            return Ok(());
        }
        for file in [&mut self.previous, &mut self.open].into_iter().flatten() {
            file.safe = file.safe.max(now.covers(file));
        }
        self.kept = now.kept;
        self.check();
        Ok(())
    }

    /// Writes the entries of a checkpoint. Returns whether there were any.
    fn enter<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        checkpoint: &Checkpoint,
    ) -> Result<bool, Error<D::Error>> {
        let mut changed = [false; 2];
        for file in [self.previous, self.open].into_iter().flatten() {
            let valid = checkpoint.covers(&file);
            if self.layout.kind == VolumeKind::Exfat && valid > file.entered {
                let Open { name, first, bytes, place, .. } = file;
                let set = exfat::file_set(&name, first, valid, bytes, self.recording.time);
                changed[self.stage(drive, place, &set)?] = true;
            }
        }
        for file in [&mut self.previous, &mut self.open].into_iter().flatten() {
            file.entered = file.entered.max(checkpoint.covers(file));
        }
        if let Some(claimed) = checkpoint.claimed {
            changed[self.begin(drive, claimed)?] = true;
        }
        for slot in (0..2).filter(|slot| changed[*slot]) {
            self.sectors[slot].put(drive)?;
        }
        Ok(changed.contains(&true))
    }

    /// Waits until the checkpoint that is under way, if any, is complete.
    fn complete<D: SectorDrive>(&mut self, drive: &mut D) -> Result<(), Error<D::Error>> {
        while self.checkpoint.is_some() {
            drive.flush().map_err(Error::Drive)?;
            self.proceed(drive)?;
        }
        Ok(())
    }
}

/// Size of a file, bytes.
fn file_bytes(layout: &VolumeLayout, recording: &Recording) -> u64 {
    let cluster = u64::from(layout.cluster_bytes);
    let bytes = recording.file_bytes.min(layout.file_bytes_max());
    (bytes / cluster).max(1) * cluster
}

#[cfg(test)]
mod tests {
    extern crate std;

    use core::convert::Infallible;
    use std::vec::Vec;

    use super::*;
    use crate::mkfs::{FormatParameters, mkfs};

    const SECTOR: usize = 512;

    struct Memory(Vec<u8>);

    impl SectorDrive for Memory {
        type Error = Infallible;

        fn sector_bytes(&self) -> u32 {
            SECTOR as u32
        }

        fn sectors(&self) -> u64 {
            (self.0.len() / SECTOR) as u64
        }

        fn submit(&mut self, sector: u64, bytes: &[u8]) -> Result<(), Infallible> {
            self.0[sector as usize * SECTOR..][..bytes.len()].copy_from_slice(bytes);
            Ok(())
        }

        fn flush(&mut self) -> Result<(), Infallible> {
            Ok(())
        }

        fn read(&mut self, sector: u64, bytes: &mut [u8]) -> Result<(), Infallible> {
            bytes.copy_from_slice(&self.0[sector as usize * SECTOR..][..bytes.len()]);
            Ok(())
        }
    }

    /// A recorder that may have 64 KiB at risk, after 128 KiB; checks it after `change`.
    fn record(change: impl FnOnce(&mut Recorder, &mut Open)) {
        let (mut drive, mut room) = (Memory(std::vec![0; 8 << 20]), std::vec![0; 4096]);
        mkfs(&mut drive, &FormatParameters::new(VolumeKind::Exfat, 4096), &mut room).expect("fits");
        let recording = Recording {
            name: Name::new("REC", "BIN").expect("a name"),
            file_bytes: 1 << 20,
            checkpoint_bytes: Some(64 << 10),
            time: 0,
        };
        let mut recorder = Recorder::open(&mut drive, recording, &mut room).expect("a volume");
        let (mut placed, mut steps) = (0, 0);
        while placed < 128 << 10 {
            steps += 1;
            assert!(steps < 1000, "no progress");
            match recorder.place(4096) {
                RecorderStep::Write { bytes, .. } => placed += bytes,
                RecorderStep::Sync => recorder.sync(&mut drive, &mut room).expect("room"),
            }
        }
        let mut open = recorder.open.take().expect("a file is open");
        assert!(open.safe > 0 && open.entered > 0 && open.placed == 128 << 10);
        change(&mut recorder, &mut open);
        recorder.open = Some(open);
        recorder.check();
    }

    #[test]
    #[should_panic(expected = "bytes safe, ")]
    fn bytes_safe_before_they_are_entered_are_noticed() {
        record(|_, open| open.safe = open.entered + 1);
    }

    #[test]
    #[should_panic(expected = "bytes safe, ")]
    fn bytes_entered_before_they_are_placed_are_noticed() {
        record(|_, open| open.entered = open.placed + 8192);
    }

    #[test]
    #[should_panic(expected = "bytes at risk, ")]
    fn more_bytes_at_risk_than_promised_are_noticed() {
        record(|recorder, open| {
            recorder.previous = Some(Open { placed: open.bytes, safe: 0, entered: 0, ..*open });
        });
    }
}

//! A file system's drive on the block interface. Metadata use the queue and are counted.

use rig::{BlockDone, BlockRequest, BlockWay, Blocks, RigError};

/// Tag of metadata requests; the tag of a frame is its number.
pub(super) const METADATA: u64 = u64::MAX;

/// Sectors that a check reads at once, and the areas between which it alternates: two FATs, a
/// bitmap, a directory.
const AHEAD: usize = 128;
const WINDOWS: usize = 4;

/// Counts of metadata commands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    pub reads: u64,
    pub writes: u64,
    pub bytes: u64,
    pub flushes: u64,
}

/// The first `bytes` of the target as a drive of sectors.
pub(super) struct Door<'d> {
    pub blocks: &'d mut dyn Blocks,
    pub sector_bytes: u32,
    pub bytes: u64,
    pub tally: &'d mut Tally,
    /// Sectors read ahead; `None` without readahead.
    ahead: Option<Vec<(u64, Vec<u8>)>>,
    next: usize,
    /// Requests completed by the end of a flush, including the caller's.
    done: Vec<BlockDone>,
}

impl<'d> Door<'d> {
    pub fn new(
        blocks: &'d mut dyn Blocks,
        (sector_bytes, bytes): (u32, u64),
        tally: &'d mut Tally,
    ) -> Door<'d> {
        Door { blocks, sector_bytes, bytes, tally, ahead: None, next: 0, done: Vec::new() }
    }

    /// The requests that flushes took from the queue, including the caller's.
    pub fn into_done(self) -> Vec<BlockDone> {
        self.done
    }

    /// The same with readahead, for many reads of neighbouring sectors.
    pub fn reading_ahead(self) -> Door<'d> {
        Door { ahead: Some(Vec::new()), ..self }
    }

    fn read_ahead(&mut self, sector: u64, bytes: &mut [u8]) -> Result<bool, RigError> {
        let size = self.sector_bytes as usize;
        let Some(windows) = &mut self.ahead else { return Ok(false) };
        let holds = |(first, content): &(u64, Vec<u8>)| {
            let from = sector.checked_sub(*first)? as usize * size;
            content.get(from..from + bytes.len()).map(|_| from)
        };
        let found = windows.iter().enumerate().find_map(|(i, w)| Some((i, holds(w)?)));
        let (window, from) = match found {
            Some(found) => found,
            None => {
                let left = (self.bytes / size as u64).saturating_sub(sector) as usize;
                let count = AHEAD.min(left) * size;
                if count < bytes.len() {
                    return Ok(false);
                }
                let mut content = vec![0; count];
                self.blocks.read(sector * size as u64, &mut content)?;
                let place = self.next % WINDOWS;
                self.next += 1;
                match windows.get_mut(place) {
                    Some(window) => *window = (sector, content),
                    None => windows.push((sector, content)),
                }
                (place, 0)
            }
        };
        bytes.copy_from_slice(&windows[window].1[from..from + bytes.len()]);
        Ok(true)
    }
}

impl fat::Drive for Door<'_> {
    type Error = RigError;

    fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }

    fn sectors(&self) -> u64 {
        self.bytes / u64::from(self.sector_bytes)
    }

    fn submit(&mut self, sector: u64, bytes: &[u8]) -> Result<(), RigError> {
        self.ahead.iter_mut().for_each(Vec::clear);
        self.tally.writes += 1;
        self.tally.bytes += bytes.len() as u64;
        let offset = sector * u64::from(self.sector_bytes);
        let (tag, way, bytes) = (METADATA, BlockWay::Write, bytes.to_vec());
        self.blocks.submit(BlockRequest { tag, way, offset, bytes })
    }

    /// Fails if an earlier write failed, even if the flush succeeds: no checkpoint may cover that
    /// write.
    fn flush(&mut self) -> Result<(), RigError> {
        self.tally.flushes += 1;
        self.blocks.flush()?;
        let before = self.done.len();
        self.blocks.poll(false, &mut self.done)?;
        self.done[before..].iter().try_for_each(succeeded)
    }

    fn read(&mut self, sector: u64, bytes: &mut [u8]) -> Result<(), RigError> {
        self.tally.reads += 1;
        self.tally.bytes += bytes.len() as u64;
        if self.read_ahead(sector, bytes)? {
            return Ok(());
        }
        self.blocks.read(sector * u64::from(self.sector_bytes), bytes)
    }
}

/// Returns the error of a completed write, if any.
pub(super) fn succeeded(done: &BlockDone) -> Result<(), RigError> {
    match &done.result {
        Ok(()) => Ok(()),
        Err(error) => Err(RigError::Io {
            context: format!("write {} bytes at {}", done.request.bytes.len(), done.request.offset),
            source: std::io::Error::new(error.kind(), error.to_string()),
        }),
    }
}

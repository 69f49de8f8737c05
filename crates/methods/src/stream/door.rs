//! A file system's drive on the block interface. Metadata use the queue and are counted.

use std::collections::VecDeque;

use rig::{BlockDone, BlockRequest, BlockWay, RigError};

use script::{MethodError, Result, Session};

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
    /// Times that frames waited for metadata.
    pub waits: u64,
}

/// The requests in flight, in order of submission, and the state of a flush that nothing waits for.
#[derive(Default)]
pub(super) struct Traffic {
    pub tally: Tally,
    /// Tags in ascending order, each with its frame if the request is a part of one.
    open: VecDeque<(u64, Option<u64>)>,
    next: u64,
    flush: Flush,
}

/// A flush without waiting: it is submitted when the writes before it have completed.
#[derive(Clone, Copy, Default)]
enum Flush {
    #[default]
    Done,
    /// Waits for the requests with tags below this.
    Due(u64),
    /// In flight, with this tag.
    Submitted(u64),
}

impl Traffic {
    /// Returns the tag for a request: a part of `frame`, or metadata.
    pub fn begin(&mut self, frame: Option<u64>) -> u64 {
        self.open.push_back((self.next, frame));
        self.next += 1;
        self.next - 1
    }

    /// Notes that a request has completed. Returns its frame.
    pub fn end(&mut self, tag: u64) -> Option<u64> {
        let index = self.open.binary_search_by_key(&tag, |(tag, _)| *tag).ok()?;
        self.open.remove(index)?.1
    }
}

/// The first `bytes` of the target as a drive of sectors.
pub(super) struct Door<'d, 's> {
    session: &'d mut Session<'s>,
    pub sector_bytes: u32,
    pub bytes: u64,
    pub traffic: &'d mut Traffic,
    /// Sectors read ahead; `None` without readahead.
    ahead: Option<Vec<(u64, Vec<u8>)>>,
    next: usize,
    /// Requests completed by the end of a flush, including the caller's.
    done: Vec<BlockDone>,
}

impl<'d, 's> Door<'d, 's> {
    pub fn new(
        session: &'d mut Session<'s>,
        (sector_bytes, bytes): (u32, u64),
        traffic: &'d mut Traffic,
    ) -> Door<'d, 's> {
        Door { session, sector_bytes, bytes, traffic, ahead: None, next: 0, done: Vec::new() }
    }

    /// The requests that flushes took from the queue, including the caller's.
    pub fn into_done(self) -> Vec<BlockDone> {
        self.done
    }

    /// The same with readahead, for many reads of neighbouring sectors.
    pub fn reading_ahead(self) -> Door<'d, 's> {
        Door { ahead: Some(Vec::new()), ..self }
    }

    fn read_ahead(&mut self, sector: u64, bytes: &mut [u8]) -> Result<bool> {
        let size = self.sector_bytes as usize;
        let Some(windows) = &mut self.ahead else { return Ok(false) };
        let hit = windows.iter().enumerate().find_map(|(i, (first, content))| {
            let start = sector.checked_sub(*first)? as usize * size;
            content.get(start..start + bytes.len()).map(|_| (i, start))
        });
        let (window, start) = match hit {
            Some(hit) => hit,
            None => {
                let left = (self.bytes / size as u64).saturating_sub(sector) as usize;
                let count = AHEAD.min(left) * size;
                if count < bytes.len() {
                    return Ok(false);
                }
                let mut content = vec![0; count];
                self.session.read(sector * size as u64, &mut content)?;
                let place = self.next % WINDOWS;
                self.next += 1;
                match windows.get_mut(place) {
                    Some(window) => *window = (sector, content),
                    None => windows.push((sector, content)),
                }
                (place, 0)
            }
        };
        bytes.copy_from_slice(&windows[window].1[start..start + bytes.len()]);
        Ok(true)
    }
}

impl fat::SectorDrive for Door<'_, '_> {
    type Error = MethodError;

    fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }

    fn sectors(&self) -> u64 {
        self.bytes / u64::from(self.sector_bytes)
    }

    fn submit(&mut self, sector: u64, bytes: &[u8]) -> Result<()> {
        self.ahead.iter_mut().for_each(Vec::clear);
        self.traffic.tally.writes += 1;
        self.traffic.tally.bytes += bytes.len() as u64;
        let offset = sector * u64::from(self.sector_bytes);
        let (tag, way, bytes) = (self.traffic.begin(None), BlockWay::Write, bytes.to_vec());
        self.session.submit(BlockRequest { tag, way, offset, bytes })
    }

    /// Fails if an earlier write failed, even if the flush succeeds: no checkpoint may cover that
    /// write.
    fn flush(&mut self) -> Result<()> {
        self.traffic.tally.flushes += 1;
        self.session.flush()?;
        let before = self.done.len();
        self.session.poll(false, &mut self.done)?;
        self.traffic.flush = Flush::Done;
        Ok(self.done[before..].iter().try_for_each(succeeded)?)
    }

    fn start_flush(&mut self) -> Result<()> {
        self.traffic.tally.flushes += 1;
        self.traffic.flush = Flush::Due(self.traffic.next);
        Ok(())
    }

    /// Relies on the caller to report completed requests to [`Traffic::end`], and to end the
    /// recording if one failed.
    fn is_flushed(&mut self) -> Result<bool> {
        let open = &self.traffic.open;
        match self.traffic.flush {
            Flush::Done => return Ok(true),
            Flush::Due(before) if open.front().is_none_or(|(tag, _)| *tag >= before) => {
                let (way, bytes) = (BlockWay::Flush, Vec::new());
                let tag = self.traffic.begin(None);
                self.session.submit(BlockRequest { tag, way, offset: 0, bytes })?;
                self.traffic.flush = Flush::Submitted(tag);
            }
            Flush::Submitted(flush) if open.iter().all(|(tag, _)| *tag != flush) => {
                self.traffic.flush = Flush::Done;
                return Ok(true);
            }
            Flush::Due(_) | Flush::Submitted(_) => {}
        }
        Ok(false)
    }

    fn read(&mut self, sector: u64, bytes: &mut [u8]) -> Result<()> {
        self.traffic.tally.reads += 1;
        self.traffic.tally.bytes += bytes.len() as u64;
        if self.read_ahead(sector, bytes)? {
            return Ok(());
        }
        self.session.read(sector * u64::from(self.sector_bytes), bytes)
    }
}

/// Returns the error of a completed write or flush, if any.
pub(super) fn succeeded(done: &BlockDone) -> Result<(), RigError> {
    let BlockRequest { way, offset, bytes, .. } = &done.request;
    match &done.result {
        Ok(()) => Ok(()),
        Err(error) => Err(RigError::Io {
            context: match way {
                BlockWay::Flush => "flush".to_string(),
                BlockWay::Read | BlockWay::Write => {
                    format!("write {} bytes at {offset}", bytes.len())
                }
            },
            source: std::io::Error::new(error.kind(), error.to_string()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_flush_is_not_reported_as_a_write() {
        let failed = |way, offset, bytes| {
            let request = BlockRequest { tag: 1, way, offset, bytes: vec![0; bytes] };
            let result = Err(std::io::Error::other("gone"));
            let done = BlockDone { request, submitted_ns: 0, done_ns: 1, result };
            succeeded(&done).expect_err("failed").to_string()
        };
        assert_eq!(failed(BlockWay::Write, 8192, 512), "write 512 bytes at 8192: gone");
        assert_eq!(failed(BlockWay::Flush, 0, 0), "flush: gone");
    }
}

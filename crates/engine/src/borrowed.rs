//! Borrowed blocks: the target's original bytes, kept in memory for writes and, if they are the
//! user's, in a journal on another drive.
//!
//! The user's blocks are read twice, the second time past every cache, before the first is
//! overwritten: a drive, reader or cable that returns wrong bytes now and then would otherwise have
//! them written back. A difference refuses the borrowing.

use std::io;

use journal::{BYTES_MAX, Borrowed, Differences, Journal, JournalError, Rereads, Storage};
use record::{Safety, TargetKind};
use rig::{ErrorClass, Pass, Result, Returning, RigError, TargetInfo, Unsteady};
use workload::{Region, Workload};

use crate::prepare::Restored;

/// All blocks currently borrowed.
#[derive(Default)]
pub(crate) struct BorrowedBlocks(Vec<BorrowedEntry>);

struct BorrowedEntry {
    borrowed: Borrowed,
    /// `None` if the bytes are not the user's, or the target was opened with `--destroy`.
    journal: Option<Journal>,
    /// Whether other content was written to it, so that it is expected to differ.
    is_overwritten: bool,
}

impl BorrowedBlocks {
    /// Borrows a region, which may then be overwritten with its own content.
    pub(crate) fn borrow(
        &mut self,
        region: Region,
        target: &Target<'_>,
        place: Option<&journal::JournalDir>,
    ) -> Result<()> {
        let sum: u64 = self.0.iter().map(|entry| entry.borrowed.region().bytes).sum();
        if sum + region.bytes > BYTES_MAX {
            let text = format!("borrowing {} bytes at once", sum + region.bytes);
            return Err(RigError::Unsupported(text));
        }
        let borrowed =
            Borrowed::read(target.storage, region).map_err(|e| target.io("borrow", e))?;
        let journal = match target.info.allowed {
            Safety::Borrows => {
                self.check_steady(&borrowed, target)?;
                Some(target.keep(&borrowed, place)?)
            }
            _ => None,
        };
        self.0.push(BorrowedEntry { borrowed, journal, is_overwritten: false });
        Ok(())
    }

    /// Compares a copy with a second read.
    fn check_steady(&self, borrowed: &Borrowed, target: &Target<'_>) -> Result<()> {
        let earlier: usize = self.0.iter().map(|entry| entry.borrowed.blocks()).sum();
        let blocks = borrowed.unsteady(target.storage).map_err(|e| target.io("borrow", e))?;
        let all_blocks = earlier + borrowed.blocks();
        match blocks {
            0 => Ok(()),
            blocks => {
                Err(RigError::Unsteady(Unsteady { blocks: blocks as u64, of: all_blocks as u64 }))
            }
        }
    }

    /// Notes that content other than the original is written to a region.
    pub(crate) fn mark_overwritten(&mut self, region: Region) {
        for entry in &mut self.0 {
            let borrowed = entry.borrowed.region();
            let overlaps = region.start < borrowed.end() && borrowed.start < region.end();
            entry.is_overwritten |= overlaps;
        }
    }

    /// Whether everything a workload writes is borrowed.
    pub(crate) fn cover(&self, workload: &Workload) -> bool {
        self.cover_region(workload.region)
    }

    /// Whether all of a region is borrowed.
    pub(crate) fn cover_region(&self, region: Region) -> bool {
        let mut regions = self.0.iter().map(|entry| entry.borrowed.region());
        regions.any(|other| other.start <= region.start && region.end() <= other.end())
    }

    /// Copies the target's original content at `offset` into a buffer.
    pub(crate) fn copy_to(&self, offset: u64, buffer: &mut [u8]) {
        let copied = self.0.iter().any(|entry| entry.borrowed.copy_to(offset, buffer));
        assert!(copied, "only borrowed blocks are written");
    }

    /// Compares all borrowed blocks with the target, restores those that differ, and forgets them.
    /// Returns the bytes compared, and the result. Blocks that cannot be restored stay in their
    /// journal. `report` gets the progress after each block.
    pub(crate) fn restore(
        &mut self,
        target: &Target<'_>,
        report: &mut dyn FnMut(Returning),
    ) -> Result<(u64, Restored)> {
        let entries = std::mem::take(&mut self.0);
        let all_bytes = entries.iter().map(|entry| entry.borrowed.region().bytes).sum();
        let all_blocks = entries.iter().map(|entry| entry.borrowed.blocks() as u64).sum();
        let mut compared = Returning::new(Pass::Compare, all_bytes);
        let comparisons = entries.into_iter().map(|entry| {
            let comparison = entry.compare(target, &mut |bytes| {
                compared = compared.after(bytes);
                report(compared);
            });
            (entry, comparison)
        });
        let comparisons: Vec<(BorrowedEntry, io::Result<Differences>)> = comparisons.collect();
        let sum = |bytes: fn(&BorrowedEntry, &Differences) -> u64| -> u64 {
            comparisons
                .iter()
                .map(|(entry, seen)| seen.as_ref().map_or(0, |seen| bytes(entry, seen)))
                .sum()
        };
        let restore_bytes = sum(|entry, seen| entry.borrowed.bytes_of(&seen.to_restore()));
        // What an undecided block held is unknown: it is restored, but was not seen to differ.
        let undecided_bytes = sum(|entry, seen| entry.borrowed.bytes_of(&seen.undecided));
        let mut restored = Returning::new(Pass::Restore, restore_bytes);
        // One failure must not prevent the others from being restored.
        let results = comparisons.into_iter().map(|(entry, comparison)| {
            entry.put_back(comparison, target, &mut |bytes| {
                restored = restored.after(bytes);
                report(restored);
            })
        });
        let results: Vec<Result<u64>> = results.collect();
        let blocks = results.into_iter().sum::<Result<u64>>()?;
        let bytes = restore_bytes - undecided_bytes;
        Ok((all_bytes, Restored { bytes, unsteady: Unsteady { blocks, of: all_blocks } }))
    }
}

impl BorrowedEntry {
    fn compare(&self, target: &Target<'_>, moved: &mut dyn FnMut(u64)) -> io::Result<Differences> {
        let rereads = if self.is_overwritten { Rereads::None } else { Rereads::UntilCertain };
        self.borrowed.compare(target.storage, rereads, moved)
    }

    /// Restores the blocks that were found to differ, and closes the journal. Returns the number of
    /// blocks that returned different bytes.
    fn put_back(
        self,
        comparison: io::Result<Differences>,
        target: &Target<'_>,
        moved: &mut dyn FnMut(u64),
    ) -> Result<u64> {
        let BorrowedEntry { borrowed, journal, .. } = self;
        let path = journal.as_ref().map(|j| j.path().display().to_string());
        let unsteady = comparison.and_then(|seen| {
            let (blocks, mut unsteady) = (seen.to_restore(), seen.unsteady);
            if !blocks.is_empty() {
                unsteady.extend(borrowed.put_back(target.storage, &blocks, moved)?);
            }
            unsteady.sort_unstable();
            unsteady.dedup();
            Ok(unsteady.len() as u64)
        });
        let unsteady = unsteady.map_err(|source| target.not_back(source, path))?;
        journal.map_or(Ok(()), Journal::close).map_err(refused_or_failed)?;
        Ok(unsteady)
    }
}

/// The target from which blocks are borrowed.
pub(crate) struct Target<'a> {
    pub info: &'a TargetInfo,
    pub storage: &'a dyn Storage,
    pub key: Option<drive::DriveKey>,
}

impl Target<'_> {
    fn keep(&self, borrowed: &Borrowed, place: Option<&journal::JournalDir>) -> Result<Journal> {
        let refused = |text: &str| RigError::Refused(format!("{text}: nothing was overwritten"));
        let place = place.ok_or_else(|| refused("blocks cannot be borrowed without a journal"))?;
        let key = self.key.as_ref().filter(|_| self.info.target.kind == TargetKind::Device);
        let key = key.ok_or_else(|| refused("only a device can be borrowed"))?;
        place.keep(key, borrowed).map_err(refused_or_failed)
    }

    fn io(&self, what: &str, source: io::Error) -> RigError {
        RigError::Io { context: format!("{what} on {}", self.info.target.spec), source }
    }

    fn not_back(&self, source: io::Error, kept: Option<String>) -> RigError {
        let where_ = kept.map(|path| format!(" (kept in {path} for ssdyno recover)"));
        let action = format!("restore borrowed blocks{}", where_.unwrap_or_default());
        self.io(&action, source)
    }
}

fn refused_or_failed(error: JournalError) -> RigError {
    match (error.fault(), error) {
        (ErrorClass::Io, JournalError::Io { context, source }) => RigError::Io { context, source },
        (_, error) => RigError::Refused(error.to_string()),
    }
}

//! Borrowed blocks: the target's original bytes, kept in memory for writes and, if they are the
//! user's, in a journal on another drive.

use std::io;

use journal::{BYTES_MAX, Borrowed, Journal, JournalError, Storage};
use record::{Safety, TargetKind};
use rig::{Fault, Pass, Result, Returning, RigError, TargetInfo};
use workload::{Region, Workload};

/// All blocks currently borrowed.
#[derive(Default)]
pub(crate) struct BorrowedBlocks(Vec<Entry>);

struct Entry {
    borrowed: Borrowed,
    /// `None` if the bytes are not the user's, or the target was opened with `--destroy`.
    journal: Option<Journal>,
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
            Safety::Borrows => Some(target.keep(&borrowed, place)?),
            _ => None,
        };
        self.0.push(Entry { borrowed, journal });
        Ok(())
    }

    /// Whether everything a workload writes is borrowed.
    pub(crate) fn cover(&self, workload: &Workload) -> bool {
        self.cover_region(workload.region)
    }

    /// Whether all of a region is borrowed.
    pub(crate) fn cover_region(&self, region: Region) -> bool {
        let (start, end) = (region.start, region.end());
        let covers = |r: Region| r.start <= start && end <= r.end();
        self.0.iter().any(|entry| covers(entry.borrowed.region()))
    }

    /// Copies the target's original content at `offset` into a buffer.
    pub(crate) fn copy_to(&self, offset: u64, buffer: &mut [u8]) {
        let copied = self.0.iter().any(|entry| entry.borrowed.copy_to(offset, buffer));
        assert!(copied, "only borrowed blocks are written");
    }

    /// Compares all borrowed blocks with the target, restores those that differ, and forgets them.
    /// Returns the bytes compared and restored. Blocks that cannot be restored stay in their
    /// journal. `report` gets the progress after each block.
    pub(crate) fn restore(
        &mut self,
        target: &Target<'_>,
        report: &mut dyn FnMut(Returning),
    ) -> Result<[u64; 2]> {
        let entries = std::mem::take(&mut self.0);
        let all_bytes = entries.iter().map(|entry| entry.borrowed.region().bytes).sum();
        let mut compared = Returning::new(Pass::Compare, all_bytes);
        let compare = |entry: Entry| {
            let blocks = entry.borrowed.differing(target.storage, &mut |bytes| {
                compared = compared.after(bytes);
                report(compared);
            });
            (entry, blocks)
        };
        let found: Vec<(Entry, io::Result<Vec<usize>>)> =
            entries.into_iter().map(compare).collect();
        let bytes_of = |(entry, blocks): &(Entry, io::Result<Vec<usize>>)| {
            blocks.as_ref().map_or(0, |blocks| entry.borrowed.bytes_of(blocks))
        };
        let differing_bytes = found.iter().map(bytes_of).sum();
        let mut restored = Returning::new(Pass::Restore, differing_bytes);
        // One failure must not prevent the others from being restored.
        let put_back = |(entry, blocks): (Entry, io::Result<Vec<usize>>)| {
            entry.put_back(blocks, target, &mut |bytes| {
                restored = restored.after(bytes);
                report(restored);
            })
        };
        let all: Vec<Result<()>> = found.into_iter().map(put_back).collect();
        all.into_iter().collect::<Result<()>>()?;
        Ok([all_bytes, differing_bytes])
    }
}

impl Entry {
    /// Restores the blocks that were found to differ, and closes the journal.
    fn put_back(
        self,
        differing: io::Result<Vec<usize>>,
        target: &Target<'_>,
        moved: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let Entry { borrowed, journal } = self;
        let kept = journal.as_ref().map(|j| j.path().display().to_string());
        let back = differing.and_then(|blocks| match blocks.is_empty() {
            true => Ok(()),
            false => borrowed.put_back(target.storage, &blocks, moved),
        });
        back.map_err(|source| target.not_back(source, kept))?;
        journal.map_or(Ok(()), Journal::close).map_err(refused_or_failed)
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
        let what = format!("restore borrowed blocks{}", where_.unwrap_or_default());
        self.io(&what, source)
    }
}

fn refused_or_failed(error: JournalError) -> RigError {
    match (error.fault(), error) {
        (Fault::Io, JournalError::Io { context, source }) => RigError::Io { context, source },
        (_, error) => RigError::Refused(error.to_string()),
    }
}

//! The parts of preparations that real and virtual drives share, including their workloads.

use std::io;

use record::State;
use rig::{Erase, Measurement, Preparation, Prepared, Released, Result, TargetInfo, Unsteady};
use workload::{Content, Mix, Pattern, Region, Stop, Workload};

use crate::failure::io_error;

/// Maximum block size of a fill, bytes; large enough for the full speed of any drive.
const FILL_BLOCK: u64 = 1 << 20;

/// Operations in flight in a fill.
const FILL_DEPTH: u32 = 8;

/// The workload that writes a region once, sequentially, then flushes.
pub(crate) fn fill_workload(region: Region, content: Content, seed: u64) -> Workload {
    // The largest power of two that divides start and length leaves no remainder.
    let fits = FILL_BLOCK | region.start | region.bytes;
    let block = 1 << fits.trailing_zeros().min(FILL_BLOCK.trailing_zeros());
    let stop = Stop { bytes: Some(region.bytes), ..Stop::default() };
    Workload {
        content,
        depth: FILL_DEPTH,
        batch: FILL_DEPTH,
        stop,
        flush_at_end: true,
        seed,
        ..Workload::new("fill", Pattern::Sequential, Mix::WRITE, block, region)
    }
}

/// The workload that reads a region once, sequentially.
pub(crate) fn read_workload(name: &str, region: Region) -> Workload {
    let write = fill_workload(region, Content::Random, 0);
    Workload { name: name.into(), mix: Mix::READ, flush_at_end: false, ..write }
}

/// The result of returning borrowed blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Restored {
    /// Bytes that differed from the original, restored.
    pub bytes: u64,
    /// Blocks that returned different bytes when they were compared.
    pub unsteady: Unsteady,
}

/// A rig that can be prepared.
pub(crate) trait Prepare {
    /// The time on the target's clock, nanoseconds.
    fn time(&self) -> u64;

    /// Returns an error if the run has been ended.
    fn alive(&self) -> Result<()>;

    /// The target, with its state.
    fn info(&mut self) -> &mut TargetInfo;

    /// Checks that a workload may run, then runs it as one job.
    fn run_admitted(&mut self, workload: &Workload) -> Result<Measurement>;

    /// Keeps the content of a region.
    fn borrow(&mut self, region: Region) -> Result<u64>;

    /// Compares all borrowed blocks and restores those that differ.
    fn restore(&mut self) -> Result<Restored>;

    /// Discards a region.
    fn discard(&mut self, region: Region) -> Result<u64>;

    /// Makes everything written durable.
    fn flush(&mut self) -> Result<()>;

    /// Drops the target's pages from the cache; returns the bytes still cached, if known.
    fn drop_caches(&mut self) -> Result<Option<u64>>;

    /// Truncates a scratch file.
    fn empty(&mut self) -> Result<()>;

    /// Releases a region as its user would, then reads its blocks.
    fn release(&mut self, region: Region) -> Result<Released>;

    /// Writes canaries, erases the region, then reads the blocks back.
    fn erase(&mut self, region: Region, how: Erase) -> Result<Released>;

    /// Makes the file system discard its free space; returns the bytes discarded.
    fn trim_free(&mut self) -> Result<u64>;

    /// Formats to another logical block size.
    fn format(&mut self, block_bytes: u32) -> Result<()>;

    /// Writes a region once, sequentially, and flushes.
    fn fill(&mut self, region: Region, content: Content, seed: u64) -> Result<u64> {
        let measurement = self.run_admitted(&fill_workload(region, content, seed))?;
        if let Some(error) = measurement.errors.first() {
            let source = io::Error::other(format!("{} {} errors", error.count, error.kind));
            return Err(io_error(self.info(), "fill", source));
        }
        // The drive counts as filled only if nothing ended the fill early.
        self.info().state = State::Used;
        self.alive()?;
        self.info().state = State::Filled;
        Ok(region.bytes)
    }
}

/// Carries out a preparation.
pub(crate) fn prepare(rig: &mut impl Prepare, preparation: Preparation) -> Result<Prepared> {
    // Borrowed blocks are restored even after the run has been ended.
    if preparation != Preparation::Restore {
        rig.alive()?;
    }
    let start = rig.time();
    let (mut cached_bytes, mut released, mut unsteady) = (None, None, Unsteady::default());
    let bytes = match preparation {
        Preparation::Fill { region, content, seed } => rig.fill(region, content, seed)?,
        Preparation::Borrow { region } => rig.borrow(region)?,
        Preparation::Restore => {
            let restored = rig.restore()?;
            unsteady = restored.unsteady;
            restored.bytes
        }
        Preparation::Discard { region } => rig.discard(region)?,
        Preparation::Flush => rig.flush().map(|()| 0)?,
        Preparation::DropCaches => {
            cached_bytes = rig.drop_caches()?;
            0
        }
        Preparation::Empty => rig.empty().map(|()| 0)?,
        Preparation::Release { region } => {
            released = Some(rig.release(region)?);
            region.bytes
        }
        Preparation::Erase { region, how } => {
            released = Some(rig.erase(region, how)?);
            region.bytes
        }
        Preparation::TrimFree => rig.trim_free()?,
        Preparation::Format { block_bytes } => rig.format(block_bytes).map(|()| 0)?,
    };
    Ok(Prepared { elapsed_ns: rig.time() - start, bytes, cached_bytes, released, unsteady })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fill_leaves_nothing_over() {
        for bytes in [1 << 30, (1 << 20) + 4096, 512, 3 << 20] {
            let workload = fill_workload(Region::first(bytes), Content::Random, 1);
            let block = u64::from(workload.blocks.max());
            assert_eq!(bytes % block, 0);
            assert!(block <= FILL_BLOCK && workload.check().is_ok());
        }
    }
}

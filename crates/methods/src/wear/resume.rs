//! A run found on the drive: its progress, and the seed of its stamps.
//!
//! Only the drive is needed, so that any machine can resume the run. Blocks that were in flight
//! when the run was killed count if they were written, and are written again if not. A power cut
//! can tear a block written since the last flush, or leave its old content. It does not explain
//! flipped bits and content of another address, which are faults, nor any fault of a block written
//! before that flush. Cycled blocks without a stamp are lost if the marker is on the drive
//! (`layout.rs`); the amount written is then known only to be at least that of the first pass.

use std::collections::BTreeMap;

use rig::RigError;
use workload::stamp::{Layout as Stamps, SECTOR, read_sector};

use super::found::{Class, Stamped, Tally};
use super::layout::{BLOCK, Layout, mixed, stamp};
use super::transfer;
use script::{MethodError, Result, Session};

/// Maximum number of a write: more than any drive endures, and small enough to calculate with.
const NUMBER_MAX: u64 = 1 << 56;

/// Number of blocks read at once.
const PIECE: u64 = 64;

/// Maximum number of blocks written since the last flush.
const UNFLUSHED: u64 = transfer::PIECE as u64;

/// The state of an unfinished run.
#[derive(Clone, Debug, Default)]
pub(super) struct Left {
    /// Seed of its stamps.
    pub seed: u64,
    /// The greatest number found.
    pub last: u64,
    /// Smaller numbers that were not written, or not completely.
    pub holes: Vec<u64>,
    /// Whether the marker was written.
    pub marked: bool,
    /// Whether more than `last` may have been written.
    pub least: bool,
    /// Faults in the static data, if the run was cut while writing them.
    pub fixed: Tally,
    /// Faults in the current pass, and in the previous one if it is unchecked.
    pub cycled: Tally,
}

impl Left {
    /// Blocks written by earlier runs.
    pub fn blocks(&self, layout: &Layout) -> u64 {
        let skipped = self.last > layout.marker() && !self.marked;
        self.last - self.holes.len() as u64 - u64::from(skipped)
    }
}

/// The seed of a new run, which no stamp on the drive has.
pub(super) fn fresh(session: &mut Session<'_>, layout: &Layout, seed: u64) -> Result<u64> {
    let seeds = seeds(session, layout)?;
    let before = seeds.into_keys().fold(0, |all, seed| mixed(all ^ seed));
    Ok(layout.seed(seed ^ before))
}

/// Finds the unfinished run on the drive.
pub(super) fn find(session: &mut Session<'_>, layout: &Layout) -> Result<Left> {
    let seeds = seeds(session, layout)?.into_iter().filter(|(seed, _)| layout.is_of(*seed));
    let Some((_, seed)) = seeds.map(|(seed, count)| (count, seed)).max() else {
        let spec = &session.target().target.spec;
        let text = format!("no run of wear was found on {spec}, or it had another --size");
        let advice = "without --resume, a run begins with the first block";
        return Err(RigError::usage(text, advice).into());
    };
    let mut left = Left { seed, ..Left::default() };
    read(session, layout.fixed..layout.fixed + 2 * layout.half, |offset, bytes| {
        let stamped = Stamped::read(bytes, offset, seed);
        left.last = left.last.max(number_of(layout, &stamped, offset).unwrap_or(0));
        if stamped.misplaced {
            left.cycled.add(Class::Misplaced, offset);
        }
        true
    })?;
    let pass = layout.pass(left.last.max(1));
    let (is_begun, marker) = match pass {
        // It was durable before the second pass began: the check of the static data judges it.
        Some(1..) => (true, Class::Good),
        _ => marker(session, layout, seed)?,
    };
    let fault = matches!(marker, Class::Flipped | Class::Misplaced);
    if fault {
        left.fixed.add(marker, layout.offset(layout.marker()));
    }
    left.marked = is_begun && (fault || marker == Class::Good);
    match pass {
        Some(pass) => cut_in_pass(session, layout, left, pass),
        None if is_begun => all_passes_lost(session, layout, left),
        None => cut_in_fill(session, layout, left),
    }
}

/// Whether the write of the marker was begun, and the content of its block.
fn marker(session: &mut Session<'_>, layout: &Layout, seed: u64) -> Result<(bool, Class)> {
    let number = layout.marker();
    let mut state = (false, Class::Lost);
    read(session, number - 1..number, |offset, bytes| {
        let is_begun = Stamped::read(bytes, offset, seed).newest == Some(number);
        state = (is_begun, Class::from_bytes(bytes, stamp(layout, number, seed)));
        true
    })?;
    Ok(state)
}

/// The number of the newest write found in a block, if the layout puts that write there. Stamps
/// come from the drive and may have any number.
pub(super) fn number_of(layout: &Layout, found: &Stamped, offset: u64) -> Option<u64> {
    let number = found.newest.filter(|number| (1..=NUMBER_MAX).contains(number));
    number.filter(|number| layout.offset(*number) == offset)
}

/// Completes `left` for a run that was cut while cycling: all earlier passes are written.
fn cut_in_pass(
    session: &mut Session<'_>,
    layout: &Layout,
    mut left: Left,
    pass: u64,
) -> Result<Left> {
    let numbers = layout.numbers(pass).start..left.last + 1;
    let first = layout.offset(numbers.start) / BLOCK;
    let blocks = first..first + (numbers.end - numbers.start);
    read(session, blocks, |offset, bytes| {
        let number = numbers.start + (offset / BLOCK - first);
        let class = Class::from_bytes(bytes, stamp(layout, number, left.seed));
        match class {
            Class::Good => {}
            Class::Flipped | Class::Misplaced => left.cycled.add(class, offset),
            _ => left.holes.push(number),
        }
        true
    })?;
    if pass > 0 && left.last + 1 == layout.numbers(pass).end {
        // This pass may be unchecked. If it was checked, its blocks may be discarded, or hold a
        // measurement of age or part of the next pass.
        let excused = [Class::Lost, Class::Torn];
        check_pass(session, layout, &mut left, pass - 1, &excused)?;
    }
    Ok(left)
}

/// Completes `left` for a run of which no cycled block has a stamp, though a pass was durable. Any
/// pass may have been the last; the first is the least.
fn all_passes_lost(session: &mut Session<'_>, layout: &Layout, mut left: Left) -> Result<Left> {
    (left.last, left.least) = (layout.numbers(0).end - 1, true);
    check_pass(session, layout, &mut left, 0, &[])?;
    Ok(left)
}

/// Checks the blocks of a pass. Blocks of the `excused` classes are not faults.
fn check_pass(
    session: &mut Session<'_>,
    layout: &Layout,
    left: &mut Left,
    pass: u64,
    excused: &[Class],
) -> Result<()> {
    let (first, region) = (layout.numbers(pass).start, layout.region(pass));
    let blocks = region.start / BLOCK..region.end() / BLOCK;
    read(session, blocks, |offset, bytes| {
        let number = first + (offset - region.start) / BLOCK;
        let class = Class::from_bytes(bytes, stamp(layout, number, left.seed));
        if !excused.contains(&class) {
            left.cycled.add(class, offset);
        }
        true
    })
}

/// Completes `left` for a run that was cut while writing static data, which end at its last block,
/// or before the marker was written.
fn cut_in_fill(session: &mut Session<'_>, layout: &Layout, mut left: Left) -> Result<Left> {
    read(session, 0..layout.marker() - 1, |offset, bytes| {
        let number = offset / BLOCK + 1;
        let class = Class::from_bytes(bytes, stamp(layout, number, left.seed));
        match class {
            Class::Good => {}
            Class::Flipped | Class::Misplaced => left.fixed.add(class, offset),
            _ => left.holes.push(number),
        }
        if Stamped::read(bytes, offset, left.seed).newest == Some(number) {
            left.last = number;
        }
        number < left.last + UNFLUSHED
    })?;
    // Earlier blocks were durable: the check of the static data counts those that differ.
    left.holes.retain(|number| *number <= left.last && number + UNFLUSHED > left.last);
    Ok(left)
}

/// The seeds of stamps in the first blocks and in the cycled blocks, with their counts.
fn seeds(session: &mut Session<'_>, layout: &Layout) -> Result<BTreeMap<u64, u32>> {
    let mut counts = BTreeMap::new();
    let fixed = 0..PIECE.min(layout.fixed);
    let cycled = layout.fixed..layout.fixed + 2 * layout.half;
    for blocks in [fixed, cycled] {
        read(session, blocks, |_, bytes| {
            let stamps = bytes.chunks_exact(SECTOR).step_by(BLOCK as usize / SECTOR / 4);
            for stamp in stamps.filter_map(|s| read_sector(s, Stamps::default().at)) {
                *counts.entry(stamp.seed).or_default() += 1;
            }
            true
        })?;
    }
    Ok(counts)
}

/// Reads blocks in ascending order until `take` returns false. An unreadable block reads as zeros.
fn read(
    session: &mut Session<'_>,
    blocks: std::ops::Range<u64>,
    mut take: impl FnMut(u64, &[u8]) -> bool,
) -> Result<()> {
    let mut bytes = vec![0; (PIECE * BLOCK) as usize];
    let mut next = blocks.start;
    while next < blocks.end {
        let count = PIECE.min(blocks.end - next);
        let piece = &mut bytes[..(count * BLOCK) as usize];
        read_some(session, next * BLOCK, piece)?;
        let offsets = (next..).map(|block| block * BLOCK);
        for (offset, block) in offsets.zip(piece.chunks_exact(BLOCK as usize)) {
            if !take(offset, block) {
                return Ok(());
            }
        }
        next += count;
    }
    Ok(())
}

/// Reads a piece, block by block if reading it whole fails.
fn read_some(session: &mut Session<'_>, offset: u64, piece: &mut [u8]) -> Result<()> {
    match session.read(offset, piece) {
        Err(MethodError::Rig(RigError::Io { .. })) => {}
        result => return result,
    }
    for (i, block) in piece.chunks_exact_mut(BLOCK as usize).enumerate() {
        match session.read(offset + i as u64 * BLOCK, block) {
            Err(MethodError::Rig(RigError::Io { .. })) => block.fill(0),
            result => result?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_in_flight_and_a_missing_marker_were_not_written() {
        let layout = Layout { blocks: 120, fixed: 100, half: 10 };
        let blocks = |last, holes: &[u64], marked| {
            Left { last, holes: holes.to_vec(), marked, ..Left::default() }.blocks(&layout)
        };
        assert_eq!(blocks(40, &[37, 39], false), 38);
        assert_eq!(blocks(130, &[128], true), 129);
        assert_eq!(blocks(130, &[128], false), 128, "the marker is number 100");
    }
}

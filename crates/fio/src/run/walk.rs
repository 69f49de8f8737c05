//! The position in one file: the offset and size of its next operation, by fio's rules.
//!
//! Each direction has its own sequential position. A file is at its end when an operation would
//! begin behind the part in use or end behind the file; the last operation may therefore extend
//! beyond the part in use.

use rand_xoshiro::Xoshiro256PlusPlus;
use workload::Region;

use super::positions::{Places, Positions, below, unit};
use crate::{Access, Blocks, Sequencer, StridedZone};

/// Indices of the directions, as in [`crate::PerKind`].
pub(super) const READ: usize = 0;
pub(super) const WRITE: usize = 1;
pub(super) const TRIM: usize = 2;

/// Number of attempts to draw a size that fits the rest of a file, before the smallest is used.
const DRAWS_MAX: u32 = 10_000;

/// The part of a file that is in use, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub start: u64,
    /// Where it starts in later passes and after the last zone. fio computes a share of the file
    /// (`offset=25%`, `file_append`) again, from the size that the file then has.
    pub again: u64,
    pub bytes: u64,
    /// End of the file, behind the part or at its end.
    pub file_end: u64,
}

impl Span {
    /// End of the part. As in fio, that of later passes applies to the first one, too.
    fn end(&self) -> u64 {
        self.again.saturating_add(self.bytes)
    }

    /// The bytes that operations can reach: the last block may extend beyond the part, but not
    /// beyond the file; zones go through the whole file.
    pub(super) fn reach(&self, access: &Access) -> Region {
        let start = self.start.min(self.again);
        let last_end = self.start.max(self.again).saturating_add(self.bytes);
        let end = match access.zone {
            Some(_) => self.file_end,
            None => last_end.saturating_add(access.max_bs()).min(self.file_end),
        };
        Region { start, bytes: end.saturating_sub(start) }
    }
}

/// How the next offset of a random direction is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Jump {
    /// At random, for the share of operations that `percentage_random` gives.
    ByShare,
    /// By `rw_sequencer`.
    Follow,
}

/// The position in one file.
#[derive(Clone, Debug)]
pub(super) struct FileWalk {
    span: Span,
    /// Start of the current zone, or of the part.
    start: u64,
    /// End of the last operation, by direction.
    next: [u64; 3],
    /// Start of the last operation, by direction.
    last: [Option<u64>; 3],
    /// Bytes of the last trim.
    trimmed: u64,
    places: Option<Positions>,
}

impl FileWalk {
    pub(super) fn new(access: &Access, seed: u64, span: Span) -> FileWalk {
        let places = (access.rw.random())
            .then(|| Positions::new(access, Places::new(access, span.bytes), seed));
        let start = span.start;
        FileWalk { span, start, next: [start; 3], last: [None; 3], trimmed: 0, places }
    }

    /// Returns to the start of the part, for another pass.
    pub(super) fn restart(&mut self) {
        self.start = self.span.again;
        self.rewind();
    }

    /// Returns to the places of the first pass, in their order.
    pub(super) fn repeat(&mut self) {
        if let Some(places) = &mut self.places {
            places.repeat();
        }
    }

    /// Returns to the start of the zone, or of the part.
    pub(super) fn rewind(&mut self) {
        (self.next, self.last) = ([self.start; 3], [None; 3]);
        if let Some(places) = &mut self.places {
            places.restart();
        }
    }

    /// Whether the last trim was followed by its write.
    pub(super) fn has_written_last_trim(&self) -> bool {
        self.last[TRIM] == self.last[WRITE]
    }

    /// Moves to the next zone if `moved` bytes fill this one.
    pub(super) fn enter_zone(&mut self, zone: &StridedZone, moved: &mut u64, kind: usize) {
        if *moved >= zone.size {
            *moved = 0;
            self.start += zone.range + zone.skip;
            if self.start >= self.span.file_end {
                self.start = self.span.again;
            }
            self.next[kind] = self.start;
        }
        if self.next[kind] >= self.start + zone.range {
            self.next[kind] = self.start;
        }
        if moved.is_multiple_of(zone.range) {
            self.rewind();
        }
    }

    /// Offset and bytes of the next operation; `None` at the end of the file. `wraps`: sequential
    /// access starts again at the end of the part. `renews`: so does random access once all places
    /// have been visited.
    #[inline]
    pub(super) fn next(
        &mut self,
        access: &Access,
        kind: usize,
        (jump, wraps, renews): (Jump, bool, bool),
        rng: &mut Xoshiro256PlusPlus,
    ) -> Option<(u64, u64)> {
        let is_pair = access.rw.trims() && kind == WRITE && self.trimmed > 0;
        let (offset, bytes) = match self.last[TRIM].filter(|_| is_pair && access.rw.random()) {
            Some(trimmed) => (trimmed, self.trimmed),
            None => {
                let (place, marks) = self.place(access, kind, (jump, wraps, renews), rng)?;
                if place >= self.span.bytes {
                    return None;
                }
                let offset = self.start + place;
                let room = self.span.end().saturating_sub(offset);
                let bytes = if is_pair {
                    self.trimmed
                } else {
                    let by_order = if marks { WRITE } else { READ };
                    let sizes = if access.bs_by_order { by_order } else { kind };
                    draw_size(access, sizes, room, rng)?
                };
                (
                    offset,
                    if marks { self.take(access, kind, (place, offset, bytes))? } else { bytes },
                )
            }
        };
        if offset.checked_add(bytes)? > self.span.file_end {
            return None;
        }
        if access.rw.random() && kind == TRIM && self.last[TRIM] == Some(offset) {
            // The same place again: its write must follow nevertheless.
            self.last[WRITE] = None;
        }
        (self.last[kind], self.next[kind]) = (Some(offset), offset + bytes);
        if kind == TRIM {
            self.trimmed = bytes;
        }
        Some((offset, bytes))
    }

    /// The next offset from the start of the zone, and whether it is a random place.
    #[inline]
    fn place(
        &mut self,
        access: &Access,
        kind: usize,
        (jump, wraps, renews): (Jump, bool, bool),
        rng: &mut Xoshiro256PlusPlus,
    ) -> Option<(u64, bool)> {
        if !access.rw.random() {
            return Some((self.follow(access, kind, wraps)?, false));
        }
        let percent = u64::from(*access.percentage_random.each()[kind]);
        let jumps = jump == Jump::ByShare && (percent >= 100 || below(rng, 100) < percent);
        if !jumps {
            if jump == Jump::Follow && access.sequencer == Sequencer::Identical {
                let last = self.last[kind].map_or(0, |last| last.saturating_sub(self.start));
                return Some((last, false));
            }
            if let Some(place) = self.follow(access, kind, wraps) {
                return Some((place, false));
            }
        }
        let places = self.places.as_mut()?;
        let place = places.next(kind, rng).or_else(|| {
            renews.then(|| places.restart())?;
            places.next(kind, rng)
        })?;
        Some((place.saturating_mul(*access.block_align.each()[kind]), jumps))
    }

    /// Marks the places of an operation as visited. It is cut short where one has been visited
    /// before.
    #[inline]
    fn take(
        &mut self,
        access: &Access,
        kind: usize,
        (place, offset, bytes): (u64, u64, u64),
    ) -> Option<u64> {
        if offset.checked_add(bytes)? > self.span.file_end {
            return None;
        }
        let Some(Positions::Mapped(map, _)) = &mut self.places else { return Some(bytes) };
        let block = access.blocks.each()[kind].min().max(1);
        let room = map.take(place / block, bytes.div_ceil(block)) * block;
        Some(bytes.min(room))
    }

    /// The offset that follows the last operation of this direction, from the start of the zone.
    #[inline]
    fn follow(&mut self, access: &Access, kind: usize, wraps: bool) -> Option<u64> {
        let Span { bytes, file_end, .. } = self.span;
        if wraps && self.next[kind] >= self.span.end() {
            self.next[kind] = self.start;
        }
        if self.next[kind] >= file_end {
            return None;
        }
        let add = if access.rw.random() { 0 } else { access.sequence_add };
        let last_end = bytes.min(file_end);
        if add < 0 && self.start > 0 && self.next[kind] == self.start {
            self.next[kind] = last_end;
        }
        let place = self.next[kind].wrapping_sub(self.start);
        if place == 0 || add == 0 {
            return Some(place);
        }
        let next_place = place.wrapping_add_signed(add);
        // As in fio, steps wrap around at the end of the file.
        Some(if next_place < file_end {
            next_place
        } else if add > 0 {
            self.start
        } else {
            last_end.wrapping_add_signed(add)
        })
    }
}

/// The bytes of an operation with the sizes of a direction, if `room` bytes are left; `None` if none
/// fits. A single size needs no room: the file must hold it, but not the part in use.
#[inline]
fn draw_size(access: &Access, kind: usize, room: u64, rng: &mut Xoshiro256PlusPlus) -> Option<u64> {
    let blocks = access.blocks.each()[kind];
    if blocks.min() == blocks.max() {
        return Some(blocks.min());
    }
    if blocks.min() > room {
        return None;
    }
    // Draws until a size fits. The smallest fits, but may have no share.
    for _ in 0..DRAWS_MAX {
        let size = match blocks {
            Blocks::Fixed(bytes) => *bytes,
            Blocks::Range { min, max } => (*min as f64 + *max as f64 * unit(rng)) as u64,
            Blocks::Split(shares) => {
                let draw = below(rng, 100) as u32;
                let mut sum = 0;
                // As in fio, one that does not fit gives its turn to the next.
                let size = shares.iter().find(|share| {
                    sum += share.percent;
                    draw < sum && share.bytes <= room
                });
                size.or(shares.last())?.bytes
            }
        };
        let min = blocks.min().max(1);
        let rounded = if access.bs_unaligned { size } else { size / min * min };
        let bytes = rounded.clamp(min, blocks.max().max(min));
        if bytes <= room && bytes > 0 {
            return Some(bytes);
        }
    }
    Some(blocks.min())
}

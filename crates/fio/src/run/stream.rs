//! The operations of one clone of a job, drawn by fio's rules: direction, file, offset and size
//! of each, where flushes come, and when the stream ends.
//!
//! Pure, and deterministic from the seed. The upper bits of an address are the file's number, the
//! lower ones the offset in that file ([`rig::place_bits`]).

use std::sync::Arc;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use workload::{Op, OpKind, Open, Pace};

use super::positions::{Once, Positions, below, unit};
use crate::{Access, Blocks, FileService, Rw, Sequencer, ServiceOrder};

/// Read, write, trim, in the order of [`crate::PerKind`].
const KINDS: [OpKind; 3] = [OpKind::Read, OpKind::Write, OpKind::Discard];

/// The description from which a stream is drawn.
#[derive(Clone, Debug)]
pub(super) struct Outline {
    pub access: Access,
    pub service: FileService,
    /// Number of address bits for the offset in a file.
    pub shift: u32,
    /// First byte and number of bytes used in each file.
    pub files: Vec<(u64, u64)>,
    /// Bytes moved in a pass over the files (`size`, or `io_size`).
    pub pass_bytes: u64,
    /// Whether `io_size` was given: a pass then ends after `pass_bytes`, not at the end of the
    /// files.
    pub by_bytes: bool,
    /// Passes; `None` for no limit.
    pub passes: Option<u32>,
    /// Maximum operations of all passes together: `number_ios` times `loops`.
    pub ops_max: u64,
    /// Writes between flushes, for `fsync` and for `fdatasync`; 0 for no flush.
    pub flush_every: [u32; 2],
    /// Whether the job reads the data of an earlier run: writes become reads.
    pub verify_only: bool,
    /// The rate of one direction of a mix.
    pub throttle: Option<Throttle>,
    pub seed: u64,
}

/// The only direction with a schedule in a mix. While it is not due, the other direction takes its
/// turns.
#[derive(Clone, Debug)]
pub(super) struct Throttle {
    kind: usize,
    open: Open,
    now: u64,
}

impl Throttle {
    pub(super) fn new(kind: usize, open: Open) -> Throttle {
        Throttle { kind, open, now: 0 }
    }

    /// The direction of the next operation, if the mix drew `drawn`.
    fn kind(&mut self, drawn: usize) -> usize {
        let waits = drawn == self.kind && self.open.next_due(self.now).is_none();
        if waits { 1 - drawn } else { drawn }
    }
}

/// Number of attempts to draw a size that fits the rest of a file, before the smallest is used.
const DRAWS_MAX: u32 = 10_000;

/// One clone's operations.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    outline: Arc<Outline>,
    files: Vec<Walk>,
    current: usize,
    supported: u32,
    bytes_left: u64,
    passes_left: Option<u32>,
    ops_left: u64,
    writes: u32,
    /// Whether the last operation was a flush.
    flushed: bool,
    /// Whether no file has room for another operation of the last pass: no flush follows either.
    exhausted: bool,
    /// The write that follows a trim, and the address of the last write.
    pending: Option<Op>,
    last: u64,
    rng: Xoshiro256PlusPlus,
    throttle: Option<Throttle>,
}

/// The position in one file.
#[derive(Clone, Debug)]
struct Walk {
    start: u64,
    bytes: u64,
    /// Start of the next sequential operation, by direction.
    next: [u64; 3],
    /// Start of the last operation.
    last: u64,
    /// Operations since the last jump to a random offset.
    in_row: u32,
    /// Bytes of a place.
    grid: u64,
    places: Option<Positions>,
    /// Offset of the current zone, and bytes moved in it.
    zone: Option<(u64, u64)>,
}

impl Stream {
    pub(super) fn new(outline: Arc<Outline>) -> Stream {
        let walk = |(i, &(start, bytes)): (usize, &(u64, u64))| {
            Walk::new(&outline, outline.seed ^ (i as u64).rotate_left(48), start, bytes)
        };
        Stream {
            files: outline.files.iter().enumerate().map(walk).collect(),
            current: 0,
            supported: 0,
            bytes_left: outline.pass_bytes,
            passes_left: outline.passes,
            ops_left: outline.ops_max,
            writes: 0,
            flushed: false,
            exhausted: false,
            pending: None,
            last: 0,
            rng: Xoshiro256PlusPlus::seed_from_u64(outline.seed),
            throttle: outline.throttle.clone(),
            outline,
        }
    }

    /// The next operation; `None` at the end of the last pass, or after `ops_max` operations.
    #[inline]
    pub(super) fn draw(&mut self) -> Option<Op> {
        if let Some(write) = self.pending.take() {
            self.written(&write);
            return Some(write);
        }
        if self.exhausted || self.ops_left == 0 || (self.bytes_left == 0 && !self.next_pass()) {
            return None;
        }
        if self.flush_is_due() {
            self.flushed = true;
            return Some(Op { offset: self.last, ..Op::FLUSH });
        }
        self.flushed = false;
        let kind = self.kind();
        let Some(op) = self.place(kind) else {
            self.exhausted = true;
            return None;
        };
        self.bytes_left = self.bytes_left.saturating_sub(u64::from(op.bytes));
        self.ops_left -= 1;
        match (self.outline.access.rw, op.kind) {
            (Rw::TrimWrite | Rw::RandTrimWrite, OpKind::Discard) => {
                self.pending = Some(Op { kind: OpKind::Write, ..op });
            }
            (_, OpKind::Write) => self.written(&op),
            _ => {}
        }
        Some(op)
    }

    /// Whether the time of a draw matters.
    pub(super) fn is_timed(&self) -> bool {
        self.throttle.is_some()
    }

    /// Sets the time of the next draw, nanoseconds since the job began.
    #[inline]
    pub(super) fn at(&mut self, now: u64) {
        if let Some(throttle) = &mut self.throttle {
            throttle.now = now;
        }
    }

    fn written(&mut self, op: &Op) {
        self.last = op.offset;
        self.writes += 1;
    }

    /// As in fio, a flush precedes each operation while the number of writes is a multiple of a
    /// period in `flush_every`. In a mix, reads after such a write are therefore preceded by
    /// flushes, too.
    #[inline]
    fn flush_is_due(&self) -> bool {
        let due = |every: &u32| *every > 0 && self.writes.is_multiple_of(*every);
        self.writes > 0 && !self.flushed && self.outline.flush_every.iter().any(due)
    }

    /// The direction of the next operation, as an index.
    #[inline]
    fn kind(&mut self) -> usize {
        match self.outline.access.rw {
            Rw::Read | Rw::RandRead => 0,
            Rw::Write | Rw::RandWrite => 1,
            Rw::Trim | Rw::RandTrim | Rw::TrimWrite | Rw::RandTrimWrite => 2,
            Rw::ReadWrite | Rw::RandRw => {
                let read =
                    below(&mut self.rng, 100) < u64::from(self.outline.access.mix_read_percent);
                let drawn = usize::from(!read);
                self.throttle.as_mut().map_or(drawn, |throttle| throttle.kind(drawn))
            }
        }
    }

    /// The next operation in this direction, on the next file in turn.
    #[inline]
    fn place(&mut self, kind: usize) -> Option<Op> {
        loop {
            for _ in 0..self.files.len() {
                let file = self.serve();
                let outline = &self.outline;
                if let Some((offset, bytes)) = self.files[file].next(outline, kind, &mut self.rng) {
                    let offset = (file as u64) << outline.shift | offset;
                    return Some(Op { kind: KINDS[kind], offset, bytes: bytes as u32 });
                }
                self.supported = u32::MAX;
            }
            // All files are at their end. They are used again within the same pass if only bytes or
            // time end it, otherwise in the next pass. The stream ends after the last pass, or if
            // no file has room for an operation.
            let again = self.outline.by_bytes || self.outline.passes.is_none();
            let goes_on = again && self.files.iter().any(|walk| walk.holds(&self.outline, kind));
            if !goes_on && !self.next_pass() {
                return None;
            }
            let outline = &self.outline;
            self.files.iter_mut().for_each(|walk| walk.restart(outline));
            if !self.files.iter().any(|walk| walk.holds(outline, kind)) {
                return None;
            }
        }
    }

    /// Index of the next file.
    #[inline]
    fn serve(&mut self) -> usize {
        let FileService { order, every } = self.outline.service;
        let count = self.files.len();
        if count == 1 {
            return 0;
        }
        let turn_over = self.supported == u32::MAX
            || (order != ServiceOrder::Sequential && self.supported >= every);
        if turn_over {
            self.current = match order {
                ServiceOrder::Random if self.supported != u32::MAX => {
                    below(&mut self.rng, count as u64) as usize
                }
                _ => (self.current + 1) % count,
            };
            self.supported = 0;
        }
        self.supported += 1;
        self.current
    }

    /// Starts another pass, if any.
    #[cold]
    fn next_pass(&mut self) -> bool {
        match &mut self.passes_left {
            Some(..=1) => return false,
            Some(left) => *left -= 1,
            None => {}
        }
        self.begin_pass();
        true
    }

    /// Returns to the start of all files.
    #[cold]
    pub(super) fn begin_pass(&mut self) {
        self.exhausted = false;
        self.bytes_left = self.outline.pass_bytes;
        let outline = &self.outline;
        self.files.iter_mut().for_each(|walk| walk.restart(outline));
    }
}

impl Walk {
    fn new(outline: &Outline, seed: u64, start: u64, bytes: u64) -> Walk {
        let access = &outline.access;
        let used = |kind: usize| uses(access.rw, kind);
        let (grid, count) = places(access, bytes);
        let largest = (0..3).filter(|k| used(*k)).map(|k| access.blocks.each()[k].max()).max();
        let places = (access.rw.random() && count > 0).then(|| {
            if access.norandommap || access.zone.is_some() {
                let stride = access.sequence_stride;
                return Positions::repeating(&access.distribution, stride, count, bytes, seed);
            }
            Positions::Once(Once::new(count, seed, largest.is_some_and(|max| max > grid)))
        });
        let mut walk = Walk {
            start,
            bytes,
            next: [start; 3],
            last: start,
            in_row: 0,
            grid,
            places,
            zone: access.zone.map(|_| (0, 0)),
        };
        walk.rewind(outline);
        walk
    }

    fn rewind(&mut self, outline: &Outline) {
        (self.next, self.last, self.in_row) = ([self.start; 3], self.start, 0);
        self.zone = outline.access.zone.map(|_| (0, 0));
    }

    fn restart(&mut self, outline: &Outline) {
        self.rewind(outline);
        if let Some(places) = &mut self.places {
            places.restart();
        }
    }

    /// Whether the file is large enough for the smallest operation of this direction.
    fn holds(&self, outline: &Outline, kind: usize) -> bool {
        self.bytes >= outline.access.blocks.each()[kind].min()
    }

    fn end(&self) -> u64 {
        self.start + self.bytes
    }

    /// Offset and bytes of the next operation; `None` at the end of the file.
    #[inline]
    fn next(
        &mut self,
        outline: &Outline,
        kind: usize,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Option<(u64, u64)> {
        let access = &outline.access;
        let zone = self.enter_zone(access);
        let found = match access.rw.random() && self.jumps(access, kind, rng) {
            true => self.jump(access, kind, zone, rng),
            false => self.follow(access, kind, zone, rng),
        }?;
        self.next[kind] = found.0 + found.1;
        self.last = found.0;
        if let Some((_, moved)) = &mut self.zone {
            *moved += found.1;
        }
        Some(found)
    }

    /// The bounds of the current zone, or of the whole file without zones.
    fn enter_zone(&mut self, access: &Access) -> (u64, u64) {
        let (Some(rules), Some((at, moved))) = (&access.zone, &mut self.zone) else {
            return (self.start, self.end());
        };
        if *moved >= rules.size {
            (*at, *moved) = (*at + rules.range + rules.skip, 0);
            if *at + access.min_bs() > self.bytes {
                *at = 0;
            }
            self.next = [self.start + *at; 3];
        }
        let first = self.start + *at;
        (first, (first + rules.range).min(self.start + self.bytes))
    }

    /// Whether the next operation of a random direction has a random offset.
    #[inline]
    fn jumps(&mut self, access: &Access, kind: usize, rng: &mut Xoshiro256PlusPlus) -> bool {
        if access.random_every > 1 {
            let jumps = self.in_row == 0;
            self.in_row = (self.in_row + 1) % access.random_every;
            return jumps;
        }
        let percent = *access.percentage_random.each()[kind];
        percent >= 100 || below(rng, 100) < u64::from(percent)
    }

    #[inline]
    fn jump(
        &mut self,
        access: &Access,
        kind: usize,
        zone: (u64, u64),
        rng: &mut Xoshiro256PlusPlus,
    ) -> Option<(u64, u64)> {
        let place = self.places.as_mut()?.next(kind, rng)?;
        let align = *access.block_align.each()[kind];
        let mut offset = zone.0 + place * self.grid;
        let bytes = draw_size(access, kind, zone.1 - zone.0, rng)?;
        if let Some(Positions::Once(once)) = &mut self.places {
            // Truncated if it would repeat a place or exceed the end.
            let free = once.take(place, bytes.div_ceil(self.grid)) * self.grid;
            return Some((offset, bytes.min(free)));
        }
        if align > self.grid {
            offset = zone.0 + (offset - zone.0) / align * align;
        }
        if offset + bytes > zone.1 {
            offset = zone.0 + (zone.1 - zone.0 - bytes) / self.grid * self.grid;
        }
        Some((offset, bytes))
    }

    /// The operation that follows the last one of this direction.
    #[inline]
    fn follow(
        &mut self,
        access: &Access,
        kind: usize,
        zone: (u64, u64),
        rng: &mut Xoshiro256PlusPlus,
    ) -> Option<(u64, u64)> {
        let random = access.rw.random();
        if random && access.random_every > 1 && access.sequencer == Sequencer::Identical {
            let bytes = draw_size(access, kind, zone.1.saturating_sub(self.last), rng)?;
            return Some((self.last, bytes));
        }
        let mut offset = self.next[kind];
        let add = if random { 0 } else { access.sequence_add };
        if add != 0 && offset != self.start {
            offset = offset.checked_add_signed(add).unwrap_or(u64::MAX);
            if offset >= self.end() || offset < self.start {
                offset = if add > 0 { self.start } else { self.end().saturating_add_signed(add) };
            }
        }
        // Operations between random offsets, in zones or with `sequence_add` wrap around; a plain
        // pass ends here.
        let round = random || self.zone.is_some() || add != 0;
        if offset >= zone.1 || zone.1 - offset < access.blocks.each()[kind].min() {
            if !round {
                return None;
            }
            offset = zone.0;
        }
        Some((offset, draw_size(access, kind, zone.1.checked_sub(offset)?, rng)?))
    }
}

/// Size of a place, and the number of places in a file of `bytes` bytes or in a zone of it.
pub(super) fn places(access: &Access, bytes: u64) -> (u64, u64) {
    let used = (0..3).filter(|kind| uses(access.rw, *kind));
    let grid = used.map(|kind| *access.block_align.each()[kind]).min().unwrap_or(4096).max(1);
    (grid, access.zone.map_or(bytes, |zone| zone.range.min(bytes)) / grid)
}

/// Whether a job of this kind has operations in this direction.
fn uses(rw: Rw, kind: usize) -> bool {
    [rw.reads(), rw.writes(), rw.trims()][kind]
}

/// The bytes of an operation if `room` bytes are left; `None` if none fits.
#[inline]
fn draw_size(access: &Access, kind: usize, room: u64, rng: &mut Xoshiro256PlusPlus) -> Option<u64> {
    let blocks = access.blocks.each()[kind];
    if blocks.min() > room {
        return None;
    }
    if let Blocks::Fixed(bytes) = blocks {
        return Some(*bytes);
    }
    // Draws until a size fits. The smallest fits, but may have no share.
    for _ in 0..DRAWS_MAX {
        let bytes = match blocks {
            Blocks::Fixed(bytes) => *bytes,
            Blocks::Range { min, max } => {
                let drawn = (*min as f64 + *max as f64 * unit(rng)) as u64;
                let whole = if access.bs_unaligned { drawn } else { drawn / min * min };
                whole.clamp(*min, *max)
            }
            Blocks::Split(shares) => {
                let draw = below(rng, 100) as u32;
                let mut sum = 0;
                let found = shares.iter().find(|share| {
                    sum += share.percent;
                    draw < sum
                });
                found.or(shares.last())?.bytes
            }
        };
        if bytes <= room && bytes > 0 {
            return Some(bytes);
        }
    }
    Some(blocks.min())
}

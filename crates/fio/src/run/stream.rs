//! The operations of one clone of a job, drawn by fio's rules: direction, file, offset and size
//! of each, where flushes come, and where passes and the stream end.
//!
//! A pass ends when it has moved `size` bytes, when the job has reached its limit, or when no file
//! has room for another operation. Another one follows as long as loops are left, or with `io_size`
//! until that amount has been moved. No job exceeds the bound of its outline, from which its plan is
//! made; each pass asserts it. Pure, and deterministic from the seed. The upper bits of an
//! address are the file's number, the lower ones the offset in that file ([`rig::place_bits`]).

use std::sync::Arc;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use workload::{Op, OpKind, Open, Pace};

use super::positions::below;
use super::turn::Turn;
use super::walk::{FileWalk, Jump, READ, Span, TRIM, WRITE};
use crate::{Access, FileService, Rw};

/// Read, write, trim, in the order of [`crate::PerKind`].
const KINDS: [OpKind; 3] = [OpKind::Read, OpKind::Write, OpKind::Discard];

/// Attempts to find a file with room, if files are chosen by popularity and so never end.
const ATTEMPTS_MAX: u32 = 10_000;

/// The description from which a stream is drawn.
#[derive(Clone, Debug)]
pub(super) struct Outline {
    pub access: Access,
    pub service: FileService,
    /// Files that are open at once, at least 1.
    pub open_max: usize,
    /// Number of address bits for the offset in a file.
    pub shift: u32,
    pub files: Vec<Span>,
    /// `size`: the bytes of a pass, if it is `counted`.
    pub pass_bytes: u64,
    /// Whether a pass ends after `pass_bytes`, rather than at the end of the files or of the job.
    /// fio counts the bytes of a pass only with asynchronous engines.
    pub counted: bool,
    /// Bytes of a loop: `io_size`, or `size`.
    pub limit_bytes: u64,
    /// Whether `io_size` was given.
    pub by_bytes: bool,
    pub loops: u32,
    /// Whether only time ends the job.
    pub time_based: bool,
    /// `number_ios`, times `loops`.
    pub ops_max: Option<u64>,
    /// Whether the job reads its writes back.
    pub reads_back: bool,
    /// Whether a verification follows each pass. As in fio, files at their end are then open again.
    pub verifies: bool,
    /// Whether the job only reads, and verifies what it reads.
    pub only_verifies: bool,
    /// Writes between flushes, for `fsync` and for `fdatasync`; 0 for no flush.
    pub flush_every: [u32; 2],
    /// Whether the job reads the data of an earlier run: writes become reads.
    pub verify_only: bool,
    /// Whether only the writes before the last flush are read back.
    pub checks_flushed_only: bool,
    /// Maximum number of operations that check what an earlier job wrote.
    pub checks_max: Option<u64>,
    /// Numbers of those of them that are left out, ascending.
    pub leaves_out: Vec<u64>,
    /// Bytes per second of reads and of writes, if both directions of a mix have a rate.
    pub rates: Option<[f64; 2]>,
    /// The rate of one direction of a mix.
    pub throttle: Option<Throttle>,
    pub seed: u64,
}

impl Outline {
    /// Maximum bytes moved in one direction; `None` if only time ends the job.
    pub(super) fn bytes_max(&self) -> Option<u64> {
        let block = self.access.max_bs().max(1);
        let loop_bytes = self.limit_bytes.checked_next_multiple_of(block).unwrap_or(u64::MAX);
        let loops = u64::from(self.loops);
        // The last operation may exceed the limit.
        let excess = if self.access.min_bs() == block { 0 } else { block };
        (!self.time_based).then(|| loop_bytes.saturating_mul(loops).saturating_add(excess))
    }

    /// Whether an operation of a round may overlap an earlier one.
    pub(super) fn may_overlap(&self) -> bool {
        let access = &self.access;
        if access.rw.random() {
            return access.norandommap || access.lfsr;
        }
        let is_steady = access.zone.is_none() && access.sequence_add == 0;
        self.time_based || !is_steady || Turn::new(self.service, 1, 1).is_by_popularity()
    }

    /// Maximum bytes of a pass in all directions together, without the last operation's excess.
    fn pass_total(&self) -> u64 {
        let rw = self.access.rw;
        let size = if rw.writes() && rw.random() && self.access.norandommap && self.by_bytes {
            self.pass_bytes.max(self.limit_bytes)
        } else {
            self.pass_bytes
        };
        let pairs = matches!(rw, Rw::TrimWrite | Rw::RandTrimWrite);
        if pairs { size.saturating_add(self.job_limit()) } else { size }
    }

    /// Bytes of all loops.
    fn job_limit(&self) -> u64 {
        self.limit_bytes.saturating_mul(u64::from(self.loops))
    }
}

/// The only direction with a schedule in a mix. While it is not due, the other direction takes its
/// turns.
#[derive(Clone, Debug)]
pub(super) struct Throttle {
    kind: usize,
    open: Open,
}

impl Throttle {
    pub(super) fn new(kind: usize, open: Open) -> Throttle {
        Throttle { kind, open }
    }

    /// The direction of the next operation at a time, if the mix drew `drawn`.
    fn kind(&mut self, drawn: usize, now_ns: u64) -> usize {
        let waits = drawn == self.kind && self.open.next_due(now_ns).is_none();
        if waits { 1 - drawn } else { drawn }
    }
}

/// One clone's operations.
#[derive(Clone, Debug)]
pub(super) struct OpStream {
    outline: Arc<Outline>,
    walks: Vec<FileWalk>,
    turn: Turn,
    /// Loops after this pass.
    loops_left: u32,
    /// Bytes issued by direction, in all passes.
    issued_bytes: [u64; 3],
    /// Operations issued in all passes, and their maximum.
    issued_ops: u64,
    ops_max: Option<u64>,
    /// Operations that check an earlier job's writes, in all passes.
    checks: u64,
    /// Bytes of all passes, with those read back.
    moved_bytes: u64,
    /// Bytes issued in this pass.
    pass_bytes: u64,
    /// Those of them that fio counts: trims are never asynchronous.
    counted_bytes: u64,
    pass_is_over: bool,
    writes: u32,
    /// Whether the last operation was a flush.
    flushed: bool,
    /// Operations since the last one at a random offset.
    in_row: u32,
    /// Bytes moved in the current zone.
    zone_bytes: u64,
    rng: Xoshiro256PlusPlus,
    throttle: Option<Throttle>,
    /// Time of the next draw since the job began; stays 0 if it does not matter.
    now_ns: u64,
}

impl OpStream {
    /// The stream at the start of its first pass.
    pub(super) fn new(outline: Arc<Outline>) -> OpStream {
        let walks = outline.files.iter().enumerate().map(|(i, span)| {
            FileWalk::new(&outline.access, outline.seed ^ (i as u64).rotate_left(48), *span)
        });
        OpStream {
            walks: walks.collect(),
            turn: Turn::new(outline.service, outline.files.len(), outline.open_max),
            loops_left: outline.loops.saturating_sub(1),
            issued_bytes: [0; 3],
            issued_ops: 0,
            checks: 0,
            ops_max: outline.ops_max.map(|ops| ops.saturating_mul(pair_factor(&outline.access))),
            moved_bytes: 0,
            pass_bytes: 0,
            counted_bytes: 0,
            pass_is_over: false,
            writes: 0,
            flushed: false,
            // As in fio, the first operation has a random offset.
            in_row: outline.access.random_every.saturating_sub(1),
            zone_bytes: 0,
            rng: Xoshiro256PlusPlus::seed_from_u64(outline.seed),
            throttle: outline.throttle.clone(),
            now_ns: 0,
            outline,
        }
    }

    /// The next operation; `None` at the end of a pass, and from then on.
    #[inline]
    pub(super) fn draw(&mut self) -> Option<Op> {
        if self.pass_is_over || self.has_reached_limit() {
            self.pass_is_over = true;
            return None;
        }
        let mut op = self.next_op();
        while op.is_some_and(|op| self.leaves_out(op)) {
            op = if self.has_all_checks() { None } else { self.next_op() };
        }
        self.pass_is_over = op.is_none();
        op
    }

    /// Counts an operation that checks an earlier job's write. Returns whether that write failed, so
    /// that there is nothing to check.
    #[inline]
    fn leaves_out(&mut self, op: Op) -> bool {
        let Outline { checks_max, only_verifies, ref leaves_out, .. } = *self.outline;
        if checks_max.is_none() || op.kind != OpKind::Write && !only_verifies {
            return false;
        }
        self.checks += 1;
        leaves_out.binary_search(&(self.checks - 1)).is_ok()
    }

    /// Whether all writes of an earlier job are checked.
    fn has_all_checks(&self) -> bool {
        self.outline.checks_max.is_some_and(|checks_max| self.checks >= checks_max)
    }

    /// Whether the time of a draw matters.
    pub(super) fn is_timed(&self) -> bool {
        // What was written is found again by the same draws, at another time.
        self.throttle.is_some() || self.outline.rates.is_some() && !self.outline.reads_back
    }

    /// Sets the time of the next draw, nanoseconds since the job began.
    #[inline]
    pub(super) fn set_now(&mut self, now_ns: u64) {
        if self.is_timed() {
            self.now_ns = now_ns;
        }
    }

    /// Counts operations that read back, which count towards `io_size` and `number_ios`, as in fio.
    pub(super) fn count_read_back(&mut self, ops: u64, bytes: u64) {
        self.moved_bytes += bytes;
        self.issued_ops += ops;
    }

    /// Whether another pass follows this one, if `more_bytes` are read back in between.
    pub(super) fn has_next_pass(&self, more_bytes: u64) -> bool {
        let outline = &self.outline;
        if self.pass_bytes == 0 || self.has_all_checks() {
            return false;
        }
        if outline.time_based {
            return true;
        }
        if self.loops_left > 0 {
            return true;
        }
        let rest = outline.limit_bytes.saturating_sub(self.moved_bytes + more_bytes);
        let goes_on = rest >= outline.access.max_bs() && rest > 0;
        let is_at_end = self.turn.are_all_done() && !outline.verifies;
        goes_on && !self.has_all_ops() && (outline.by_bytes || !is_at_end)
    }

    /// Bytes issued in this pass.
    pub(super) fn pass_bytes(&self) -> u64 {
        self.pass_bytes
    }

    /// Starts another pass, if one follows.
    #[cold]
    pub(super) fn next_pass(&mut self) -> bool {
        let bytes_max = self.outline.bytes_max().unwrap_or(u64::MAX);
        assert!(self.issued_bytes[WRITE] <= bytes_max, "a job writes no more than its bound");
        if !self.has_next_pass(0) {
            return false;
        }
        self.loops_left = self.loops_left.saturating_sub(1);
        let factor = pair_factor(&self.outline.access);
        self.ops_max = self.ops_max.map(|ops| ops.saturating_mul(factor));
        (self.pass_bytes, self.counted_bytes, self.zone_bytes) = (0, 0, 0);
        (self.pass_is_over, self.flushed) = (false, false);
        self.turn.restart();
        self.walks.iter_mut().for_each(FileWalk::restart);
        if self.outline.access.has_equal_passes() {
            self.rng = Xoshiro256PlusPlus::seed_from_u64(self.outline.seed);
            self.walks.iter_mut().for_each(FileWalk::repeat);
        }
        true
    }

    fn has_all_ops(&self) -> bool {
        self.ops_max.is_some_and(|ops_max| self.issued_ops >= ops_max)
    }

    /// Whether the job or this pass has moved its amount.
    #[inline]
    fn has_reached_limit(&self) -> bool {
        if self.has_all_checks() {
            return true;
        }
        let outline = &self.outline;
        let pass_is_full = outline.counted && self.counted_bytes >= outline.pass_total();
        if outline.time_based {
            // As in fio 3.42, what is verified is drawn anew in each pass, and so the same again.
            return pass_is_full && (outline.reads_back || outline.only_verifies);
        }
        let (rw, issued) = (outline.access.rw, &self.issued_bytes);
        let bytes = match (rw.reads(), rw.writes()) {
            (true, true) => issued[READ] + issued[WRITE],
            (_, true) => issued[WRITE],
            (true, _) => issued[READ],
            _ => issued[TRIM],
        };
        pass_is_full || bytes >= outline.job_limit() || self.has_all_ops()
    }

    #[inline]
    fn next_op(&mut self) -> Option<Op> {
        for _ in 0..ATTEMPTS_MAX.max(self.walks.len() as u32) {
            let file = self.turn.next(&mut self.rng)?;
            let place = (file as u64) << self.outline.shift;
            // As in fio, a flush takes the turn of a file.
            if self.flush_is_due() {
                self.flushed = true;
                return Some(Op { offset: place, ..Op::FLUSH });
            }
            let kind = self.kind(file);
            let jump = self.jump();
            let outline = &*self.outline;
            let wraps = outline.time_based && self.walks.len() == 1;
            let walk = &mut self.walks[file];
            // The write of a random trim goes to its place, thus to its zone.
            let follows_trim = kind == WRITE && outline.access.rw == Rw::RandTrimWrite;
            if let Some(zone) = outline.access.zone.as_ref().filter(|_| !follows_trim) {
                walk.enter_zone(zone, &mut self.zone_bytes, kind);
            }
            let renews = outline.time_based || self.turn.is_by_popularity();
            let extent = walk.next(&outline.access, kind, (jump, wraps, renews), &mut self.rng);
            match extent {
                Some((offset, bytes)) => return Some(self.count(kind, place | offset, bytes)),
                None if self.turn.is_by_popularity() => walk.rewind(),
                None => self.turn.end(file),
            }
        }
        None
    }

    #[inline]
    fn count(&mut self, kind: usize, offset: u64, bytes: u64) -> Op {
        self.issued_bytes[kind] += bytes;
        self.issued_ops += 1;
        self.moved_bytes += bytes;
        self.pass_bytes += bytes;
        if kind != TRIM {
            self.counted_bytes += bytes;
        }
        self.zone_bytes += bytes;
        self.writes = self.writes.wrapping_add(u32::from(kind == WRITE));
        self.flushed = false;
        Op { kind: KINDS[kind], offset, bytes: bytes as u32 }
    }

    /// As in fio, a flush precedes each operation while the number of writes is a multiple of a
    /// period in `flush_every`. In a mix, reads after such a write are therefore preceded by
    /// flushes, too.
    #[inline]
    fn flush_is_due(&self) -> bool {
        let mut periods = self.outline.flush_every.into_iter().filter(|period| *period > 0);
        self.writes > 0 && !self.flushed && periods.any(|period| self.writes.is_multiple_of(period))
    }

    /// The direction of the next operation on a file, as an index.
    #[inline]
    fn kind(&mut self, file: usize) -> usize {
        match self.outline.access.rw {
            Rw::Read | Rw::RandRead => READ,
            Rw::Write | Rw::RandWrite => WRITE,
            Rw::Trim | Rw::RandTrim => TRIM,
            Rw::TrimWrite | Rw::RandTrimWrite => {
                if self.walks[file].has_written_last_trim() {
                    TRIM
                } else {
                    WRITE
                }
            }
            Rw::ReadWrite | Rw::RandRw => {
                let is_read =
                    below(&mut self.rng, 100) < u64::from(self.outline.access.mix_read_percent);
                let kind = if is_read { READ } else { WRITE };
                if let Some(rates) = self.outline.rates {
                    // A direction behind its rate takes its turn, else the one that is due first.
                    let due_ns = |kind: usize| self.issued_bytes[kind] as f64 * 1e9 / rates[kind];
                    let is_ahead = due_ns(kind) > self.now_ns as f64;
                    let gives_way = is_ahead && due_ns(1 - kind) < due_ns(kind);
                    return if gives_way { 1 - kind } else { kind };
                }
                let now_ns = self.now_ns;
                self.throttle.as_mut().map_or(kind, |throttle| throttle.kind(kind, now_ns))
            }
        }
    }

    /// Whether the next operation of a random direction has a random offset: only every n-th one
    /// with `rw=randread:n`.
    #[inline]
    fn jump(&mut self) -> Jump {
        let period = self.outline.access.random_every;
        self.in_row += 1;
        if self.in_row < period {
            return Jump::Follow;
        }
        self.in_row = 0;
        Jump::ByShare
    }
}

/// fio allows twice the operations in each pass of pairs of a trim and a write.
fn pair_factor(access: &Access) -> u64 {
    if matches!(access.rw, Rw::TrimWrite | Rw::RandTrimWrite) { 2 } else { 1 }
}

//! Timing of the flash and its write buffer.
//!
//! Each die and channel is represented by the time at which it becomes free. A program unit is
//! transferred over its channel, even while its die is still programming the previous unit, and
//! then occupies the die. A read occupies the die while sensing and the channel during the
//! transfer. A read can suspend a program, which then ends later. Units stay in the buffer until
//! they are programmed; new data wait for the oldest.
//!
//! Contiguous pages fill a program unit on one die and continue on the next die.
//!
//! Asserted at every program and erase: the time of a die never runs backwards.

use std::collections::VecDeque;

use crate::ftl::superblock::FlashLayout;
use crate::ftl::{Flash, ProgramCause};
use crate::shape::Shape;
use crate::spec::{DriveSpec, MapKind};
use crate::vary::Vary;

/// Converts microseconds to nanoseconds.
pub fn ns(us: f64) -> u64 {
    (us.max(0.0) * 1e3).round() as u64
}

/// Fraction of the erase time that a superblock takes. The superblocks of a small drive are parts
/// of erase blocks, and share their erase time.
fn erase_share(spec: &DriveSpec, superblock_pages: u32) -> f64 {
    let bytes = f64::from(superblock_pages) * f64::from(*spec.map.unit_bytes);
    match *spec.map.kind {
        MapKind::Page => (bytes / spec.collect.superblock.0.max(1) as f64).min(1.0),
        MapKind::Au => 1.0,
    }
}

/// When reads suspend a program or erase.
#[derive(Clone, Copy, Debug)]
struct Suspend {
    /// Nanoseconds from the request to the read.
    after: u64,
    /// Times per program or erase.
    most: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Die {
    free: u64,
    read_free: u64,
    /// End of the last program or erase, and its length; those before it are taken to be as long.
    program_end: u64,
    program_time: u64,
    /// End of the program or erase that is under way, and how often reads have suspended it.
    current_end: u64,
    suspends: u32,
    /// Time in which other planes may begin reads in the same suspension, and its end.
    opened: u64,
    open_until: u64,
    resumed: u64,
    /// First page of the last unit programmed, and end time of its program operation.
    unit: u32,
    unit_done: u64,
}

impl Die {
    /// Keeps the die busy until `end`.
    #[inline]
    fn occupy(&mut self, end: u64) {
        assert!(end >= self.free, "the time of a die runs from {} back to {end}", self.free);
        self.free = end;
    }

    /// Begins a program or erase of this length at `begin`, behind those before it.
    #[inline]
    fn start_program(&mut self, begin: u64, end: u64) {
        if begin >= self.program_end {
            (self.current_end, self.suspends) = (end, 0);
        }
        (self.program_end, self.program_time) = (end, end - begin);
    }

    /// Begins a read of `time` in a plane that is free from `free` on, during a program. Returns its
    /// begin: the program is suspended, unless it was too often; then the read precedes the next one.
    /// Planes that read together suspend it once.
    fn suspend(&mut self, at: u64, free: u64, time: u64, rule: Suspend) -> u64 {
        let mut begin = (at + rule.after).min(self.program_end).max(free);
        if begin >= self.program_end {
            return begin;
        }
        if begin >= self.current_end {
            // A later program of the queue.
            let queued = (self.program_end - begin - 1) / self.program_time.max(1);
            self.current_end = self.program_end - queued * self.program_time;
            self.suspends = 0;
        }
        if begin + time + self.program_time <= self.current_end {
            // It waits for its data, and the die is idle until they arrive.
            return free.max(at);
        }
        if begin < self.open_until {
            begin = begin.max(self.opened);
        } else {
            if self.suspends >= rule.most {
                begin = self.current_end;
                self.suspends = 0;
                self.current_end = self.program_end.min(begin + self.program_time);
            } else {
                self.suspends += 1;
            }
            (self.opened, self.open_until) = (begin, begin + time);
        }
        let end = begin + time;
        if begin < self.program_end {
            let longer = end - begin.max(self.resumed).min(end);
            self.program_end += longer;
            self.current_end += longer;
            self.free += longer;
        }
        self.resumed = self.resumed.max(end);
        begin
    }
}

/// Times of flash operations in one cell mode, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Cell {
    read: u64,
    program: u64,
    unit_pages: u32,
    unit_bytes: u32,
    transfer: u64,
}

/// Bytes moved so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes programmed for any reason.
    pub programmed: u64,
    /// Bytes read for any reason.
    pub sensed: u64,
    /// Time of programs, erases and the reads of moved pages, of all dies together, nanoseconds.
    pub worked_ns: u64,
}

/// What operations other than the host's reads keep dies busy for, nanoseconds, before any variation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkTimes {
    /// At full density and as SLC.
    read: [u64; 2],
    program: [u64; 2],
    fold: u64,
    /// Of all dies of a superblock.
    erase: u64,
    row_pages: u32,
    /// The last row read.
    row: u32,
}

impl WorkTimes {
    /// Time to read `n` pages from `ppn`; `None` if it is a page of the row that was just read.
    #[inline]
    pub fn read(&mut self, ppn: u32, n: u32, slc: bool) -> Option<u64> {
        let first = ppn / self.row_pages;
        let mut rows = 1;
        if n == 1 {
            if first == self.row {
                return None;
            }
            self.row = first;
        } else {
            self.row = (ppn + n - 1) / self.row_pages;
            rows += self.row - first;
        }
        Some(u64::from(rows) * self.read[usize::from(slc)])
    }

    /// Time to program a unit.
    #[inline]
    pub fn program(&mut self, slc: bool, cause: ProgramCause) -> u64 {
        self.row = u32::MAX;
        if cause == ProgramCause::Fold { self.fold } else { self.program[usize::from(slc)] }
    }

    /// Time to erase a superblock.
    pub fn erase(&self) -> u64 {
        self.erase
    }
}

/// Flash and buffer.
#[derive(Debug)]
pub struct Media {
    dies: Vec<Die>,
    channels: Vec<u64>,
    /// At full density and as SLC.
    cells: [Cell; 2],
    fold_program: u64,
    erase: u64,
    suspend: Option<u64>,
    suspends: u32,
    page_transfer: u64,
    page_bytes: u64,
    /// When each plane can read again, if planes read by themselves; otherwise empty.
    planes: Vec<u64>,
    /// Number of them in a die.
    die_planes: u32,
    /// Pages that a host's read senses at once.
    sensed_pages: u32,
    stride_bits: u32,
    /// Program units in a superblock; the next superblock continues on the next die.
    units: u32,
    /// End of the transfer of the last row read, for neighbouring pages moved together.
    row_moved_ns: u64,
    traffic: Traffic,
    work: WorkTimes,
    buffer: Buffer,
    pub(crate) vary: Vary,
    /// Fraction of host data that is programmed, relative to [`WHOLE`].
    host_share: u64,
}

/// Fixed-point one for [`Media::host_share`]: all host data are programmed.
const WHOLE: u64 = 1 << 16;

impl Media {
    /// Creates the flash and buffer of a description.
    pub fn new(spec: &DriveSpec, shape: &Shape) -> Media {
        let nand = &spec.nand;
        let ps_per_byte = 1e6 / nand.bus_mb_s.max(1e-3);
        let transfer = |bytes: u32| (f64::from(bytes) * ps_per_byte / 1e3) as u64;
        let cell = |read: f64, program: f64, mode: usize| Cell {
            read: ns(read),
            program: ns(program),
            unit_pages: shape.layout.unit_pages[mode],
            unit_bytes: shape.unit_bytes[mode],
            transfer: transfer(shape.unit_bytes[mode]),
        };
        let native = cell(*nand.read_us, *nand.program_us, 0);
        let slc = cell(*nand.slc_read_us, *nand.slc_program_us, 1);
        let fold_program = ns(*nand.program_us * *spec.slc.fold_factor);
        let FlashLayout { superblock_pages, .. } = shape.layout;
        let dies = (*nand.dies).max(1) as usize;
        let (die_planes, sensed_pages) = if *nand.plane_reads {
            let pages = (*nand.page_bytes / *spec.map.unit_bytes).max(1);
            ((shape.row_pages / pages).max(1), pages)
        } else {
            (0, shape.row_pages)
        };
        let erase = ns(*nand.erase_us * erase_share(spec, superblock_pages));
        let units = superblock_pages / shape.layout.unit_pages[0];
        let work = WorkTimes {
            read: [native.read, slc.read],
            program: [native.program, slc.program],
            fold: fold_program,
            erase: erase * u64::from(units.min(dies as u32)),
            row_pages: shape.row_pages,
            row: u32::MAX,
        };
        Media {
            dies: vec![Die::default(); dies],
            channels: vec![0; (*nand.channels).clamp(1, (*nand.dies).max(1)) as usize],
            cells: [native, slc],
            fold_program,
            erase,
            suspend: (*nand.suspend_us >= 0.0).then(|| ns(*nand.suspend_us)),
            suspends: *nand.suspends,
            page_transfer: transfer(*spec.map.unit_bytes),
            page_bytes: u64::from(*spec.map.unit_bytes),
            planes: vec![0; dies * die_planes as usize],
            die_planes,
            sensed_pages,
            stride_bits: shape.layout.stride_bits(),
            units,
            row_moved_ns: 0,
            traffic: Traffic::default(),
            work,
            buffer: Buffer::new(
                spec.buffer.size.0.max(2 * u64::from(shape.unit_bytes[0])),
                *spec.buffer.intake_mb_s,
            ),
            vary: Vary::new(spec, (*nand.dies).max(1) as usize),
            host_share: WHOLE,
        }
    }

    /// Bytes moved so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Sets the fraction of subsequent host data that is programmed, 0 to 1.
    pub fn set_host_share(&mut self, share: f64) {
        self.host_share = (share * WHOLE as f64) as u64;
    }

    /// Whether all that the host writes is programmed.
    pub fn stores_all(&self) -> bool {
        self.host_share == WHOLE
    }

    /// What writes and collection cost the flash.
    pub(crate) fn work_times(&self) -> WorkTimes {
        self.work
    }

    /// Bytes of a program unit, at full density and as SLC.
    pub fn unit_bytes(&self) -> [u32; 2] {
        self.cells.map(|cell| cell.unit_bytes)
    }

    /// Continues after writes that took no time: of the host's open unit, `before` bytes were
    /// written and `after` are now; `added` is what they programmed and read.
    pub fn leapt(&mut self, before: u64, after: u64, added: Traffic) {
        self.buffer.open = (self.buffer.open + after).saturating_sub(before);
        self.work.row = u32::MAX;
        self.traffic.programmed += added.programmed;
        self.traffic.sensed += added.sensed;
        self.traffic.worked_ns += added.worked_ns;
    }

    pub fn buffer(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    #[inline]
    fn die_of(&self, ppn: u32, slc: bool) -> usize {
        let (sb, page) = (ppn >> self.stride_bits, ppn & ((1 << self.stride_bits) - 1));
        let unit = page / self.cells[usize::from(slc)].unit_pages;
        (sb.wrapping_mul(self.units).wrapping_add(unit) % self.dies.len() as u32) as usize
    }

    /// The plane that holds a page, if planes read by themselves.
    #[inline]
    fn plane_of(&self, ppn: u32, die: usize) -> Option<usize> {
        let planes = self.die_planes;
        (planes > 0).then(|| die * planes as usize + (ppn / self.sensed_pages % planes) as usize)
    }

    /// Senses a row of one die and transfers `pages`; suspends a program at most so often. Returns the
    /// start and the end of the transfer.
    #[inline]
    fn sense(&mut self, at: u64, ppn: u32, pages: u32, slc: bool, most: u32) -> (u64, u64) {
        let index = self.die_of(ppn, slc);
        let channel = index % self.channels.len();
        let plane = self.plane_of(ppn, index);
        let die = &mut self.dies[index];
        if die.unit_done > at && ppn.wrapping_sub(die.unit) < self.cells[0].unit_pages {
            // Still in the buffer.
            return (at, at);
        }
        let time = self.cells[usize::from(slc)].read;
        let mut time = self.vary.flash(time, ppn >> self.stride_bits, index, 0);
        if self.vary.retries() {
            time *= 2;
        }
        // Planes read at the same time if they can; a program waits for all of them.
        let free = plane.map_or(die.read_free, |plane| self.planes[plane]);
        let begin = match self.suspend {
            Some(after) if die.program_end > at => {
                die.suspend(at, free, time, Suspend { after, most })
            }
            _ => free.max(at).max(die.program_end),
        };
        let sensed = begin + time;
        die.read_free = sensed;
        die.free = die.free.max(sensed);
        let transfer = u64::from(pages) * self.page_transfer;
        let moving = sensed.max(self.channels[channel]);
        let moved_ns = moving + transfer;
        if let Some(plane) = plane {
            // The next page is sensed when this one has left the plane's register. Planes finish out of
            // order, so the channel serves them in another order than they were asked.
            self.planes[plane] = moved_ns;
            self.channels[channel] = self.channels[channel].max(at) + transfer;
        } else {
            self.channels[channel] = moved_ns;
        }
        self.traffic.sensed += u64::from(pages) * self.page_bytes;
        (moving, moved_ns)
    }

    /// Reads pages for the host. Returns the times of the first and the last data.
    pub fn read_for_host(&mut self, at: u64, ppn: u32, n: u32, slc: bool) -> (u64, u64) {
        self.read_pages(at, ppn, n, slc, self.suspends)
    }

    #[inline]
    fn read_pages(&mut self, at: u64, ppn: u32, n: u32, slc: bool, most: u32) -> (u64, u64) {
        let (mut ppn, end) = (ppn, ppn + n);
        let (mut first, mut last) = (u64::MAX, at);
        while ppn < end {
            let left = end - ppn;
            let pages =
                if left == 1 { 1 } else { left.min(self.sensed_pages - ppn % self.sensed_pages) };
            let (begin, done_ns) = self.sense(at, ppn, pages, slc, most);
            first = first.min(begin);
            last = last.max(done_ns);
            ppn += pages;
        }
        (first, last)
    }

    /// Time at which all work started so far ends.
    pub fn quiet_at(&self) -> u64 {
        self.dies.iter().map(|die| die.free).max().unwrap_or(0)
    }

    /// Work that dies still have to do at `now`, of all together, nanoseconds.
    pub fn backlog_ns(&self, now: u64) -> u64 {
        self.dies.iter().map(|die| die.free.saturating_sub(now)).sum()
    }

    /// Time at which the work of dies, planes and channels started so far ends.
    pub fn idle_at(&self) -> u64 {
        let busy = self.planes.iter().chain(&self.channels);
        busy.copied().max().unwrap_or(0).max(self.quiet_at())
    }

    /// Fetches a part of the map, from a die chosen by `key`.
    pub fn fetch_map(&mut self, at: u64, key: u32, time: u64) -> u64 {
        let index = key as usize % self.dies.len();
        let die = &mut self.dies[index];
        let begin = match self.suspend {
            Some(after) => (at + after.min(die.free.saturating_sub(at))).max(die.read_free),
            None => at.max(die.free),
        };
        die.read_free = begin + time;
        die.free = die.free.max(at) + time;
        begin + time
    }
}

impl Flash for Media {
    #[inline]
    fn read(&mut self, at: u64, ppn: u32, n: u32, slc: bool) -> u64 {
        let Some(time) = self.work.read(ppn, n, slc) else {
            // This page was just sensed together with its neighbour, so only the channel is needed.
            self.row_moved_ns += self.page_transfer;
            self.traffic.sensed += self.page_bytes;
            return self.row_moved_ns;
        };
        self.traffic.worked_ns += time;
        // Space must be freed as fast as it is used, so that these reads need not wait.
        let (_, done_ns) = self.read_pages(at, ppn, n, slc, u32::MAX);
        self.row_moved_ns = done_ns;
        done_ns
    }

    #[inline]
    fn program(&mut self, at: u64, ppn: u32, slc: bool, cause: ProgramCause) -> u64 {
        self.traffic.worked_ns += self.work.program(slc, cause);
        let cell = self.cells[usize::from(slc)];
        let index = self.die_of(ppn, slc);
        let channel = index % self.channels.len();
        let share = if cause == ProgramCause::Host { self.host_share } else { WHOLE };
        let moved_ns = self.channels[channel].max(at) + ((cell.transfer * share) >> 16);
        self.channels[channel] = moved_ns;
        let die = &mut self.dies[index];
        let program = if cause == ProgramCause::Fold { self.fold_program } else { cell.program };
        let program = self.vary.flash(program, ppn >> self.stride_bits, index, 1);
        let program = (program * share) >> 16;
        let begin = moved_ns.max(die.free);
        let done_ns = begin + program;
        die.occupy(done_ns);
        die.start_program(begin, done_ns);
        (die.unit, die.unit_done) = (ppn, done_ns);
        self.traffic.programmed += (u64::from(cell.unit_bytes) * share) >> 16;
        if cause == ProgramCause::Host {
            self.buffer.push(cell.unit_bytes, done_ns);
        }
        done_ns
    }

    fn backlog(&self) -> u64 {
        self.quiet_at().saturating_sub(self.fold_program.max(self.cells[0].program))
    }

    fn erase(&mut self, at: u64, sb: u32) -> u64 {
        self.traffic.worked_ns += self.work.erase();
        let dies = self.dies.len() as u32;
        let first = sb.wrapping_mul(self.units);
        let mut done_ns = at;
        for unit in 0..self.units.min(dies) {
            let die = &mut self.dies[(first.wrapping_add(unit) % dies) as usize];
            let begin = die.free.max(at);
            die.occupy(begin + self.erase);
            die.start_program(begin, begin + self.erase);
            done_ns = done_ns.max(die.free);
        }
        done_ns
    }
}

/// The write buffer: bytes received but not yet programmed.
#[derive(Debug)]
pub struct Buffer {
    bytes: u64,
    /// Received bytes that do not belong to a unit yet.
    open: u64,
    /// Bytes in units being programmed.
    busy: u64,
    /// Size and end time of each of these units, oldest first.
    units: VecDeque<(u32, u64)>,
    latest: u64,
    intake_ps_per_byte: u64,
    intake_free: u64,
}

impl Buffer {
    fn new(bytes: u64, intake_mb_s: f64) -> Buffer {
        let intake_ps_per_byte = if intake_mb_s > 0.0 { (1e6 / intake_mb_s) as u64 } else { 0 };
        let units = VecDeque::new();
        Buffer { bytes, open: 0, busy: 0, units, latest: 0, intake_ps_per_byte, intake_free: 0 }
    }

    /// Returns the time at which `bytes` that arrive from `first` to `last` can be acknowledged:
    /// earlier data have been taken in, but these can still be waiting.
    #[inline]
    pub fn take_in(&mut self, first: u64, last: u64, bytes: u64) -> u64 {
        if self.intake_ps_per_byte == 0 {
            return last;
        }
        let begin = self.intake_free.max(first);
        self.intake_free = begin + bytes * self.intake_ps_per_byte / 1000;
        begin.max(last)
    }

    /// Returns the time at which `bytes` arriving at `at` find room.
    #[inline]
    pub fn admit(&mut self, at: u64, bytes: u64) -> u64 {
        self.open += bytes;
        let mut admitted = at;
        while self.open + self.busy > self.bytes {
            let Some((bytes, done_ns)) = self.units.pop_front() else { break };
            self.busy -= u64::from(bytes);
            admitted = admitted.max(done_ns);
        }
        admitted
    }

    /// Frees the room of received bytes that were overwritten or discarded before they belonged to
    /// a unit.
    pub fn release(&mut self, bytes: u64) {
        self.open = self.open.saturating_sub(bytes);
    }

    /// Starts to program a unit. It occupies its full size, because merged data and padding also
    /// take room.
    #[inline]
    fn push(&mut self, bytes: u32, done: u64) {
        self.open = self.open.saturating_sub(u64::from(bytes));
        self.busy += u64::from(bytes);
        self.units.push_back((bytes, done));
        self.latest = self.latest.max(done);
    }

    /// Time at which all units being programmed are in flash.
    pub fn empty_at(&self) -> u64 {
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_waits_for_all_units_that_make_room_for_it() {
        let mut buffer = Buffer::new(8192, 0.0);
        assert_eq!(buffer.admit(0, 8192), 0);
        // A flush completes units by more bytes than the host wrote; the second die is slower.
        for done in [100, 900, 200, 300] {
            buffer.push(4096, done);
        }
        assert_eq!(buffer.admit(10, 4096), 900);
    }

    #[test]
    fn bytes_that_never_reach_a_unit_give_their_room_back() {
        let mut buffer = Buffer::new(8192, 0.0);
        for _ in 0..100 {
            buffer.admit(0, 512);
            buffer.release(512);
        }
        buffer.push(4096, 500);
        assert_eq!(buffer.admit(0, 4096), 0);
        assert_eq!(buffer.admit(0, 4096), 500);
    }

    #[test]
    #[should_panic(expected = "runs from 500 back to 499")]
    fn the_time_of_a_die_never_runs_backwards() {
        let mut die = Die::default();
        [500, 500, 499].into_iter().for_each(|end| die.occupy(end));
    }
}

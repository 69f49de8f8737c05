//! A queue pair: submits requests and collects completions, with few doorbell writes.
//!
//! A request occupies a slot. It becomes one command, or several if it exceeds the transfer limit.
//! Every command has its own tracker, slot × pieces + piece, whose index is part of its identifier.
//! [`Queue::push`] writes entries into the ring, [`Queue::ring`] announces them all at once, and
//! [`Queue::poll`] collects completions in any order. No function waits.
//!
//! An unanswered command becomes overdue ([`Queue::overdue`]); only the owner of the controller can
//! abort it or reset the controller.
//!
//! Asserted, whatever the controller returns: the tail never passes the entries that the controller
//! has not read (at every doorbell), and the trackers in flight are the commands submitted and not
//! completed (at every tick).

use core::ops::Deref;

use crate::command::{BLOCKS_MAX, Command, RANGES_MAX, Range};
use crate::error::Error;
use crate::host::{Clock, DmaMap, Mmio, PAGE_BYTES, contiguous, load, store, store64, zero};
use crate::layout::QueueLayout;
use crate::prp;
use crate::regs::Capabilities;
use crate::request::{
    Completed, FormattedNamespace, IoRequest, Overdue, PushError, QueueCounters, RequestKind,
};
use crate::status::Status;
use crate::sys;
use crate::tracker::{self, Tracker, age};

/// The clock is read at least once per this number of polls.
const POLLS_PER_TICK: u32 = 64;
/// The phase bit in the last double word of a completion.
const PHASE: u32 = 1 << 16;
/// The offset recorded for a transfer with given addresses.
const NOWHERE: usize = usize::MAX;
/// Ticks per timeout.
const EPOCHS: u64 = 4;

/// Shadow doorbells: the pages of values and of event indexes, in the controller's memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shadow {
    pub values: usize,
    pub events: usize,
}

/// A queue pair. `H` gives access to the registers, the clock and the controller's memory; `D` is
/// the queue's memory; `T` contains the trackers.
pub struct Queue<H, D, T> {
    host: H,
    memory: D,
    trackers: T,
    layout: QueueLayout,
    id: u16,
    /// Offset of the submission doorbell.
    bell: usize,
    bell_bytes: usize,
    first_bell: usize,
    shadow: Option<Shadow>,
    sq_tail: u32,
    sq_rung: u32,
    /// The last tail written to the register. With shadow doorbells it lags behind.
    sq_written: u32,
    /// The tail at which the ring is full, from the last head that the controller reported: one
    /// entry always stays free.
    sq_stop: u32,
    /// Number of entries minus one.
    sq_mask: u32,
    /// Index of each ring's first entry, counted from the start of the memory.
    sq_entry: usize,
    cq_entry: usize,
    cq_head: u32,
    cq_rung: u32,
    /// The phase bit that marks a new entry.
    phase: u32,
    /// Completions that may be consumed without writing the doorbell.
    cq_lazy: u32,
    /// Commands submitted and not completed.
    in_flight: u32,
    result: u32,
    next_epoch_ns: u64,
    polls: u32,
    counters: QueueCounters,
}

impl<H, D, T> Queue<H, D, T>
where
    H: Deref<Target: Mmio + Clock + DmaMap>,
    D: Deref<Target: DmaMap>,
    T: AsMut<[Tracker]> + AsRef<[Tracker]>,
{
    pub(crate) fn new(
        host: H,
        memory: D,
        trackers: T,
        layout: QueueLayout,
        id: u16,
        capabilities: Capabilities,
    ) -> Result<Self, Error> {
        let bytes = memory.words().len() * 4;
        if bytes < layout.end {
            return Err(Error::Memory { needed: layout.end, there: bytes });
        }
        let (needed, lent) = (layout.trackers(), trackers.as_ref().len());
        if lent < needed {
            return Err(Error::Trackers { needed, there: lent });
        }
        contiguous(&*memory, layout.sq_at, 64 * layout.sq_entries as usize)?;
        contiguous(&*memory, layout.cq_at, 16 * layout.cq_entries as usize)?;
        let bell = capabilities.doorbell(id);
        let mut queue = Queue {
            host,
            memory,
            trackers,
            layout,
            id,
            bell,
            bell_bytes: capabilities.doorbell_bytes(),
            first_bell: capabilities.doorbell(0),
            shadow: None,
            sq_tail: 0,
            sq_rung: 0,
            sq_written: 0,
            sq_stop: 0,
            sq_mask: layout.sq_entries - 1,
            sq_entry: layout.sq_at / 64,
            cq_entry: layout.cq_at / 16,
            cq_head: 0,
            cq_rung: 0,
            phase: PHASE,
            cq_lazy: 0,
            in_flight: 0,
            result: 0,
            next_epoch_ns: 0,
            polls: 0,
            counters: QueueCounters::default(),
        };
        for (index, tracker) in queue.trackers.as_mut().iter_mut().enumerate() {
            // Trackers beyond the last slot are never free and never in flight.
            let life = if index < needed { 0 } else { 1 << 8 };
            *tracker = Tracker { cid: index as u16, life, ..Tracker::default() };
        }
        queue.restart(None);
        Ok(queue)
    }

    /// Empties the rings, as they are on the controller after the queue is created.
    pub(crate) fn restart(&mut self, shadow: Option<Shadow>) {
        let layout = self.layout;
        zero(self.memory.words(), layout.sq_at, 64 * layout.sq_entries as usize);
        zero(self.memory.words(), layout.cq_at, 16 * layout.cq_entries as usize);
        (self.sq_tail, self.sq_rung, self.sq_written) = (0, 0, 0);
        self.sq_stop = self.sq_mask;
        (self.cq_head, self.cq_rung, self.phase) = (0, 0, PHASE);
        // There is room for the completions of all commands in flight.
        let room = (layout.cq_entries - 1).saturating_sub(layout.trackers() as u32);
        self.cq_lazy = room.min(layout.cq_entries / 2);
        if let Some(Shadow { values, events }) = shadow {
            // An earlier queue with this number left its values there.
            let place = self.bell - self.first_bell;
            for page in [values, events] {
                zero(self.host.words(), page + place, 2 * self.bell_bytes);
            }
        }
        self.shadow = shadow;
        self.next_epoch_ns = self.host.now_ns() + self.layout.timeout_ns / EPOCHS;
    }

    /// The queue's number.
    pub fn id(&self) -> u16 {
        self.id
    }

    /// The queue's layout.
    pub fn layout(&self) -> &QueueLayout {
        &self.layout
    }

    /// The queue's memory.
    pub fn memory(&self) -> &D {
        &self.memory
    }

    /// Counts.
    pub fn counters(&self) -> QueueCounters {
        self.counters
    }

    /// Builds the PRP lists of a slot in advance for a request at this offset.
    pub fn prepare(&mut self, slot: usize, at: usize, bytes: usize) {
        let bytes = bytes.min(self.layout.request_bytes);
        for (piece, from) in (0..bytes).step_by(self.layout.command_bytes).enumerate() {
            let length = self.layout.command_bytes.min(bytes - from);
            self.addresses(slot * self.layout.pieces + piece, at + from, length);
        }
    }

    /// Puts a request into the ring; [`Queue::ring`] submits it.
    #[inline]
    pub fn push(&mut self, slot: usize, request: &IoRequest) -> Result<(), PushError> {
        let IoRequest { kind, place: FormattedNamespace { nsid, block_bits }, lba, blocks, at } =
            *request;
        let bytes = (blocks as usize) << block_bits;
        if matches!(kind, RequestKind::Flush | RequestKind::Zeroes) {
            return self.push_bare(slot, request);
        }
        if bytes.wrapping_sub(1) >= self.layout.command_bytes {
            return self.push_pieces(slot, request, bytes);
        }
        let command = Command::io(kind, nsid, lba, blocks);
        self.enter(slot * self.layout.pieces, 1, &command, at, bytes)
    }

    /// Puts a request without data into the ring.
    #[cold]
    fn push_bare(&mut self, slot: usize, request: &IoRequest) -> Result<(), PushError> {
        let IoRequest { kind, place: FormattedNamespace { nsid, .. }, lba, blocks, .. } = *request;
        let command = match kind {
            RequestKind::Flush => Command::flush(nsid),
            _ if (1..=BLOCKS_MAX).contains(&blocks) => Command::io(kind, nsid, lba, blocks),
            _ => return Err(PushError::Size),
        };
        self.enter(slot * self.layout.pieces, 1, &command, 0, 0)
    }

    /// Puts a request of several commands into the ring.
    #[cold]
    fn push_pieces(
        &mut self,
        slot: usize,
        request: &IoRequest,
        bytes: usize,
    ) -> Result<(), PushError> {
        let IoRequest { kind, place: FormattedNamespace { nsid, block_bits }, lba, at, .. } =
            *request;
        let step = self.layout.command_bytes;
        let pieces = bytes.div_ceil(step);
        if pieces == 0 || pieces > self.layout.pieces {
            return Err(PushError::Size);
        }
        if (self.sq_stop.wrapping_sub(self.sq_tail) & self.sq_mask) < pieces as u32 {
            return Err(PushError::Full);
        }
        let first = slot * self.layout.pieces;
        for piece in 0..pieces {
            let offset = piece * step;
            let length = step.min(bytes - offset);
            let (lba, blocks) =
                (lba + (offset >> block_bits) as u64, (length >> block_bits) as u32);
            let command = Command::io(kind, nsid, lba, blocks);
            let left = if piece == 0 { pieces as u16 } else { 0 };
            self.enter(first + piece, left, &command, at + offset, length)?;
        }
        Ok(())
    }

    /// Discards up to 256 ranges. The list of ranges is stored in place of the slot's PRP list.
    pub fn push_discard(
        &mut self,
        slot: usize,
        nsid: u32,
        ranges: &[Range],
    ) -> Result<(), PushError> {
        if ranges.is_empty() || ranges.len() > RANGES_MAX {
            return Err(PushError::Size);
        }
        let index = slot * self.layout.pieces;
        let tracker = self.trackers.as_mut().get_mut(index).filter(|tracker| tracker.life == 0);
        // The PRP list is overwritten.
        tracker.ok_or(PushError::Slot)?.listed_pages = 0;
        let (list, words) = (self.layout.list(index), self.memory.words());
        for (i, range) in ranges.iter().enumerate() {
            let offset = list + 16 * i;
            store(words, offset, 0);
            store(words, offset + 4, range.blocks);
            store64(words, offset + 8, range.lba);
        }
        let command = Command::discard(nsid, ranges.len() as u32);
        self.push_addressed(slot, &command, (self.memory.bus(list), 0))
    }

    /// Puts a command with these addresses into the ring, as a request of one command.
    pub(crate) fn push_addressed(
        &mut self,
        slot: usize,
        command: &Command,
        addresses: (u64, u64),
    ) -> Result<(), PushError> {
        let index = slot * self.layout.pieces;
        let tracker = self.trackers.as_mut().get_mut(index).filter(|tracker| tracker.life == 0);
        let tracker = tracker.ok_or(PushError::Slot)?;
        (tracker.at, tracker.bytes, tracker.prp) = (NOWHERE, 0, addresses);
        self.enter(index, 1, command, NOWHERE, 0)
    }

    /// The two addresses of a transfer on a slot.
    pub(crate) fn addresses(&mut self, index: usize, at: usize, bytes: usize) -> (u64, u64) {
        let Some(tracker) = self.trackers.as_mut().get_mut(index) else { return (0, 0) };
        describe(&*self.memory, &self.layout, tracker, index, at, bytes);
        tracker.prp
    }

    /// Writes a tracker's command to the ring. The first command of a request has `left`, the
    /// number of its commands; the others have 0.
    #[inline(always)]
    fn enter(
        &mut self,
        index: usize,
        left: u16,
        command: &Command,
        at: usize,
        bytes: usize,
    ) -> Result<(), PushError> {
        let tracker = match self.trackers.as_mut().get_mut(index) {
            Some(tracker) if tracker.life == 0 => tracker,
            _ => return Err(PushError::Slot),
        };
        if self.sq_tail == self.sq_stop {
            return Err(PushError::Full);
        }
        if tracker.at != at || tracker.bytes != bytes {
            describe(&*self.memory, &self.layout, tracker, index, at, bytes);
        }
        let cid = tracker.begin(left);
        // The size of the memory was checked when the queue was created.
        let index = self.sq_entry + self.sq_tail as usize;
        let Some(entry) = self.memory.words().as_chunks::<16>().0.get(index) else {
            return Err(PushError::Full);
        };
        store(entry, 0, u32::from(command.opcode) | u32::from(cid) << 16);
        store(entry, 4, command.nsid);
        store64(entry, 24, tracker.prp.0);
        store64(entry, 32, tracker.prp.1);
        store(entry, 40, command.cdw[0]);
        store(entry, 44, command.cdw[1]);
        store(entry, 48, command.cdw[2]);
        self.sq_tail = (self.sq_tail + 1) & self.sq_mask;
        Ok(())
    }

    /// Submits everything pushed with a single doorbell write.
    #[inline]
    pub fn ring(&mut self) {
        if self.sq_tail != self.sq_rung {
            sys::before_doorbell();
            let (old, new) = (self.sq_rung, self.sq_tail);
            self.sq_rung = new;
            let submitted = new.wrapping_sub(old) & self.sq_mask;
            assert!(
                submitted <= self.sq_stop.wrapping_sub(old) & self.sq_mask,
                "the tail of the submission queue passes its head"
            );
            self.in_flight = self.in_flight.wrapping_add(submitted);
            self.counters.commands += u64::from(submitted);
            if self.doorbell(self.bell, old, new) {
                self.sq_written = new;
            }
        }
    }

    /// Passes a ring's position to the controller; returns whether that took a register write.
    #[inline(always)]
    fn doorbell(&mut self, bell: usize, old: u32, new: u32) -> bool {
        if let Some(shadow) = self.shadow
            && !self.must_ring(shadow, bell - self.first_bell, old, new)
        {
            return false;
        }
        self.counters.doorbells += 1;
        self.host.write32(bell, new);
        true
    }

    /// Stores a value that the controller polls; returns whether it also needs a doorbell write.
    #[cold]
    fn must_ring(&self, shadow: Shadow, place: usize, old: u32, new: u32) -> bool {
        let words = self.host.words();
        store(words, shadow.values + place, new);
        sys::full();
        let event = load(words, shadow.events + place);
        let distance = |from: u32| new.wrapping_sub(from) as u16;
        distance(event.wrapping_add(1)) < distance(old)
    }

    /// Collects completed requests; returns the number of completions read, including stray ones.
    #[inline]
    pub fn poll(&mut self, mut done: impl FnMut(Completed)) -> u32 {
        let (words, trackers) = (self.memory.words(), self.trackers.as_mut());
        let QueueLayout { pieces, cq_entries, .. } = self.layout;
        let ring = self.cq_entry..self.cq_entry + cq_entries as usize;
        // The size of the memory was checked when the queue was created.
        let ring = words.as_chunks::<4>().0.get(ring).unwrap_or_default();
        let (begin, strays) = (self.cq_head, self.counters.strays);
        let (mut head, mut phase, mut turns) = (begin, self.phase, 0);
        while let Some(entry) = ring.get(head as usize) {
            let last = load(entry, 12);
            if (last ^ phase) & PHASE != 0 {
                break;
            }
            sys::after_phase();
            match complete(trackers, pieces, last) {
                Found::Request(slot, status) => done(Completed { slot, status }),
                Found::Piece => {}
                Found::Stray => self.counters.strays += 1,
            }
            head += 1;
            if head == cq_entries {
                (head, phase) = turn(phase);
                turns += 1;
                // A controller that completes without end must not block the caller.
                if turns == 2 {
                    break;
                }
            }
        }
        let count = turns * cq_entries + head - begin;
        (self.cq_head, self.phase) = (head, phase);
        if count > 0 {
            let strays = (self.counters.strays - strays) as u32;
            self.in_flight = self.in_flight.wrapping_sub(count - strays);
            let newest = head.wrapping_sub(1) & (cq_entries - 1);
            self.learn(newest);
        }
        let silent = head.wrapping_sub(self.cq_rung) & (cq_entries - 1);
        if silent > self.cq_lazy {
            let old = core::mem::replace(&mut self.cq_rung, head);
            self.doorbell(self.bell + self.bell_bytes, old, head);
        }
        self.polls += 1;
        if count == 0 || self.polls.is_multiple_of(POLLS_PER_TICK) {
            self.tick();
        }
        count
    }

    /// Takes the submission queue head from the newest completion: how far the controller has read.
    #[inline(always)]
    fn learn(&mut self, newest: u32) {
        let words = self.memory.words();
        let Some(entry) = words.as_chunks::<4>().0.get(self.cq_entry + newest as usize) else {
            return;
        };
        self.result = load(entry, 0);
        let head = load(entry, 8) & 0xffff;
        // It advances, at most to the last tail announced; anything else is the controller's error.
        let distance = |position: u32| position.wrapping_sub(self.sq_stop + 1) & self.sq_mask;
        if head <= self.sq_mask && distance(head) <= distance(self.sq_rung) {
            self.sq_stop = head.wrapping_sub(1) & self.sq_mask;
        }
    }

    /// Double word 0 of the newest completion: the result of some admin commands.
    pub fn result(&self) -> u32 {
        self.result
    }

    /// Ages the commands in flight by a quarter of the timeout, so that no command needs a clock.
    /// At the same time it wakes a controller that missed its shadow doorbell: an emulator may stop
    /// polling it before the driver can know.
    fn tick(&mut self) {
        let now = self.host.now_ns();
        if now < self.next_epoch_ns {
            return;
        }
        self.next_epoch_ns = now + self.layout.timeout_ns / EPOCHS;
        // Writing the register's value again would be an error (NVMe 1.4, section 5.2, invalid
        // doorbell write value).
        if self.sq_rung != self.sq_written {
            self.sq_written = self.sq_rung;
            self.counters.doorbells += 1;
            self.host.write32(self.bell, self.sq_rung);
        }
        let mut busy = 0;
        for tracker in self.trackers.as_mut().iter_mut() {
            busy += u32::from(tracker.age() != age::FREE);
            match tracker.age() {
                age::FREE | age::OVERDUE | age::HOPELESS => {}
                other => {
                    tracker.set_age(other + 1);
                    self.counters.overdue += u64::from(tracker.age() == age::OVERDUE);
                }
            }
        }
        let unannounced = self.sq_tail.wrapping_sub(self.sq_rung) & self.sq_mask;
        let commands = self.in_flight.wrapping_add(unannounced);
        assert_eq!(busy, commands, "trackers and commands in flight");
    }

    /// The next command that needs the owner of the controller.
    pub fn overdue(&mut self) -> Option<Overdue> {
        let trackers = self.trackers.as_mut();
        if trackers.iter().any(|tracker| tracker.age() == age::HOPELESS) {
            return Some(Overdue::Reset);
        }
        let late = trackers.iter_mut().find(|tracker| tracker.age() == age::OVERDUE);
        late.map(|tracker| {
            tracker.set_age(age::ABORTING);
            Overdue::Abort(tracker.cid)
        })
    }

    /// Ends every request in flight as lost. Call only after the controller was stopped: until then
    /// it may still write to their memory.
    pub(crate) fn lose_all(&mut self, mut done: impl FnMut(Completed)) {
        // Commands that were never announced are lost too.
        (self.in_flight, self.sq_tail) = (0, self.sq_rung);
        let pieces = self.layout.pieces;
        let trackers = self.trackers.as_mut();
        for slot in 0..self.layout.slots {
            let group = &mut trackers[slot * pieces..(slot + 1) * pieces];
            let pending = group[0].left() > 0;
            for tracker in group {
                (tracker.life, tracker.status) = (0, Status::SUCCESS);
            }
            if pending {
                done(Completed { slot, status: Status::LOST });
            }
        }
    }
}

/// Determines the two addresses of a transfer. The second is that of the second page, if it is the
/// last, or of the tracker's list, which is rebuilt unless it already fits.
#[cold]
fn describe<D: DmaMap + ?Sized>(
    memory: &D,
    layout: &QueueLayout,
    tracker: &mut Tracker,
    index: usize,
    at: usize,
    bytes: usize,
) {
    (tracker.at, tracker.bytes) = (at, bytes);
    let pages = if bytes == 0 { 0 } else { prp::pages(at, bytes) };
    let first = if pages == 0 { 0 } else { memory.bus(at) };
    let second = match pages {
        0 | 1 => 0,
        2 => memory.bus(at - at % PAGE_BYTES + PAGE_BYTES),
        _ => {
            let list = layout.list(index);
            if tracker.listed_at != at || !prp::serves(tracker.listed_pages, pages) {
                (tracker.listed_at, tracker.listed_pages) = (at, pages);
                prp::build(memory, memory.words(), list, at, pages);
            }
            memory.bus(list)
        }
    };
    tracker.prp = (first, second);
}

/// The result of a completion.
enum Found {
    /// A request: its slot and status.
    Request(usize, Status),
    /// One of several commands of a request, with others in flight.
    Piece,
    /// No command in flight.
    Stray,
}

/// The head and phase of a completion ring after its last entry. Out of line because it is rare.
#[cold]
fn turn(phase: u32) -> (u32, u32) {
    (0, phase ^ PHASE)
}

/// Ends the command of a completion, given the completion's last double word.
#[inline(always)]
fn complete(trackers: &mut [Tracker], pieces: usize, last: u32) -> Found {
    let (cid, status) = (last as u16, Status((last >> 17) as u16));
    let index = tracker::index(cid);
    match trackers.get_mut(index) {
        Some(tracker) if tracker.is(cid) => {
            if pieces == 1 {
                tracker.life = 0;
                return Found::Request(index, status);
            }
            tracker.set_age(age::FREE);
        }
        _ => return Found::Stray,
    }
    complete_piece(trackers, index / pieces * pieces, pieces, status)
}

/// Ends a command of the request whose first tracker is `first`.
#[cold]
fn complete_piece(trackers: &mut [Tracker], first: usize, pieces: usize, status: Status) -> Found {
    let Some(tracker) = trackers.get_mut(first) else { return Found::Stray };
    if tracker.status.is_ok() {
        tracker.status = status;
    }
    if tracker.one_less() > 0 {
        return Found::Piece;
    }
    let status = core::mem::replace(&mut tracker.status, Status::SUCCESS);
    Found::Request(first / pieces, status)
}

#[cfg(test)]
mod tests;

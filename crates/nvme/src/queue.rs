//! A queue pair: requests in, completions out, doorbells as rarely as possible.
//!
//! A request of the caller has a slot and becomes one command, or several where it exceeds the
//! transfer limit. Every command has a tracker of its own, slot × pieces + piece, whose index is its
//! number. [`Queue::push`] writes entries into the ring, [`Queue::ring`] announces all of them at
//! once, [`Queue::poll`] collects completions in whatever order they come. Nothing here waits.
//!
//! A command without an answer becomes overdue ([`Queue::overdue`]); only the owner of the
//! controller can abort it or reset the controller.

use core::ops::Deref;
use core::sync::atomic::AtomicU32;

use crate::command::{BLOCKS_MAX, Command, RANGES_MAX, Range};
use crate::error::Error;
use crate::host::{Clock, DmaMap, Mmio, PAGE_BYTES, load, store, store64, zero};
use crate::layout::Layout;
use crate::prp;
use crate::regs::Capabilities;
use crate::request::{Completed, Counters, Kind, Overdue, Place, PushError, Request};
use crate::status::Status;
use crate::sys;
use crate::tracker::{self, State, Tracker};

/// The clock is read at least once in so many polls.
const POLLS_PER_TICK: u32 = 64;
/// Epochs in a time-out.
const EPOCHS: u32 = 4;

/// Shadow doorbells: the page of values and the page of events, in the memory of the controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shadow {
    pub values: usize,
    pub events: usize,
}

/// A queue pair. `H` leads to registers, clock and the controller's memory, `D` to the queue's
/// memory; `T` holds the trackers.
pub struct Queue<H, D, T> {
    host: H,
    memory: D,
    trackers: T,
    layout: Layout,
    id: u16,
    /// Offset of the submission doorbell from the first, and of the other from this one.
    bell: usize,
    bell_bytes: usize,
    first_bell: usize,
    shadow: Option<Shadow>,
    sq_tail: u32,
    sq_rung: u32,
    /// As the controller last reported it: entries before it are free again.
    sq_head: u32,
    cq_head: u32,
    cq_rung: u32,
    /// The phase bit of a new entry.
    phase: u32,
    /// Completions that may stay unannounced.
    cq_lazy: u32,
    epoch: u32,
    next_epoch_ns: u64,
    polls: u32,
    counters: Counters,
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
        layout: Layout,
        id: u16,
        capabilities: Capabilities,
    ) -> Result<Self, Error> {
        let there = memory.words().len() * 4;
        if there < layout.end {
            return Err(Error::Memory { needed: layout.end, there });
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
            sq_head: 0,
            cq_head: 0,
            cq_rung: 0,
            phase: 1,
            cq_lazy: 0,
            epoch: 0,
            next_epoch_ns: 0,
            polls: 0,
            counters: Counters::default(),
        };
        queue.trackers.as_mut().fill(Tracker::default());
        queue.restart(None);
        Ok(queue)
    }

    /// Empty rings, as the controller has them after the queue was created anew.
    pub(crate) fn restart(&mut self, shadow: Option<Shadow>) {
        let layout = self.layout;
        zero(self.memory.words(), layout.sq_at, 64 * layout.sq_entries as usize);
        zero(self.memory.words(), layout.cq_at, 16 * layout.cq_entries as usize);
        (self.sq_tail, self.sq_rung, self.sq_head) = (0, 0, 0);
        (self.cq_head, self.cq_rung, self.phase) = (0, 0, 1);
        // However many commands are in flight, there is room for their completions.
        let room = (layout.cq_entries - 1).saturating_sub(layout.trackers() as u32);
        self.cq_lazy = room.min(layout.cq_entries / 2);
        self.shadow = shadow;
        self.next_epoch_ns = self.host.now_ns() + self.layout.timeout_ns / u64::from(EPOCHS);
    }

    /// Its number.
    pub fn id(&self) -> u16 {
        self.id
    }

    /// Its layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Its memory.
    pub fn memory(&self) -> &D {
        &self.memory
    }

    /// Counts.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Whether a command is in flight.
    pub fn is_busy(&self) -> bool {
        let trackers = &self.trackers.as_ref()[..self.layout.trackers()];
        trackers.iter().any(|tracker| tracker.state != State::Free)
    }

    /// Builds the lists of a slot before its first request from this place.
    pub fn prepare(&mut self, slot: usize, at: usize, bytes: usize) {
        let bytes = bytes.min(self.layout.request_bytes);
        for (piece, from) in (0..bytes).step_by(self.layout.command_bytes).enumerate() {
            let length = self.layout.command_bytes.min(bytes - from);
            let _ = self.list(slot * self.layout.pieces + piece, at + from, length);
        }
    }

    /// Puts a request into the ring; the controller sees it after [`Queue::ring`].
    #[inline]
    pub fn push(&mut self, slot: usize, request: &Request) -> Result<(), PushError> {
        let Request { kind, place: Place { nsid, block_bits }, lba, blocks, at } = *request;
        let carries = matches!(kind, Kind::Read | Kind::Write { .. });
        let bytes = if carries { (blocks as usize) << block_bits } else { 0 };
        if bytes > self.layout.command_bytes {
            return self.push_pieces(slot, request, bytes);
        }
        if kind != Kind::Flush && (blocks == 0 || blocks > BLOCKS_MAX) {
            return Err(PushError::Size);
        }
        let command = match kind {
            Kind::Read => Command::read(nsid, lba, blocks),
            Kind::Write { fua } => Command::write(nsid, lba, blocks, fua),
            Kind::Zeroes => Command::zeroes(nsid, lba, blocks),
            Kind::Flush => Command::flush(nsid),
        };
        let first = self.admit(slot, 1)?;
        let addresses = self.addresses(first, at, bytes);
        self.trackers.as_mut()[first].left = 1;
        self.enter(first, &command, addresses);
        Ok(())
    }

    /// The two addresses of a transfer on a slot.
    #[inline(always)]
    pub(crate) fn addresses(&mut self, index: usize, at: usize, bytes: usize) -> (u64, u64) {
        match bytes {
            0 => (0, 0),
            _ => (self.memory.bus(at), self.list(index, at, bytes)),
        }
    }

    /// Puts a command with these addresses into the ring, as a request of one piece.
    pub(crate) fn push_addressed(
        &mut self,
        slot: usize,
        command: &Command,
        addresses: (u64, u64),
    ) -> Result<(), PushError> {
        let first = self.admit(slot, 1)?;
        self.trackers.as_mut()[first].left = 1;
        self.enter(first, command, addresses);
        Ok(())
    }

    /// Discards up to 256 ranges. Their list takes the place of the slot's PRP list.
    pub fn push_discard(
        &mut self,
        slot: usize,
        nsid: u32,
        ranges: &[Range],
    ) -> Result<(), PushError> {
        if ranges.is_empty() || ranges.len() > RANGES_MAX {
            return Err(PushError::Size);
        }
        let first = self.admit(slot, 1)?;
        let list = self.layout.list(first);
        let words = self.memory.words();
        for (i, range) in ranges.iter().enumerate() {
            let at = list + 16 * i;
            store(words, at, 0);
            store(words, at + 4, range.blocks);
            store64(words, at + 8, range.lba);
        }
        let addresses = (self.memory.bus(list), 0);
        let tracker = &mut self.trackers.as_mut()[first];
        (tracker.left, tracker.listed_pages) = (1, 0);
        self.enter(first, &Command::discard(nsid, ranges.len() as u32), addresses);
        Ok(())
    }

    /// The first tracker of a slot, if the slot is free and the ring has room for the commands.
    #[inline(always)]
    fn admit(&self, slot: usize, commands: u32) -> Result<usize, PushError> {
        let first = slot * self.layout.pieces;
        // The state of a request is in its first tracker; `left` outlives the first command.
        match self.trackers.as_ref().get(first) {
            Some(tracker) if slot < self.layout.slots && tracker.left == 0 => {}
            _ => return Err(PushError::Slot),
        }
        let used = self.sq_tail.wrapping_sub(self.sq_head) & (self.layout.sq_entries - 1);
        match used + commands < self.layout.sq_entries {
            true => Ok(first),
            false => Err(PushError::Full),
        }
    }

    /// A request of several commands.
    #[cold]
    fn push_pieces(
        &mut self,
        slot: usize,
        request: &Request,
        bytes: usize,
    ) -> Result<(), PushError> {
        let Request { kind, place: Place { nsid, block_bits }, lba, at, .. } = *request;
        let step = self.layout.command_bytes;
        let pieces = bytes.div_ceil(step);
        if pieces > self.layout.pieces {
            return Err(PushError::Size);
        }
        let first = self.admit(slot, pieces as u32)?;
        self.trackers.as_mut()[first].left = pieces as u16;
        for piece in 0..pieces {
            let from = piece * step;
            let length = step.min(bytes - from);
            let (lba, blocks) = (lba + (from >> block_bits) as u64, (length >> block_bits) as u32);
            let command = match kind {
                Kind::Write { fua } => Command::write(nsid, lba, blocks, fua),
                _ => Command::read(nsid, lba, blocks),
            };
            let addresses = self.addresses(first + piece, at + from, length);
            self.enter(first + piece, &command, addresses);
        }
        Ok(())
    }

    /// Writes an entry of the ring.
    #[inline(always)]
    fn enter(&mut self, index: usize, command: &Command, (prp1, prp2): (u64, u64)) {
        let epoch = self.epoch;
        let cid = self.trackers.as_mut()[index].begin(index, epoch);
        let words = self.memory.words();
        let entry = self.layout.sq_at + 64 * self.sq_tail as usize;
        let entry: &[AtomicU32] = &words[entry / 4..entry / 4 + 16];
        store(entry, 0, u32::from(command.opcode) | u32::from(cid) << 16);
        store(entry, 4, command.nsid);
        store64(entry, 24, prp1);
        store64(entry, 32, prp2);
        for (i, word) in command.cdw.iter().enumerate() {
            store(entry, 40 + 4 * i, *word);
        }
        self.sq_tail = (self.sq_tail + 1) & (self.layout.sq_entries - 1);
        self.counters.commands += 1;
    }

    /// The second address of a command: nothing, the second page, or the tracker's list, which is
    /// built if it describes another place.
    #[inline(always)]
    fn list(&mut self, index: usize, at: usize, bytes: usize) -> u64 {
        let pages = prp::pages(at, bytes);
        match pages {
            0 | 1 => 0,
            2 => self.memory.bus(at - at % PAGE_BYTES + PAGE_BYTES),
            _ => {
                let list = self.layout.list(index);
                let tracker = &mut self.trackers.as_mut()[index];
                if tracker.listed_at != at || !prp::serves(tracker.listed_pages, pages) {
                    (tracker.listed_at, tracker.listed_pages) = (at, pages);
                    prp::build(&*self.memory, self.memory.words(), list, at, pages);
                }
                self.memory.bus(list)
            }
        }
    }

    /// Announces everything pushed: one doorbell for all of it.
    #[inline]
    pub fn ring(&mut self) {
        if self.sq_tail != self.sq_rung {
            sys::before_doorbell();
            let (old, new) = (self.sq_rung, self.sq_tail);
            self.sq_rung = new;
            self.doorbell(self.bell, old, new);
        }
    }

    #[inline(always)]
    fn doorbell(&mut self, bell: usize, old: u32, new: u32) {
        if let Some(shadow) = self.shadow
            && !self.must_ring(shadow, bell - self.first_bell, old, new)
        {
            return;
        }
        self.counters.doorbells += 1;
        self.host.write32(bell, new);
    }

    /// Stores a value where the controller polls it; whether it also wants to be woken.
    #[cold]
    fn must_ring(&self, shadow: Shadow, place: usize, old: u32, new: u32) -> bool {
        let words = self.host.words();
        store(words, shadow.values + place, new);
        sys::full();
        let event = load(words, shadow.events + place);
        let passed = |from: u32| new.wrapping_sub(from) as u16;
        passed(event.wrapping_add(1)) < passed(old)
    }

    /// Collects completed requests; returns how many commands have completed.
    #[inline]
    pub fn poll(&mut self, mut done: impl FnMut(Completed)) -> u32 {
        let mut found = 0;
        // At most a ring at a time: a controller that never stops must not keep the caller.
        while found < self.layout.cq_entries {
            let entry = self.layout.cq_at + 16 * self.cq_head as usize;
            let entry: &[AtomicU32] = &self.memory.words()[entry / 4..entry / 4 + 4];
            let last = load(entry, 12);
            if last >> 16 & 1 != self.phase {
                break;
            }
            sys::after_phase();
            let (result, head) = (load(entry, 0), load(entry, 8) & 0xffff);
            if head < self.layout.sq_entries {
                self.sq_head = head;
            }
            self.cq_head += 1;
            if self.cq_head == self.layout.cq_entries {
                (self.cq_head, self.phase) = (0, self.phase ^ 1);
            }
            found += 1;
            if let Some(completed) = self.complete(last as u16, Status((last >> 17) as u16), result)
            {
                done(completed);
            }
        }
        let silent = self.cq_head.wrapping_sub(self.cq_rung) & (self.layout.cq_entries - 1);
        if silent > self.cq_lazy {
            let old = core::mem::replace(&mut self.cq_rung, self.cq_head);
            self.doorbell(self.bell + self.bell_bytes, old, self.cq_head);
        }
        self.polls += 1;
        if found == 0 || self.polls.is_multiple_of(POLLS_PER_TICK) {
            self.tick();
        }
        found
    }

    /// A completion; `Some` if it is the last of its request.
    #[inline(always)]
    fn complete(&mut self, cid: u16, status: Status, result: u32) -> Option<Completed> {
        let (index, pieces) = (tracker::index(cid), self.layout.pieces);
        let trackers = self.trackers.as_mut();
        match trackers.get_mut(index) {
            Some(tracker) if tracker.is(cid) => tracker.state = State::Free,
            _ => {
                self.counters.strays += 1;
                return None;
            }
        }
        let slot = if pieces == 1 { index } else { index / pieces };
        let first = &mut trackers[slot * pieces];
        if first.status.is_ok() {
            first.status = status;
        }
        first.left = first.left.saturating_sub(1);
        if first.left > 0 {
            return None;
        }
        let status = core::mem::replace(&mut first.status, Status::SUCCESS);
        Some(Completed { slot, status, result })
    }

    /// Counts time in epochs, a quarter of the time-out each, so that no request needs a clock.
    fn tick(&mut self) {
        let now = self.host.now_ns();
        if now < self.next_epoch_ns {
            return;
        }
        self.next_epoch_ns = now + self.layout.timeout_ns / u64::from(EPOCHS);
        self.epoch = self.epoch.wrapping_add(1);
        let epoch = self.epoch;
        for tracker in self.trackers.as_mut().iter_mut() {
            let age = epoch.wrapping_sub(tracker.epoch);
            match tracker.state {
                State::Flying if age > EPOCHS => {
                    tracker.state = State::Overdue;
                    self.counters.overdue += 1;
                }
                State::Aborting if age > EPOCHS => tracker.state = State::Hopeless,
                _ => {}
            }
        }
    }

    /// The next command that needs the owner of the controller.
    pub fn overdue(&mut self) -> Option<Overdue> {
        let epoch = self.epoch;
        let trackers = self.trackers.as_mut();
        if trackers.iter().any(|tracker| tracker.state == State::Hopeless) {
            return Some(Overdue::Reset);
        }
        let late = trackers.iter_mut().enumerate().find(|(_, t)| t.state == State::Overdue);
        late.map(|(index, tracker)| {
            (tracker.state, tracker.epoch) = (State::Aborting, epoch);
            Overdue::Abort(tracker.generation | index as u16)
        })
    }

    /// Ends every request in flight as lost. Only after the controller was stopped: until then it
    /// may still write to their memory.
    pub(crate) fn lose_all(&mut self, mut done: impl FnMut(Completed)) {
        let pieces = self.layout.pieces;
        let trackers = self.trackers.as_mut();
        for slot in 0..self.layout.slots {
            let group = &mut trackers[slot * pieces..(slot + 1) * pieces];
            group.iter_mut().for_each(|tracker| tracker.state = State::Free);
            if group[0].left > 0 {
                (group[0].left, group[0].status) = (0, Status::SUCCESS);
                done(Completed { slot, status: Status::LOST, result: 0 });
            }
        }
    }
}

/// Whether a ring is contiguous on the bus.
fn contiguous<D: DmaMap + ?Sized>(memory: &D, at: usize, bytes: usize) -> Result<(), Error> {
    let start = memory.bus(at);
    let straight =
        (0..bytes).step_by(PAGE_BYTES).all(|page| memory.bus(at + page) == start + page as u64);
    if straight { Ok(()) } else { Err(Error::Scattered) }
}

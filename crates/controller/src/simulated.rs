//! The controller: registers, time, and fetching and completing commands.

use std::collections::BTreeMap;
use std::sync::atomic::{Ordering::SeqCst, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nvme::{Clock, DmaMap, Mmio, opcode, regs};
use workload::{Op, OpKind};

use crate::faults::{Fate, Faults, Random};
use crate::media::SimulatedMedia;
use crate::memory::HostMemory;
use crate::queues::{Completion, Cq, Fetched, Sq};

/// Maximum number of entries fetched from each queue in a step.
const BURST: u32 = 4;
/// Duration of admin commands, state changes and power cuts; nanoseconds.
const ADMIN_NS: u64 = 5_000;
const READY_NS: u64 = 1_000_000;
const POWER_NS: u64 = 5_000_000;
/// Maximum delay of a duplicate completion.
const TWICE_NS: u64 = 20_000;
/// Maximum time of a step. Time passes for a waiting host even if nothing happens.
const STEP_NS: u64 = 20_000;

/// The capabilities that the controller reports.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Maximum entries of a queue.
    pub entries_max: u32,
    /// Maximum transfer: 4 KiB times 2 to this power; 0: no limit.
    pub transfer_max: u8,
    /// Number of I/O queue pairs.
    pub queues: u16,
    /// Whether the controller has shadow doorbells.
    pub shadow: bool,
    /// Whether the controller polls a queue's shadow doorbell only from a doorbell write until the
    /// queue is empty, like emulators. Otherwise it always polls, and never requests a doorbell
    /// write.
    pub dozes: bool,
    /// Whether a controller that dozes fails to request the doorbell write, like an emulator that
    /// loses a race with the driver.
    pub misses: bool,
    /// Whether a format affects every namespace.
    pub formats_all: bool,
    /// Fault rates of I/O commands.
    pub faults: Faults,
    /// Seed for faults and latencies.
    pub seed: u64,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            entries_max: 1024,
            transfer_max: 7,
            queues: 8,
            shadow: true,
            dozes: false,
            misses: false,
            formats_all: false,
            faults: Faults::default(),
            seed: 1,
        }
    }
}

/// Counts since the creation of the controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControllerCounters {
    /// I/O commands fetched.
    pub commands: u64,
    /// Writes to doorbell registers.
    pub doorbells: u64,
    /// Faults by kind, in the order of the fields of [`Faults`], without the delay.
    pub faults: [u64; 9],
    pub violations: u64,
    pub resets: u64,
    /// Power cuts that have happened; `faults` counts them when they are drawn.
    pub cuts: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Command(Fetched),
    Completion(Completion),
}

pub(crate) struct State {
    pub setup: Setup,
    pub now: u64,
    pub memories: Vec<Arc<HostMemory>>,
    pub media: Vec<SimulatedMedia>,
    pub random: Random,
    pub counters: ControllerCounters,
    pub sqs: BTreeMap<u16, Sq>,
    pub cqs: BTreeMap<u16, Cq>,
    /// Pending events by due time and order of arrival.
    pub due: BTreeMap<(u64, u64), Event>,
    pub arrivals: u64,
    /// Addresses of the values and event indexes of the shadow doorbells.
    pub shadow: Option<(u64, u64)>,
    cc: u32,
    status: u32,
    aqa: u32,
    asq: u64,
    acq: u64,
    /// Time at which the status register changes, and its new value.
    changes: Option<(u64, u32)>,
    dark_until: u64,
    /// A buffer for the data of a command.
    block: Vec<u8>,
}

/// A simulated controller, shared between threads in an `Arc`.
pub struct Simulated(Mutex<State>);

/// A driver's platform: the controller's registers and clock, and memory for the admin queue.
pub struct Host {
    pub controller: Arc<Simulated>,
    /// Memory for the admin queue.
    pub memory: Arc<HostMemory>,
}

impl Simulated {
    /// Creates a controller with these namespaces, numbered from 1.
    pub fn new(setup: Setup, media: Vec<SimulatedMedia>) -> Arc<Simulated> {
        Arc::new(Simulated(Mutex::new(State {
            setup,
            now: 0,
            memories: Vec::new(),
            media,
            random: Random(setup.seed),
            counters: ControllerCounters::default(),
            sqs: BTreeMap::new(),
            cqs: BTreeMap::new(),
            due: BTreeMap::new(),
            arrivals: 0,
            shadow: None,
            cc: 0,
            status: 0,
            aqa: 0,
            asq: 0,
            acq: 0,
            changes: None,
            dark_until: 0,
            block: Vec::new(),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Maps memory for the controller. Drops memory that has no other owner any more.
    pub fn map(&self, memory: &Arc<HostMemory>) {
        let mut state = self.state();
        state.memories.retain(|memory| Arc::strong_count(memory) > 1);
        state.memories.push(memory.clone());
    }

    /// Creates a host for a driver, with memory for its admin queue.
    pub fn host(self: &Arc<Self>) -> Arc<Host> {
        let memory = Arc::new(HostMemory::new(1 << 20, nvme::ADMIN_BYTES, nvme::ADMIN_BYTES));
        self.map(&memory);
        Arc::new(Host { controller: self.clone(), memory })
    }

    /// Fetches commands, advances time to the next due event, and completes it.
    pub fn step(&self) {
        self.state().step();
    }

    /// Fetches commands and completes those due at `now` on the caller's clock.
    pub fn step_to(&self, now: u64) {
        self.state().step_to(now);
    }

    /// Returns the counts so far.
    pub fn counters(&self) -> ControllerCounters {
        self.state().counters
    }

    /// Changes the fault rates from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.state().setup.faults = faults;
    }

    /// Cuts power for a while.
    pub fn cut_power(&self) {
        self.state().cut_power();
    }

    /// Removes the controller: its registers read as all ones permanently.
    pub fn remove(&self) {
        let mut state = self.state();
        state.cut_power();
        state.dark_until = u64::MAX;
    }
}

impl Mmio for Host {
    fn read32(&self, offset: usize) -> u32 {
        self.controller.state().register(offset)
    }

    fn write32(&self, offset: usize, value: u32) {
        self.controller.state().set_register(offset, value);
    }
}

impl DmaMap for Host {
    fn words(&self) -> &[std::sync::atomic::AtomicU32] {
        self.memory.words()
    }

    fn bus(&self, offset: usize) -> u64 {
        self.memory.bus(offset)
    }
}

impl Clock for Host {
    fn now_ns(&self) -> u64 {
        self.controller.state().now
    }

    fn pause(&self) {
        self.controller.step();
    }
}

impl State {
    fn register(&self, offset: usize) -> u32 {
        if self.now < self.dark_until {
            return regs::GONE;
        }
        // Contiguous rings, 1 s to become ready, and the NVM command set.
        let cap = u64::from(self.setup.entries_max - 1) | 1 << 16 | 2 << 24 | 1 << 37;
        match offset {
            regs::CAP => cap as u32,
            0x04 => (cap >> 32) as u32,
            regs::VS => 0x0001_0400,
            regs::CC => self.cc,
            regs::CSTS => self.status,
            regs::AQA => self.aqa,
            _ => 0,
        }
    }

    fn set_register(&mut self, offset: usize, value: u32) {
        if offset >= regs::DOORBELLS {
            self.counters.doorbells += 1;
        }
        if self.now < self.dark_until {
            return;
        }
        let half = |word: &mut u64, high: bool| {
            if high {
                *word = *word & 0xffff_ffff | u64::from(value) << 32
            } else {
                *word = *word & !0xffff_ffff | u64::from(value)
            }
        };
        match offset {
            regs::CC => self.configure(value),
            regs::AQA => self.aqa = value,
            regs::ASQ => half(&mut self.asq, false),
            0x2c => half(&mut self.asq, true),
            regs::ACQ => half(&mut self.acq, false),
            0x34 => half(&mut self.acq, true),
            regs::INTMS => {}
            _ if offset >= regs::DOORBELLS => {
                let place = (offset - regs::DOORBELLS) / 4;
                // With shadow doorbells, the controller may have seen the value in memory.
                let is_repeated = self.shadow.is_none() && self.rung(place) == Some(value);
                self.counters.violations += u64::from(is_repeated);
                self.sqs.get_mut(&((place / 2) as u16)).into_iter().for_each(|sq| sq.awake = true);
                self.ring(place, value);
            }
            _ => self.counters.violations += 1,
        }
    }

    fn configure(&mut self, value: u32) {
        let earlier_cc = std::mem::replace(&mut self.cc, value);
        let ready_at = self.now + READY_NS;
        if value & regs::CC_SHUTDOWN != 0 {
            self.media.iter_mut().for_each(SimulatedMedia::flush);
            self.changes = Some((ready_at, self.status | regs::CSTS_SHUTDOWN_DONE));
        } else if earlier_cc & !value & regs::CC_ENABLE != 0 {
            self.counters.resets += 1;
            self.drop_all();
            self.changes = Some((ready_at, 0));
        } else if !earlier_cc & value & regs::CC_ENABLE != 0 {
            let [sq, cq] = [0, 16].map(|shift| (self.aqa >> shift & 0xfff) + 1);
            self.sqs.insert(0, Sq::new(self.asq, sq, 0, true));
            self.cqs.insert(0, Cq::new(self.acq, cq));
            self.changes = Some((ready_at, regs::CSTS_READY));
        }
    }

    /// Drops all commands and queues. Each write in flight can still be executed, in whole or in
    /// part.
    fn drop_all(&mut self) {
        for (_, event) in std::mem::take(&mut self.due) {
            if let Event::Command(command) = event
                && command.sq != 0
            {
                self.carry_out_some(&command);
            }
        }
        self.sqs.clear();
        self.cqs.clear();
        self.shadow = None;
    }

    fn cut_power(&mut self) {
        self.counters.cuts += 1;
        self.drop_all();
        let State { media, random, .. } = self;
        media.iter_mut().for_each(|media| media.cut(random));
        (self.cc, self.status, self.changes) = (0, 0, None);
        self.dark_until = self.now + POWER_NS;
    }

    /// Returns the value of a doorbell, given by its index among all doorbells.
    fn rung(&self, place: usize) -> Option<u32> {
        let queue = (place / 2) as u16;
        match place % 2 {
            0 => self.sqs.get(&queue).map(|sq| sq.tail),
            _ => self.cqs.get(&queue).map(|cq| cq.head),
        }
    }

    /// Handles a doorbell, given by its index among all doorbells.
    fn ring(&mut self, place: usize, value: u32) {
        let queue = (place / 2) as u16;
        let doorbell = match place % 2 {
            0 => self.sqs.get_mut(&queue).map(|sq| (sq.entries, &mut sq.tail)),
            _ => self.cqs.get_mut(&queue).map(|cq| (cq.entries, &mut cq.head)),
        };
        match doorbell {
            Some((entries, place)) if value < entries => *place = value,
            // A power cut deleted the queue, and the host has not noticed yet.
            None if self.status & regs::CSTS_READY == 0 => {}
            _ => self.counters.violations += 1,
        }
    }

    fn step(&mut self) {
        self.take_commands();
        let next = self.due.first_key_value().map(|((at, _), _)| *at);
        let change = self.changes.map(|(at, _)| at);
        let step = self.now + STEP_NS;
        self.now = self.now.max(next.into_iter().chain(change).min().unwrap_or(step).min(step));
        self.complete_due();
    }

    fn step_to(&mut self, now: u64) {
        self.now = self.now.max(now);
        self.take_commands();
        self.complete_due();
    }

    fn take_commands(&mut self) {
        if let Some((_, status)) = self.changes.filter(|(at, _)| *at <= self.now) {
            (self.status, self.changes) = (status, None);
        }
        self.poll_shadow();
        let queues: Vec<u16> = self.sqs.keys().copied().collect();
        queues.into_iter().for_each(|queue| self.fetch(queue));
    }

    fn complete_due(&mut self) {
        while let Some(first) = self.due.first_entry() {
            if first.key().0 > self.now {
                break;
            }
            match first.remove() {
                Event::Command(command) => self.execute(&command),
                Event::Completion(completion) => self.post(completion),
            }
        }
        let queues: Vec<u16> = self.cqs.keys().copied().collect();
        queues.into_iter().for_each(|queue| self.post_waiting(queue));
    }

    /// Reads the doorbells in memory. An event index one less than the value requests no register
    /// doorbell. One equal to the value requests it for the next entry.
    fn poll_shadow(&mut self) {
        let Some((values, events)) = self.shadow else { return };
        let places = self.sqs.iter().skip(1);
        let places =
            places.flat_map(|(queue, sq)| [sq.awake.then_some(2 * queue), Some(2 * queue + 1)]);
        let places: Vec<u16> = places.flatten().collect();
        for place in places {
            let offset = 4 * u64::from(place);
            let Some(value) = self.word(values + offset) else { continue };
            self.ring(usize::from(place), value);
            let sq = self.sqs.get(&(place / 2)).filter(|sq| place % 2 == 0 && sq.head == value);
            let dozes = self.setup.dozes && sq.is_some();
            let asks = dozes && !self.setup.misses;
            self.set_word(events + offset, value.wrapping_sub(u32::from(!asks)) & 0xffff);
            if dozes {
                self.doze(place, values + offset, value);
            }
        }
    }

    /// Stops polling the doorbell of an idle queue, unless the driver moved it before it could see
    /// the event index: nobody would ring for that entry.
    fn doze(&mut self, place: u16, at: u64, seen: u32) {
        fence(SeqCst);
        let value = self.word(at).unwrap_or(seen);
        if let Some(sq) = self.sqs.get_mut(&(place / 2)) {
            sq.awake = value != seen;
        }
        self.ring(usize::from(place), value);
    }

    fn fetch(&mut self, queue: u16) {
        for _ in 0..BURST {
            let Some(sq) = self.sqs.get_mut(&queue).filter(|sq| sq.head != sq.tail) else { return };
            let address = sq.base + 64 * u64::from(sq.head);
            sq.head = (sq.head + 1) % sq.entries;
            let mut words = [0; 16];
            for (i, word) in words.iter_mut().enumerate() {
                *word = self.word(address + 4 * i as u64).unwrap_or_default();
            }
            let command = Fetched {
                sq: queue,
                cid: (words[0] >> 16) as u16,
                opcode: words[0] as u8,
                nsid: words[1],
                prp: [6, 8].map(|low| u64::from(words[low]) | u64::from(words[low + 1]) << 32),
                cdw: [words[10], words[11], words[12]],
                fate: Fate::Done,
            };
            self.accept(command);
        }
    }

    /// Determines the time at which a command is executed, and its fault.
    fn accept(&mut self, mut command: Fetched) {
        let is_known = self.due.values().any(|event| match event {
            Event::Command(other) => (other.sq, other.cid) == (command.sq, command.cid),
            _ => false,
        });
        if is_known {
            self.counters.violations += 1;
        }
        if command.sq == 0 {
            return self.at(self.now + ADMIN_NS, Event::Command(command));
        }
        self.counters.commands += 1;
        command.fate = self.setup.faults.draw(&mut self.random);
        if command.fate != Fate::Done {
            self.counters.faults[command.fate as usize - 1] += 1;
        }
        let index = (command.nsid as usize).wrapping_sub(1);
        let block = self.media.get(index).map_or(512, |media| u64::from(media.block_bytes));
        let (single, several);
        let ops = if command.opcode == opcode::DATASET {
            several = self.discards(&command, block);
            &several[..]
        } else {
            single = [op(&command, block)];
            &single[..]
        };
        let State { media, random, now, .. } = self;
        let timing = media.get_mut(index);
        let mut due = timing.map_or(*now, |media| media.timing.done(*now, ops, random));
        match command.fate {
            Fate::Late => due += self.setup.faults.late_ns,
            // These never complete.
            Fate::Lost | Fate::Stubborn => due = u64::MAX,
            _ => {}
        }
        self.at(due, Event::Command(command));
    }

    pub fn at(&mut self, time: u64, event: Event) {
        self.arrivals += 1;
        self.due.insert((time, self.arrivals), event);
    }

    fn execute(&mut self, command: &Fetched) {
        if command.sq == 0 {
            return self.execute_admin(command);
        }
        match command.fate {
            Fate::Fatal => self.status |= regs::CSTS_FATAL,
            Fate::Power => return self.cut_power(),
            Fate::Error => return self.post(command.completion(0x281, 0)),
            Fate::Torn => {
                self.carry_out_some(command);
                return self.post(command.completion(0x280, 0));
            }
            _ => {}
        }
        if self.status & regs::CSTS_FATAL != 0 {
            return;
        }
        let status = self.carry_out(command);
        let completion = command.completion(status, 0);
        self.post(completion);
        match command.fate {
            Fate::Twice => {
                let later = self.now + self.random.below(TWICE_NS);
                self.at(later, Event::Completion(completion));
            }
            Fate::Spurious => self.post(Completion { cid: command.cid ^ 0x0fff, ..completion }),
            _ => {}
        }
    }

    /// Posts a completion, or queues it until the ring has room.
    pub fn post(&mut self, completion: Completion) {
        let Some(cq) = self.sqs.get(&completion.sq).map(|sq| sq.cq) else { return };
        if let Some(cq) = self.cqs.get_mut(&cq) {
            cq.waiting.push_back(completion);
        }
        self.post_waiting(cq);
    }

    fn post_waiting(&mut self, queue: u16) {
        while let Some(cq) = self.cqs.get_mut(&queue).filter(|cq| !cq.is_full()) {
            let Some(completion) = cq.waiting.pop_front() else { return };
            let (address, phase) = (cq.base + 16 * u64::from(cq.tail), cq.phase);
            cq.tail = (cq.tail + 1) % cq.entries;
            cq.phase ^= u32::from(cq.tail == 0);
            let head = self.sqs.get(&completion.sq).map_or(0, |sq| sq.head);
            self.set_word(address, completion.result);
            self.set_word(address + 8, head | u32::from(completion.sq) << 16);
            let last = u32::from(completion.cid) | phase << 16 | u32::from(completion.status) << 17;
            self.set_word(address + 12, last);
        }
    }

    /// Returns the memory region and the offset for a bus address.
    pub fn find(&mut self, bus: u64) -> Option<(usize, usize)> {
        let place = self.memories.iter().enumerate().find_map(|(i, m)| Some((i, m.offset(bus)?)));
        self.counters.violations += u64::from(place.is_none());
        place
    }

    pub fn word(&mut self, bus: u64) -> Option<u32> {
        let (memory, offset) = self.find(bus)?;
        Some(self.memories[memory].load(offset))
    }

    fn set_word(&mut self, bus: u64, value: u32) {
        if let Some((memory, offset)) = self.find(bus) {
            self.memories[memory].store(offset, value);
        }
    }

    /// A reusable buffer for the data of a command. Users take it and put it back.
    pub fn block(&mut self) -> &mut Vec<u8> {
        &mut self.block
    }
}

/// Converts a command with an address to an operation on a virtual drive.
fn op(command: &Fetched, block: u64) -> Op {
    let bytes = (command.blocks() * block) as u32;
    let (kind, bytes) = match command.opcode {
        opcode::READ => (OpKind::Read, bytes),
        opcode::WRITE => (OpKind::Write, bytes),
        opcode::FLUSH => (OpKind::Flush, 0),
        _ => (OpKind::Discard, bytes),
    };
    let offset = if kind == OpKind::Flush { 0 } else { command.lba().saturating_mul(block) };
    Op { kind, offset, bytes }
}

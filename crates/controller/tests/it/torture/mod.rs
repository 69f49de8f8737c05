//! A host that tracks the content of every block, and tests the driver with a faulty controller.
//!
//! Requests of all kinds and sizes are in flight on several queues and namespaces, but never two
//! for the same block. Each block has one possible content, or several after a failed write or a
//! power cut; any other data are corrupt. A request without a completion is lost, and a driver that
//! makes no progress hangs.

use std::sync::Arc;

use controller::{Host, HostMemory, Setup, Simulated, SimulatedMedia, Timing};
use nvme::{
    Clock as _, Completed, Controller, FormattedNamespace, IoRequest, PushError, Queue,
    QueueParameters, Range, RequestKind, Status, Tracker,
};

const BLOCKS: u64 = 8192;
const BLOCK_BITS: [u32; 2] = [9, 12];
/// Number of controller steps without a completion after which the driver counts as hung.
const PATIENCE: u32 = 200_000;

/// Parameters of a run.
#[derive(Clone, Copy)]
pub struct Plan {
    pub setup: Setup,
    pub commands: u64,
    pub queues: u16,
    pub slots: usize,
    pub request_bytes: usize,
    pub shadow: bool,
    pub timeout_ns: u64,
}

/// Result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub pushed: u64,
    pub ended: u64,
    pub failed: u64,
    pub corrupt: u64,
    pub hung: bool,
    pub strays: u64,
    pub overdue: u64,
    pub resets: u64,
    pub commands: u64,
    /// Writes to doorbell registers.
    pub doorbells: u64,
    pub faults: [u64; 9],
    pub violations: u64,
    /// Estimated wraps of the completion rings, each with a phase change; resets are ignored.
    pub turns: u64,
}

/// The possible versions of a block; version 0 is all zeros.
#[derive(Clone)]
struct Block {
    /// The version that must be read, if it is certain.
    current: Option<u32>,
    /// Versions that can remain after a power cut.
    possible: Vec<u32>,
    busy: bool,
    /// Number of pushes at the end of the last write.
    ended: u64,
}

/// A request in flight.
#[derive(Clone)]
struct Flying {
    namespace: usize,
    /// First block and number of blocks of each range.
    ranges: Vec<(u64, u64)>,
    act: Act,
    pushed: u64,
    /// Number of power cuts noticed before the request.
    cuts: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Act {
    Read,
    /// Writes this version; 0 is zeros.
    Write(u32),
    Flush,
}

type Q = Queue<Arc<Host>, Arc<HostMemory>, Vec<Tracker>>;

struct Lane {
    queue: Q,
    flying: Vec<Option<Flying>>,
    data_at: usize,
}

struct Torture {
    plan: Plan,
    random: u64,
    simulated: Arc<Simulated>,
    host: Arc<Host>,
    controller: Controller<Arc<Host>>,
    lanes: Vec<Lane>,
    blocks: [Vec<Block>; 2],
    cuts: u64,
    version: u32,
    outcome: Outcome,
}

/// Runs a plan.
pub fn run(plan: Plan) -> Outcome {
    let mut torture = Torture::new(plan);
    let mut silent = 0;
    while !torture.outcome.hung {
        let more = torture.simulated.counters().commands < plan.commands;
        let mut busy = false;
        for lane in 0..torture.lanes.len() {
            if more {
                torture.fill(lane);
            }
            torture.lanes[lane].queue.ring();
            torture.simulated.step();
            let ended = torture.collect(lane);
            silent = if ended > 0 { 0 } else { silent + 1 };
            busy |= torture.lanes[lane].flying.iter().any(Option::is_some);
        }
        torture.attend();
        torture.outcome.hung |= silent > PATIENCE;
        if !more && !busy {
            break;
        }
    }
    torture.verify_all();
    torture.finish()
}

impl Torture {
    fn new(plan: Plan) -> Torture {
        let timing = || Timing::Fixed { ns: 5_000, spread_ns: 60_000 };
        let media = BLOCK_BITS.map(|bits| SimulatedMedia::new(1 << bits, BLOCKS, timing()));
        let simulated = Simulated::new(plan.setup, media.into());
        let host = simulated.host();
        let mut controller = Controller::start(host.clone()).expect("starts");
        let mut list = [0; 8];
        assert_eq!(controller.namespaces(&mut list), Ok(2));
        assert_eq!(controller.grant_queues(plan.queues), Ok(plan.queues));
        if plan.shadow {
            assert_eq!(controller.use_shadow_doorbells(), Ok(true));
        }
        let lanes = (1..=plan.queues).map(|id| lane(&plan, &simulated, &mut controller, id));
        let lanes = lanes.collect();
        let block = Block { current: Some(0), possible: vec![0], busy: false, ended: 0 };
        let blocks = [vec![block.clone(); BLOCKS as usize], vec![block; BLOCKS as usize]];
        let random = plan.setup.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let outcome = Outcome::default();
        let (cuts, version) = (0, 0);
        Torture { plan, random, simulated, host, controller, lanes, blocks, cuts, version, outcome }
    }

    /// Returns a random number below `bound`. Uses xorshift, unlike the controller.
    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % bound
    }

    /// Pushes requests to some of the free slots.
    fn fill(&mut self, lane: usize) {
        for _ in 0..self.below(self.plan.slots as u64) {
            let free: Vec<usize> = (0..self.plan.slots)
                .filter(|slot| self.lanes[lane].flying[*slot].is_none())
                .collect();
            if free.is_empty() {
                return;
            }
            let slot = free[self.below(free.len() as u64) as usize];
            let namespace = self.below(2) as usize;
            let pushed = match self.below(100) {
                0..2 => self.push_flush(lane, slot, namespace),
                2..6 => self.push_discard(lane, slot, namespace),
                kind => self.push_data(lane, slot, namespace, kind),
            };
            match pushed {
                Ok(()) => {}
                Err(PushError::Full) => return,
                Err(other) => panic!("{other:?}"),
            }
        }
    }

    fn place(namespace: usize) -> FormattedNamespace {
        FormattedNamespace { nsid: namespace as u32 + 1, block_bits: BLOCK_BITS[namespace] }
    }

    fn push_flush(&mut self, lane: usize, slot: usize, namespace: usize) -> Result<(), PushError> {
        let place = Torture::place(namespace);
        let request = IoRequest { kind: RequestKind::Flush, place, lba: 0, blocks: 0, at: 0 };
        self.lanes[lane].queue.push(slot, &request)?;
        self.fly(lane, slot, namespace, Vec::new(), Act::Flush);
        Ok(())
    }

    /// Pushes a discard with up to 40 ranges of one block each, or the maximum of 256.
    fn push_discard(
        &mut self,
        lane: usize,
        slot: usize,
        namespace: usize,
    ) -> Result<(), PushError> {
        let wanted = if self.below(8) == 0 { 256 } else { 1 + self.below(40) };
        let start = self.below(BLOCKS);
        let free = (0..BLOCKS).map(|i| (start + 3 * i) % BLOCKS);
        let blocks = &self.blocks[namespace];
        let free = free.filter(|lba| !blocks[*lba as usize].busy).take(wanted as usize);
        let mut lbas: Vec<u64> = free.collect();
        lbas.sort_unstable();
        lbas.dedup();
        let ranges: Vec<Range> = lbas.iter().map(|lba| Range { lba: *lba, blocks: 1 }).collect();
        let nsid = namespace as u32 + 1;
        self.lanes[lane].queue.push_discard(slot, nsid, &ranges)?;
        let ranges = lbas.into_iter().map(|lba| (lba, 1)).collect();
        self.fly(lane, slot, namespace, ranges, Act::Write(0));
        Ok(())
    }

    fn push_data(
        &mut self,
        lane: usize,
        slot: usize,
        namespace: usize,
        kind: u64,
    ) -> Result<(), PushError> {
        let place = Torture::place(namespace);
        let most = self.plan.request_bytes as u64 >> place.block_bits;
        // Most requests are small.
        let most = if self.below(16) == 0 { most } else { most.min(8) };
        let blocks = 1 + self.below(most);
        let lba = self.below(BLOCKS - blocks + 1);
        let range = lba as usize..(lba + blocks) as usize;
        if self.blocks[namespace][range].iter().any(|block| block.busy) {
            return Ok(());
        }
        let at = self.lanes[lane].data_at + slot * self.plan.request_bytes;
        let (kind, act) = match kind {
            6..8 => (RequestKind::Zeroes, Act::Write(0)),
            8..55 => (RequestKind::Read, Act::Read),
            _ => {
                self.version += 1;
                (
                    if self.below(10) == 0 {
                        RequestKind::WriteThrough
                    } else {
                        RequestKind::Write
                    },
                    Act::Write(self.version),
                )
            }
        };
        let memory = self.lanes[lane].queue.memory().clone();
        match (kind, act) {
            (RequestKind::Write | RequestKind::WriteThrough, Act::Write(version)) => {
                write_data(&memory, at, place, lba, blocks, version);
            }
            // Overwrite old data, which must not pass for the result.
            _ => memory.store(at, 0xdead_beef),
        }
        let request = IoRequest { kind, place, lba, blocks: blocks as u32, at };
        self.lanes[lane].queue.push(slot, &request)?;
        self.fly(lane, slot, namespace, vec![(lba, blocks)], act);
        Ok(())
    }

    fn fly(
        &mut self,
        lane: usize,
        slot: usize,
        namespace: usize,
        ranges: Vec<(u64, u64)>,
        act: Act,
    ) {
        for (lba, blocks) in &ranges {
            let range = *lba as usize..(lba + blocks) as usize;
            self.blocks[namespace][range].iter_mut().for_each(|block| block.busy = true);
        }
        self.outcome.pushed += 1;
        let pushed = self.outcome.pushed;
        self.lanes[lane].flying[slot] =
            Some(Flying { namespace, ranges, act, pushed, cuts: self.cuts });
    }

    fn collect(&mut self, lane: usize) -> usize {
        let mut done = Vec::new();
        let found = self.lanes[lane].queue.poll(|completed| done.push(completed));
        for completed in &done {
            self.end(lane, completed);
        }
        found as usize
    }

    /// Handles the end of a request.
    fn end(&mut self, lane: usize, completed: &Completed) {
        self.notice_cuts();
        let Some(flying) = self.lanes[lane].flying[completed.slot].take() else {
            self.outcome.corrupt += 1;
            return;
        };
        self.outcome.ended += 1;
        self.outcome.failed += u64::from(!completed.status.is_ok());
        let ok = completed.status.is_ok();
        // The completion could have been posted before a power cut that is only noticed now.
        let sure = flying.cuts == self.cuts;
        match flying.act {
            Act::Flush if ok => self.settle(&flying),
            Act::Read if ok => self.compare(lane, completed.slot, &flying),
            _ => {}
        }
        let pushed = self.outcome.pushed;
        for (lba, blocks) in flying.ranges {
            for block in &mut self.blocks[flying.namespace][lba as usize..(lba + blocks) as usize] {
                block.busy = false;
                if let Act::Write(version) = flying.act {
                    block.ended = pushed;
                    block.possible.push(version);
                    block.current = (ok && sure).then_some(version);
                }
            }
        }
    }

    /// Handles a flush: writes that completed before it was pushed are durable.
    fn settle(&mut self, flush: &Flying) {
        for block in &mut self.blocks[flush.namespace] {
            if let Some(current) = block.current
                && !block.busy
                && block.ended < flush.pushed
            {
                block.possible.clear();
                block.possible.push(current);
            }
        }
    }

    fn compare(&mut self, lane: usize, slot: usize, flying: &Flying) {
        let place = Torture::place(flying.namespace);
        let memory = self.lanes[lane].queue.memory().clone();
        let at = self.lanes[lane].data_at + slot * self.plan.request_bytes;
        let sure = flying.cuts == self.cuts;
        for (lba, blocks) in &flying.ranges {
            for i in 0..*blocks {
                let offset = at + (i << place.block_bits) as usize;
                let found = version_of(&memory, offset, place, lba + i);
                let block = &mut self.blocks[flying.namespace][(lba + i) as usize];
                let right = match (found, block.current) {
                    (Some(found), Some(current)) if sure => found == current,
                    (Some(found), _) => block.possible.contains(&found),
                    (None, _) => false,
                };
                self.outcome.corrupt += u64::from(!right);
                block.current = if sure { found } else { block.current };
            }
        }
    }

    /// After a power cut, only flushed writes are certain.
    fn notice_cuts(&mut self) {
        let cuts = self.simulated.counters().cuts;
        if std::mem::replace(&mut self.cuts, cuts) != cuts {
            for block in self.blocks.iter_mut().flatten() {
                block.possible.sort_unstable();
                block.possible.dedup();
                if block.possible.len() > 1 {
                    block.current = None;
                }
            }
        }
    }

    /// Aborts overdue commands, and resets the controller if nothing else helps.
    fn attend(&mut self) {
        let healthy = |lane: &mut Lane, controller: &mut Controller<Arc<Host>>| {
            matches!(controller.attend(&mut lane.queue), Ok(None))
        };
        if self.lanes.iter_mut().all(|lane| healthy(lane, &mut self.controller)) {
            return;
        }
        let mut tries = 0;
        while self.controller.reset().is_err() {
            self.host.pause();
            tries += 1;
            if tries > PATIENCE {
                self.outcome.hung = true;
                return;
            }
        }
        for lane in 0..self.lanes.len() {
            let mut ended = Vec::new();
            self.controller.end(&mut self.lanes[lane].queue, |completed| ended.push(completed));
            for completed in &ended {
                assert_eq!(completed.status, Status::LOST);
                self.end(lane, completed);
            }
            self.controller.restore(&mut self.lanes[lane].queue).expect("restored");
        }
    }

    /// Reads all blocks once more, without faults.
    fn verify_all(&mut self) {
        self.simulated.set_faults(controller::Faults::default());
        self.notice_cuts();
        for namespace in 0..2 {
            let place = Torture::place(namespace);
            let step = (self.plan.request_bytes >> place.block_bits).min(64) as u64;
            for lba in (0..BLOCKS).step_by(step as usize) {
                let at = self.lanes[0].data_at;
                let blocks = step.min(BLOCKS - lba);
                let request =
                    IoRequest { kind: RequestKind::Read, place, lba, blocks: blocks as u32, at };
                if self.outcome.hung || self.lanes[0].queue.push(0, &request).is_err() {
                    self.outcome.hung = true;
                    return;
                }
                self.fly(0, 0, namespace, vec![(lba, blocks)], Act::Read);
                self.lanes[0].queue.ring();
                let mut steps = 0;
                while self.lanes[0].flying[0].is_some() && steps < PATIENCE {
                    self.simulated.step();
                    self.collect(0);
                    steps += 1;
                }
                self.outcome.hung |= self.lanes[0].flying[0].is_some();
            }
        }
    }

    fn finish(mut self) -> Outcome {
        let seen = self.simulated.counters();
        for lane in &self.lanes {
            let counters = lane.queue.counters();
            self.outcome.strays += counters.strays;
            self.outcome.overdue += counters.overdue;
            // The completion ring has four entries per tracker, if the controller allows it.
            self.outcome.turns += counters.commands / (4 * lane.queue.layout().trackers()) as u64;
        }
        Outcome {
            resets: seen.resets,
            commands: seen.commands,
            doorbells: seen.doorbells,
            faults: seen.faults,
            violations: seen.violations,
            ..self.outcome
        }
    }
}

fn lane(
    plan: &Plan,
    simulated: &Arc<Simulated>,
    controller: &mut Controller<Arc<Host>>,
    id: u16,
) -> Lane {
    let shape = QueueParameters {
        slots: plan.slots,
        request_bytes: plan.request_bytes,
        base: 0,
        timeout_ns: plan.timeout_ns,
    };
    let layout = controller.lay_out(&shape).expect("fits");
    let data_at = layout.end();
    let bytes = data_at + plan.slots * plan.request_bytes;
    let base = u64::from(id) << 32;
    let memory = Arc::new(HostMemory::new(base, bytes, layout.rings_end()));
    simulated.map(&memory);
    let trackers = vec![Tracker::default(); layout.trackers()];
    let queue = controller.create_queue(id, memory, trackers, layout).expect("created");
    Lane { queue, flying: vec![None; plan.slots], data_at }
}

/// Returns a word of a block's content: a hash of block, version and position, never zero.
fn word(place: FormattedNamespace, lba: u64, version: u32, i: u32) -> u32 {
    let seed = u64::from(version) << 32 | u64::from(i) ^ lba << 12 ^ u64::from(place.nsid) << 60;
    (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32 | 1
}

fn write_data(
    memory: &HostMemory,
    at: usize,
    place: FormattedNamespace,
    lba: u64,
    blocks: u64,
    version: u32,
) {
    let words = 1u32 << (place.block_bits - 2);
    for block in 0..blocks {
        let start = at + (block << place.block_bits) as usize;
        memory.store(start, version);
        for i in 1..words {
            memory.store(start + 4 * i as usize, word(place, lba + block, version, i));
        }
    }
}

/// Returns the version of a block, if the whole block has the same one.
fn version_of(memory: &HostMemory, at: usize, place: FormattedNamespace, lba: u64) -> Option<u32> {
    let words = 1u32 << (place.block_bits - 2);
    let version = memory.load(at);
    let whole = (1..words).all(|i| {
        let expected = if version == 0 { 0 } else { word(place, lba, version, i) };
        memory.load(at + 4 * i as usize) == expected
    });
    whole.then_some(version)
}

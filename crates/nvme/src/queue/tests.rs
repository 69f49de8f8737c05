//! A queue pair on registers that store nothing.

use core::cell::Cell;
use core::sync::atomic::AtomicU32;

use super::*;
use crate::layout::QueueParameters;

/// Registers that store nothing, zeroed memory, and a clock that ticks at every look.
struct Machine {
    words: [AtomicU32; 16 * 1024],
    now_ns: Cell<u64>,
}

impl Mmio for Machine {
    fn read32(&self, _offset: usize) -> u32 {
        0
    }

    fn write32(&self, _offset: usize, _value: u32) {}
}

impl DmaMap for Machine {
    fn words(&self) -> &[AtomicU32] {
        &self.words
    }

    fn bus(&self, offset: usize) -> u64 {
        offset as u64
    }
}

impl Clock for Machine {
    fn now_ns(&self) -> u64 {
        self.now_ns.set(self.now_ns.get() + 1);
        self.now_ns.get()
    }
}

fn machine() -> Machine {
    Machine { words: [const { AtomicU32::new(0) }; 16 * 1024], now_ns: Cell::new(0) }
}

/// A queue of 3 slots with 2 requests in flight.
fn queue(machine: &Machine) -> Queue<&Machine, &Machine, [Tracker; 3]> {
    let shape = QueueParameters { slots: 3, request_bytes: PAGE_BYTES, base: 0, timeout_ns: 1000 };
    let layout = QueueLayout::new(&shape, 1024, None).expect("fits");
    let trackers = [Tracker::default(); 3];
    let mut queue =
        Queue::new(machine, machine, trackers, layout, 1, Capabilities(0)).expect("fits");
    for slot in 0..2 {
        push(&mut queue, slot);
    }
    queue.ring();
    queue
}

fn push(queue: &mut Queue<&Machine, &Machine, [Tracker; 3]>, slot: usize) {
    let command = Command { opcode: 2, nsid: 1, cdw: [0; 3] };
    queue.push_addressed(slot, &command, (0, 0)).expect("room");
}

/// Completes the command of a slot in entry `index` of the completion ring, with this head.
fn answer(queue: &Queue<&Machine, &Machine, [Tracker; 3]>, index: u32, slot: usize, head: u32) {
    let words = queue.memory.words();
    let entry = (queue.cq_entry + index as usize) * 16;
    store(words, entry + 8, head);
    store(words, entry + 12, u32::from(queue.trackers[slot].cid) | PHASE);
}

#[test]
#[should_panic(expected = "the tail of the submission queue passes its head")]
fn the_tail_never_passes_flow_control() {
    let machine = machine();
    let mut queue = queue(&machine);
    push(&mut queue, 2);
    queue.sq_stop = queue.sq_rung;
    queue.ring();
}

#[test]
fn a_head_beyond_the_tail_is_not_believed() {
    let machine = machine();
    let mut queue = queue(&machine);
    for (index, (slot, head, stop)) in [(0, 3, 3), (1, 2, 1)].into_iter().enumerate() {
        answer(&queue, index as u32, slot, head);
        assert_eq!(queue.poll(|_| ()), 1);
        assert_eq!(queue.sq_stop, stop, "after the head {head}");
    }
}

#[test]
#[should_panic(expected = "trackers and commands in flight")]
fn a_lost_tracker_is_noticed() {
    let machine = machine();
    let mut queue = queue(&machine);
    answer(&queue, 0, 0, 1);
    assert_eq!(queue.poll(|_| ()), 1);
    for _ in 0..1000 {
        assert_eq!(queue.poll(|_| ()), 0);
    }
    queue.trackers[1].life = 0;
    for _ in 0..1000 {
        queue.poll(|_| ());
    }
}

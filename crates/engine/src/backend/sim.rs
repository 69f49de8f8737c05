//! A virtual drive: the model returns the completion time of an operation, and virtual time jumps
//! to it.
//!
//! It is deterministic and as fast as the model. No data are moved, and buffers are not touched.
//! Several backends can share a drive, each with its own time; [`crate::conductor`] keeps them in
//! order.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::io;

use model::{CommandStatus, Completion as Command, Drive};
use rig::{SplitPart, TimeSplit, errno};
use workload::{Calls, Op, OpKind, Workload};

use super::{Backend, Completion, Wait};

/// Positions of a job's files on the drive.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileMap {
    /// First byte of each file; if empty, addresses are drive offsets.
    pub starts: Vec<u64>,
    /// Number of address bits that give the offset within a file.
    pub place_bits: u32,
}

impl FileMap {
    #[inline]
    fn locate(&self, address: u64) -> u64 {
        if self.starts.is_empty() {
            return address;
        }
        let file = (address >> self.place_bits) as usize;
        self.starts[file] + (address & ((1 << self.place_bits) - 1))
    }
}

pub(crate) struct Sim<'d> {
    drive: &'d RefCell<&'d mut Drive>,
    files: &'d FileMap,
    now: u64,
    /// The split of the operation of each slot, when it completes at once.
    splits: Vec<TimeSplit>,
    /// Completion time, slot and result of operations in flight, earliest first.
    in_flight: BinaryHeap<Reverse<(u64, u32, i64)>>,
    /// Slots of writes whose flush is not submitted yet, if writes are durable when they complete.
    unflushed: Option<HashSet<u32>>,
    /// Time per byte of the host's stream calls, nanoseconds; 0 without stream calls.
    byte_ns: u64,
    /// Time that this thread takes for each completed I/O, nanoseconds, and when it is free again.
    thread_ns: u64,
    thread_free: u64,
    /// Bytes read that the host has not yet taken from the stream.
    unread_bytes: u64,
    /// Share of the content written that reaches flash.
    stored_share: f64,
    /// Flash traffic and time at the beginning of a stretch.
    stretch: (model::Traffic, u64),
}

impl<'d> Sim<'d> {
    /// A backend on a drive at time `now`, for the calls and the content of a workload.
    pub(crate) fn new(
        drive: &'d RefCell<&'d mut Drive>,
        now: u64,
        workload: &Workload,
        files: &'d FileMap,
    ) -> Sim<'d> {
        let byte_ns = match workload.calls {
            Calls::Bytes { host_ns } => u64::from(host_ns),
            Calls::Best | Calls::Plain => 0,
        };
        let stored_share = drive.borrow().stored_share(&workload.content);
        let in_flight = BinaryHeap::new();
        let (unflushed, splits) = (None, Vec::new());
        let unread_bytes = 0;
        let thread_ns = drive.borrow().thread_ns();
        Sim {
            drive,
            files,
            now,
            splits,
            in_flight,
            unflushed,
            byte_ns,
            thread_ns,
            thread_free: 0,
            unread_bytes,
            stored_share,
            stretch: Default::default(),
        }
    }

    /// Makes every write durable when it completes: a flush follows it, as in the kernel for
    /// O_SYNC and O_DSYNC on a drive with a write cache.
    pub(crate) fn durable(self, durable: bool) -> Sim<'d> {
        Sim { unflushed: durable.then(HashSet::new), ..self }
    }

    /// Stands for this many threads of the host, which share its I/O evenly.
    pub(crate) fn threads(self, count: usize) -> Sim<'d> {
        Sim { thread_ns: self.thread_ns / count.max(1) as u64, ..self }
    }

    /// Submits the flush after a durable write that has completed; returns whether there is one.
    fn flush_after_write(&mut self, slot: u32, result: i64) -> bool {
        let waits = self.unflushed.as_mut().is_some_and(|slots| slots.remove(&slot));
        if !waits || result < 0 {
            return false;
        }
        let (flush, flushed) = self.submit(Op::FLUSH);
        let result = if flushed < 0 { flushed } else { result };
        let split = self.split_of(&flush);
        self.splits[slot as usize].add(&split);
        self.in_flight.push(Reverse((flush.done_ns, slot, result)));
        true
    }

    /// When this thread has taken an operation that completes at `done`.
    #[inline]
    fn taken_at(&self, done: u64) -> u64 {
        if self.thread_ns == 0 { done } else { done.max(self.thread_free) + self.thread_ns }
    }

    /// The time at which `count` operations have completed, or all if fewer are in flight.
    #[cold]
    fn nth_completion(&self, count: usize) -> Option<u64> {
        let mut times: Vec<u64> = self.in_flight.iter().map(|Reverse(first)| first.0).collect();
        let last = count.min(times.len()).checked_sub(1)?;
        Some(*times.select_nth_unstable(last).1)
    }

    /// Where the time of a command issued now goes.
    #[inline]
    fn split_of(&self, command: &Command) -> TimeSplit {
        let Command { done_ns, link_ns, host_ns, .. } = *command;
        let drive_ns = done_ns.saturating_sub(self.now + link_ns + host_ns);
        let split = TimeSplit::default().with(SplitPart::Drive, drive_ns);
        split.with(SplitPart::Link, link_ns).with(SplitPart::Host, host_ns)
    }

    #[inline]
    fn submit(&mut self, op: Op) -> (Command, i64) {
        let located = Op { offset: self.files.locate(op.offset), ..op };
        let mut drive = self.drive.borrow_mut();
        if op.kind == OpKind::Write {
            drive.set_stored_share(self.stored_share);
        }
        let completion = drive.submit(self.now, &located);
        let result = match completion.status {
            CommandStatus::Ok => i64::from(op.bytes),
            CommandStatus::Invalid => -i64::from(errno::EINVAL),
            CommandStatus::ReadOnly => -i64::from(errno::EROFS),
        };
        (completion, result)
    }
}

impl Backend for Sim<'_> {
    /// Virtual time jumps exactly to the next due time.
    fn spin_ns(&self) -> u64 {
        0
    }

    fn carries_data(&self) -> bool {
        false
    }

    fn is_virtual(&self) -> bool {
        true
    }

    #[inline]
    fn now(&self) -> u64 {
        self.now
    }

    #[inline]
    fn split(&self, slot: u32) -> TimeSplit {
        self.splits.get(slot as usize).copied().unwrap_or_default()
    }

    fn temperature(&mut self) -> Option<f64> {
        Some(self.drive.borrow_mut().temperature(self.now))
    }

    /// Empty, because this backend carries no data.
    fn buffer(&mut self, _slot: u32, _bytes: u32) -> &mut [u8] {
        &mut []
    }

    fn read_zeros(&mut self, _slot: u32, op: &Op) -> bool {
        !self.drive.borrow().is_mapped(self.files.locate(op.offset))
    }

    #[inline]
    fn push(&mut self, slot: u32, op: Op) {
        match op.kind {
            OpKind::Write => self.now += self.byte_ns * u64::from(op.bytes),
            OpKind::Read => self.unread_bytes += u64::from(op.bytes),
            OpKind::Flush | OpKind::Discard => {}
        }
        if let Some(slots) = self.unflushed.as_mut().filter(|_| op.kind == OpKind::Write) {
            slots.insert(slot);
        }
        let (command, result) = self.submit(op);
        let index = slot as usize;
        if self.splits.len() <= index {
            self.splits.resize(index + 1, TimeSplit::default());
        }
        self.splits[index] = self.split_of(&command);
        self.in_flight.push(Reverse((command.done_ns, slot, result)));
    }

    fn longest_leap(&self, writes: bool, work: f64) -> u64 {
        let is_plain = self.unflushed.is_none() && self.files.starts.is_empty();
        if is_plain { self.drive.borrow().longest_leap(writes, work) } else { 0 }
    }

    fn work_of_dies(&self) -> model::WorkOfDies {
        self.drive.borrow().work_of_dies()
    }

    fn begin_stretch(&mut self) {
        self.stretch = (self.drive.borrow().traffic(), self.now);
    }

    fn stretch_traffic(&self, ns: u64) -> model::Traffic {
        let (before, start_ns) = self.stretch;
        let traffic = self.drive.borrow().traffic();
        let share = ns as f64 / (self.now - start_ns).max(1) as f64;
        let mean = |after: u64, before: u64| ((after - before) as f64 * share) as u64;
        model::Traffic {
            programmed: mean(traffic.programmed, before.programmed),
            sensed: mean(traffic.sensed, before.sensed),
            worked_ns: mean(traffic.worked_ns, before.worked_ns),
        }
    }

    fn leap(&mut self, leap: &model::Leap, offsets: &mut dyn Iterator<Item = u64>) -> bool {
        self.drive.borrow_mut().leap(leap, offsets)
    }

    fn end_leap(&mut self, ns: u64) {
        let in_flight = std::mem::take(&mut self.in_flight).into_iter();
        self.in_flight = in_flight
            .map(|Reverse((time, slot, result))| Reverse((time + ns, slot, result)))
            .collect();
        self.thread_free += ns;
        self.now += ns;
    }

    #[inline]
    fn returns_at(&self, wait: Wait) -> Option<u64> {
        let next = self.in_flight.peek().map(|Reverse(first)| self.taken_at(first.0));
        match (wait, next) {
            (Wait::No, _) => None,
            (Wait::For(0 | 1), next) => next,
            // This thread takes one at a time.
            (Wait::For(_), next) if self.thread_ns > 0 => next,
            (Wait::For(count), _) => self.nth_completion(count as usize),
            (Wait::Until(time), next) => Some(next.map_or(time, |next| next.min(time))),
        }
    }

    #[inline]
    fn turn(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        if let Some(time) = self.returns_at(wait) {
            self.now = self.now.max(time);
        }
        while let Some(&Reverse((time, slot, result))) = self.in_flight.peek() {
            let taken_at = self.taken_at(time);
            if taken_at > self.now {
                break;
            }
            self.thread_free = taken_at;
            self.in_flight.pop();
            if !self.flush_after_write(slot, result) {
                done.push(Completion { slot, result });
            }
        }
        if self.in_flight.is_empty() {
            self.now += self.byte_ns * std::mem::take(&mut self.unread_bytes);
        }
        Ok(())
    }

    fn starts(&self) -> Vec<u64> {
        let files = self.files.starts.len().max(1) as u64;
        (0..files).map(|number| number << self.files.place_bits).collect()
    }

    fn sync(&mut self, address: u64) -> io::Result<()> {
        let (command, _) = self.submit(Op { offset: address, ..Op::FLUSH });
        self.now = self.now.max(command.done_ns);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use model::DriveSpec;
    use workload::{Mix, Pattern, Region};

    use super::*;

    /// Time of a write on its own, nanoseconds.
    fn write_ns(durable: bool) -> u64 {
        let spec = DriveSpec::preset("samsung-980-pro-1t").expect("a preset");
        let mut drive = Drive::new(&spec, 1);
        let drive = RefCell::new(&mut drive);
        let region = Region { start: 0, bytes: 1 << 20 };
        let workload = Workload::new("w", Pattern::Sequential, Mix::WRITE, 4096, region);
        let files = FileMap::default();
        let mut sim = Sim::new(&drive, 0, &workload, &files).durable(durable);
        sim.push(0, Op { kind: OpKind::Write, offset: 0, bytes: 4096 });
        let mut done = Vec::new();
        while done.is_empty() {
            sim.turn(Wait::For(1), &mut done).expect("a virtual drive");
        }
        assert!(done.len() == 1 && done[0].result == 4096 && sim.in_flight.is_empty());
        sim.now
    }

    #[test]
    fn a_durable_write_takes_the_time_of_its_flush_and_completes_once() {
        let (cached, durable) = (write_ns(false), write_ns(true));
        assert!(durable > 5 * cached, "{durable} ns, without a flush {cached} ns");
    }

    #[test]
    fn the_split_of_a_command_is_its_time() {
        for (preset, host_us) in [("samsung-980-pro-1t", 7.0), ("sd-150x", 300.0)] {
            let mut spec = DriveSpec::preset(preset).expect("a preset");
            spec.host.command_us = model::Figure::guess(host_us);
            let mut drive = Drive::new(&spec, 1);
            let drive = RefCell::new(&mut drive);
            let region = Region { start: 0, bytes: 1 << 20 };
            let workload = Workload::new("r", Pattern::Sequential, Mix::READ, 4096, region);
            let files = FileMap::default();
            let mut sim = Sim::new(&drive, 0, &workload, &files);
            let (mut done, mut sum, mut total_ns) = (Vec::new(), TimeSplit::default(), 0);
            for number in 0..256 {
                let begin = sim.now;
                sim.push(0, Op { kind: OpKind::Read, offset: number * 4096, bytes: 4096 });
                sim.turn(Wait::For(1), &mut done).expect("a virtual drive");
                sum.add(&sim.split(0).of_one(sim.now - begin));
                total_ns += sim.now - begin;
            }
            let [drive_ns, link_ns, host_ns] = [SplitPart::Drive, SplitPart::Link, SplitPart::Host]
                .map(|part| sum.part_ns(part) as f64);
            assert_eq!((sum.ops, sum.total_ns), (256, total_ns));
            assert!((host_ns / 256e3 / host_us - 1.0).abs() < 0.05, "{preset}: {host_ns}");
            assert!(drive_ns > 0.0 && link_ns > 0.0, "{preset}: {sum:?}");
            assert!(sum.unexplained_ns() as f64 <= 0.05 * total_ns as f64, "{preset}: {sum:?}");
        }
    }

    #[test]
    fn a_turn_waits_for_the_requested_number_of_completions() {
        let spec = DriveSpec::preset("sd-150x").expect("a preset");
        let mut drive = Drive::new(&spec, 1);
        let drive = RefCell::new(&mut drive);
        let region = Region { start: 0, bytes: 1 << 20 };
        let block = 64 << 10;
        let workload = Workload::new("w", Pattern::Sequential, Mix::WRITE, block, region);
        let (mut now, files) = (0, FileMap::default());
        for (requested, completed) in [(1, 1), (3, 3), (4, 4), (9, 4)] {
            let mut sim = Sim::new(&drive, now, &workload, &files);
            for slot in 0..4 {
                let offset = u64::from(slot * block);
                sim.push(slot, Op { kind: OpKind::Write, offset, bytes: block });
            }
            let mut done = Vec::new();
            sim.turn(Wait::For(requested), &mut done).expect("a virtual drive");
            assert_eq!(done.len(), completed, "of 4, waiting for {requested}");
            sim.turn(Wait::For(4), &mut done).expect("a virtual drive");
            now = sim.now;
        }
    }
}

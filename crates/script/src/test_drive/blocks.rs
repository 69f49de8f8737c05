//! The block interface of the test drive: channels with constant service times, stored content, and
//! stalls after chosen amounts of writes.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use record::Safety;
use rig::{BlockDone, BlockRequest, BlockWay, Blocks, Result, RigError};
use workload::Region;

use super::Fake;

/// Content, requests in flight and pending stalls.
#[derive(Default)]
pub struct Door {
    content: BTreeMap<u64, Box<[u8]>>,
    channels: Vec<u64>,
    /// Numbers of the open blocks, the last one used last.
    open: Vec<u64>,
    flight: Vec<BlockDone>,
    /// Bytes written through this interface after which a write stalls, and the stall in
    /// nanoseconds.
    pub stalls: Vec<(u64, u64)>,
    pub written: u64,
    /// Number of writes that are kept; later ones are silently lost.
    pub keeps: Option<u64>,
    /// Where there is no memory, but a cache of the latest writes there.
    hollow: Option<Hollow>,
    /// Requests left until the end, and the kind of end.
    end: Option<(u64, End)>,
    /// The drive is disconnected: every request fails.
    gone: bool,
    /// The bytes of `submit_unkept` are also stored, so that tests can check them.
    pub keeps_frames: bool,
    /// The content replaced by the writes since the last flush.
    undo: Vec<Replaced>,
    /// Bytes that reached the drive, including those overwritten since.
    pub landed: u64,
    /// Every write at or after this offset fails.
    pub dead_from: Option<u64>,
    /// Flushes that succeed; later ones fail.
    pub flushes: Option<u64>,
    /// The regions of all block reads, in order.
    pub reads: Vec<Region>,
}

/// An event that ends the use of a drive.
#[derive(Clone, Copy, PartialEq)]
enum End {
    /// The run is killed; the drive completes the requests in flight.
    Kill,
    /// The run is killed and the drive loses power. Any write since the last flush may be lost or
    /// torn.
    PowerCut,
    /// The drive is pulled out, with the same losses. The run is not killed.
    Pull,
}

/// A range of addresses without memory.
#[derive(Default)]
struct Hollow {
    range: Range<u64>,
    /// How many bytes a cache holds of it.
    cached_bytes: u64,
    /// The blocks in the cache, each with the turn of its latest write.
    turns: BTreeMap<u64, u64>,
    /// All writes, the latest last: the turn is how many there were before.
    writes: VecDeque<(u64, u64)>,
    count: u64,
}

/// A write, and the content of its blocks before.
type Replaced = Vec<(u64, Option<Box<[u8]>>)>;

impl Fake {
    /// Adds stalls: the bytes written through the block interface, and the stall in nanoseconds.
    pub fn that_stalls(mut self, stalls: &[(u64, u64)]) -> Fake {
        self.door.stalls = stalls.to_vec();
        self
    }

    /// Makes the drive lose every write of stored content after the first `writes`.
    pub fn that_keeps(mut self, writes: u64) -> Fake {
        self.door.keeps = Some(writes);
        self
    }

    /// Makes the drive lose all but the latest writes to a range of addresses, of which a cache holds
    /// so many bytes.
    pub fn that_is_hollow(mut self, range: Range<u64>, cached_bytes: u64) -> Fake {
        self.door.hollow = Some(Hollow { range, cached_bytes, ..Hollow::default() });
        self
    }

    /// Kills the run after this many requests. Without a power cut, the drive completes the
    /// requests in flight; with one, any write since the last flush may be lost or torn.
    pub fn kill_in(&mut self, requests: u64, power_cut: bool) {
        self.door.end = Some((requests, if power_cut { End::PowerCut } else { End::Kill }));
    }

    /// Pulls the drive out after this many requests: the last of them and all later ones fail.
    pub fn pull_out_in(&mut self, requests: u64) {
        self.door.end = Some((requests, End::Pull));
    }

    /// Reconnects the drive with its current content.
    pub fn restart(&mut self) {
        (self.interrupted, self.door.gone) = (false, false);
        self.door.end = None;
        self.door.flight.clear();
        self.door.undo.clear();
    }

    /// Flips a bit of the stored content.
    pub fn flip_bit(&mut self, offset: u64) {
        let size = u64::from(self.info.logical_block_bytes);
        let block = self.door.content.get_mut(&(offset / size)).expect("written");
        block[(offset % size) as usize] ^= 1;
    }

    /// Overwrites stored content with that of another place.
    pub fn copy_over(&mut self, from: Region, to: u64) {
        let mut bytes = vec![0; from.bytes as usize];
        self.copy_content(from.start, &mut bytes);
        let size = u64::from(self.info.logical_block_bytes);
        for (number, block) in (to / size..).zip(bytes.chunks(size as usize)) {
            self.door.content.insert(number, block.into());
        }
    }

    /// Loses the stored content of a region.
    pub fn erase_content(&mut self, region: Region) {
        let size = u64::from(self.info.logical_block_bytes);
        let lost = region.start / size..region.end() / size;
        self.door.content.retain(|number, _| !lost.contains(number));
    }

    /// Counts a request towards the end.
    fn approach_end(&mut self) {
        let Some((left, end)) = &mut self.door.end else { return };
        *left = left.saturating_sub(1);
        let (left, end) = (*left, *end);
        if left > 0 || self.door.gone {
            return;
        }
        (self.interrupted, self.door.gone) = (end != End::Pull, end == End::Pull);
        if end != End::Kill {
            self.cut_power();
        }
        if end == End::Pull {
            self.door.flight.iter_mut().for_each(|one| one.result = Err(eio()));
        }
    }

    /// Returns an error if the drive is disconnected.
    fn there(&self, action: &str) -> Result<()> {
        if self.door.gone {
            Err(RigError::Io { context: action.into(), source: eio() })
        } else {
            Ok(())
        }
    }

    /// Loses a third of the writes since the last flush, and tears another third.
    fn cut_power(&mut self) {
        let block_bytes = u64::from(self.info.logical_block_bytes);
        while let Some(replaced) = self.door.undo.pop() {
            self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let lost_from = match (self.dice >> 33) % 3 {
                0 => continue,
                1 => 0,
                _ => replaced.len() / 2,
            };
            self.door.landed -= replaced.len() as u64 * block_bytes;
            for (number, old) in replaced.into_iter().skip(lost_from) {
                match old {
                    Some(old) => self.door.content.insert(number, old),
                    None => self.door.content.remove(&number),
                };
            }
        }
    }

    /// Occupies a channel for a transfer; returns its end time.
    fn serve(&mut self, bytes: u64) -> u64 {
        let traits = &self.traits;
        self.door.channels.resize(traits.channels, 0);
        let channel = self.door.channels.iter_mut().min().expect("at least one");
        let service = traits.command_ns + (bytes as f64 / traits.rate * 1e9) as u64;
        let done_ns = self.now_ns.max(*channel) + service;
        *channel = done_ns;
        done_ns
    }

    /// Time that a read takes longer because it wakes the drive or crosses a boundary.
    fn waiting_ns(&mut self, request: &BlockRequest) -> u64 {
        let last = request.offset + request.bytes.len() as u64 - 1;
        let crosses = |(bytes, _): &(u64, u64)| request.offset / bytes != last / bytes;
        let crossing = self.traits.boundary.filter(crosses).map_or(0, |(_, ns)| ns);
        let waking = self.traits.sleep.filter(|_| std::mem::take(&mut self.asleep));
        crossing + waking.map_or(0, |(_, ns)| ns)
    }

    /// Time that a write takes longer because it opens a block.
    fn opening_ns(&mut self, offset: u64) -> u64 {
        let Some((bytes, most, ns)) = self.traits.open else { return 0 };
        let block = offset / bytes;
        let is_open = self.door.open.contains(&block);
        self.door.open.retain(|other| *other != block);
        self.door.open.push(block);
        let closed = self.door.open.len().saturating_sub(most);
        self.door.open.drain(..closed);
        if is_open { 0 } else { ns }
    }

    /// Reads the stored content; blocks without content are zero.
    fn fetch(&mut self, mut request: BlockRequest) {
        let done_ns = self.serve(request.bytes.len() as u64) + self.waiting_ns(&request);
        self.copy_content(request.offset, &mut request.bytes);
        let result = if self.door.gone { Err(eio()) } else { Ok(()) };
        let submitted_ns = self.now_ns;
        self.door.flight.push(BlockDone { request, submitted_ns, done_ns, result });
    }

    /// Returns whether every block of a region has content.
    pub fn holds_content(&self, region: Region) -> bool {
        let size = u64::from(self.info.logical_block_bytes);
        let mut blocks = region.start / size..region.end().div_ceil(size);
        blocks.all(|number| self.door.content.contains_key(&number))
    }

    fn copy_content(&self, offset: u64, buffer: &mut [u8]) {
        let size = u64::from(self.info.logical_block_bytes);
        for (number, block) in (offset / size..).zip(buffer.chunks_mut(size as usize)) {
            match self.door.content.get(&number) {
                Some(content) => block.copy_from_slice(content),
                None => block.fill(0),
            }
        }
    }

    /// Starts a flush. Writes that are in flight stay volatile.
    fn start_flush(&mut self, request: BlockRequest) {
        let now = self.now_ns;
        let pending = |one: &&BlockDone| one.request.way == BlockWay::Write && one.done_ns > now;
        let volatile = self.door.flight.iter().filter(pending).count();
        let durable = self.door.undo.len().saturating_sub(volatile);
        self.door.undo.drain(..durable);
        let (submitted_ns, done_ns) = (now, now + self.traits.flush_ns);
        let result = if self.door.gone { Err(eio()) } else { Ok(()) };
        self.door.flight.push(BlockDone { request, submitted_ns, done_ns, result });
    }

    /// Forgets the oldest content of the cache, after a write.
    fn push_out_of_cache(&mut self, offset: u64, bytes: u64) {
        let size = u64::from(self.info.logical_block_bytes);
        let Some(hollow) = &mut self.door.hollow else { return };
        for number in offset / size..(offset + bytes) / size {
            if hollow.range.contains(&(number * size)) {
                hollow.turns.insert(number, hollow.count);
                hollow.writes.push_back((number, hollow.count));
                hollow.count += 1;
            }
        }
        while hollow.turns.len() as u64 * size > hollow.cached_bytes {
            let Some((number, turn)) = hollow.writes.pop_front() else { break };
            if hollow.turns.get(&number) == Some(&turn) {
                hollow.turns.remove(&number);
                self.door.content.remove(&number);
            }
        }
    }

    fn accept(&mut self, request: BlockRequest, kept: bool) {
        if request.way == BlockWay::Flush {
            return self.start_flush(request);
        }
        let (size, bytes) = (u64::from(self.info.logical_block_bytes), request.bytes.len() as u64);
        let region = Region { start: request.offset, bytes };
        assert!(region.end() <= self.info.bytes && bytes.is_multiple_of(size), "{region:?}");
        if request.way == BlockWay::Read {
            self.door.reads.push(region);
            return self.fetch(request);
        }
        assert!(self.info.allowed >= Safety::Scratch);
        let covers = |r: &Region| r.start <= region.start && region.end() <= r.end();
        let lent = self.info.allowed == Safety::Borrows;
        assert!(!lent || self.borrowed.iter().any(covers), "{region:?} was not borrowed");
        let keeps = self.door.keeps.is_none_or(|left| left > 0) || !kept;
        if kept {
            self.door.keeps = self.door.keeps.map(|left| left.saturating_sub(1));
        }
        let dead = self.door.gone || self.door.dead_from.is_some_and(|from| request.offset >= from);
        let mut replaced = Replaced::new();
        for (number, block) in (request.offset / size..).zip(request.bytes.chunks(size as usize)) {
            let old = match kept {
                _ if !keeps || dead => continue,
                true => self.door.content.insert(number, block.into()),
                false => self.door.content.remove(&number),
            };
            replaced.push((number, old));
        }
        self.push_out_of_cache(request.offset, bytes);
        self.door.landed += replaced.len() as u64 * size;
        if self.door.end.is_some() {
            self.door.undo.push(replaced);
        }
        self.flash.fill(region);
        (self.written, self.door.written) = (self.written + bytes, self.door.written + bytes);
        let due = |stall: &&(u64, u64)| stall.0 < self.door.written;
        let stall = self.door.stalls.first().filter(due).map_or(0, |stall| stall.1);
        if stall > 0 {
            self.door.stalls.remove(0);
        }
        let done_ns = self.serve(bytes) + self.opening_ns(region.start);
        let traits = &self.traits;
        self.door.channels.iter_mut().for_each(|free| *free += stall);
        let done_ns = done_ns + stall;
        let gone = dead || traits.vanishes_at_ns.is_some_and(|end| done_ns >= end);
        let result = if gone { Err(eio()) } else { Ok(()) };
        let submitted_ns = self.now_ns;
        self.door.flight.push(BlockDone { request, submitted_ns, done_ns, result });
    }
}

pub(super) fn eio() -> std::io::Error {
    rig::errno::error(rig::errno::EIO)
}

impl Blocks for Fake {
    fn depth(&mut self) -> Result<u32> {
        Ok(64)
    }

    fn submit(&mut self, request: BlockRequest) -> Result<()> {
        self.alive()?;
        self.accept(request, true);
        self.approach_end();
        Ok(())
    }

    fn submit_unkept(&mut self, request: BlockRequest) -> Result<()> {
        self.accept(request, self.door.keeps_frames);
        self.approach_end();
        Ok(())
    }

    fn poll(&mut self, wait: bool, done: &mut Vec<BlockDone>) -> Result<()> {
        self.alive()?;
        let first = self.door.flight.iter().map(|one| one.done_ns).min();
        if let Some(first) = first.filter(|_| wait) {
            self.now_ns = self.now_ns.max(first);
        }
        self.door.flight.sort_by_key(|one| one.done_ns);
        let ready = self.door.flight.partition_point(|one| one.done_ns <= self.now_ns);
        done.extend(self.door.flight.drain(..ready));
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let last = self.door.flight.iter().map(|one| one.done_ns).max().unwrap_or(0);
        self.now_ns = self.now_ns.max(last) + self.traits.flush_ns;
        self.there("flush")?;
        if self.door.flushes == Some(0) {
            return Err(RigError::Io { context: "flush".into(), source: eio() });
        }
        self.door.flushes = self.door.flushes.map(|left| left - 1);
        self.door.undo.clear();
        Ok(())
    }

    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.there("read")?;
        self.door.reads.push(Region { start: offset, bytes: buffer.len() as u64 });
        self.copy_content(offset, buffer);
        self.now_ns += self.traits.command_ns;
        Ok(())
    }
}

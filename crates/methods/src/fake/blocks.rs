//! The block door of the tests' drive: channels with constant service times, content that is kept, and
//! stalls at chosen bytes.

use std::collections::BTreeMap;

use record::Safety;
use rig::{BlockDone, BlockRequest, BlockWay, Blocks, Result};
use workload::Region;

use super::Fake;

/// Content, requests in flight and the stalls to come.
#[derive(Default)]
pub(crate) struct Door {
    content: BTreeMap<u64, Box<[u8]>>,
    channels: Vec<u64>,
    flight: Vec<BlockDone>,
    /// Bytes written through the door after which a write takes so many nanoseconds longer.
    pub stalls: Vec<(u64, u64)>,
    pub written: u64,
    /// Writes that are kept; all further ones are lost in silence.
    pub keeps: Option<u64>,
}

impl Fake {
    /// The same drive with stalls: bytes written through the block door, and nanoseconds.
    pub fn that_stalls(mut self, stalls: &[(u64, u64)]) -> Fake {
        self.door.stalls = stalls.to_vec();
        self
    }

    /// The same drive, which loses every write of kept content after the first ones.
    pub fn that_keeps(mut self, writes: u64) -> Fake {
        self.door.keeps = Some(writes);
        self
    }

    /// Takes a channel for a transfer; returns its end.
    fn serve(&mut self, bytes: u64) -> u64 {
        let traits = &self.traits;
        self.door.channels.resize(traits.channels, 0);
        let channel = self.door.channels.iter_mut().min().expect("at least one");
        let service = traits.command_ns + (bytes as f64 / traits.rate * 1e9) as u64;
        let done_ns = self.now_ns.max(*channel) + service;
        *channel = done_ns;
        done_ns
    }

    /// Reads what was kept; everything else is zero.
    fn fetch(&mut self, mut request: BlockRequest) {
        let done_ns = self.serve(request.bytes.len() as u64);
        self.copy_content(request.offset, &mut request.bytes);
        let submitted_ns = self.now_ns;
        self.door.flight.push(BlockDone { request, submitted_ns, done_ns, result: Ok(()) });
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

    fn accept(&mut self, request: BlockRequest, kept: bool) {
        let (size, bytes) = (u64::from(self.info.logical_block_bytes), request.bytes.len() as u64);
        let region = Region { start: request.offset, bytes };
        assert!(region.end() <= self.info.bytes && bytes.is_multiple_of(size), "{region:?}");
        if request.way == BlockWay::Read {
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
        for (number, block) in (request.offset / size..).zip(request.bytes.chunks(size as usize)) {
            match kept {
                _ if !keeps => None,
                true => self.door.content.insert(number, block.into()),
                false => self.door.content.remove(&number),
            };
        }
        self.flash.fill(region);
        (self.written, self.door.written) = (self.written + bytes, self.door.written + bytes);
        let due = |stall: &&(u64, u64)| stall.0 < self.door.written;
        let stall = self.door.stalls.first().filter(due).map_or(0, |stall| stall.1);
        if stall > 0 {
            self.door.stalls.remove(0);
        }
        let done_ns = self.serve(bytes);
        let traits = &self.traits;
        self.door.channels.iter_mut().for_each(|free| *free += stall);
        let done_ns = done_ns + stall;
        let gone = traits.vanishes_at_ns.is_some_and(|end| done_ns >= end);
        let result = if gone { Err(std::io::Error::from_raw_os_error(5)) } else { Ok(()) };
        let submitted_ns = self.now_ns;
        self.door.flight.push(BlockDone { request, submitted_ns, done_ns, result });
    }
}

impl Blocks for Fake {
    fn depth(&mut self) -> Result<u32> {
        Ok(64)
    }

    fn submit(&mut self, request: BlockRequest) -> Result<()> {
        self.accept(request, true);
        Ok(())
    }

    fn submit_unkept(&mut self, request: BlockRequest) -> Result<()> {
        self.accept(request, false);
        Ok(())
    }

    fn poll(&mut self, wait: bool, done: &mut Vec<BlockDone>) -> Result<()> {
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
        Ok(())
    }

    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.copy_content(offset, buffer);
        self.now_ns += self.traits.command_ns;
        Ok(())
    }
}

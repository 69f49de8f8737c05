//! I/O commands: PRP lists and data.

use nvme::{PAGE_BYTES, opcode};
use workload::{Op, OpKind};

use crate::queues::Fetched;
use crate::simulated::State;

/// Status codes. Errors that a retry cannot fix have the bit "do not retry".
const OK: u16 = 0;
const NO_COMMAND: u16 = 0x4001;
const TRANSFER: u16 = 0x4004;
const NO_NAMESPACE: u16 = 0x400b;
const OUT_OF_RANGE: u16 = 0x4080;
const FORCE_UNIT_ACCESS: u32 = 1 << 30;
/// Largest discard of a virtual drive, bytes; a larger range is split.
const DISCARD_BYTES_MAX: u64 = 1 << 30;

/// A piece of memory: index of the region, offset in it, number of bytes.
type Piece = (usize, usize, usize);

impl State {
    /// Executes an I/O command and returns its status.
    pub(crate) fn carry_out(&mut self, command: &Fetched) -> u16 {
        let index = (command.nsid as usize).wrapping_sub(1);
        let Some(media) = self.media.get_mut(index) else { return NO_NAMESPACE };
        let ranged = [opcode::READ, opcode::WRITE, opcode::WRITE_ZEROES].contains(&command.opcode);
        if ranged && !media.holds(command.lba(), command.blocks()) {
            return OUT_OF_RANGE;
        }
        match command.opcode {
            opcode::FLUSH => media.flush(),
            opcode::READ | opcode::WRITE => return self.transfer(command, index, command.blocks()),
            opcode::WRITE_ZEROES => media.zero(command.lba(), command.blocks()),
            opcode::DATASET => return self.dataset(command, index),
            _ => return NO_COMMAND,
        }
        OK
    }

    /// Executes part of a write, like an interrupted command.
    pub(crate) fn carry_out_some(&mut self, command: &Fetched) {
        let part = self.random.below(command.blocks() + 1);
        let index = (command.nsid as usize).wrapping_sub(1);
        let media = self.media.get(index).filter(|_| command.opcode == opcode::WRITE);
        if media.is_some_and(|media| media.holds(command.lba(), command.blocks())) {
            self.transfer(command, index, part);
        }
    }

    /// Transfers the data of a read, or the first `part` blocks of a write.
    fn transfer(&mut self, command: &Fetched, index: usize, part: u64) -> u16 {
        let block = self.media[index].block_bytes as usize;
        let Some(pieces) = self.pieces(command, command.blocks() as usize * block) else {
            return TRANSFER;
        };
        let mut buffer = std::mem::take(self.block());
        let length = command.blocks() as usize * block;
        buffer.resize(length.max(buffer.len()), 0);
        let data = &mut buffer[..length];
        let durable = command.cdw[2] & FORCE_UNIT_ACCESS != 0;
        let writes = command.opcode == opcode::WRITE;
        if !writes {
            let blocks = data.chunks_exact_mut(block);
            (command.lba()..).zip(blocks).for_each(|(lba, b)| self.media[index].read(lba, b));
        }
        let mut start = 0;
        for (memory, offset, bytes) in pieces {
            let (range, part) = (offset..offset + bytes, &mut data[start..start + bytes]);
            if writes {
                self.memories[memory].read(range, part)
            } else {
                self.memories[memory].write(range, part)
            }
            start += bytes;
        }
        if writes {
            let blocks = data.chunks_exact(block).take(part as usize);
            let media = &mut self.media[index];
            (command.lba()..).zip(blocks).for_each(|(lba, b)| media.write(lba, b, durable));
        }
        *self.block() = buffer;
        OK
    }

    fn dataset(&mut self, command: &Fetched, index: usize) -> u16 {
        for number in 0..command.ranges() {
            let Some((lba, blocks)) = self.range(command, number) else { return TRANSFER };
            if !self.media[index].holds(lba, blocks) {
                return OUT_OF_RANGE;
            }
            if command.discards() {
                self.media[index].zero(lba, blocks);
            }
        }
        OK
    }

    /// Returns the first block and the number of blocks of a range in the list of a command.
    fn range(&mut self, command: &Fetched, number: u64) -> Option<(u64, u64)> {
        let address = command.prp[0] + 16 * number;
        let (blocks, low, high) =
            (self.word(address + 4)?, self.word(address + 8)?, self.word(address + 12)?);
        Some((u64::from(low) | u64::from(high) << 32, u64::from(blocks)))
    }

    /// Returns the discards of a command on a virtual drive.
    pub(crate) fn discards(&mut self, command: &Fetched, block: u64) -> Vec<Op> {
        let ranges: Vec<(u64, u64)> =
            (0..command.ranges()).filter_map(|number| self.range(command, number)).collect();
        let index = (command.nsid as usize).wrapping_sub(1);
        let media = self.media.get(index).filter(|_| command.discards());
        let ranges = ranges
            .into_iter()
            .filter(|(lba, blocks)| media.is_some_and(|m| m.holds(*lba, *blocks)));
        let parts = ranges.flat_map(|(lba, blocks)| {
            let (start, bytes) = (lba * block, blocks * block);
            (0..bytes).step_by(DISCARD_BYTES_MAX as usize).map(move |at| {
                let bytes = (bytes - at).min(DISCARD_BYTES_MAX) as u32;
                Op { kind: OpKind::Discard, offset: start + at, bytes }
            })
        });
        parts.collect()
    }

    /// Returns the memory that a command refers to, page by page.
    fn pieces(&mut self, command: &Fetched, bytes: usize) -> Option<Vec<Piece>> {
        let transfer_max = self.setup.transfer_max;
        let exceeds = transfer_max != 0 && bytes > PAGE_BYTES << transfer_max;
        self.counters.violations += u64::from(exceeds);
        let [first, second] = command.prp;
        let length = bytes.min(PAGE_BYTES - first as usize % PAGE_BYTES);
        let (memory, offset) = self.find(first)?;
        let mut pieces = vec![(memory, offset, length)];
        let (mut left, mut list) = (bytes - length, second);
        let pages = left.div_ceil(PAGE_BYTES);
        for page in 0..pages {
            let mut address = second;
            if pages > 1 {
                address = self.entry(list)?;
                let last = list as usize % PAGE_BYTES == PAGE_BYTES - 8;
                if last && page + 1 < pages {
                    list = address;
                    address = self.entry(list)?;
                }
                list += 8;
            }
            let length = left.min(PAGE_BYTES);
            let (memory, offset) = self.find(address)?;
            // Only the first address can be within a page.
            self.counters.violations += u64::from(!address.is_multiple_of(PAGE_BYTES as u64));
            pieces.push((memory, offset, length));
            left -= length;
        }
        Some(pieces)
    }

    fn entry(&mut self, at: u64) -> Option<u64> {
        Some(u64::from(self.word(at)?) | u64::from(self.word(at + 4)?) << 32)
    }
}

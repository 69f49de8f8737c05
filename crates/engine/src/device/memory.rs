//! A device in memory, for tests: a drive without a file descriptor, like an NVMe drive driven from
//! user space.
//!
//! It has its own backend (operations complete when polled), identity, counters, discard and flush.
//! It shows that such a device needs only one more variant of [`super::AnyDevice`], and no change
//! in the worker or in [`crate::Machine`]. The command opens none; rooms above use it in tests.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drive::{DriveError, DriveKey, Sample};
use journal::Storage;
use record::Finding;
use rig::BackendKind;
use workload::{Caching, Op, OpKind, Region};

use super::{Device, IoAsk, UseBackend, arena};
use crate::backend::{Backend, Completion, Wait};
use crate::clock::Clock;
use crate::sys::arena::Arena;

/// The drive, shared by all queues and by the test.
#[derive(Clone)]
pub struct MemoryDevice(Arc<Mutex<MemoryDrive>>);

/// The drive's content and counters.
#[derive(Default)]
pub struct MemoryDrive {
    /// Its content.
    pub bytes: Vec<u8>,
    /// Its serial number: `MEM-1`, another if it was replaced, empty if it is gone.
    pub serial: String,
    /// Bytes moved.
    pub counters: Sample,
    /// Number of flushes.
    pub flushes: u64,
    /// Maximum number of operations in a queue when polled.
    pub depth_max: usize,
    /// Number of operations that succeed; all later ones fail.
    pub fails_after: Option<u64>,
    /// Operations carried out.
    pub ops: u64,
    /// Number of checks that it is still the drive that was opened.
    pub checks: u64,
    /// Wrong bits in what reads return, as of a bad reader or cable; the content stays right.
    pub flips: Option<Flips>,
    /// Writes that succeed but are not stored, among those of the share.
    pub losses: Option<Flips>,
    /// Writes that were not stored.
    pub lost: u64,
    /// Reads that returned a wrong bit.
    pub flipped: u64,
    /// Of these, reads of blocks that were borrowed or compared.
    pub flipped_borrowing: u64,
}

/// Faults now and then: reads that return one wrong bit, or writes that are lost.
#[derive(Clone, Copy, Debug)]
pub struct Flips {
    /// Share of the reads or writes, 0 to 1.
    pub share: f64,
    /// Whether reads are right until the first write.
    pub after_write: bool,
    /// Seed of the dice.
    pub seed: u64,
}

impl Flips {
    /// A number from 0 to `n` - 1.
    fn below(&mut self, n: u64) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.seed ^ self.seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ mixed >> 31) % n
    }
}

impl MemoryDevice {
    /// A drive of zeros.
    pub fn new(bytes: usize) -> MemoryDevice {
        let serial = "MEM-1".to_string();
        MemoryDevice(Arc::new(Mutex::new(MemoryDrive {
            bytes: vec![0; bytes],
            serial,
            ..MemoryDrive::default()
        })))
    }

    /// The drive, which tests inspect and change directly.
    pub fn drive(&self) -> MutexGuard<'_, MemoryDrive> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn io<U: UseBackend>(
        &self,
        ask: &IoAsk<'_>,
        placed: io::Result<()>,
        user: U,
    ) -> U::Out {
        let arena = placed.and_then(|()| arena(ask, ask.workload.depth));
        let queued = Vec::new();
        user.with(arena.map(|arena| Queue { memory: self, clock: ask.clock, arena, queued }))
    }
}

impl MemoryDrive {
    /// Reads content, with the flips.
    fn read(&mut self, at: usize, buffer: &mut [u8]) {
        buffer.copy_from_slice(&self.bytes[at..at + buffer.len()]);
        let is_written = self.counters.written_bytes > 0;
        let Some(flips) = self.flips.as_mut().filter(|f| is_written || !f.after_write) else {
            return;
        };
        if flips.below(1_000_000) < (flips.share * 1e6) as u64 {
            let bit = flips.below(8 * buffer.len() as u64) as usize;
            buffer[bit / 8] ^= 1 << (bit % 8);
            self.flipped += 1;
        }
    }

    /// Writes content, unless it is lost.
    fn write(&mut self, at: usize, bytes: &[u8]) {
        self.counters.written_bytes += bytes.len() as u64;
        let dice = self.losses.as_mut();
        if dice.is_some_and(|dice| dice.below(1_000_000) < (dice.share * 1e6) as u64) {
            self.lost += 1;
        } else {
            self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        }
    }

    /// Carries out an operation; returns the bytes moved or a negative error number.
    fn carry_out(&mut self, op: Op, buffer: &mut [u8]) -> i64 {
        self.ops += 1;
        if self.fails_after.is_some_and(|good| self.ops > good) {
            return -i64::from(libc::EIO);
        }
        let place = op.offset as usize..op.end() as usize;
        let bytes = u64::from(op.bytes);
        match op.kind {
            OpKind::Read => {
                self.read(place.start, buffer);
                self.counters.read_bytes += bytes;
            }
            OpKind::Write => self.write(place.start, buffer),
            OpKind::Discard => {
                self.bytes[place].fill(0);
                self.counters.discarded_bytes += bytes;
            }
            OpKind::Flush => self.flushes += 1,
        }
        i64::from(op.bytes)
    }
}

impl Device for MemoryDevice {
    fn best_backend(&self, _clock: Clock) -> (BackendKind, Option<Finding>) {
        (BackendKind::Psync, None)
    }

    fn bypasses_cache(&self, _caching: Caching) -> bool {
        true
    }

    fn storage(&self) -> Option<&dyn Storage> {
        Some(self)
    }

    fn flush(&self) -> io::Result<()> {
        self.drive().flushes += 1;
        Ok(())
    }

    fn discard(&self, region: Region) -> io::Result<()> {
        let op = Op { kind: OpKind::Discard, offset: region.start, bytes: region.bytes as u32 };
        self.drive().carry_out(op, &mut []);
        Ok(())
    }

    fn watch(&self) -> Option<Sample> {
        Some(Sample { temperature_c: Some(40.0), ..self.drive().counters })
    }

    fn identify(&self) -> Option<DriveKey> {
        let drive = self.drive();
        Some(DriveKey {
            path: "mem:0".into(),
            model: None,
            serial: Some(drive.serial.clone()),
            disk_bytes: drive.bytes.len() as u64,
            start: None,
            bytes: drive.bytes.len() as u64,
            backing_file: None,
            nsid: None,
        })
    }

    fn check(&self) -> Result<(), DriveError> {
        let mut drive = self.drive();
        drive.checks += 1;
        match drive.serial.as_str() {
            "MEM-1" => Ok(()),
            "" => Err(DriveError::Gone { path: "mem:0".into() }),
            other => Err(DriveError::Changed {
                path: "mem:0".into(),
                what: format!("its serial number was MEM-1, now {other}"),
            }),
        }
    }
}

impl Storage for MemoryDevice {
    fn read_exact(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut drive = self.drive();
        let before = drive.flipped;
        drive.read(offset as usize, buffer);
        drive.flipped_borrowing += drive.flipped - before;
        Ok(())
    }

    fn write_all(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.drive().write(offset as usize, bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.flush()
    }

    fn forget(&self, _region: Region) -> io::Result<()> {
        Ok(())
    }
}

/// A queue pair: polling completes the submitted operations, the latest first.
struct Queue<'m> {
    memory: &'m MemoryDevice,
    clock: Clock,
    arena: Arena,
    queued: Vec<(u32, Op)>,
}

impl Backend for Queue<'_> {
    fn now(&self) -> u64 {
        self.clock.now()
    }

    fn buffer(&mut self, slot: u32, bytes: u32) -> &mut [u8] {
        self.arena.slot(slot, bytes)
    }

    fn push(&mut self, slot: u32, op: Op) {
        self.queued.push((slot, op));
    }

    fn turn(&mut self, _wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        let mut drive = self.memory.drive();
        drive.depth_max = drive.depth_max.max(self.queued.len());
        for (slot, op) in self.queued.drain(..).rev() {
            let result = drive.carry_out(op, self.arena.slot(slot, op.bytes));
            done.push(Completion { slot, result });
        }
        Ok(())
    }

    fn read_back(&mut self, address: u64, buffer: &mut [u8]) -> io::Result<bool> {
        self.memory.read_exact(address, buffer).map(|()| true)
    }
}

//! The simulated controller as a [`Bus`], for tests: the same driver, backend and device as on VFIO.
//!
//! The controller's memory is words, and a transfer's bytes are copied to and from it. Its pages lie on
//! the bus in reverse order, so that a wrong PRP list is seen.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use controller::{Host, Media, Memory, Setup, Simulated, Timing};
use nvme::PAGE_BYTES;

use super::bus::{Bus, Transfers};

/// The serial number that the simulated controller reports.
pub(crate) const SERIAL: &str = "SSDYNO-SIM-1";

/// The wire to a simulated controller.
#[derive(Clone)]
pub(crate) struct Wire {
    pub controller: Arc<Simulated>,
    /// Bus addresses of memories do not overlap.
    next: Arc<AtomicU64>,
    /// The controller was kept from memory.
    pub cut: Arc<AtomicBool>,
}

impl Wire {
    /// A controller with a namespace of `blocks` blocks of 512 bytes.
    pub(crate) fn new(setup: Setup, blocks: u64) -> Wire {
        let media = Media::new(512, blocks, Timing::Fixed { ns: 20_000, spread_ns: 40_000 });
        let controller = Simulated::new(setup, vec![media]);
        Wire { controller, next: Arc::new(AtomicU64::new(1 << 32)), cut: Arc::default() }
    }
}

impl Bus for Wire {
    type Host = Host;
    type Head = Memory;
    type Data = Copied;

    fn host(&self) -> io::Result<Arc<Host>> {
        Ok(self.controller.host())
    }

    fn memory(&self, head_bytes: usize, data_bytes: usize) -> io::Result<(Arc<Memory>, Copied)> {
        let bytes = head_bytes + data_bytes.next_multiple_of(PAGE_BYTES);
        let base = self.next.fetch_add(bytes.next_multiple_of(1 << 20) as u64, Relaxed);
        let memory = Arc::new(Memory::new(base, bytes, head_bytes));
        self.controller.map(&memory);
        let copy = vec![0; bytes - head_bytes];
        Ok((memory.clone(), Copied { memory, head_bytes, copy }))
    }

    fn cut(&self) {
        self.cut.store(true, Relaxed);
    }
}

/// The bytes of transfers, and the controller's words that they are copied to.
pub(crate) struct Copied {
    memory: Arc<Memory>,
    head_bytes: usize,
    copy: Vec<u8>,
}

impl Copied {
    fn words(&self, at: usize, bytes: usize) -> Range<usize> {
        self.head_bytes + at..self.head_bytes + at + bytes
    }
}

impl Transfers for Copied {
    fn bytes(&mut self, at: usize, bytes: usize) -> &mut [u8] {
        &mut self.copy[at..at + bytes]
    }

    fn before_write(&mut self, at: usize, bytes: usize) {
        self.memory.write(self.words(at, bytes), &self.copy[at..at + bytes]);
    }

    fn after_read(&mut self, at: usize, bytes: usize) {
        let words = self.words(at, bytes);
        self.memory.read(words, &mut self.copy[at..at + bytes]);
    }
}

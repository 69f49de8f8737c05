//! The simulated controller as a [`Bus`], used by the same driver, backend and device as with VFIO.
//!
//! Tests run it in its own time, in which a step jumps to the next event. The target `null:nvme`
//! runs in real time and completes commands at once. In both cases the controller has no thread: it
//! works whenever the driver waits for it ([`nvme::Clock::pause`]).
//!
//! The controller's memory consists of words, and transfers copy bytes to and from it. Pages for
//! data are in reverse order on the bus, so that a wrong PRP list is detected.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use controller::{Host, HostMemory, Setup, Simulated, SimulatedMedia, Timing};
use nvme::{DmaMap, Mmio, PAGE_BYTES};

use super::bus::{Bus, Transfers};
use crate::clock::Clock;

/// The serial number that the simulated controller reports.
pub(crate) const SERIAL: &str = "SSDYNO-SIM-1";

/// Block size in bytes, and number of queue pairs, enough for many jobs.
const BLOCK_BYTES: u32 = 512;
const QUEUES: u16 = 128;

/// The connection to a simulated controller.
#[derive(Clone)]
pub(crate) struct Wire {
    pub controller: Arc<Simulated>,
    /// Next free bus address, so that memories do not overlap.
    next: Arc<AtomicU64>,
    /// Whether the controller's access to memory was disabled.
    pub cut: Arc<AtomicBool>,
    /// The clock for real time; `None`: the controller's own time.
    clock: Option<Clock>,
}

impl Wire {
    /// A controller with a namespace of `blocks` blocks of 512 bytes, in its own time.
    #[cfg(test)]
    pub(crate) fn new(setup: Setup, blocks: u64) -> Wire {
        Wire::with(setup, blocks, 1)
    }

    /// A controller with `count` such namespaces.
    #[cfg(test)]
    pub(crate) fn with(setup: Setup, blocks: u64, count: usize) -> Wire {
        let media = std::iter::repeat_with(|| {
            let timing = Timing::Fixed { ns: 20_000, spread_ns: 40_000 };
            SimulatedMedia::new(BLOCK_BYTES, blocks, timing)
        });
        Wire::to(setup, media.take(count).collect(), None)
    }

    /// A controller with a namespace of `blocks` blocks of 512 bytes, which completes every command
    /// when it is next polled.
    pub(crate) fn at_once(blocks: u64) -> Wire {
        let setup = Setup { queues: QUEUES, ..Setup::default() };
        let timing = Timing::Fixed { ns: 0, spread_ns: 0 };
        let media = SimulatedMedia::new(BLOCK_BYTES, blocks, timing).without_cache();
        Wire::to(setup, vec![media], Some(Clock::new()))
    }

    fn to(setup: Setup, media: Vec<SimulatedMedia>, clock: Option<Clock>) -> Wire {
        let controller = Simulated::new(setup, media);
        Wire { controller, next: Arc::new(AtomicU64::new(1 << 32)), cut: Arc::default(), clock }
    }
}

impl Bus for Wire {
    type Host = WireHost;
    type Head = HostMemory;
    type Data = Copied;

    fn host(&self) -> io::Result<Arc<WireHost>> {
        Ok(Arc::new(WireHost { host: self.controller.host(), clock: self.clock }))
    }

    fn memory(
        &self,
        head_bytes: usize,
        data_bytes: usize,
    ) -> io::Result<(Arc<HostMemory>, Copied)> {
        let bytes = head_bytes + data_bytes.next_multiple_of(PAGE_BYTES);
        let base = self.next.fetch_add(bytes.next_multiple_of(1 << 20) as u64, Relaxed);
        let memory = Arc::new(HostMemory::new(base, bytes, head_bytes));
        self.controller.map(&memory);
        let copy = vec![0; bytes - head_bytes];
        Ok((memory.clone(), Copied { memory, head_bytes, copy }))
    }

    fn cut(&self) {
        self.cut.store(true, Relaxed);
    }
}

/// The host of the simulated controller. The controller works while the host waits.
pub(crate) struct WireHost {
    host: Arc<Host>,
    clock: Option<Clock>,
}

impl Mmio for WireHost {
    fn read32(&self, offset: usize) -> u32 {
        self.host.read32(offset)
    }

    fn write32(&self, offset: usize, value: u32) {
        self.host.write32(offset, value);
    }
}

impl DmaMap for WireHost {
    fn words(&self) -> &[AtomicU32] {
        self.host.words()
    }

    fn bus(&self, offset: usize) -> u64 {
        self.host.bus(offset)
    }
}

impl nvme::Clock for WireHost {
    fn now_ns(&self) -> u64 {
        self.clock.map_or_else(|| self.host.now_ns(), |clock| clock.now())
    }

    fn pause(&self) {
        match self.clock {
            None => self.host.pause(),
            Some(clock) => self.host.controller.step_to(clock.now()),
        }
    }
}

/// The bytes of transfers, and the controller's memory to and from which they are copied.
pub(crate) struct Copied {
    memory: Arc<HostMemory>,
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

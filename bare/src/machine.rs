//! The machine as the driver sees it: memory-mapped registers, static memory, a counter.
//!
//! Memory is identity-mapped, so an address is a bus address.

use core::fmt;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use nvme::{Clock, DmaMap, Mmio};

use crate::sys;

/// Memory of the admin queue, bytes.
pub const ADMIN: usize = 64 << 10;
/// Memory of the I/O queue and its buffers, bytes.
pub const QUEUE: usize = 16 << 20;
/// Number of trackers: enough for 16 requests of 512 KiB on a controller with transfers of 64 KiB.
pub const TRACKERS: usize = 128;

/// Static memory in whole pages.
#[repr(C, align(4096))]
pub struct Pages<const WORDS: usize>([AtomicU32; WORDS]);

static ADMIN_MEMORY: Pages<{ ADMIN / 4 }> = Pages([const { AtomicU32::new(0) }; ADMIN / 4]);
static QUEUE_MEMORY: Pages<{ QUEUE / 4 }> = Pages([const { AtomicU32::new(0) }; QUEUE / 4]);

/// The memory of the I/O queue.
pub fn queue_memory() -> &'static Pages<{ QUEUE / 4 }> {
    &QUEUE_MEMORY
}

impl<const WORDS: usize> DmaMap for Pages<WORDS> {
    fn words(&self) -> &[AtomicU32] {
        &self.0
    }

    fn bus(&self, offset: usize) -> u64 {
        self.0.as_ptr().addr() as u64 + offset as u64
    }
}

impl DmaMap for Host {
    fn words(&self) -> &[AtomicU32] {
        ADMIN_MEMORY.words()
    }

    fn bus(&self, offset: usize) -> u64 {
        ADMIN_MEMORY.bus(offset)
    }
}

/// The controller's registers, the memory of its admin queue, and the clock.
pub struct Host {
    registers: AtomicUsize,
}

static HOST: Host = Host { registers: AtomicUsize::new(0) };

/// The serial port.
pub struct Serial;

impl fmt::Write for Serial {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(sys::put);
        Ok(())
    }
}

/// Finds the first NVMe controller on the bus and makes it a bus master.
pub fn find() -> Option<&'static Host> {
    HOST.registers.store(sys::find_controller()?, Relaxed);
    Some(&HOST)
}

impl Mmio for Host {
    fn read32(&self, offset: usize) -> u32 {
        sys::read32(self.registers.load(Relaxed) + offset)
    }

    fn write32(&self, offset: usize, value: u32) {
        sys::write32(self.registers.load(Relaxed) + offset, value);
    }
}

impl Clock for Host {
    fn now_ns(&self) -> u64 {
        sys::now_ns()
    }
}

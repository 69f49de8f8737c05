//! Access to a controller: its registers, a clock, and memory shared with it.
//!
//! [`Wired`] gives access to a real drive, and [`super::simulated::Wire`] to a simulated one.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use nvme::{ADMIN_BYTES, DmaMap, Mmio, Platform};

use crate::clock::Clock;
use crate::sys::pci::{Data, Function, Head, Physical, Registers, Vfio, memory};

/// A bus with one controller on it.
pub(crate) trait Bus: Send + Sync + 'static {
    /// Registers, the admin queue's memory, and a clock.
    type Host: Platform + Send + Sync;
    /// Memory of a queue, addressed by the controller.
    type Head: DmaMap + Send + Sync;
    /// Memory for transfers.
    type Data: Transfers;

    /// The controller's registers and the memory of its admin queue.
    fn host(&self) -> io::Result<Arc<Self::Host>>;

    /// Allocates memory for a queue: `head_bytes` of whole pages for rings and lists, then data.
    fn memory(
        &self,
        head_bytes: usize,
        data_bytes: usize,
    ) -> io::Result<(Arc<Self::Head>, Self::Data)>;

    /// Disables the controller's access to memory, whether or not it has stopped.
    fn cut(&self);
}

/// Memory for transfers, as its owner sees it.
pub(crate) trait Transfers: Send {
    /// Bytes that no command in flight uses.
    fn bytes(&mut self, at: usize, bytes: usize) -> &mut [u8];

    /// Called before these bytes are written to the drive. Does nothing for memory shared with the
    /// controller.
    #[inline]
    fn before_write(&mut self, _at: usize, _bytes: usize) {}

    /// Called after these bytes have been read from the drive.
    #[inline]
    fn after_read(&mut self, _at: usize, _bytes: usize) {}

    /// Called before the memory is dropped, if the controller may still use it.
    fn abandon(&self) {}
}

/// A PCI function of this machine.
pub(crate) struct Wired(Arc<dyn Function>);

impl Wired {
    /// Opens the function at an address, a member of an IOMMU group.
    pub(crate) fn vfio(group: &str, address: &str) -> io::Result<Wired> {
        Ok(Wired(Arc::new(Vfio::open(group, address)?)))
    }

    /// Opens the function in a sysfs directory, without an IOMMU. `pages` is an empty file of huge
    /// pages that outlives this process.
    pub(crate) fn physical(dir: &Path, pages: File) -> io::Result<Wired> {
        Ok(Wired(Arc::new(Physical::open(dir, pages)?)))
    }
}

impl Bus for Wired {
    type Host = WiredHost;
    type Head = Head;
    type Data = Data;

    fn host(&self) -> io::Result<Arc<WiredHost>> {
        let registers = Registers::new(&self.0)?;
        let (memory, _) = memory(&self.0, ADMIN_BYTES, 0)?;
        self.0.enable()?;
        Ok(Arc::new(WiredHost { registers, memory, clock: Clock::new() }))
    }

    fn memory(&self, head_bytes: usize, data_bytes: usize) -> io::Result<(Arc<Head>, Data)> {
        memory(&self.0, head_bytes, data_bytes)
    }

    fn cut(&self) {
        // A function that has been removed cannot access memory either.
        let _ = self.0.disable();
    }
}

/// The host of a controller on a bus.
pub(crate) struct WiredHost {
    registers: Registers,
    memory: Arc<Head>,
    clock: Clock,
}

impl Mmio for WiredHost {
    #[inline]
    fn read32(&self, offset: usize) -> u32 {
        self.registers.read(offset)
    }

    #[inline]
    fn write32(&self, offset: usize, value: u32) {
        self.registers.write(offset, value);
    }
}

impl DmaMap for WiredHost {
    fn words(&self) -> &[AtomicU32] {
        self.memory.words()
    }

    fn bus(&self, offset: usize) -> u64 {
        self.memory.bus(offset)
    }
}

impl nvme::Clock for WiredHost {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.clock.now()
    }
}

impl Transfers for Data {
    #[inline]
    fn bytes(&mut self, at: usize, bytes: usize) -> &mut [u8] {
        Data::bytes(self, at, bytes)
    }

    fn abandon(&self) {
        Data::abandon(self);
    }
}

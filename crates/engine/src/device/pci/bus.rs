//! Access to a controller: its registers, a clock, and memory shared with it.
//!
//! [`Vfio`] gives access to a real drive; tests use the simulated controller.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use nvme::{ADMIN_BYTES, DmaMap, Mmio, Platform};

use crate::clock::Clock;
use crate::sys::vfio::{Data, Function, Head, Registers};

/// A bus with one controller on it.
pub(crate) trait Bus: Send + Sync + 'static {
    /// Registers, memory of the admin queue, clock.
    type Host: Platform + Send + Sync;
    /// Memory of a queue, as the controller addresses it.
    type Head: DmaMap + Send + Sync;
    /// Memory for transfers.
    type Data: Transfers;

    /// The controller's registers and the memory of its admin queue.
    fn host(&self) -> io::Result<Arc<Self::Host>>;

    /// Memory for a queue: `head_bytes` of whole pages for rings and lists, then data.
    fn memory(
        &self,
        head_bytes: usize,
        data_bytes: usize,
    ) -> io::Result<(Arc<Self::Head>, Self::Data)>;

    /// Cuts the controller off from memory, whether or not it has stopped.
    fn cut(&self);
}

/// Memory for transfers, seen by its owner.
pub(crate) trait Transfers: Send {
    /// Bytes that no command in flight uses.
    fn bytes(&mut self, at: usize, bytes: usize) -> &mut [u8];

    /// Called before these bytes are written to the drive. Memory that the controller shares needs
    /// nothing.
    #[inline]
    fn before_write(&mut self, _at: usize, _bytes: usize) {}

    /// Called after these bytes were read from the drive.
    #[inline]
    fn after_read(&mut self, _at: usize, _bytes: usize) {}
}

/// A function bound to `vfio-pci`.
pub(crate) struct Vfio(Arc<Function>);

impl Vfio {
    /// Opens the function at an address, a member of an IOMMU group.
    pub(crate) fn open(group: &str, address: &str) -> io::Result<Vfio> {
        Function::open(group, address).map(|function| Vfio(Arc::new(function)))
    }
}

impl Bus for Vfio {
    type Host = VfioHost;
    type Head = Head;
    type Data = Data;

    fn host(&self) -> io::Result<Arc<VfioHost>> {
        let registers = self.0.registers()?;
        let (memory, _) = self.0.memory(ADMIN_BYTES, 0)?;
        self.0.enable()?;
        Ok(Arc::new(VfioHost { registers, memory, clock: Clock::new() }))
    }

    fn memory(&self, head_bytes: usize, data_bytes: usize) -> io::Result<(Arc<Head>, Data)> {
        self.0.memory(head_bytes, data_bytes)
    }

    fn cut(&self) {
        // A function that is gone reaches no memory either.
        let _ = self.0.disable();
    }
}

/// The host of a controller under VFIO.
pub(crate) struct VfioHost {
    registers: Registers,
    memory: Arc<Head>,
    clock: Clock,
}

impl Mmio for VfioHost {
    #[inline]
    fn read32(&self, offset: usize) -> u32 {
        self.registers.read(offset)
    }

    #[inline]
    fn write32(&self, offset: usize, value: u32) {
        self.registers.write(offset, value);
    }
}

impl DmaMap for VfioHost {
    fn words(&self) -> &[AtomicU32] {
        self.memory.words()
    }

    fn bus(&self, offset: usize) -> u64 {
        self.memory.bus(offset)
    }
}

impl nvme::Clock for VfioHost {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.clock.now()
    }
}

impl DmaMap for Head {
    fn words(&self) -> &[AtomicU32] {
        Head::words(self)
    }

    fn bus(&self, offset: usize) -> u64 {
        Head::bus(self, offset)
    }
}

impl Transfers for Data {
    #[inline]
    fn bytes(&mut self, at: usize, bytes: usize) -> &mut [u8] {
        Data::bytes(self, at, bytes)
    }
}

//! Registers of a controller (NVMe 1.4, section 3.1) and their fields that the driver uses.

/// Controller capabilities, 64 bits.
pub const CAP: usize = 0x00;
/// Version.
pub const VS: usize = 0x08;
/// Interrupt mask, set.
pub const INTMS: usize = 0x0c;
/// Controller configuration.
pub const CC: usize = 0x14;
/// Controller status.
pub const CSTS: usize = 0x1c;
/// Admin queue sizes.
pub const AQA: usize = 0x24;
/// Bus address of the admin submission queue, 64 bits.
pub const ASQ: usize = 0x28;
/// Bus address of the admin completion queue, 64 bits.
pub const ACQ: usize = 0x30;
/// The first doorbell.
pub const DOORBELLS: usize = 0x1000;

/// CC: the controller is enabled.
pub const CC_ENABLE: u32 = 1;
/// CC: entries of 64 and 16 bytes, pages of 4 KiB, the NVM command set.
pub const CC_ENTRIES: u32 = 6 << 16 | 4 << 20;
/// CC: normal shutdown.
pub const CC_SHUTDOWN: u32 = 1 << 14;
/// CSTS: ready.
pub const CSTS_READY: u32 = 1;
/// CSTS: fatal error.
pub const CSTS_FATAL: u32 = 2;
/// CSTS: shutdown status, and its value when complete.
pub const CSTS_SHUTDOWN: u32 = 3 << 2;
/// See [`CSTS_SHUTDOWN`].
pub const CSTS_SHUTDOWN_DONE: u32 = 2 << 2;
/// Value of any register of a removed controller.
pub const GONE: u32 = u32::MAX;

/// The register [`CAP`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities(pub u64);

impl Capabilities {
    /// Maximum entries of an I/O queue, 2 to 65,536.
    pub fn entries_max(self) -> u32 {
        (self.0 & 0xffff) as u32 + 1
    }

    /// Maximum time from enabling to ready, and back, nanoseconds.
    pub fn ready_ns(self) -> u64 {
        (self.0 >> 24 & 0xff) * 500_000_000
    }

    /// Bytes from one doorbell to the next.
    pub fn doorbell_bytes(self) -> usize {
        4 << (self.0 >> 32 & 0xf)
    }

    /// Whether it supports the NVM command set.
    pub fn has_nvm_commands(self) -> bool {
        self.0 >> 37 & 1 != 0
    }

    /// Smallest page, as a power of two of bytes.
    pub fn page_bits_min(self) -> u32 {
        12 + (self.0 >> 48 & 0xf) as u32
    }

    /// Offset of the tail doorbell of a submission queue; the head doorbell of its completion queue
    /// follows.
    pub fn doorbell(self, queue: u16) -> usize {
        DOORBELLS + 2 * usize::from(queue) * self.doorbell_bytes()
    }
}

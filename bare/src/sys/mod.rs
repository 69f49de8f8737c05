//! The machine-dependent part: boot, serial port, device registers, the bus, time, power. There is
//! one file for each of the two machines, with the same functions.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub use aarch64::{NAME, now_ns, power_off, put};
#[cfg(target_arch = "x86_64")]
pub use x86_64::{NAME, now_ns, power_off, put};

#[cfg(target_arch = "aarch64")]
use aarch64 as this;
#[cfg(target_arch = "x86_64")]
use x86_64 as this;

/// Class of an NVMe controller: mass storage, non-volatile, NVM Express.
const NVME: u32 = 0x01_08_02;
/// Command register: memory space and bus master.
const COMMAND: usize = 0x04;
const MASTER: u32 = 0x6;
const BAR0: usize = 0x10;

/// Reads a device's register.
pub fn read32(address: usize) -> u32 {
    // SAFETY: the address is in a BAR that was found on the bus, or in a fixed register window of
    // the board; nothing else uses it, and it is identity-mapped.
    unsafe { (address as *const u32).read_volatile() }
}

/// Writes a device's register.
pub fn write32(address: usize, value: u32) {
    // SAFETY: as above.
    unsafe { (address as *mut u32).write_volatile(value) }
}

/// Finds the first NVMe controller on the first bus, assigns an address if it has none, and makes
/// it a bus master. Returns the address of its registers.
pub fn find_controller() -> Option<usize> {
    let found = (0..32).find(|device| this::config_read(*device, 0x08) >> 8 == NVME)?;
    let bar = (this::config_read(found, BAR0), this::config_read(found, BAR0 + 4));
    let mut address = (bar.0 & !0xf) as usize | (bar.1 as usize) << 32;
    if address == 0 {
        address = this::FREE_WINDOW;
        this::config_write(found, BAR0, address as u32);
        this::config_write(found, BAR0 + 4, 0);
    }
    let command = this::config_read(found, COMMAND) & 0xffff;
    this::config_write(found, COMMAND, command | MASTER);
    Some(address)
}

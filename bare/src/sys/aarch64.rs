//! QEMU's board `virt` with a Cortex-A53, entered at EL1 without address translation and without
//! firmware, so BARs have no addresses yet. Three blocks of 1 GiB are identity-mapped: the devices
//! below 1 GiB, the memory from 1 GiB on, and the bus configuration space from 256 GiB on.

use core::arch::{asm, global_asm};

/// Name of the architecture.
pub const NAME: &str = "aarch64";
/// The board's window for registers of devices on the bus.
pub const FREE_WINDOW: usize = 0x1000_0000;

const SERIAL: usize = 0x0900_0000;
const CONFIG: usize = 0x40_1000_0000;
const SYSTEM_OFF: u64 = 0x8400_0008;

// Attribute 0: device memory; 1: normal memory, cached. Blocks: valid, accessed, and inner
// shareable if cached. Translation: 39 bits, 4 KiB, tables cached, no upper half.
global_asm!(
    r#"
    .section .boot, "ax"
    .global start
start:
    mrs x0, cpacr_el1
    orr x0, x0, #(3 << 20)
    msr cpacr_el1, x0
    adrp x0, tables
    add x0, x0, :lo12:tables
    mov x1, #0x401
    str x1, [x0]
    mov x1, #0x705
    movk x1, #0x4000, lsl #16
    str x1, [x0, #8]
    mov x1, #0x401
    movk x1, #0x40, lsl #32
    str x1, [x0, #2048]
    mov x1, #0xff00
    msr mair_el1, x1
    mov x1, #0x3519
    movk x1, #0x80, lsl #16
    movk x1, #2, lsl #32
    msr tcr_el1, x1
    msr ttbr0_el1, x0
    dsb sy
    isb
    mrs x0, sctlr_el1
    mov x1, #0x1005
    orr x0, x0, x1
    msr sctlr_el1, x0
    isb
    adrp x0, stack_top
    add x0, x0, :lo12:stack_top
    mov sp, x0
    bl {entry}

    .section .bss.boot, "aw", @nobits
    .align 12
tables:
    .skip 4096
    .skip 65536
stack_top:
    .text
"#,
    entry = sym entry,
);

extern "C" fn entry() -> ! {
    crate::main()
}

/// Nanoseconds since the machine started.
pub fn now_ns() -> u64 {
    let (count, hz): (u64, u64);
    // SAFETY: reading the counter and its frequency has no effect.
    unsafe {
        asm!("isb", "mrs {}, cntvct_el0", "mrs {}, cntfrq_el0", out(reg) count, out(reg) hz);
    }
    (u128::from(count) * 1_000_000_000 / u128::from(hz.max(1))) as u64
}

/// Writes a byte to the serial port, which takes the low bits of its register.
pub fn put(byte: u8) {
    super::write32(SERIAL, u32::from(byte));
}

fn config(device: usize, register: usize) -> usize {
    CONFIG + (device << 15) + register
}

/// Reads a configuration register of a device on the first bus.
pub fn config_read(device: usize, register: usize) -> u32 {
    super::read32(config(device, register))
}

/// Writes a configuration register.
pub fn config_write(device: usize, register: usize, value: u32) {
    super::write32(config(device, register), value);
}

/// Powers the machine off.
pub fn power_off() -> ! {
    loop {
        // SAFETY: a call of the board's firmware interface, which does not return.
        unsafe { asm!("hvc #0", in("x0") SYSTEM_OFF, clobber_abi("C")) }
    }
}

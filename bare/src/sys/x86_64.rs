//! QEMU's board q35, entered in 32-bit mode by the PVH protocol, with bus addresses assigned by the
//! firmware. Page tables identity-map the first 4 GiB, which contain everything.

use core::arch::{asm, global_asm, x86_64::_rdtsc};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Name of the architecture.
pub const NAME: &str = "x86_64";
/// Address for a BAR without one; unused on this board, because the firmware assigns all.
pub const FREE_WINDOW: usize = 0xfe00_0000;

const SERIAL: u16 = 0x3f8;
const POWER: u16 = 0x604;
/// The ACPI timer: 24 bits at 3.579545 MHz.
const TIMER: u16 = 0x608;
const TIMER_HZ: u64 = 3_579_545;

global_asm!(
    r#"
    .section .note.pvh, "a", @note
    .align 4
    .long 4, 4, 18
    .asciz "Xen"
    .long start32

    .section .boot, "ax"
    .code32
start32:
    cli
    movl $stack_top, %esp
    movl $tables + 4096, %eax
    orl $3, %eax
    movl %eax, tables
    movl $tables + 4096, %edi
    movl $0x83, %eax
    movl $4, %ecx
1:  movl %eax, (%edi)
    addl $0x40000000, %eax
    addl $8, %edi
    loop 1b
    movl $tables, %eax
    movl %eax, %cr3
    movl %cr4, %eax
    orl $0x20, %eax
    movl %eax, %cr4
    movl $0xc0000080, %ecx
    rdmsr
    orl $0x100, %eax
    wrmsr
    movl %cr0, %eax
    orl $0x80000001, %eax
    movl %eax, %cr0
    lgdt descriptors_pointer
    ljmp $8, $start64
    .code64
start64:
    movw $16, %ax
    movw %ax, %ss
    movw %ax, %ds
    movw %ax, %es
    movq $stack_top, %rsp
    xorl %ebp, %ebp
    call {entry}
    hlt

    .align 8
descriptors:
    .quad 0, 0x00af9a000000ffff, 0x00cf92000000ffff
descriptors_pointer:
    .word 23
    .long descriptors

    .section .bss.boot, "aw", @nobits
    .align 4096
tables:
    .skip 8192
    .skip 65536
stack_top:
    .code64
    .text
"#,
    entry = sym entry,
    options(att_syntax)
);

extern "C" fn entry() -> ! {
    calibrate();
    crate::main()
}

/// Counter ticks per 2^20 nanoseconds.
static TICKS: AtomicU64 = AtomicU64::new(1 << 20);

/// Calibrates the counter against the ACPI timer for 10 ms.
fn calibrate() {
    let timer = || u64::from(in32(TIMER)) & 0xff_ffff;
    let passed = |from: u64| timer().wrapping_sub(from) & 0xff_ffff;
    let (from, begin) = (timer(), counter());
    while passed(from) < TIMER_HZ / 100 {}
    let (ticks, ns) = (counter() - begin, passed(from) * 1_000_000_000 / TIMER_HZ);
    TICKS.store(((ticks << 20) / ns.max(1)).max(1), Relaxed);
}

fn counter() -> u64 {
    // SAFETY: reading the counter has no effect.
    unsafe { _rdtsc() }
}

/// Nanoseconds since the machine started.
pub fn now_ns() -> u64 {
    ((u128::from(counter()) << 20) / u128::from(TICKS.load(Relaxed))) as u64
}

/// Writes a byte to the serial port.
pub fn put(byte: u8) {
    // SAFETY: the board's serial port, which only this function uses.
    unsafe { asm!("out dx, al", in("dx") SERIAL, in("al") byte) }
}

fn in32(port: u16) -> u32 {
    let value;
    // SAFETY: reading these ports of the board's chip set changes nothing.
    unsafe { asm!("in eax, dx", in("dx") port, out("eax") value) }
    value
}

fn out32(port: u16, value: u32) {
    // SAFETY: the configuration ports of the bus, used by one thread only.
    unsafe { asm!("out dx, eax", in("dx") port, in("eax") value) }
}

fn select(device: usize, register: usize) {
    out32(0xcf8, 1 << 31 | (device as u32) << 11 | register as u32);
}

/// Reads a configuration register of a device on the first bus.
pub fn config_read(device: usize, register: usize) -> u32 {
    select(device, register);
    in32(0xcfc)
}

/// Writes a configuration register.
pub fn config_write(device: usize, register: usize, value: u32) {
    select(device, register);
    out32(0xcfc, value);
}

/// Powers the machine off.
pub fn power_off() -> ! {
    loop {
        // SAFETY: the board's power register: state S5.
        unsafe { asm!("out dx, ax", in("dx") POWER, in("ax") 0x2000u16) }
    }
}

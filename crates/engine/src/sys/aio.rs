//! Linux asynchronous I/O (`io_submit` and related calls) through raw system calls. The C library
//! has no wrappers, and the usual wrapper library adds nothing needed here.
//!
//! Layouts and numbers: `include/uapi/linux/aio_abi.h`.

use std::io;
use std::os::fd::RawFd;

use super::check;

/// `IOCB_CMD_PREAD`, `IOCB_CMD_PWRITE`.
pub(crate) const PREAD: u16 = 0;
pub(crate) const PWRITE: u16 = 1;

/// `IOCB_FLAG_IOPRIO`: the control block's own priority applies.
const FLAG_PRIORITY: u32 = 1 << 1;

/// `struct iocb`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Iocb {
    pub data: u64,
    #[cfg(target_endian = "little")]
    key: u32,
    rw_flags: u32,
    #[cfg(target_endian = "big")]
    key: u32,
    pub opcode: u16,
    priority: i16,
    pub fd: u32,
    pub buffer: u64,
    pub bytes: u64,
    pub offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

const _: () = assert!(size_of::<Iocb>() == 64);

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Event {
    pub data: u64,
    object: u64,
    pub result: i64,
    result2: i64,
}

const _: () = assert!(size_of::<Event>() == 32);

/// An `aio_context_t` with its control blocks.
pub(crate) struct Context {
    id: libc::c_ulong,
    blocks: Vec<Iocb>,
    queue: Vec<*mut Iocb>,
}

impl Context {
    /// A context for `depth` operations.
    pub(crate) fn new(depth: u32) -> io::Result<Context> {
        let mut id: libc::c_ulong = 0;
        // SAFETY: the kernel writes the context's id to `id`, which is live and zero as required.
        check(unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut id) })?;
        let blocks = vec![Iocb::default(); depth as usize];
        Ok(Context { id, blocks, queue: Vec::with_capacity(depth as usize) })
    }

    /// Queues the operation of one slot. `buffer` and `fd` must stay valid until the slot's event
    /// arrives.
    #[inline]
    pub(crate) fn push(
        &mut self,
        slot: u32,
        opcode: u16,
        fd: RawFd,
        buffer: *mut u8,
        bytes: u32,
        at: u64,
    ) {
        let block = &mut self.blocks[slot as usize];
        *block = Iocb {
            data: u64::from(slot),
            opcode,
            fd: fd as u32,
            buffer: buffer as u64,
            bytes: u64::from(bytes),
            offset: at as i64,
            ..Iocb::default()
        };
        self.queue.push(block);
    }

    /// Sets the priority of a slot's queued operation; 0 means the thread's priority.
    pub(crate) fn prioritise(&mut self, slot: u32, priority: u16) {
        if priority != 0 {
            let block = &mut self.blocks[slot as usize];
            (block.priority, block.flags) = (priority as i16, FLAG_PRIORITY);
        }
    }

    /// Number of operations queued but not submitted.
    pub(crate) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Submits the queue; returns the number of operations accepted. The rest stays queued.
    pub(crate) fn submit(&mut self) -> io::Result<usize> {
        let (count, list) = (self.queue.len(), self.queue.as_mut_ptr());
        // SAFETY: the list holds `count` pointers into `blocks`, which never reallocates; a block
        // is not rewritten until its slot's event has arrived.
        let submitted = check(unsafe { libc::syscall(libc::SYS_io_submit, self.id, count, list) })?;
        self.queue.drain(..submitted as usize);
        Ok(submitted as usize)
    }

    /// Drops the first queued operation, which the kernel has rejected, and returns its slot.
    pub(crate) fn drop_first(&mut self) -> Option<u32> {
        if self.queue.is_empty() {
            return None;
        }
        let block = self.queue.remove(0);
        self.blocks.iter().position(|b| std::ptr::eq(b, block)).map(|slot| slot as u32)
    }

    /// Collects at least `least` events into `events`, waiting at most `timeout_ns`.
    pub(crate) fn collect(
        &mut self,
        least: usize,
        timeout_ns: Option<u64>,
        events: &mut [Event],
    ) -> io::Result<usize> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let mut limit = std::ptr::null_mut();
        if let Some(ns) = timeout_ns {
            time.tv_sec = (ns / 1_000_000_000) as libc::time_t;
            time.tv_nsec = (ns % 1_000_000_000) as libc::c_long;
            limit = &raw mut time;
        }
        let (room, list) = (events.len(), events.as_mut_ptr());
        // SAFETY: `list` has room for `room` events, and `limit` is null or points to `time`.
        let count = check(unsafe {
            libc::syscall(libc::SYS_io_getevents, self.id, least, room, list, limit)
        })?;
        Ok(count as usize)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the id is that of a live context; the call waits for operations in flight.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.id) };
    }
}

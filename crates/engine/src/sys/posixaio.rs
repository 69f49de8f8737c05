//! POSIX asynchronous I/O: `aio_read` and related calls of the C library, which has threads of its
//! own around `pread` and `pwrite`.

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use workload::OpKind;

use super::check;

/// Control blocks waited for in one call, as in fio: the call looks at each of them.
const WAITED_FOR_MAX: usize = 8;

/// The control blocks of the slots.
pub(crate) struct Requests {
    /// Never reallocated: the library keeps the address of a block while its request is in flight.
    blocks: Box<[libc::aiocb]>,
    /// Slots in flight.
    in_flight: Vec<u32>,
}

impl Requests {
    /// Blocks for `depth` slots.
    pub(crate) fn new(depth: u32) -> Requests {
        // SAFETY: a control block is plain data, for which zeroes are valid: no request.
        let blocks = (0..depth).map(|_| unsafe { std::mem::zeroed::<libc::aiocb>() });
        Requests { blocks: blocks.collect(), in_flight: Vec::with_capacity(depth as usize) }
    }

    /// Number of requests in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Passes the operation of a slot to the library. `buffer` and `fd` must stay valid until it has
    /// been collected. A flush uses neither buffer nor offset; a discard is not possible.
    pub(crate) fn submit(
        &mut self,
        slot: u32,
        (kind, whole_flush): (OpKind, bool),
        fd: RawFd,
        (buffer, bytes): (*mut u8, u32),
        offset: u64,
    ) -> io::Result<()> {
        let block = &mut self.blocks[slot as usize];
        block.aio_fildes = fd;
        block.aio_buf = buffer.cast();
        block.aio_nbytes = bytes as usize;
        block.aio_offset = offset as libc::off_t;
        block.aio_sigevent.sigev_notify = libc::SIGEV_NONE;
        let flush = if whole_flush { libc::O_SYNC } else { libc::O_DSYNC };
        // SAFETY: the block stays in its place until the request is collected, and the caller keeps
        // the buffer valid and untouched for as long.
        check(unsafe {
            match kind {
                OpKind::Read => libc::aio_read(block),
                OpKind::Write => libc::aio_write(block),
                OpKind::Flush => libc::aio_fsync(flush, block),
                OpKind::Discard => return Err(io::ErrorKind::InvalidInput.into()),
            }
        })?;
        self.in_flight.push(slot);
        Ok(())
    }

    /// Passes every request that has ended to `done`: its slot, and the bytes moved or a negative
    /// error number.
    pub(crate) fn collect(&mut self, mut done: impl FnMut(u32, i64)) {
        let blocks = &mut self.blocks;
        self.in_flight.retain(|slot| {
            let block = &mut blocks[*slot as usize];
            // SAFETY: the block is that of a request that was submitted and not yet collected.
            let error = unsafe { libc::aio_error(block) };
            if error == libc::EINPROGRESS {
                return true;
            }
            // SAFETY: as above; its request has ended, and this is the only call for its result.
            let bytes = unsafe { libc::aio_return(block) };
            done(*slot, if error == 0 { bytes as i64 } else { -i64::from(error) });
            false
        });
    }

    /// Never frees the control blocks, because the library may still use one.
    pub(crate) fn leak(&mut self) {
        Box::leak(std::mem::take(&mut self.blocks));
    }

    /// Waits until a request has ended, at most for `timeout`. Not all of many are waited for, so
    /// that another may have ended.
    pub(crate) fn wait(&self, timeout: Option<Duration>) -> io::Result<()> {
        let list = self.in_flight.iter().take(WAITED_FOR_MAX);
        let list: Vec<_> = list.map(|slot| &raw const self.blocks[*slot as usize]).collect();
        let time = timeout.map(|time| libc::timespec {
            tv_sec: time.as_secs() as libc::time_t,
            tv_nsec: time.subsec_nanos() as libc::c_long,
        });
        let limit = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the list has the addresses of live blocks, and `limit` is null or points to `time`.
        let result = check(unsafe { libc::aio_suspend(list.as_ptr(), list.len() as i32, limit) });
        match result.map_err(|e| (e.raw_os_error(), e)) {
            Ok(_) | Err((Some(libc::EAGAIN | libc::EINTR), _)) => Ok(()),
            Err((_, e)) => Err(e),
        }
    }
}

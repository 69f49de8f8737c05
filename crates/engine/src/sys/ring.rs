//! An io_uring with all cost-saving features: single issuer, deferred task work, no submission
//! array, and registered ring, files and buffers. Features that the kernel lacks are dropped;
//! missing registrations are reported.
//!
//! The ring is created on the thread that uses it, as `SINGLE_ISSUER` requires. [`Ring`] borrows
//! its halves throughout, because the submitting half stores the registered index.

use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use io_uring::{CompletionQueue, IoUring, SubmissionQueue, Submitter, opcode, squeue, types};
use rig::RingFeatures;
use workload::{Op, OpKind};

use super::arena::Arena;
use crate::backend::Files;

/// Maximum time during which the kernel accepts no operation. A memory shortage either passes or
/// ends the run.
const REFUSED_MAX: Duration = Duration::from_secs(3);

/// Time without submissions after which the kernel's polling thread sleeps, as in fio.
const POLLING_IDLE_MS: u32 = 1000;

/// Creates the most capable ring that the kernel supports: for Linux 6.6, 6.1, or at least 5.11,
/// before which a wait cannot have a timeout.
///
/// Polling excludes deferred task work: the kernel's thread submits in place of this one, and
/// completions are collected by the call that polls for them.
pub(crate) fn make(entries: u32, features: RingFeatures) -> io::Result<IoUring> {
    let entries = entries.next_power_of_two();
    if features.polls_submissions || features.polls_completions {
        return polling(features).setup_clamp().build(entries);
    }
    let (mut newest, mut newer) = (IoUring::builder(), IoUring::builder());
    for builder in [&mut newest, &mut newer] {
        builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().setup_clamp();
    }
    let ring = newest
        .setup_no_sqarray()
        .build(entries)
        .or_else(|_| newer.build(entries))
        .or_else(|_| IoUring::builder().setup_clamp().build(entries))?;
    if !ring.params().is_feature_ext_arg() {
        let text = "the kernel is older than Linux 5.11";
        return Err(io::Error::new(io::ErrorKind::Unsupported, text));
    }
    Ok(ring)
}

/// A builder of rings that poll.
fn polling(features: RingFeatures) -> io_uring::Builder {
    let mut builder = IoUring::builder();
    if features.polls_completions {
        builder.setup_iopoll();
    }
    if features.polls_submissions {
        builder.setup_sqpoll(POLLING_IDLE_MS);
        if let Some(cpu) = features.polling_cpu {
            builder.setup_sqpoll_cpu(cpu);
        }
    }
    builder
}

/// The working halves of a ring, for the files of one job and one arena.
pub(crate) struct Ring<'r> {
    submitter: Submitter<'r>,
    queue: SubmissionQueue<'r>,
    completions: CompletionQueue<'r>,
    files: Files<'r>,
    fixed_files: bool,
    fixed_buffers: bool,
    in_flight: usize,
    /// When the kernel began to reject operations for lack of resources.
    refused_since: Option<Instant>,
    /// One of so many operations is given to the kernel's threads; 0: none.
    async_every: u32,
    /// Operations since the last of those.
    since_async: u32,
}

impl<'r> Ring<'r> {
    /// Registers files and buffers with a ring. Files and arena must outlive it.
    pub(crate) fn new(ring: &'r mut IoUring, files: Files<'r>, arena: &Arena) -> Ring<'r> {
        let (mut submitter, queue, completions) = ring.split();
        let fds: Vec<_> = files.list().iter().map(|file| file.as_raw_fd()).collect();
        let fixed_files = submitter.register_files(&fds).is_ok();
        // SAFETY: the range is mapped now, and the kernel pins its pages for as long as they are
        // registered. Fails under a low memlock limit, and for more than 1 GiB; then buffers are
        // passed by address.
        let fixed_buffers = unsafe { submitter.register_buffers(&[arena.whole()]) }.is_ok();
        // This only saves a descriptor lookup. Kernels before 5.18 do not support it.
        let _ = submitter.register_ring_fd();
        let (in_flight, refused_since) = (0, None);
        Ring {
            submitter,
            queue,
            completions,
            files,
            fixed_files,
            fixed_buffers,
            in_flight,
            refused_since,
            async_every: 0,
            since_async: 0,
        }
    }

    /// Gives one of so many operations to the kernel's threads.
    pub(crate) fn force_async(&mut self, every: u32) {
        self.async_every = every;
    }

    /// Queues an operation on a slot of the arena; a `priority` of 0 means the thread's priority.
    #[inline]
    pub(crate) fn push(&mut self, op: Op, slot: u32, buffer: *mut u8, priority: u16) {
        let mut entry = self.entry(op, buffer, priority).user_data(u64::from(slot));
        if self.async_every > 0 {
            entry = self.asynchronous(entry);
        }
        // SAFETY: the buffer is a slot of the arena, which stays mapped until nothing is in flight,
        // and the worker does not touch it until the completion of this slot was seen.
        let result = unsafe { self.queue.push(&entry) };
        assert!(result.is_ok(), "the ring has as many entries as there are slots");
        self.in_flight += 1;
    }

    /// Marks one of so many entries as forced to be asynchronous.
    #[cold]
    fn asynchronous(&mut self, entry: squeue::Entry) -> squeue::Entry {
        self.since_async += 1;
        if self.since_async < self.async_every {
            return entry;
        }
        self.since_async = 0;
        let flags = if self.fixed_files {
            squeue::Flags::FIXED_FILE | squeue::Flags::ASYNC
        } else {
            squeue::Flags::ASYNC
        };
        entry.flags(flags)
    }

    #[inline]
    fn entry(&self, op: Op, buffer: *mut u8, priority: u16) -> squeue::Entry {
        let (number, offset) = self.files.split(op.offset);
        // A registered file is identified by its index and a flag.
        let (fd, flags) = if self.fixed_files {
            (types::Fd(number as i32), squeue::Flags::FIXED_FILE)
        } else {
            (types::Fd(self.files.list()[number].as_raw_fd()), squeue::Flags::empty())
        };
        let bytes = op.bytes;
        let entry = match (op.kind, self.fixed_buffers) {
            (OpKind::Read, true) => {
                opcode::ReadFixed::new(fd, buffer, bytes, 0).offset(offset).ioprio(priority).build()
            }
            (OpKind::Read, false) => {
                opcode::Read::new(fd, buffer, bytes).offset(offset).ioprio(priority).build()
            }
            (OpKind::Write, true) => opcode::WriteFixed::new(fd, buffer, bytes, 0)
                .offset(offset)
                .ioprio(priority)
                .build(),
            (OpKind::Write, false) => {
                opcode::Write::new(fd, buffer, bytes).offset(offset).ioprio(priority).build()
            }
            (OpKind::Flush | OpKind::Discard, _) => {
                opcode::Fsync::new(fd).flags(self.flush_flags()).build()
            }
        };
        entry.flags(flags)
    }

    fn flush_flags(&self) -> types::FsyncFlags {
        if self.files.whole_flush() {
            types::FsyncFlags::empty()
        } else {
            types::FsyncFlags::DATASYNC
        }
    }

    /// Submits the queue and waits for `want` completions, at most `timeout_ns`. Makes no system
    /// call if there is nothing to do.
    #[inline]
    pub(crate) fn enter(&mut self, want: usize, timeout_ns: Option<u64>) -> io::Result<()> {
        self.queue.sync();
        let idle = self.queue.is_empty() && !self.queue.taskrun() && !self.queue.cq_overflow();
        if want == 0 && idle {
            return Ok(());
        }
        let result = match timeout_ns {
            None => self.submitter.submit_and_wait(want),
            Some(ns) => {
                let (seconds, rest) = (ns / 1_000_000_000, (ns % 1_000_000_000) as u32);
                let time = types::Timespec::new().sec(seconds).nsec(rest);
                self.submitter.submit_with_args(want, &types::SubmitArgs::new().timespec(&time))
            }
        };
        // Reads the kernel's progress; otherwise the queue would look full.
        self.queue.sync();
        match result.map_err(|e| (e.raw_os_error(), e)) {
            // After a timeout or a signal, the rest is still queued, and the next call submits it.
            Ok(_) | Err((Some(libc::ETIME | libc::EINTR), _)) => {
                self.refused_since = None;
                Ok(())
            }
            Err((Some(libc::EBUSY | libc::EAGAIN), e)) => self.refused(e),
            Err((_, e)) => Err(e),
        }
    }

    /// Tolerates a rejection for a while: a kernel that is short of resources accepts more once
    /// some operations have completed.
    #[cold]
    fn refused(&mut self, error: io::Error) -> io::Result<()> {
        let first_refused = *self.refused_since.get_or_insert_with(Instant::now);
        if first_refused.elapsed() < REFUSED_MAX { Ok(()) } else { Err(error) }
    }

    /// Passes every completion to `done`: its slot, and the bytes moved or a negative error number.
    #[inline]
    pub(crate) fn collect(&mut self, mut done: impl FnMut(u32, i32)) {
        self.completions.sync();
        for entry in &mut self.completions {
            self.in_flight -= 1;
            done(entry.user_data() as u32, entry.result());
        }
    }

    /// Waits until no operation of this ring is in flight; returns `false` if waiting fails.
    pub(crate) fn settle(&mut self) -> bool {
        while self.in_flight > 0 {
            if self.enter(1, None).is_err() {
                return false;
            }
            self.collect(|_, _| {});
        }
        true
    }

    /// Features the kernel did not grant.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        let parts =
            [(self.fixed_files, "registered files"), (self.fixed_buffers, "registered buffers")];
        parts.into_iter().filter(|p| !p.0).map(|p| p.1).collect()
    }
}

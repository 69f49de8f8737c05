//! The controller, shared by the device and the queue pairs, which run on their own threads.
//!
//! Only rare events take the controller's lock: a new queue, an overdue command, a reset, the
//! health log. A reset ends the commands of every queue and increments a counter. The threads of
//! the other queues see the new count and recreate their queues.

use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nvme::identify::{self, Info, Namespace};
use nvme::{
    Command, Completed, Controller, Error, FormattedNamespace, IoRequest, PAGE_BYTES, Platform,
    Queue, QueueParameters, Status, Tracker,
};

use super::super::{Able, DeviceError};
use super::bus::{Bus, Transfers};
use super::traffic::Traffic;
use crate::addressable::addressable;

/// Number of queue pairs to request: as many as server drives usually grant. Others grant fewer.
const QUEUES_WANTED: u16 = 128;

/// Timeout of a format, nanoseconds: erasing block by block takes minutes per terabyte. The same
/// timeout as through the kernel driver.
const FORMAT_NS: u64 = 3_600_000_000_000;

/// Secure Erase Settings value of a format that only discards: no secure erase.
const NO_ERASE: u8 = 0;

/// A running controller, with one of its namespaces.
pub(crate) struct Owner<B: Bus> {
    up: Mutex<Up<B>>,
    /// Registers and clock, accessible without the lock.
    pub host: Arc<B::Host>,
    /// Number of resets so far.
    resets: AtomicU64,
    /// Time after which a command is aborted, nanoseconds.
    timeout_ns: u64,
    pub info: Info,
    pub place: FormattedNamespace,
    pub namespace: Namespace,
    pub traffic: Traffic,
    bus: B,
}

struct Up<B: Bus> {
    controller: Controller<Arc<B::Host>>,
    granted: u16,
    /// IDs of unused queue pairs.
    free: Vec<u16>,
}

/// Converts a driver error into an I/O error.
pub(super) fn failed(error: Error) -> io::Error {
    let kind = match error {
        Error::Gone => io::ErrorKind::NotConnected,
        Error::NotReady(_) | Error::NoAnswer(_) => io::ErrorKind::TimedOut,
        Error::Unsupported(_) => io::ErrorKind::Unsupported,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}

/// Identifies a namespace and returns it with its block size.
fn identified<P>(
    controller: &mut Controller<P>,
    nsid: u32,
) -> Result<(Namespace, FormattedNamespace), Error>
where
    P: Deref<Target: Platform> + Clone,
{
    let namespace = controller.namespace(nsid)?;
    let format = namespace.format().ok_or(Error::Nonsense("the namespace's formats"))?;
    if format.metadata_bytes != 0 {
        return Err(Error::Unsupported("blocks without metadata"));
    }
    Ok((namespace, FormattedNamespace { nsid, block_bits: format.block_bytes.ilog2() }))
}

impl<B: Bus> Owner<B> {
    /// Starts the controller and identifies a namespace. Uses shadow doorbells if supported, as by
    /// emulated controllers, where each write to a doorbell register costs a VM exit.
    pub(crate) fn start(bus: B, nsid: u32, timeout_ns: u64) -> io::Result<Owner<B>> {
        let host = bus.host()?;
        let mut controller = Controller::start(host.clone()).map_err(failed)?;
        let granted = controller.grant_queues(QUEUES_WANTED).map_err(failed)?;
        match controller.use_shadow_doorbells() {
            // Shadow doorbells are optional.
            Ok(_) | Err(Error::Refused { .. }) => {}
            Err(error) => return Err(failed(error)),
        }
        let (namespace, place) = identified(&mut controller, nsid).map_err(failed)?;
        let info = controller.info().clone();
        let running = Up { controller, granted, free: (1..=granted).rev().collect() };
        Ok(Owner {
            up: Mutex::new(running),
            host,
            resets: AtomicU64::new(0),
            timeout_ns,
            info,
            place,
            namespace,
            traffic: Traffic::default(),
            bus,
        })
    }

    fn up(&self) -> MutexGuard<'_, Up<B>> {
        self.up.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The size of the namespace in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.namespace.size << self.place.block_bits
    }

    /// The health log; `None` if it cannot be read, or while another thread holds the lock, which
    /// can take seconds.
    pub(crate) fn health(&self) -> Option<nvme::health::HealthLog> {
        self.up.try_lock().ok()?.controller.health().ok()
    }

    /// Identifies the controller and the namespace again.
    pub(crate) fn identify_again(&self) -> io::Result<(Info, Namespace)> {
        let mut running = self.up();
        running.controller.check().map_err(failed)?;
        let mut page = [0; identify::STRUCTURE_BYTES];
        let command = Command::identify(identify::CONTROLLER, 0);
        running.controller.read(&command, &mut page).map_err(failed)?;
        let info = Info::parse(&page).ok_or(Error::Nonsense("identify controller"));
        let namespace = running.controller.namespace(self.place.nsid).map_err(failed)?;
        Ok((info.map_err(failed)?, namespace))
    }

    /// Returns the index of the format with this block size. Fails if the drive does not support
    /// it, or if a format would also erase other namespaces.
    pub(crate) fn format_of(&self, block_bytes: u32) -> Able<u8> {
        let absent = |text: String| Err(DeviceError::Absent(text));
        if !self.info.formats {
            return absent("the drive does not support Format".into());
        }
        let Some(index) = self.namespace.format_of(block_bytes) else {
            return absent(format!("the drive has no format with blocks of {block_bytes} bytes"));
        };
        let count = self.up().controller.namespaces(&mut []).map_err(failed)?;
        if self.info.format_is_global && count > 1 {
            return absent(format!("a format would erase all {count} namespaces of the drive"));
        }
        Ok(index)
    }

    /// Formats the namespace with `block_bytes`-byte blocks and no metadata, then identifies it
    /// again. No queue pair may exist. All data is lost.
    pub(crate) fn format(&mut self, block_bytes: u32) -> Able<()> {
        let (nsid, index) = (self.place.nsid, self.format_of(block_bytes)?);
        let running = self.up.get_mut().unwrap_or_else(PoisonError::into_inner);
        let controller = &mut running.controller;
        controller.format(nsid, index, NO_ERASE, FORMAT_NS).map_err(failed)?;
        let (namespace, place) = identified(controller, nsid).map_err(failed)?;
        (self.namespace, self.place) = (namespace, place);
        if block_bytes != 1 << self.place.block_bits {
            return Err(io::Error::other("the drive kept its block size").into());
        }
        Ok(())
    }
}

/// Shuts the controller down before the drive returns to the kernel. If the controller does not
/// respond, disabling its DMA makes it harmless, and the next driver resets it.
impl<B: Bus> Drop for Owner<B> {
    fn drop(&mut self) {
        let _ = self.up().controller.shut_down();
        self.bus.cut();
    }
}

/// A queue pair with the buffers of its slots, used by one thread.
pub(crate) struct QueuePair<B: Bus> {
    pub owner: Arc<Owner<B>>,
    queue: Queue<Arc<B::Host>, Arc<B::Head>, Vec<Tracker>>,
    data: B::Data,
    /// Offset of the first slot in the memory, and size of each slot, in bytes.
    data_at: usize,
    stride: usize,
    resets: u64,
}

impl<B: Bus> QueuePair<B> {
    /// Opens a queue pair for `slots` requests of at most `bytes` bytes.
    pub(crate) fn open(owner: &Arc<Owner<B>>, slots: u32, bytes: u32) -> io::Result<QueuePair<B>> {
        let mut running = owner.up();
        let resets = owner.resets.load(Relaxed);
        let Some(id) = running.free.last().copied() else {
            let text =
                format!("the drive has only {} queue pairs: use fewer jobs", running.granted);
            return Err(io::Error::other(text));
        };
        let stride = (bytes as usize).max(1).next_multiple_of(PAGE_BYTES);
        let timeout_ns = owner.timeout_ns;
        let shape =
            QueueParameters { slots: slots as usize, request_bytes: stride, base: 0, timeout_ns };
        let data_bytes = addressable(u64::from(slots), stride as u64)?;
        let layout = running.controller.lay_out(&shape).map_err(failed)?;
        let data_at = layout.end().next_multiple_of(PAGE_BYTES);
        let (head, data) = owner.bus.memory(data_at, data_bytes)?;
        let trackers = vec![Tracker::default(); layout.trackers()];
        let queue = running.controller.create_queue(id, head, trackers, layout);
        let mut queue = queue.map_err(failed)?;
        running.free.pop();
        for slot in 0..slots as usize {
            queue.prepare(slot, data_at + slot * stride, stride);
        }
        drop(running);
        Ok(QueuePair { owner: owner.clone(), queue, data, data_at, stride, resets })
    }

    /// The memory of a slot that is not in flight.
    #[inline]
    pub(crate) fn slot(&mut self, slot: u32, bytes: u32) -> &mut [u8] {
        assert!(bytes as usize <= self.stride);
        self.data.bytes(slot as usize * self.stride, bytes as usize)
    }

    /// Queues a request that uses the buffer of a slot.
    #[inline]
    pub(crate) fn push(&mut self, slot: u32, request: IoRequest) -> Result<(), nvme::PushError> {
        let data_offset = slot as usize * self.stride;
        if matches!(request.kind, nvme::RequestKind::Write | nvme::RequestKind::WriteThrough) {
            self.data
                .before_write(data_offset, (request.blocks as usize) << request.place.block_bits);
        }
        self.queue.push(slot as usize, &IoRequest { at: self.data_at + data_offset, ..request })
    }

    /// Queues a discard of ranges of blocks.
    pub(crate) fn push_discard(
        &mut self,
        slot: u32,
        ranges: &[nvme::Range],
    ) -> Result<(), nvme::PushError> {
        self.queue.push_discard(slot as usize, self.owner.place.nsid, ranges)
    }

    /// Submits all queued requests to the controller.
    #[inline]
    pub(crate) fn ring(&mut self) {
        self.queue.ring();
    }

    /// Collects completed requests.
    #[inline]
    pub(crate) fn poll(&mut self, done: impl FnMut(Completed)) {
        self.queue.poll(done);
    }

    /// Prepares the bytes of a completed read for access.
    #[inline]
    pub(crate) fn after_read(&mut self, slot: u32, bytes: u32) {
        self.data.after_read(slot as usize * self.stride, bytes as usize);
    }

    /// Whether another queue has caused a reset of the controller.
    #[inline]
    pub(crate) fn is_reset(&self) -> bool {
        self.owner.resets.load(Relaxed) != self.resets
    }

    /// Does the work that needs the controller: aborts overdue commands, resets the controller if
    /// that fails, and recreates the queue after a reset. Passes commands ended by a reset to
    /// `done`.
    #[cold]
    pub(crate) fn attend(&mut self, mut done: impl FnMut(Completed)) -> io::Result<()> {
        let owner = self.owner.clone();
        let mut running = owner.up();
        if !self.is_reset() {
            match running.controller.attend(&mut self.queue) {
                Ok(None) => return Ok(()),
                Err(Error::Gone) => return Err(failed(Error::Gone)),
                // A controller that does not answer or has stopped by itself also needs a reset.
                Ok(Some(_)) | Err(_) => {}
            }
            owner.resets.fetch_add(1, Relaxed);
            running.controller.reset().map_err(failed)?;
            // Some controllers forget the number of granted queues on reset.
            running.controller.grant_queues(QUEUES_WANTED).map_err(failed)?;
        }
        running.controller.check().map_err(failed)?;
        self.resets = owner.resets.load(Relaxed);
        running.controller.end(&mut self.queue, &mut done);
        running.controller.restore(&mut self.queue).map_err(failed)
    }

    /// Submits one request on slot 0 and waits for its completion.
    pub(crate) fn carry_out(
        &mut self,
        push: impl FnOnce(&mut QueuePair<B>) -> Result<(), nvme::PushError>,
    ) -> io::Result<()> {
        push(self).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        self.ring();
        let mut answer = None;
        for turn in 1u64.. {
            self.poll(|done| answer = Some(done.status));
            if answer.is_none() && (turn.is_multiple_of(super::ATTEND_EVERY) || self.is_reset()) {
                self.attend(|done| answer = Some(done.status))?;
            }
            if answer.is_some() {
                break;
            }
            nvme::Clock::pause(&*self.owner.host);
        }
        match answer {
            Some(status) if status.is_ok() => Ok(()),
            status => Err(super::status_error(status.unwrap_or(Status::LOST))),
        }
    }
}

/// Deletes the queue pair and its commands. If that fails, the controller may still access the
/// memory, so the memory is marked as abandoned.
impl<B: Bus> Drop for QueuePair<B> {
    fn drop(&mut self) {
        let mut running = self.owner.up();
        let id = self.queue.id();
        let is_reset = self.resets != self.owner.resets.load(Relaxed);
        if is_reset || running.controller.delete_queue(id).is_ok() {
            running.free.push(id);
        } else {
            self.data.abandon();
        }
    }
}

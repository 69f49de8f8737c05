//! An NVMe drive driven from user space: jobs access their queue pairs without the kernel.
//!
//! The driver is the crate `nvme`. A [`Bus`] gives access to the controller: through VFIO, through
//! sysfs, or to a simulated one in memory. Each backend polls its own queue pair. One more pair,
//! the side queue, serves the rare operations of [`Device`]. This module does not check whether the
//! drive may be used or written to: that happens when it is detached from the kernel
//! (`drive::PciOpened`). Dropping this device returns the drive.

mod backend;
mod bus;
mod owner;
pub(crate) mod simulated;
mod traffic;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use drive::{ControllerClaim, DriveError, DriveKey, PciOpened, Reach, Sample};
use journal::Storage;
use nvme::identify::Namespace;
use nvme::{Cause, IoRequest, Range, RequestKind, Status};
use record::{Finding, Health};
use rig::{BackendKind, Erase, SyncWrites, TargetInfo};
use workload::{Caching, Calls, Region};

use super::{Able, Device, DeviceError, IoAsk, UseBackend, wrapped};
use crate::backend::ByBytes;
use crate::clock::Clock;
use backend::QueueBackend;
use bus::Bus;
pub(crate) use bus::Wired;
use owner::{Owner, QueuePair};
use simulated::Wire;

/// Number of polls between two checks for overdue commands.
const ATTEND_EVERY: u64 = 4096;

/// Time after which a command is aborted; the same as in the kernel's driver.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Timeouts that fit into the patience of a run. Abort, reset and failure of a silent drive take
/// three timeouts, plus some seconds for the reset, and so end before the patience does.
const TIMEOUTS_IN_PATIENCE: u32 = 8;

/// Maximum bytes of a request on the side queue.
const SIDE_BYTES: u32 = 512 << 10;

/// Maximum bytes per discard range, and ranges per command.
const DISCARD_BYTES: u64 = 1 << 30;
const DISCARD_RANGES: usize = 256;

/// Minimum interval between readings of the temperature, which is an admin command.
const TEMPERATURE_EVERY: Duration = Duration::from_secs(1);

/// A drive without a kernel driver.
pub(crate) struct PciDevice<B: Bus> {
    spec: String,
    serial: String,
    owner: Arc<Owner<B>>,
    /// The side queue; absent only during a format.
    side: Mutex<Option<QueuePair<B>>>,
    temperature: Mutex<(Option<Instant>, Option<f64>)>,
    key: Option<DriveKey>,
    /// Returns the drive to the kernel once all fields above are dropped.
    claim: Option<ControllerClaim>,
}

/// The drive that is expected at this address.
pub(crate) struct Expected {
    pub spec: String,
    pub serial: String,
    pub nsid: u32,
    pub bytes: u64,
    pub block_bytes: u32,
}

impl PciDevice<Wired> {
    /// The device of an opened target.
    pub(crate) fn from_opened(opened: PciOpened, patience: Duration) -> Able<PciDevice<Wired>> {
        let PciOpened { info, claim, .. } = opened;
        let expected = Expected {
            spec: info.target.spec,
            serial: claim.serial().to_string(),
            nsid: claim.nsid(),
            bytes: claim.bytes(),
            block_bytes: info.logical_block_bytes,
        };
        let key = claim.key();
        let bus = match claim.reach() {
            Reach::Iommu { group } => Wired::vfio(group, &claim.address()),
            Reach::Physical { directory, pages } => Wired::physical(directory, pages.try_clone()?),
        }?;
        let mut device = PciDevice::start(bus, expected, patience)?;
        (device.key, device.claim) = (key, Some(claim));
        Ok(device)
    }
}

impl PciDevice<Wire> {
    /// A simulated drive of `bytes` bytes in memory, which completes every command at once.
    pub(crate) fn at_once(spec: String, bytes: u64, patience: Duration) -> Able<PciDevice<Wire>> {
        let serial = simulated::SERIAL.to_string();
        let expected = Expected { spec, serial, nsid: 1, bytes, block_bytes: 512 };
        PciDevice::start(Wire::at_once(bytes / 512), expected, patience)
    }
}

impl<B: Bus> PciDevice<B> {
    /// Starts the controller and checks that the drive is the expected one.
    pub(crate) fn start(bus: B, expected: Expected, patience: Duration) -> Able<PciDevice<B>> {
        let timeout = TIMEOUT.min(patience / TIMEOUTS_IN_PATIENCE);
        let owner = Owner::start(bus, expected.nsid, timeout.as_nanos() as u64)?;
        let Expected { spec, serial, bytes, block_bytes, .. } = expected;
        let actual = (text(&owner.info.serial), owner.bytes(), 1 << owner.place.block_bits);
        if actual != (serial.clone(), bytes, block_bytes) {
            let what = format!(
                "it has serial number {}, {} bytes in blocks of {}, not {serial}, {bytes} in \
                 blocks of {block_bytes}",
                actual.0, actual.1, actual.2
            );
            return Err(DriveError::Changed { path: spec, what }.into());
        }
        let owner = Arc::new(owner);
        let side = Mutex::new(Some(side_queue(&owner)?));
        let temperature = Mutex::default();
        Ok(PciDevice { spec, serial, owner, side, temperature, key: None, claim: None })
    }

    pub(super) fn io<U: UseBackend>(
        &self,
        ask: &IoAsk<'_>,
        placed: io::Result<()>,
        user: U,
    ) -> U::Out {
        let workload = ask.workload;
        let bytes = matches!(workload.calls, Calls::Bytes { .. });
        let depth = if bytes { 1 } else { workload.depth };
        let block = workload.blocks.max();
        let pair = placed.and_then(|()| QueuePair::open(&self.owner, depth, block));
        let durable = workload.sync_writes || ask.issue.open.sync != SyncWrites::None;
        let backend = pair.map(|pair| QueueBackend::new(pair, ask.clock, depth, durable));
        if bytes {
            user.with(backend.map(|backend| ByBytes::new(backend, block)))
        } else {
            wrapped(ask.issue, backend, user)
        }
    }

    fn side<T>(&self, act: impl FnOnce(&mut QueuePair<B>) -> io::Result<T>) -> io::Result<T> {
        let mut side = self.side.lock().unwrap_or_else(PoisonError::into_inner);
        let pair = match side.take() {
            Some(pair) => pair,
            None => side_queue(&self.owner)?,
        };
        act(side.insert(pair))
    }

    fn block_bytes(&self) -> u64 {
        1 << self.owner.place.block_bits
    }

    /// A side queue request for whole blocks.
    fn request(&self, kind: RequestKind, offset: u64, bytes: u64) -> IoRequest {
        let place = self.owner.place;
        let (lba, blocks) = (offset >> place.block_bits, (bytes >> place.block_bits) as u32);
        IoRequest { kind, place, lba, blocks, at: 0 }
    }

    fn whole_blocks(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let block = self.block_bytes();
        if offset.is_multiple_of(block) && bytes.is_multiple_of(block) {
            Ok(())
        } else {
            Err(io::ErrorKind::InvalidInput.into())
        }
    }

    /// Writes zeros to whole blocks with the drive's own command.
    fn zero(&self, region: Region) -> io::Result<()> {
        self.whole_blocks(region.start, region.bytes)?;
        let step = u64::from(u16::MAX) * self.block_bytes();
        for start in (region.start..region.end()).step_by(step as usize) {
            let bytes = step.min(region.end() - start);
            let zeroes = self.request(RequestKind::Zeroes, start, bytes);
            self.side(|side| side.carry_out(|side| side.push(0, zeroes)))?;
        }
        Ok(())
    }

    fn temperature(&self) -> Option<f64> {
        let mut reading = self.temperature.lock().unwrap_or_else(PoisonError::into_inner);
        if reading.0.is_none_or(|at| at.elapsed() >= TEMPERATURE_EVERY) {
            let now = self.owner.health().map(|health| health.temperature_c.map(f64::from));
            *reading = (Some(Instant::now()), now.unwrap_or(reading.1));
        }
        reading.1
    }
}

/// The difference in size or format between a namespace then and now.
fn difference(then: &Namespace, now: &Namespace) -> Option<String> {
    if then.size != now.size {
        return Some(format!("it had {} blocks, now {}", then.size, now.size));
    }
    (then.current != now.current)
        .then(|| format!("its format was number {}, now {}", then.current, now.current))
}

fn side_queue<B: Bus>(owner: &Arc<Owner<B>>) -> io::Result<QueuePair<B>> {
    QueuePair::open(owner, 1, SIDE_BYTES)
}

/// A text field of an identify structure.
fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(nvme::identify::trimmed(field)).into_owned()
}

/// The error number of a failed command. It is the one that Linux uses (`nvme_error_status` and
/// `blk_status_to_errno`), so that records are comparable.
fn error_number(status: Status) -> i32 {
    match status.cause() {
        Cause::Lost => libc::ETIMEDOUT,
        Cause::NoSuchCommand | Cause::InvalidField | Cause::Namespace => libc::EOPNOTSUPP,
        Cause::OutOfRange | Cause::NotReady => libc::EREMOTEIO,
        Cause::WriteFault
        | Cause::ReadFault
        | Cause::Unwritten
        | Cause::Denied
        | Cause::ReadOnly => libc::ENODATA,
        Cause::Protection => libc::EILSEQ,
        _ => libc::EIO,
    }
}

fn status_error(status: Status) -> io::Error {
    io::Error::from_raw_os_error(error_number(status))
}

impl<B: Bus> Device for PciDevice<B> {
    fn best_backend(&self, _clock: Clock) -> (BackendKind, Option<Finding>) {
        (BackendKind::Nvme, None)
    }

    fn backend(&self, _requested: BackendKind) -> BackendKind {
        BackendKind::Nvme
    }

    fn bypasses_cache(&self, _caching: Caching) -> bool {
        true
    }

    fn storage(&self) -> Option<&dyn Storage> {
        Some(self)
    }

    fn flush(&self) -> io::Result<()> {
        let flush = self.request(RequestKind::Flush, 0, 0);
        self.side(|side| side.carry_out(|side| side.push(0, flush)))
    }

    fn discard(&self, region: Region) -> io::Result<()> {
        self.whole_blocks(region.start, region.bytes)?;
        let bits = self.owner.place.block_bits;
        let starts = (region.start..region.end()).step_by(DISCARD_BYTES as usize);
        let ranges = starts.map(|start| {
            let bytes = DISCARD_BYTES.min(region.end() - start);
            Range { lba: start >> bits, blocks: (bytes >> bits) as u32 }
        });
        let ranges: Vec<Range> = ranges.collect();
        let mut requests = ranges.chunks(DISCARD_RANGES);
        requests.try_for_each(|ranges| {
            self.side(|side| side.carry_out(|side| side.push_discard(0, ranges)))
        })
    }

    fn watch(&self) -> Option<Sample> {
        Some(self.owner.traffic.sample(self.temperature()))
    }

    fn is_read_by_kernel(&self) -> bool {
        false
    }

    fn health(&self) -> Option<Health> {
        Some(drive::nvme_health(&self.owner.health()?))
    }

    fn identify(&self) -> Option<DriveKey> {
        self.key.clone()
    }

    fn check(&self) -> Result<(), DriveError> {
        self.claim.as_ref().map_or(Ok(()), ControllerClaim::check)?;
        let identified = self.owner.identify_again();
        let (info, namespace) = identified.map_err(|source| DriveError::Io {
            context: format!("{} does not answer", self.spec),
            source,
        })?;
        let changed = |what| Err(DriveError::Changed { path: self.spec.clone(), what });
        let (serial, old_namespace) = (text(&info.serial), &self.owner.namespace);
        if serial != self.serial {
            return changed(format!("its serial number was {}, now {serial}", self.serial));
        }
        difference(old_namespace, &namespace).map_or(Ok(()), changed)
    }

    fn settle(&self, _everywhere: bool) -> Able<()> {
        Err(DeviceError::Absent("no other program can use this drive".into()))
    }

    fn can_erase(&self, how: Erase) -> Able<()> {
        let absent = match how {
            Erase::Discard if self.owner.info.discards => return Ok(()),
            Erase::Zero if self.owner.info.zeroes => return Ok(()),
            Erase::Format { block_bytes } => {
                return self.owner.format_of(block_bytes).map(drop);
            }
            Erase::Discard => "the drive does not support discards",
            Erase::Zero => "the drive does not support Write Zeroes",
            Erase::SecureDiscard => "NVMe has no secure discard",
            Erase::Sanitize => "requires the kernel's driver: return the drive to the kernel first",
        };
        Err(DeviceError::Absent(absent.into()))
    }

    fn erase(&self, region: Region, how: Erase) -> Able<()> {
        self.can_erase(how)?;
        match how {
            Erase::Zero => Ok(self.zero(region)?),
            _ => Ok(self.discard(region)?),
        }
    }

    /// Without the side queue, this device is the only user of the owner.
    fn format(&mut self, block_bytes: u32, info: &TargetInfo) -> Able<TargetInfo> {
        let bytes_before = self.owner.bytes();
        *self.side.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        let owner = Arc::get_mut(&mut self.owner).ok_or(io::ErrorKind::ResourceBusy)?;
        owner.format(block_bytes)?;
        let namespace = owner.namespace.clone();
        *self.side.get_mut().unwrap_or_else(PoisonError::into_inner) =
            Some(side_queue(&self.owner)?);
        if let Some(claim) = &mut self.claim {
            claim.formatted(&namespace)?;
            self.key = claim.key();
        }
        let mut info = info.clone();
        let bytes = self.owner.bytes();
        let usable_bytes = if info.bytes == bytes_before { bytes } else { info.bytes.min(bytes) };
        info.bytes = usable_bytes - usable_bytes % u64::from(block_bytes);
        info.logical_block_bytes = block_bytes;
        info.target.bytes = Some(info.bytes);
        info.target.drive.iter_mut().for_each(|drive| drive::nvme_formatted(drive, &namespace));
        Ok(info)
    }
}

impl<B: Bus> Storage for PciDevice<B> {
    fn read_exact(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let block = self.block_bytes();
        let (mut offset, mut left) = (offset, buffer);
        while !left.is_empty() {
            let start = offset - offset % block;
            let skip = (offset - start) as usize;
            let bytes = (skip + left.len()).next_multiple_of(block as usize) as u64;
            let bytes = bytes.min(u64::from(SIDE_BYTES));
            let take = left.len().min(bytes as usize - skip);
            let (now, rest) = left.split_at_mut(take);
            let request = self.request(RequestKind::Read, start, bytes);
            self.side(|side| {
                side.carry_out(|side| side.push(0, request))?;
                side.after_read(0, bytes as u32);
                now.copy_from_slice(&side.slot(0, bytes as u32)[skip..skip + take]);
                Ok(())
            })?;
            (offset, left) = (offset + take as u64, rest);
        }
        Ok(())
    }

    fn write_all(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.whole_blocks(offset, bytes.len() as u64)?;
        let mut offset = offset;
        for piece in bytes.chunks(SIDE_BYTES as usize) {
            let request = self.request(RequestKind::Write, offset, piece.len() as u64);
            self.side(|side| {
                side.slot(0, piece.len() as u32).copy_from_slice(piece);
                side.carry_out(|side| side.push(0, request))
            })?;
            offset += piece.len() as u64;
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.flush()
    }

    fn forget(&self, _region: Region) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_format_is_named() {
        let device = PciDevice::at_once("null:nvme".into(), 1 << 20, TIMEOUT);
        let then = device.expect("starts").owner.namespace.clone();
        let mut now = then.clone();
        assert_eq!(difference(&then, &now), None);
        now.current = 1;
        let text = difference(&then, &now).expect("another format");
        assert_eq!(text, "its format was number 0, now 1");
        now.size = 4096;
        let text = difference(&then, &now).expect("another size");
        assert_eq!(text, "it had 2048 blocks, now 4096");
    }
}

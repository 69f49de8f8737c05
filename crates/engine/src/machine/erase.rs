//! Erases a real drive: checks permission, reads the result back, and reopens the drive after a
//! format.

use std::io;
use std::sync::Arc;

use record::{Safety, State, TargetKind};
use rig::{Erase, Event, Result, RigError, TargetInfo};

use super::Machine;
use crate::device::{DeviceError, device_error};
use crate::failure::io_error;
use crate::release::{self, Look, Stretch};

impl Machine {
    pub(super) fn may_erase(&self, what: &str) -> Result<()> {
        let device = self.info.target.kind == TargetKind::Device;
        if device && self.info.allowed == Safety::Destroys {
            return Ok(());
        }
        let spec = &self.info.target.spec;
        Err(RigError::Refused(format!(
            "{what} of {spec}, which is not a drive opened with --destroy"
        )))
    }

    /// Reads the sampled ranges and returns their fingerprints.
    pub(super) fn look(&self, places: &[Stretch]) -> Result<Look> {
        let look = release::look(|at, buffer| self.device.read(at, buffer), places);
        look.map_err(|e| device_error(&self.info, "reading blocks", e))
    }

    /// Writes canaries to the sampled ranges and flushes them to the drive.
    pub(super) fn put_canaries(&self, places: &[Stretch]) -> Result<()> {
        let written = release::put_canaries(|at, bytes| self.device.write(at, bytes), places);
        let written = written.and_then(|()| Ok(self.device.flush()?));
        written.map_err(|e: DeviceError| device_error(&self.info, "writing canaries", e))
    }

    /// Returns the error for a failed erase. A command that the device lacks is reported as
    /// unsupported, except a discard, which fails.
    pub(super) fn not_erased(&self, how: Erase, error: DeviceError) -> RigError {
        if how != Erase::Discard && is_unsupported(&error) {
            let text = format!("{}: the device does not support it", how.name());
            return RigError::Unsupported(text);
        }
        device_error(&self.info, how.name(), error)
    }

    pub(super) fn sanitize(&mut self) -> Result<()> {
        let (device, observer) = (&self.device, &mut self.observer);
        let sanitized = device.sanitize(&mut |done| {
            observer.event(&Event::Progress { name: "sanitize".into(), done })
        });
        sanitized.map_err(|e| device_error(&self.info, "sanitize", e))
    }

    /// Formats the drive and checks that it is still the same drive.
    pub(super) fn format_drive(&mut self, block_bytes: u32) -> Result<()> {
        // The queue's thread shares the device.
        self.queue.close();
        let device = Arc::get_mut(&mut self.device);
        let device = device
            .ok_or_else(|| io::ErrorKind::ResourceBusy.into())
            .map_err(|e| io_error(&self.info, "format", e))?;
        let can = device.can_erase(Erase::Format { block_bytes });
        can.map_err(|e| device_error(&self.info, "format", e))?;
        // After a format, the drive may be gone or replaced by another. The rig must be unusable
        // then.
        self.ended = Some(|| RigError::Refused("the drive could not be reopened".into()));
        let formatted = device.format(block_bytes, &self.info);
        if formatted.is_err() && device.storage().is_some() {
            self.ended = None;
        }
        let info = formatted.map_err(|e| device_error(&self.info, "format", e))?;
        let [new, old] = [&info, &self.info].map(|info| {
            let drive = info.target.drive.as_ref();
            drive.map(|drive| (&drive.serial, &drive.model, &drive.hardware_id))
        });
        if new != old {
            let text = "a different drive appeared after the format: nothing was written to it";
            return Err(RigError::Refused(text.into()));
        }
        self.info = TargetInfo { state: State::Fresh, ..info };
        self.info.target.direct = Some(self.device.bypasses_cache(workload::Caching::Bypass));
        self.ended = None;
        Ok(())
    }

    /// Returns the error for a failed trim of free space.
    pub(super) fn untrimmed(&self, error: DeviceError) -> RigError {
        let filesystem = self.info.target.filesystem.as_ref();
        let kind = filesystem.map_or("unknown type", |fs| fs.kind.as_str());
        match &error {
            _ if is_unsupported(&error) => RigError::Unsupported(format!(
                "the file system ({kind}) or the underlying drive does not support trimming"
            )),
            DeviceError::Io(e) if e.raw_os_error() == Some(libc::EPERM) => {
                RigError::Refused("trimming free space needs root".into())
            }
            _ => device_error(&self.info, "trim", error),
        }
    }
}

fn is_unsupported(error: &DeviceError) -> bool {
    let DeviceError::Io(error) = error else { return false };
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOTTY))
}

//! Erases a real drive, checks the result, and opens the drive again after a format.

use std::io;

use drive::{DriveError, ErrorKind};
use record::{Safety, State, TargetKind};
use rig::{Erase, Event, Released, Result, RigError};
use workload::{Caching, Region};

use super::{DISCARD_STEP, Machine, io_error};
use crate::device::{AnyDevice, FdDevice, Handles};
use crate::release::{self, Stretch};

impl Machine {
    /// Writes canaries, erases, and reads them back.
    pub(super) fn erase(&mut self, region: Region, how: Erase) -> Result<Released> {
        self.may_erase(how.name())?;
        self.check_again()?;
        self.can_erase(how)?;
        let places = release::places(region);
        let before = self.look(&places, true)?;
        match how {
            Erase::Discard => drop(self.discard(region)?),
            Erase::SecureDiscard => self.in_steps(region, how, drive::secure_discard)?,
            Erase::Zero => self.in_steps(region, how, drive::write_zeroes)?,
            Erase::Format { block_bytes } => self.format(block_bytes)?,
            Erase::Sanitize => self.sanitize()?,
        }
        if region.bytes == self.info.bytes {
            self.info.state = if how == Erase::Zero { State::Filled } else { State::Fresh };
        }
        // A format to larger blocks may have made the drive slightly smaller.
        let end = self.info.bytes;
        let still_there = places.iter().all(|place| place.at + u64::from(place.bytes) <= end);
        if !still_there {
            return Ok(Released::default());
        }
        Ok(before.until(&self.look(&places, false)?))
    }

    fn may_erase(&self, what: &str) -> Result<()> {
        let device = self.info.target.kind == TargetKind::Device;
        if device && self.info.allowed == Safety::Destroys {
            return Ok(());
        }
        let spec = &self.info.target.spec;
        Err(RigError::Refused(format!(
            "{what} of {spec}, which is not a drive opened with --destroy"
        )))
    }

    /// Whether the drive supports this; asked before anything is written to it.
    fn can_erase(&self, how: Erase) -> Result<()> {
        let guard = self.guard.as_ref().ok_or_else(|| self.lost())?;
        let can = match how {
            Erase::Format { block_bytes } => guard.can_format(block_bytes),
            Erase::Sanitize => guard.can_sanitize(),
            Erase::Discard | Erase::SecureDiscard | Erase::Zero => Ok(()),
        };
        can.map_err(|e| rig_error(how.name(), e))
    }

    /// Fingerprints of the places, which get canaries first.
    fn look(&self, places: &[Stretch], canaries: bool) -> Result<release::Look> {
        let failed = |e| io_error(&self.info, "look at blocks", e);
        let Some(handles) = self.device.handles() else { return Err(self.lost()) };
        let (file, _) = handles.pick(Caching::Bypass);
        if canaries {
            release::put_canaries(file, places).map_err(failed)?;
        }
        release::look(file, places).map_err(failed)
    }

    fn in_steps(
        &mut self,
        region: Region,
        how: Erase,
        act: fn(&std::fs::File, u64, u64) -> io::Result<()>,
    ) -> Result<()> {
        let mut at = region.start;
        while at < region.end() {
            self.alive()?;
            let Some(handles) = self.device.handles() else { return Err(self.lost()) };
            let bytes = DISCARD_STEP.min(region.end() - at);
            act(handles.buffered(), at, bytes).map_err(|e| self.refused_or_failed(how, e))?;
            at += bytes;
            let done = (at - region.start) as f64 / region.bytes as f64;
            self.observer.event(&Event::Progress { name: how.name().into(), done });
        }
        Ok(())
    }

    /// A command that a device does not support is not a failure of the device.
    fn refused_or_failed(&self, how: Erase, error: io::Error) -> RigError {
        match error.raw_os_error() {
            Some(libc::EOPNOTSUPP | libc::ENOTTY) => {
                RigError::Unsupported(format!("{}: the device does not support it", how.name()))
            }
            _ => io_error(&self.info, how.name(), error),
        }
    }

    /// Formats to another block size. The kernel adopts it once the drive is closed, so everything is
    /// closed and opened again, with every check of the first time.
    pub(super) fn format(&mut self, block_bytes: u32) -> Result<()> {
        self.may_erase("format")?;
        let guard = self.guard.as_ref().ok_or_else(|| self.lost())?;
        guard.format(block_bytes).map_err(|e| rig_error("format", e))?;
        self.open_again()
    }

    fn sanitize(&mut self) -> Result<()> {
        let (guard, observer) = (&self.guard, &mut self.observer);
        let mut progress =
            |done| observer.event(&Event::Progress { name: "sanitize".into(), done });
        match guard {
            Some(guard) => guard.sanitize(&mut progress).map_err(|e| rig_error("sanitize", e)),
            None => Err(self.lost()),
        }
    }

    /// Closes the drive and opens it again; a different drive is refused for good.
    fn open_again(&mut self) -> Result<()> {
        let who = |info: &rig::TargetInfo| {
            let drive = info.target.drive.as_ref();
            drive.map(|d| (d.serial.clone(), d.model.clone(), d.hardware_id.clone()))
        };
        let request = self.request.clone().ok_or_else(|| self.lost())?;
        // Without descriptors a run would go nowhere: no error may leave the rig in that state.
        self.ended = Some(|| RigError::Refused("the drive could not be opened again".into()));
        (self.device, self.watch, self.guard) = (AnyDevice::Null, None, None);
        let opened = drive::open(&self.info.target.spec, &request);
        let opened = opened.map_err(|e| rig_error("open again", e))?;
        if who(&opened.info) != who(&self.info) {
            let text = "another drive was there after the format: nothing was written to it";
            return Err(RigError::Refused(text.into()));
        }
        let handles = Handles::new(opened.file, true);
        let handles = handles.map_err(|e| io_error(&opened.info, "open again", e))?;
        self.info = rig::TargetInfo { state: State::Fresh, ..opened.info };
        self.info.target.direct = Some(handles.direct_works());
        (self.device, self.watch) = (AnyDevice::Fd(FdDevice::new(handles)), Some(opened.watch));
        (self.guard, self.ended) = (Some(opened.guard), None);
        Ok(())
    }

    /// Makes the scratch file's file system discard its free space.
    pub(super) fn trim_free(&mut self) -> Result<u64> {
        if self.info.target.kind != TargetKind::Directory {
            let text = "trimming free space needs a directory on a file system";
            return Err(RigError::Unsupported(text.into()));
        }
        let Some(handles) = self.device.handles() else { return Err(self.lost()) };
        crate::sys::file::trim_free(handles.buffered()).map_err(|error| {
            let filesystem = self.info.target.filesystem.as_ref();
            let kind = filesystem.map_or("this", |fs| fs.kind.as_str());
            match error.raw_os_error() {
                Some(libc::EOPNOTSUPP | libc::ENOTTY) => RigError::Unsupported(format!(
                    "{kind} file systems, or the drive below it, do not trim"
                )),
                Some(libc::EPERM) => RigError::Refused("trimming free space needs root".into()),
                _ => io_error(&self.info, "trim", error),
            }
        })
    }

    fn lost(&self) -> RigError {
        RigError::Refused(format!("{} is not open", self.info.target.spec))
    }
}

fn rig_error(what: &str, error: DriveError) -> RigError {
    match error.kind() {
        ErrorKind::Usage => RigError::Unsupported(error.to_string()),
        ErrorKind::Refused => RigError::Refused(error.to_string()),
        ErrorKind::Io => {
            RigError::Io { context: what.into(), source: io::Error::other(error.to_string()) }
        }
    }
}

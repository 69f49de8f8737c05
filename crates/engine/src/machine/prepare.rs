//! Preparations of a real target.

use record::{State, TargetKind};
use rig::{Erase, Event, Job, Measurement, Pass, Released, Result, RigError, Stage, TargetInfo};
use workload::{Region, Workload};

use super::Machine;
use crate::admit;
use crate::borrowed::Target;
use crate::device::{DeviceError, device_error};
use crate::failure::io_error;
use crate::prepare::{Prepare, Restored};
use crate::release;

/// Bytes per erase step, so that an erase can be interrupted and its progress shown.
const ERASE_STEP: u64 = 1 << 30;

impl Prepare for Machine {
    fn time(&self) -> u64 {
        self.clock.now()
    }

    fn alive(&self) -> Result<()> {
        self.goes_on()
    }

    fn info(&mut self) -> &mut TargetInfo {
        &mut self.info
    }

    fn run_admitted(&mut self, workload: &Workload) -> Result<Measurement> {
        self.admit_workload(workload)?;
        Ok(self.run(vec![Job::from_workload(workload)], Stage::default())?.whole)
    }

    fn borrow(&mut self, region: Region) -> Result<u64> {
        admit::admit_borrowing(&self.info)?;
        self.check_again()?;
        let Some(storage) = self.device.storage() else { return Ok(0) };
        let target = Target { info: &self.info, storage, key: self.device.identify() };
        self.borrowed.borrow(region, &target, self.options.journal.as_ref())?;
        Ok(region.bytes)
    }

    fn restore(&mut self) -> Result<Restored> {
        let Some(storage) = self.device.storage() else { return Ok(Restored::default()) };
        let target = Target { info: &self.info, storage, key: None };
        let (observer, clock, interval_ns) =
            (&mut self.observer, self.clock, self.options.interval_ns);
        let mut last: Option<(Pass, u64)> = None;
        let (compared_bytes, restored) = self.borrowed.restore(&target, &mut |progress| {
            // Once per interval, and at both ends of a pass.
            let now = clock.now();
            let is_due =
                last.is_none_or(|(pass, at)| pass != progress.pass || now - at >= interval_ns);
            if is_due || progress.is_done() {
                last = Some((progress.pass, now));
                observer.event(&Event::Returning(progress));
            }
        })?;
        if compared_bytes > 0 {
            let restored_bytes = restored.bytes;
            self.observer.event(&Event::Returned { compared_bytes, restored_bytes });
        }
        Ok(restored)
    }

    fn discard(&mut self, region: Region) -> Result<u64> {
        admit::admit_change("a discard destroys data", &self.info)?;
        self.check_again()?;
        if self.device.storage().is_none() {
            return Ok(0);
        }
        self.in_steps(region, Erase::Discard)?;
        Ok(region.bytes)
    }

    fn flush(&mut self) -> Result<()> {
        self.device.flush().map_err(|e| io_error(&self.info, "flush", e))
    }

    fn drop_caches(&mut self) -> Result<Option<u64>> {
        let dropped = self.device.drop_caches();
        dropped.map_err(|e| device_error(&self.info, "drop caches", e))
    }

    /// The user's own files and devices keep their size.
    fn empty(&mut self) -> Result<()> {
        if self.info.target.kind != TargetKind::Directory {
            return Ok(());
        }
        self.empty = true;
        self.device.empty().map_err(|e| device_error(&self.info, "empty", e))
    }

    /// A device is discarded. A file's blocks are freed and trimmed by the file system.
    fn release(&mut self, region: Region) -> Result<Released> {
        admit::admit_change("releasing blocks destroys data", &self.info)?;
        if self.device.storage().is_none() {
            return Ok(Released::default());
        }
        if self.info.target.kind != TargetKind::Device {
            let freed = self.device.free(region);
            return freed.map_err(|e| match e {
                DeviceError::Absent(why) => RigError::Unsupported(why),
                other => device_error(&self.info, "reading blocks", other),
            });
        }
        let places = release::places(region);
        let before = self.look(&places)?;
        self.discard(region)?;
        Ok(before.until(&self.look(&places)?))
    }

    fn erase(&mut self, region: Region, how: Erase) -> Result<Released> {
        self.may_erase(how.name())?;
        self.check_again()?;
        let can = self.device.can_erase(how);
        can.map_err(|e| device_error(&self.info, how.name(), e))?;
        let places = release::places(region);
        self.put_canaries(&places)?;
        let before = self.look(&places)?;
        match how {
            Erase::Discard => drop(self.discard(region)?),
            Erase::SecureDiscard | Erase::Zero => self.in_steps(region, how)?,
            Erase::Format { block_bytes } => self.format(block_bytes)?,
            Erase::Sanitize => self.sanitize()?,
        }
        if region.bytes == self.info.bytes {
            self.info.state = if how == Erase::Zero { State::Filled } else { State::Fresh };
        }
        // A format to larger blocks can make the drive slightly smaller.
        let end = self.info.bytes;
        let still_there = places.iter().all(|place| place.at + u64::from(place.bytes) <= end);
        if !still_there {
            return Ok(Released::default());
        }
        Ok(before.until(&self.look(&places)?))
    }

    fn trim_free(&mut self) -> Result<u64> {
        if self.info.target.kind != TargetKind::Directory {
            let text = "trimming free space needs a directory on a file system";
            return Err(RigError::Unsupported(text.into()));
        }
        self.device.trim_free().map_err(|e| self.untrimmed(e))
    }

    /// Closes the drive completely. If a different drive then appears, the rig refuses it
    /// permanently.
    fn format(&mut self, block_bytes: u32) -> Result<()> {
        self.may_erase("format")?;
        self.format_drive(block_bytes)
    }
}

impl Machine {
    /// Discards or erases a region in steps and reports progress after each.
    fn in_steps(&mut self, region: Region, how: Erase) -> Result<()> {
        let mut offset = region.start;
        while offset < region.end() {
            self.goes_on()?;
            let piece = Region { start: offset, bytes: ERASE_STEP.min(region.end() - offset) };
            let erased = match how {
                Erase::Discard => self.device.discard(piece).map_err(Into::into),
                _ => self.device.erase(piece, how),
            };
            erased.map_err(|e| self.not_erased(how, e))?;
            offset = piece.end();
            let share = (offset - region.start) as f64 / region.bytes as f64;
            self.observer.event(&Event::Progress { name: how.name().into(), done: share });
        }
        Ok(())
    }
}

//! Preparations of a virtual drive. No data are moved; the model determines the time.

use model::{CommandStatus, Drive};
use record::State;
use rig::{Erase, Job, Measurement, Released, Result, RigError, Stage, TargetInfo};
use workload::{Content, Op, OpKind, Region, Workload};

use super::Simulator;
use crate::admit::admit;
use crate::failure::io_error;
use crate::prepare::{Prepare, Restored, read_workload};
use crate::release;

/// The largest discard in one command, bytes; an operation's length has only 32 bits.
const DISCARD_STEP: u64 = 1 << 30;

impl Prepare for Simulator {
    fn time(&self) -> u64 {
        self.now
    }

    fn alive(&self) -> Result<()> {
        self.goes_on()
    }

    fn info(&mut self) -> &mut TargetInfo {
        &mut self.info
    }

    fn run_admitted(&mut self, workload: &Workload) -> Result<Measurement> {
        admit(workload, &self.info)?;
        let before = self.drive.writes_remembered();
        let measured = self.run(vec![Job::from_workload(workload)], Stage::default())?.whole;
        if workload.content == Content::Zeros {
            self.stored.zeroed(workload.region, before + 1..self.drive.writes_remembered() + 1);
        }
        Ok(measured)
    }

    /// No data are moved; borrowing and restoring each cost one read of the region.
    fn borrow(&mut self, region: Region) -> Result<u64> {
        self.run_admitted(&read_workload("borrow", region))?;
        self.borrowed.push(region);
        self.goes_on().map(|()| region.bytes)
    }

    fn restore(&mut self) -> Result<Restored> {
        for region in std::mem::take(&mut self.borrowed) {
            self.run_admitted(&read_workload("compare", region))?;
        }
        Ok(Restored::default())
    }

    fn discard(&mut self, region: Region) -> Result<u64> {
        let mut offset = region.start;
        while offset < region.end() {
            self.goes_on()?;
            let bytes = DISCARD_STEP.min(region.end() - offset);
            self.command(Op { kind: OpKind::Discard, offset, bytes: bytes as u32 })?;
            offset += bytes;
        }
        if region.bytes == self.info.bytes {
            self.info.state = State::Fresh;
        }
        self.forget_blocks();
        Ok(region.bytes)
    }

    /// Discards a region, then reports the state of the sampled blocks.
    fn release(&mut self, region: Region) -> Result<Released> {
        let places = release::places(region);
        let were_mapped: Vec<bool> = places.iter().map(|p| self.drive.is_mapped(p.at)).collect();
        self.discard(region)?;
        let mut released = Released::default();
        for (place, was_mapped) in places.iter().zip(were_mapped) {
            let bytes = u64::from(place.bytes);
            released.looked_bytes += bytes;
            let is_kept = !was_mapped || self.drive.is_mapped(place.at);
            let zeros = !is_kept && self.drive.reads_zeros(place.at);
            released.kept_bytes += if is_kept { bytes } else { 0 };
            released.zero_bytes += if zeros { bytes } else { 0 };
        }
        Ok(released)
    }

    /// A virtual drive keeps no copies, so every erase except format and zero is a discard.
    fn erase(&mut self, region: Region, how: Erase) -> Result<Released> {
        for place in release::places(region) {
            self.command(Op { kind: OpKind::Write, offset: place.at, bytes: place.bytes })?;
        }
        match how {
            Erase::Discard | Erase::SecureDiscard | Erase::Sanitize => self.release(region),
            Erase::Zero => {
                self.fill(region, Content::Zeros, 1)?;
                Ok(Released::default())
            }
            Erase::Format { block_bytes } => {
                self.format(block_bytes)?;
                Ok(Released::default())
            }
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.command(Op::FLUSH)
    }

    /// A virtual drive has no page cache.
    fn drop_caches(&mut self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// A virtual drive has no file that could grow.
    fn empty(&mut self) -> Result<()> {
        Ok(())
    }

    fn trim_free(&mut self) -> Result<u64> {
        let text = "trimming free space: a virtual drive contains no file system";
        Err(RigError::Unsupported(text.into()))
    }

    /// Changes the logical block size. This replaces the drive by a new one at the same virtual
    /// time.
    fn format(&mut self, block_bytes: u32) -> Result<()> {
        if !self.spec.formats.contains(&block_bytes) {
            let text = format!("formatting to blocks of {block_bytes} bytes");
            return Err(RigError::Unsupported(text));
        }
        self.spec.block_bytes.value = block_bytes;
        self.drive = Drive::new(&self.spec, *self.spec.seed);
        self.drive.idle(self.now);
        self.info = Simulator::info(&self.spec, &self.info.target.spec);
        self.forget_all_blocks();
        Ok(())
    }
}

impl Simulator {
    /// Runs one command outside a workload.
    pub(super) fn command(&mut self, op: Op) -> Result<()> {
        let completion = self.drive.submit(self.now, &op);
        self.now = self.now.max(completion.done_ns);
        if completion.status == CommandStatus::Ok {
            return Ok(());
        }
        Err(io_error(&self.info, op.kind.name(), rig::errno::error(rig::errno::EIO)))
    }
}

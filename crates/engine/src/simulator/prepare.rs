//! Brings a virtual drive into a state. No data are moved; the time is the model's.

use std::io;

use model::{Drive, Status};
use record::State;
use rig::{Erase, Job, Measurement, Released, Result, RigError, Stage};
use workload::{Content, Op, OpKind, Region, Workload};

use super::Simulator;
use crate::admit::admit;
use crate::{prepare, release};

/// The largest discard in one command, bytes: the length of an operation has 32 bits.
const DISCARD_STEP: u64 = 1 << 30;

impl Simulator {
    fn run_workload(&mut self, workload: &Workload) -> Result<Measurement> {
        Ok(self.run(vec![Job::of(workload)], Stage::default())?.whole)
    }

    pub(super) fn fill(&mut self, region: Region, content: Content, seed: u64) -> Result<u64> {
        let workload = prepare::fill_workload(region, content, seed);
        admit(&workload, &self.info)?;
        let measurement = self.run_workload(&workload)?;
        self.alive()?;
        if let Some(error) = measurement.errors.first() {
            let source = io::Error::other(format!("{} {} errors", error.count, error.kind));
            return Err(RigError::Io {
                context: format!("fill {}", self.info.target.spec),
                source,
            });
        }
        self.info.state = State::Filled;
        Ok(region.bytes)
    }

    /// No data are moved: borrowing and restoring cost one read of the region.
    pub(super) fn borrow(&mut self, region: Region) -> Result<u64> {
        self.run_workload(&prepare::read_workload("borrow", region))?;
        self.borrowed.push(region);
        self.alive().map(|()| region.bytes)
    }

    pub(super) fn restore(&mut self) -> Result<u64> {
        for region in std::mem::take(&mut self.borrowed) {
            self.run_workload(&prepare::read_workload("compare", region))?;
        }
        Ok(0)
    }

    pub(super) fn discard(&mut self, region: Region) -> Result<u64> {
        let mut at = region.start;
        while at < region.end() {
            self.alive()?;
            let bytes = DISCARD_STEP.min(region.end() - at);
            self.command(Op { kind: OpKind::Discard, offset: at, bytes: bytes as u32 })?;
            at += bytes;
        }
        if region.bytes == self.info.bytes {
            self.info.state = State::Fresh;
        }
        Ok(region.bytes)
    }

    /// Discards a region and returns the content of its blocks afterwards.
    pub(super) fn release(&mut self, region: Region) -> Result<Released> {
        let places = release::places(region);
        let held: Vec<bool> = places.iter().map(|p| self.drive.is_mapped(p.at)).collect();
        self.discard(region)?;
        let mut released = Released::default();
        for (place, held) in places.iter().zip(held) {
            let bytes = u64::from(place.bytes);
            released.looked_bytes += bytes;
            let kept = !held || self.drive.is_mapped(place.at);
            let zeros = !kept && self.drive.reads_zeros(place.at);
            released.kept_bytes += if kept { bytes } else { 0 };
            released.zero_bytes += if zeros { bytes } else { 0 };
        }
        Ok(released)
    }

    /// A virtual drive keeps no copies: every erase except format and zeroes is a discard.
    pub(super) fn erase(&mut self, region: Region, how: Erase) -> Result<Released> {
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

    /// One command outside a workload.
    pub(super) fn command(&mut self, op: Op) -> Result<()> {
        let completion = self.drive.submit(self.now, &op);
        self.now = self.now.max(completion.done_ns);
        if completion.status == Status::Ok {
            return Ok(());
        }
        let context = format!("{} on {}", op.kind.name(), self.info.target.spec);
        Err(RigError::Io { context, source: io::Error::from_raw_os_error(libc::EIO) })
    }

    /// Changes the logical block size: to a host, a new drive in the same virtual time.
    pub(super) fn format(&mut self, block_bytes: u32) -> Result<()> {
        if !self.spec.formats.contains(&block_bytes) {
            let text = format!("formatting to blocks of {block_bytes} bytes");
            return Err(RigError::Unsupported(text));
        }
        self.spec.block_bytes.value = block_bytes;
        self.drive = Drive::new(&self.spec, *self.spec.seed);
        self.drive.idle(self.now);
        self.info = Simulator::info(&self.spec, &self.info.target.spec);
        Ok(())
    }
}

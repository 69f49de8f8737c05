//! What survives: the content of blocks, power cuts, and the saved state of a whole drive.

use workload::Op;

use crate::content::{Content, Held};
use crate::drive::Drive;

/// Begins every saved drive; the number grows when the form changes.
const MAGIC: &[u8; 8] = b"ssdyno-1";

/// Saved bytes that are not a drive of this version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a saved drive of this version: {0}")]
pub struct LoadError(String);

impl Drive {
    /// From now on the drive remembers what its blocks hold, which costs 8 bytes per written block.
    pub fn remember(&mut self) {
        if self.content.is_none() {
            self.content = Some(Content::default());
            self.media.keep_log();
        }
    }

    pub(crate) fn remember_write(&mut self, op: &Op) {
        let Some(content) = &mut self.content else { return };
        let grid = u64::from(self.block_bytes);
        // Its last page is in the unit that is begun next, unless the unit before was just full.
        let unit = self.media.traffic().host_units;
        content.write(op.offset / grid..op.end() / grid, unit);
        let (media, now) = (&self.media, self.arrived);
        let oldest = content.settle(|unit| media.unit_done(unit).is_some_and(|t| t <= now));
        self.media.forget_log(oldest.unwrap_or(unit));
    }

    /// What a logical block holds; `None` unless the drive remembers.
    pub fn held(&self, block: u64) -> Option<Held> {
        self.content.as_ref().map(|content| content.held(block))
    }

    /// Number of writes that were counted since the drive remembers.
    pub fn writes_remembered(&self) -> u64 {
        self.content.as_ref().map_or(0, Content::writes)
    }

    /// The power is cut at `now`. What was acknowledged and is not in flash falls back to what was
    /// there before, unless the buffer is protected. The mapping keeps its size: a block that falls
    /// back is read from where its newer content would have been.
    pub fn power_cut(&mut self, now: u64) {
        let now = now.max(self.arrived);
        self.counters.power_cuts += 1;
        if let Some(content) = &mut self.content {
            let (media, protected) = (&self.media, self.protected);
            let done = |unit| protected || media.unit_done(unit).is_some_and(|t| t <= now);
            self.counters.lost_blocks += content.cut(done);
        }
        while self.partials.take().is_some() {}
        self.media.reset(now);
        self.media.forget_log(u64::MAX);
        self.links.reset(now);
        self.cores.reset(now);
        self.heat.reset(now);
        (self.busy_until, self.arrived) = (now, now);
    }

    /// The whole state of the drive, as bytes that [`Drive::load`] takes. Grows with what is
    /// fragmented, not with the capacity.
    pub fn save(&self) -> Vec<u8> {
        // Serialising plain data into memory cannot fail.
        postcard::to_extend(self, MAGIC.to_vec()).unwrap_or_default()
    }

    /// The drive that was saved; it goes on exactly as the saved one would have.
    pub fn load(bytes: &[u8]) -> Result<Drive, LoadError> {
        let body = bytes.strip_prefix(MAGIC);
        let body = body.ok_or_else(|| LoadError("it does not begin as one".into()))?;
        postcard::from_bytes(body).map_err(|e| LoadError(e.to_string()))
    }
}

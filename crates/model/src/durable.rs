//! Durability: recorded block content, power cuts, and the saved state of a drive.

use workload::Op;

use crate::alias::Mapped;
use crate::content::{Content, Held};
use crate::drive::{Completion, Drive};
use crate::fault::Landing;

/// Header of a saved drive; a format change increments the number.
const MAGIC: &[u8; 8] = b"ssdyno-5";

/// The bytes are not a drive saved in this format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a saved drive of this version: {0}")]
pub struct LoadError(String);

impl Drive {
    /// Starts recording the content of blocks, at 8 bytes per written block.
    pub fn remember(&mut self) {
        if self.content.is_none() {
            self.content = Some(Content::default());
            self.media.keep_log();
        }
    }

    /// Submits a command like [`Drive::submit`], but does not record the content of a write: its
    /// blocks then hold [`Held::Anything`].
    pub fn submit_unkept(&mut self, now: u64, op: &Op) -> Completion {
        self.forgetful = true;
        let completion = self.submit(now, op);
        self.forgetful = false;
        completion
    }

    pub(crate) fn remember_write(&mut self, op: &Op) {
        let Some(content) = &mut self.content else { return };
        let grid = u64::from(self.block_bytes);
        // The last page is in the next unit to be started, unless the previous unit is exactly
        // full.
        let unit = self.media.traffic().host_units;
        let landing = self.faults.land(op.offset / grid..op.end() / grid);
        let places = self.alias.written(landing.places());
        match self.forgetful {
            true => places.into_iter().for_each(|blocks| content.write_unkept(blocks)),
            false => {
                content.write(&places, unit);
            }
        }
        let (media, now) = (&self.media, self.arrived);
        let oldest = content.settle(|unit| media.unit_done(unit).is_some_and(|t| t <= now));
        self.media.forget_log(oldest.unwrap_or(unit));
    }

    /// Returns the actual locations of the last recorded write's blocks.
    pub fn landing(&self) -> Landing {
        self.faults.last()
    }

    /// Content of a logical block; `None` unless the drive records content.
    pub fn held(&self, block: u64) -> Option<Held> {
        let content = self.content.as_ref()?;
        Some(match self.alias.place(block) {
            Mapped::At(place) => content.held(place),
            Mapped::Lost => Held::Anything,
        })
    }

    /// The block that stores the content of `block`: itself, unless the drive has a counterfeit
    /// capacity.
    pub fn place(&self, block: u64) -> u64 {
        match self.alias.place(block) {
            Mapped::At(place) => place,
            Mapped::Lost => block,
        }
    }

    /// Whether each of these blocks stores its own content.
    pub fn has_own_places(&self, blocks: std::ops::Range<u64>) -> bool {
        self.alias.is_genuine() || blocks.into_iter().all(|block| self.place(block) == block)
    }

    /// Number of writes since the drive began to record content.
    pub fn writes_remembered(&self) -> u64 {
        self.content.as_ref().map_or(0, Content::writes)
    }

    /// Cuts the power at `now`. Acknowledged data that are not yet in flash revert to the previous
    /// content, unless the buffer is protected. The mapping is unchanged: reads of a reverted block
    /// access the location of its newer content.
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
        self.read_cache.clear();
        self.links.reset(now);
        self.cores.reset(now);
        self.heat.reset(now);
        (self.busy_until, self.arrived) = (now, now);
    }

    /// Serialises the state of the drive for [`Drive::load`]. The size depends mostly on
    /// fragmentation.
    pub fn save(&self) -> Vec<u8> {
        // Serialising plain data to memory cannot fail.
        postcard::to_extend(self, MAGIC.to_vec()).unwrap_or_default()
    }

    /// Restores a saved drive, which then behaves exactly like the original.
    pub fn load(bytes: &[u8]) -> Result<Drive, LoadError> {
        let body = bytes.strip_prefix(MAGIC);
        let body = body.ok_or_else(|| LoadError("the header is missing".into()))?;
        postcard::from_bytes(body).map_err(|e| LoadError(e.to_string()))
    }
}

//! Records the content of a drive on request: the location of each write, and the data that a read
//! returns. Addresses pass through the drive's faults and its counterfeit capacity; [`ContentMap`]
//! stores the result.

use std::ops::Range;

use workload::Op;

use crate::alias::Mapped;
use crate::content::{BlockContent, ContentMap};
use crate::drive::{Completion, Drive};
use crate::fault::Landing;

impl Drive {
    /// Starts recording the content of blocks, at 8 bytes per written block.
    pub fn remember(&mut self) {
        self.content.get_or_insert_default();
    }

    /// Submits a command like [`Drive::submit`], but does not record the content of a write: its
    /// blocks then hold [`BlockContent::Anything`].
    pub fn submit_unkept(&mut self, now: u64, op: &Op) -> Completion {
        self.forgetful = true;
        let completion = self.submit(now, op);
        self.forgetful = false;
        completion
    }

    pub(crate) fn remember_write(&mut self, op: &Op) {
        let Some(content) = &mut self.content else { return };
        let grid = u64::from(self.block_bytes);
        let landing = self.faults.land(op.offset / grid..op.end() / grid);
        let places = self.alias.written(landing.places());
        if self.forgetful { content.write_unkept(&places) } else { content.write(&places) }
    }

    /// Returns the actual locations of the last recorded write's blocks.
    pub fn landing(&self) -> Landing {
        self.faults.last()
    }

    /// Content of a logical block; `None` unless the drive records content.
    pub fn held(&self, block: u64) -> Option<BlockContent> {
        let content = self.content.as_ref()?;
        Some(match self.alias.place(block) {
            Mapped::At(place) => content.held(place),
            Mapped::Lost => BlockContent::Anything,
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
    pub fn has_own_places(&self, blocks: Range<u64>) -> bool {
        self.alias.is_genuine() || blocks.into_iter().all(|block| self.place(block) == block)
    }

    /// Number of writes since the drive began to record content.
    pub fn writes_remembered(&self) -> u64 {
        self.content.as_ref().map_or(0, ContentMap::writes)
    }
}

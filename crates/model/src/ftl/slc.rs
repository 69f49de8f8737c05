//! The SLC cache: superblocks written quickly with one bit per cell and folded later.
//!
//! An SLC superblock occupies a whole superblock of flash and stores 1/bits of its pages. The
//! dynamic part is therefore limited by the space the host has not filled. It can also use spare
//! flash, but no more than the host leaves unfilled: a full drive needs its spare flash for
//! collection and has no dynamic part. Once the cache is full, the drive writes directly and spends
//! part of its time draining until the cache accepts writes again. A cache drained in idle time
//! accepts them at once, and may keep some of its data, which are then read at its speed. On drives
//! without a direct path, every write to the cache instead waits for an equal amount to be folded.
//! The shapes of sustained writes follow from these rules alone (see `tests/it/fills.rs`).

use super::superblock::FlashLayout;

/// Rules and state of the cache. Sizes are in superblocks.
#[derive(Clone, Debug)]
pub struct Slc {
    /// Part that exists even on a full drive.
    pub fixed: u32,
    /// Part that exists while the host leaves room.
    pub dynamic: u32,
    /// Fraction of program time spent draining while the host writes directly; at least 0, less
    /// than 1.
    pub drain: f64,
    /// Whether all writes go through the cache, because there is no direct path.
    pub first: bool,
    /// Fraction of the cache in use at which it accepts writes again.
    pub reenter: f64,
    /// Part that stays in use after idle time, while the dynamic part has room for it.
    pub keep: u32,
    /// Bits per cell outside the cache.
    pub bits: u32,
    /// Whether the cache accepts writes; otherwise it drains.
    filling: bool,
}

impl Slc {
    /// Creates an empty cache.
    pub fn new(fixed: u32, dynamic: u32, drain: f64, first: bool, reenter: f64, bits: u32) -> Slc {
        Slc { fixed, dynamic, drain, first, reenter, keep: 0, bits, filling: true }
    }

    /// The same cache, which keeps so many superblocks in idle time.
    pub fn keeping(self, keep: u32) -> Slc {
        Slc { keep, ..self }
    }

    /// Creates a cache of size 0.
    pub fn none() -> Slc {
        Slc::new(0, 0, 0.0, false, 0.0, 1)
    }

    /// Maximum size of the cache in superblocks, if it uses `used` of them and the host has filled
    /// `mapped` pages.
    pub fn limit(&self, used: u32, mapped: u64, layout: &FlashLayout) -> u32 {
        let pages = u64::from(layout.superblock_pages);
        // Data in the fixed part need a place outside the cache, and leave no more room in it.
        let cached = u64::from(used.saturating_sub(self.fixed)) * (pages / u64::from(self.bits));
        let native = mapped.saturating_sub(cached);
        let logical = u64::from(layout.logical_pages);
        let unfilled = logical.saturating_sub(native);
        let spare = (u64::from(layout.superblocks) * pages).saturating_sub(logical);
        let room = (unfilled + spare.min(unfilled)) / pages;
        self.fixed + self.dynamic.min(room as u32)
    }

    /// Number of superblocks that idle time leaves in a cache of this maximum size: the fixed part
    /// is always emptied for the next writes.
    pub fn kept(&self, limit: u32) -> u32 {
        self.keep.min(limit.saturating_sub(self.fixed))
    }

    /// Decides whether the next superblock for the host is an SLC one.
    pub fn admit(&mut self, used: u32, limit: u32) -> bool {
        if used >= limit {
            self.filling = false;
        } else if f64::from(used) <= self.reenter * f64::from(limit) {
            self.filling = true;
        }
        limit > 0 && (self.filling || self.first)
    }

    /// Accepts writes again after idle time has drained the cache to `used` superblocks. Only a
    /// drive that drains under load waits for `reenter`.
    pub fn rested(&mut self, used: u32, limit: u32) {
        self.filling |= used < limit;
    }

    /// Number of pages to fold per host page written, directly or into the cache.
    pub fn owed(&self, used: u32, limit: u32, host_in_slc: bool) -> f64 {
        if host_in_slc {
            let excess = f64::from(used.saturating_sub(limit));
            return if self.first && used >= limit { 1.0 + excess / 8.0 } else { 0.0 };
        }
        if used == 0 || self.filling { 0.0 } else { self.drain / (1.0 - self.drain) }
    }
}

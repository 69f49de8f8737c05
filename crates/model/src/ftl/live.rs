//! Which pages of closed superblocks are live, for collection in place.
//!
//! Writes that are timed only note which pages they kill: to clear their bits one by one would wait for
//! memory once more per write. [`Map::settle_live`] clears them together. Of a superblock that is being
//! collected, bits of moved pages stay set until it is erased.

use super::bits::{LivePages, PageBits};
use super::map::{FETCHED, Map};

/// Killed pages that are noted, at most. Arbitrary: 4 MiB of them.
const KILLED_MAX: usize = 1 << 20;

impl Map {
    /// Brings the bits of live pages up to date.
    pub fn settle_live(&mut self) {
        let Some(mut live) = self.live.take() else {
            let mut bits = PageBits::new(u64::from(self.physical.pages()));
            let page_count = self.logical.pages();
            self.logical.pieces(0, page_count, |_, len, ppn| bits.set_range(ppn, len));
            self.live = Some(LivePages { bits, killed: Vec::new() });
            return;
        };
        for killed in live.killed.chunks(FETCHED) {
            // A page may have been written again since.
            let mut owners = [0; FETCHED];
            owners.iter_mut().zip(killed).for_each(|(o, &ppn)| *o = self.physical.raw(ppn));
            let places =
                owners.map(|owner| owner.checked_sub(1).map_or(0, |lpn| self.logical.raw(lpn)));
            let dead = killed.iter().zip(places).filter(|&(&ppn, place)| place != ppn + 1);
            dead.for_each(|(&ppn, _)| live.bits.clear(ppn));
        }
        live.killed.clear();
        self.live = Some(live);
    }

    /// The same if many killed pages are noted.
    pub fn settle_live_if_many(&mut self) {
        if self.live.as_ref().is_some_and(|live| live.killed.len() > KILLED_MAX) {
            self.settle_live();
        }
    }

    /// Reads what writes to these random pages change, all at once, so that the processor has it when they
    /// are written one by one.
    pub fn fetch_with_bits(&self, lpns: impl Iterator<Item = u32>) {
        let mut places = [0u32; FETCHED];
        places.iter_mut().zip(lpns).for_each(|(place, lpn)| *place = self.logical.raw(lpn));
        let Some(live) = &self.live else { return };
        let words = places.map(|place| live.bits.word(place.saturating_sub(1)));
        std::hint::black_box(words);
    }

    /// The first page from `ppn`, below `end`, that is not live; `end` if all are.
    #[inline]
    pub fn first_dead(&self, ppn: u32, end: u32) -> u32 {
        self.live.as_ref().map_or(end, |live| live.bits.first_clear(ppn, end))
    }

    /// Clears the bits of the pages noted, none of which was written again.
    #[inline]
    pub fn clear_killed(&mut self) {
        if let Some(live) = &mut self.live {
            live.killed.drain(..).for_each(|ppn| live.bits.clear(ppn));
        }
    }
}

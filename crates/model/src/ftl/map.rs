//! The mapping of a page-mapped drive: logical to physical pages and back.
//!
//! The logical side is authoritative. The physical side records the last owner of a page and is not
//! updated when that owner is overwritten or discarded: a physical page is live if the logical side
//! still points to it. Live page counts are in `superblock.rs`, and `live.rs` has a bit for each page
//! once collection in place asks for it.
//!
//! [`Map::check`] asserts that both sides agree: every mapped page has a physical page of its own.

use super::bits::LivePages;
use super::side::{CHUNK, MapDirection};

/// Entries of the map read together.
pub const FETCHED: usize = 64;

/// A run of live pages: `len` logical pages from `lpn`, stored in the physical pages from `ppn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveRun {
    /// First logical page.
    pub lpn: u32,
    /// First physical page.
    pub ppn: u32,
    pub len: u32,
}

/// Both directions of the mapping.
#[derive(Debug)]
pub struct Map {
    pub(super) logical: MapDirection,
    pub(super) physical: MapDirection,
    pub(super) live: Option<LivePages>,
    mapped: u64,
}

impl Map {
    /// Creates a map of `logical` pages onto `physical` ones, all unmapped.
    pub fn new(logical: u64, physical: u64) -> Map {
        Map {
            logical: MapDirection::new(logical),
            physical: MapDirection::new(physical),
            live: None,
            mapped: 0,
        }
    }

    /// Number of mapped logical pages.
    pub fn mapped(&self) -> u64 {
        self.mapped
    }

    /// Physical page of a logical one.
    #[inline]
    pub fn get(&self, lpn: u32) -> Option<u32> {
        if self.logical.is_explicit(lpn) {
            return self.logical.entry(lpn);
        }
        self.logical.get(lpn)
    }

    /// Reads the entries of these logical pages, all at once, so that the processor has them when they
    /// are written one by one.
    pub fn fetch(&self, lpns: impl Iterator<Item = u32>) {
        let sum = lpns.fold(0, |sum: u32, lpn| sum.wrapping_add(self.logical.raw(lpn)));
        std::hint::black_box(sum);
    }

    /// Calls `f(lpn, len, ppn)` for the mapped pieces of a logical range.
    pub fn pieces(&self, lpn: u32, n: u32, f: impl FnMut(u32, u32, u32)) {
        self.logical.pieces(lpn, n, f);
    }

    /// The number of pages, at most `n`, that one call of [`Map::bind`] can map: up to the end of
    /// the chunk on either side.
    #[inline]
    pub fn bindable(lpn: u32, ppn: u32, n: u32) -> u32 {
        n.min(CHUNK - lpn % CHUNK).min(CHUNK - ppn % CHUNK)
    }

    /// Maps logical pages from `lpn` to physical ones from `ppn`. `n` is at most [`Map::bindable`].
    /// Calls `dropped(ppn, len)` for their previous places.
    #[inline(always)]
    pub fn bind(&mut self, lpn: u32, ppn: u32, n: u32, mut dropped: impl FnMut(u32, u32)) {
        if n == 1 && self.logical.is_explicit(lpn) {
            match self.logical.swap_entry(lpn, ppn) {
                Some(old) => {
                    if let Some(live) = &mut self.live {
                        live.forget(old, 1);
                    }
                    dropped(old, 1);
                }
                None => self.mapped += 1,
            }
            return self.own(lpn, ppn);
        }
        self.bind_runs(lpn, ppn, n, dropped);
    }

    /// Maps logical pages from `lpn`, which are in a superblock being collected, to the physical ones
    /// from `ppn`. `n` is at most [`Map::bindable`].
    #[inline(always)]
    pub fn move_pages(&mut self, lpn: u32, ppn: u32, n: u32) {
        if n == 1 && self.logical.is_explicit(lpn) {
            self.logical.set_entry(lpn, ppn);
            return self.own(lpn, ppn);
        }
        self.bind_runs(lpn, ppn, n, |_, _| ());
    }

    /// Records the owner of a physical page.
    #[inline(always)]
    fn own(&mut self, lpn: u32, ppn: u32) {
        if let Some(live) = &mut self.live {
            live.bits.set(ppn);
        }
        if self.physical.is_explicit(ppn) {
            return self.physical.set_entry(ppn, lpn);
        }
        self.physical.set(ppn, 1, lpn);
    }

    /// Maps several pages, or one of a chunk of runs.
    #[inline(never)]
    fn bind_runs(&mut self, lpn: u32, ppn: u32, n: u32, dropped: impl FnMut(u32, u32)) {
        self.drop_range(lpn, n, dropped);
        self.mapped += u64::from(n);
        if let Some(live) = &mut self.live {
            live.bits.set_range(ppn, n);
        }
        self.logical.set(lpn, n, ppn);
        self.physical.set(ppn, n, lpn);
    }

    /// Unmaps logical pages. Calls `dropped(ppn, len)` for their previous places.
    pub fn unbind(&mut self, lpn: u32, n: u32, mut dropped: impl FnMut(u32, u32)) {
        let (mut start, end) = (lpn, lpn + n);
        while start < end {
            let len = (end - start).min(CHUNK - start % CHUNK);
            self.drop_range(start, len, &mut dropped);
            self.logical.clear(start, len);
            start += len;
        }
    }

    #[inline]
    fn drop_range(&mut self, lpn: u32, n: u32, mut dropped: impl FnMut(u32, u32)) {
        let mut unmapped = 0;
        let live = &mut self.live;
        self.logical.pieces(lpn, n, |_, len, ppn| {
            unmapped += len;
            if let Some(live) = live {
                live.forget(ppn, len);
            }
            dropped(ppn, len);
        });
        self.mapped -= u64::from(unmapped);
    }

    /// Adds the live pages among `n` physical ones to `out`.
    pub fn live(&self, ppn: u32, n: u32, out: &mut Vec<LiveRun>) {
        let (mut start, end) = (ppn, ppn + n);
        while start < end {
            let len = (end - start).min(CHUNK - start % CHUNK);
            match self.physical.explicit_entries(start, len) {
                Some(owners) => self.live_of_entries(start, owners, out),
                None => self.live_of_runs(start, len, out),
            }
            start += len;
        }
    }

    /// The same for physical pages with these owners + 1. What the owners hold is all read before
    /// any of it is compared: the places are random, so the processor fetches many at a time.
    fn live_of_entries(&self, ppn: u32, owners: &[u32], out: &mut Vec<LiveRun>) {
        let mut ppn = ppn;
        for owners in owners.chunks(FETCHED) {
            let mut entries = [0; FETCHED];
            for (entry, &owner) in entries.iter_mut().zip(owners) {
                *entry = if owner == 0 { 0 } else { self.logical.raw(owner - 1) };
            }
            for (&entry, &owner) in entries.iter().zip(owners) {
                if entry == ppn + 1 {
                    out.push(LiveRun { lpn: owner - 1, ppn, len: 1 });
                }
                ppn += 1;
            }
        }
    }

    fn live_of_runs(&self, ppn: u32, n: u32, out: &mut Vec<LiveRun>) {
        self.physical.pieces(ppn, n, |ppn, len, lpn| {
            if len == 1 {
                if self.get(lpn) == Some(ppn) {
                    out.push(LiveRun { lpn, ppn, len });
                }
                return;
            }
            self.logical.pieces(lpn, len, |at, len, held| {
                let expected = ppn + (at - lpn);
                if held == expected {
                    out.push(LiveRun { lpn: at, ppn: expected, len });
                }
            });
        });
    }

    /// Panics unless [`Map::mapped`] pages are mapped, each to a physical page that records it as
    /// its owner. Calls `f(ppn, len)` for the physical pages.
    pub fn check(&self, mut f: impl FnMut(u32, u32)) {
        let mut mapped = 0;
        self.logical.pieces(0, self.logical.pages(), |lpn, len, ppn| {
            mapped += u64::from(len);
            f(ppn, len);
            let mut owned = 0;
            self.physical.pieces(ppn, len, |page, len, owner| {
                owned += if owner.wrapping_sub(lpn) == page - ppn { len } else { 0 };
            });
            assert_eq!(owned, len, "logical pages from {lpn} that own those from {ppn}");
            if let Some(live) = &self.live {
                assert_eq!(live.bits.first_clear(ppn, ppn + len), ppn + len, "a page is live");
            }
        });
        assert_eq!(mapped, self.mapped, "mapped pages");
    }

    /// Clears the owners of `n` erased physical pages from `ppn`. No logical page points to them
    /// any more, so this only saves memory and time, and chunks shared by several small superblocks
    /// are skipped.
    pub fn erase(&mut self, ppn: u32, n: u32) {
        if let Some(live) = &mut self.live {
            live.bits.clear_range(ppn, n);
        }
        if ppn.is_multiple_of(CHUNK) && n > CHUNK / 2 {
            let first = ppn / CHUNK;
            let chunks = first..first + n.div_ceil(CHUNK);
            chunks.for_each(|chunk| self.physical.reset(chunk as usize));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound() -> Map {
        let mut map = Map::new(2048, 4096);
        map.bind(100, 1000, 24, |_, _| panic!("nothing was mapped"));
        map.check(|ppn, len| assert_eq!((ppn, len), (1000, 24)));
        map
    }

    #[test]
    #[should_panic(expected = "logical pages from 200")]
    fn two_logical_pages_on_one_physical_page_are_noticed() {
        let mut map = bound();
        map.logical.set(200, 1, 1010);
        map.check(|_, _| ());
    }

    #[test]
    #[should_panic(expected = "mapped pages")]
    fn a_miscounted_mapped_page_is_noticed() {
        let mut map = bound();
        map.mapped -= 1;
        map.check(|_, _| ());
    }

    #[test]
    fn unbound_pages_are_no_longer_mapped() {
        let (mut map, mut left) = (bound(), 0);
        map.unbind(110, 4, |_, _| ());
        map.check(|_, len| left += len);
        assert_eq!(left, 20);
        // Single pages, in a chunk that no longer is a run.
        (0..64).for_each(|i| map.bind(2 * i, 3000 + i, 1, |_, _| ()));
        map.check(|_, _| ());
    }
}

//! The controller's processor: cores that execute commands, the map cache, and partly written
//! mapping units.

use std::ops::Range;

use crate::media::Media;

/// Processor cores; a command takes the one that becomes free first.
#[derive(Debug)]
pub struct Cores {
    free: Vec<u64>,
}

impl Cores {
    /// Creates `count` cores, at least one.
    pub fn new(count: u32) -> Cores {
        Cores { free: vec![0; count.max(1) as usize] }
    }

    /// Occupies the first free core for `time`, starting no earlier than `at`. Returns the end.
    #[inline]
    pub fn take(&mut self, at: u64, time: u64) -> u64 {
        let mut first = 0;
        for (i, free) in self.free.iter().enumerate() {
            if *free < self.free[first] {
                first = i;
            }
        }
        let done_ns = self.free[first].max(at) + time;
        self.free[first] = done_ns;
        done_ns
    }

    /// Occupies all cores until `end`.
    pub fn stop(&mut self, end: u64) {
        self.free.iter_mut().for_each(|free| *free = end.max(*free));
    }

    /// Extends by `time` the work of the core that becomes free last, starting no earlier than
    /// `at`. Returns the end.
    pub fn hold(&mut self, at: u64, time: u64) -> u64 {
        let last = (0..self.free.len()).max_by_key(|&i| self.free[i]).unwrap_or(0);
        let done_ns = self.free[last].max(at) + time;
        self.free[last] = done_ns;
        done_ns
    }
}

/// Number of pages mapped by one part of the map, the unit of a fetch.
const PART_PAGES: u32 = 1024;

/// Number of parts of the largest map.
const PARTS_MAX: u64 = (u32::MAX / PART_PAGES) as u64 + 1;

/// The cached part of the map: direct-mapped, in parts of 4 KiB.
#[derive(Debug)]
pub struct MapCache {
    /// Number of the part + 1 in each slot, and whether it is dirty. Empty if the whole map is
    /// cached.
    places: Vec<(u32, bool)>,
    miss: u64,
}

impl MapCache {
    /// Creates a cache for `bytes` of map, at least one part; 0 caches the whole map.
    pub fn new(bytes: u64, miss: u64) -> MapCache {
        // No unit has a part beyond the last place.
        let parts = if bytes == 0 { 0 } else { (bytes / 4096).clamp(1, PARTS_MAX) };
        MapCache { places: vec![(0, false); parts as usize], miss }
    }

    /// Returns the time at which the mapping of `n` pages is available.
    #[inline]
    pub fn look_up(&mut self, at: u64, lpn: u32, n: u32, change: bool, media: &mut Media) -> u64 {
        if self.places.is_empty() { at } else { self.find(at, lpn, n, change, media) }
    }

    /// Returns the time at which all parts of the map that contain these pages are cached.
    #[inline(never)]
    fn find(&mut self, at: u64, lpn: u32, n: u32, change: bool, media: &mut Media) -> u64 {
        let mut ready = at;
        for part in lpn / PART_PAGES..=(lpn + n - 1) / PART_PAGES {
            let index = part as usize % self.places.len();
            let place = &mut self.places[index];
            if place.0 != part + 1 {
                // A dirty part is written back first, which takes as long as a fetch.
                let fetches = 1 + u64::from(place.1);
                *place = (part + 1, false);
                ready = media.fetch_map(ready, part, self.miss * fetches);
            }
            self.places[index].1 |= change;
        }
        ready
    }
}

/// A partly written mapping unit.
#[derive(Clone, Debug)]
pub struct Partial {
    /// Logical page number of the unit.
    pub lpn: u32,
    /// Whether all its data have arrived.
    pub complete: bool,
    range: Range<u32>,
}

/// Mapping units waiting for the rest of their data.
#[derive(Debug)]
pub struct Partials {
    waiting: Vec<Partial>,
    most: usize,
}

impl Partials {
    /// Creates room for `most` units.
    pub fn new(most: u32) -> Partials {
        Partials { waiting: Vec::new(), most: most as usize }
    }

    /// Whether no unit is waiting.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Number of waiting bytes that bytes `range` of a unit overwrite.
    pub fn overlap(&self, lpn: u32, range: &Range<u32>) -> u64 {
        let waiting = self.waiting.iter().find(|p| p.lpn == lpn).map_or(0..0, |p| p.range.clone());
        let common = waiting.start.max(range.start)..waiting.end.min(range.end);
        common.len() as u64
    }

    /// Adds bytes `range` of a unit of `whole` bytes. Returns a unit to write now: this one if it
    /// is complete, its earlier part if there is a gap between the two, or the one that has waited
    /// longest if there is no room.
    pub fn add(&mut self, lpn: u32, range: Range<u32>, whole: u32) -> Option<Partial> {
        if let Some(i) = self.waiting.iter().position(|p| p.lpn == lpn) {
            let partial = &mut self.waiting[i];
            if range.start <= partial.range.end && partial.range.start <= range.end {
                partial.range =
                    partial.range.start.min(range.start)..partial.range.end.max(range.end);
                partial.complete = partial.range.len() as u32 == whole;
                return partial.complete.then(|| self.waiting.remove(i));
            }
            // There is a gap between the parts, so the earlier one is completed from flash.
            return Some(std::mem::replace(partial, Partial { lpn, complete: false, range }));
        }
        self.waiting.push(Partial { lpn, complete: false, range });
        (self.waiting.len() > self.most).then(|| self.waiting.remove(0))
    }

    /// Drops units that were completely overwritten or discarded. Returns their waiting bytes.
    pub fn forget(&mut self, lpn: u32, n: u32) -> u64 {
        let dropped = self.waiting.extract_if(.., |p| p.lpn.wrapping_sub(lpn) < n);
        dropped.map(|p| p.range.len() as u64).sum()
    }

    /// Takes the unit that has waited longest.
    pub fn take(&mut self) -> Option<Partial> {
        (!self.waiting.is_empty()).then(|| self.waiting.remove(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DriveSpec;
    use crate::shape::Shape;

    #[test]
    fn a_map_cache_of_less_than_a_part_holds_one_part() {
        let spec = DriveSpec::default();
        let mut media = Media::new(&spec, &Shape::new(&spec));
        let mut time = |bytes: u64| {
            let mut cache = MapCache::new(bytes, 60_000);
            [0, 1, PART_PAGES].map(|lpn| cache.look_up(0, lpn, 1, false, &mut media) > 0)
        };
        assert_eq!(time(0), [false; 3], "the whole map");
        assert_eq!(time(1), [true, false, true]);
        assert_eq!(time(4096), [true, false, true]);
    }

    #[test]
    fn waiting_bytes_that_are_overwritten_are_counted() {
        let mut partials = Partials::new(4);
        assert_eq!(partials.overlap(7, &(0..512)), 0);
        assert!(partials.add(7, 512..2048, 4096).is_none());
        let overlaps = [0..512, 0..1024, 1024..1536, 1024..4096, 2048..4096];
        assert_eq!(overlaps.map(|range| partials.overlap(7, &range)), [0, 512, 512, 1024, 0]);
        assert_eq!(partials.overlap(8, &(0..4096)), 0);
        assert!(partials.add(9, 0..512, 4096).is_none());
        assert_eq!((partials.forget(8, 1), partials.forget(6, 4)), (0, 2048));
        assert!(partials.is_empty());
    }
}

//! Data reduction and the read cache, which avoid flash operations.
//!
//! A drive that compresses or deduplicates programs only part of the written bytes, so its speed
//! depends on the content. The fraction is applied to the program time of host data; the space
//! saved, and its effect on collection, are not modelled. A read cache serves recently read or
//! written mapping units without accessing flash. Both are off unless a description enables them.

use workload::{Blend, Content};

use crate::spec::ContentSpec;

/// Minimum fraction that reaches flash, for references and headers of data not stored again. A
/// guess; it only has to be small.
const LEAST: f64 = 0.02;

/// Data reduction of a drive.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    compression: f64,
    dedupe: bool,
}

impl Reduction {
    pub fn new(spec: &ContentSpec) -> Reduction {
        Reduction { compression: *spec.compression, dedupe: *spec.dedupe }
    }

    /// Fraction of written bytes of this content that reaches flash, greater than 0 and at most 1.
    pub fn stored_share(&self, content: &Content) -> f64 {
        let share = match content {
            Content::Zeros if self.dedupe => 0.0,
            Content::Zeros => 1.0 - self.compression,
            Content::Compressible(share) => 1.0 - self.compression * share,
            Content::Repeated if self.dedupe => 0.0,
            Content::Duplicate(share) if self.dedupe => 1.0 - share,
            Content::Random | Content::Repeated | Content::Duplicate(_) => 1.0,
            Content::Blend(blend) => self.share_of_blend(blend),
            Content::Original => 1.0,
        };
        share.max(LEAST)
    }

    /// Copies are deduplicated, and so are writes that consist of the pattern alone. The pattern
    /// part of the rest compresses.
    fn share_of_blend(&self, blend: &Blend) -> f64 {
        let new = match blend.plain_percent {
            _ if !self.dedupe => 1.0,
            100 => 0.0,
            _ => 1.0 - f64::from(blend.copy_percent) / 100.0,
        };
        new * (1.0 - self.compression * f64::from(blend.plain_percent) / 100.0)
    }
}

/// Cache of recently read or written mapping units: direct-mapped, with a unit number + 1 in each
/// slot.
#[derive(Debug)]
pub struct ReadCache {
    places: Vec<u32>,
}

impl ReadCache {
    /// Creates a cache for `bytes` in units of `unit` bytes; 0 means no cache.
    pub fn new(bytes: u64, unit: u32) -> ReadCache {
        ReadCache { places: vec![0; (bytes / u64::from(unit)) as usize] }
    }

    /// Whether there is no cache.
    #[inline]
    pub fn is_off(&self) -> bool {
        self.places.is_empty()
    }

    /// Caches a unit, and returns whether it was already cached.
    pub fn take(&mut self, lpn: u32) -> bool {
        let index = lpn as usize % self.places.len();
        std::mem::replace(&mut self.places[index], lpn + 1) == lpn + 1
    }

    /// Caches `n` units from `lpn` on, and passes every run of units that were not cached: its
    /// distance from `lpn` and its length.
    pub fn take_all(&mut self, lpn: u32, n: u32, mut fetch: impl FnMut(u32, u32)) {
        let mut missing = 0;
        for i in 0..n {
            if !self.take(lpn + i) {
                missing += 1;
            } else if missing > 0 {
                fetch(i - missing, missing);
                missing = 0;
            }
        }
        if missing > 0 {
            fetch(n - missing, missing);
        }
    }

    /// Caches `n` units from `lpn` on.
    #[inline]
    pub fn keep(&mut self, lpn: u32, n: u32) {
        if self.is_off() {
            return;
        }
        for lpn in lpn..lpn + n {
            self.take(lpn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DriveSpec;

    #[test]
    fn content_decides_the_share_that_is_stored() {
        let shares = |pairs: &[(&str, &str)]| {
            let spec = DriveSpec::default().with_overrides(pairs).expect("known");
            let reduction = Reduction::new(&spec.content);
            let half = [Content::Compressible(0.5), Content::Duplicate(0.5)];
            let same = [Content::Repeated, Content::Zeros];
            let all = [Content::Random].into_iter().chain(half).chain(same);
            all.map(|content| reduction.stored_share(&content)).collect::<Vec<_>>()
        };
        assert_eq!(shares(&[]), [1.0; 5]);
        assert_eq!(shares(&[("compression", "1")]), [1.0, 0.5, 1.0, 1.0, LEAST]);
        assert_eq!(shares(&[("compression", "60%")]), [1.0, 0.7, 1.0, 1.0, 0.4]);
        assert_eq!(shares(&[("dedupe", "true")]), [1.0, 1.0, 0.5, LEAST, LEAST]);
    }

    #[test]
    fn a_blend_compresses_by_its_pattern_and_deduplicates_by_its_copies() {
        let share = |compression: f64, dedupe: bool, plain_percent: u32, copy_percent: u32| {
            let (chunk, pattern) = (512, vec![7]);
            let blend =
                Blend { plain_percent, chunk, pattern, copy_percent, shared: None, anew: false };
            Reduction { compression, dedupe }.stored_share(&Content::Blend(blend))
        };
        assert_eq!([share(0.0, false, 50, 50), share(0.0, false, 100, 0)], [1.0, 1.0]);
        assert_eq!([share(1.0, false, 50, 50), share(1.0, false, 100, 0)], [0.5, LEAST]);
        assert_eq!([share(0.0, true, 50, 25), share(0.0, true, 100, 0)], [0.75, LEAST]);
        assert_eq!(share(0.5, true, 50, 50), 0.375);
    }

    #[test]
    fn a_unit_is_held_until_another_takes_its_place() {
        let mut cache = ReadCache::new(4 * 4096, 4096);
        assert!(!cache.take(1) && cache.take(1) && !cache.take(5) && !cache.take(1));
        cache.keep(6, 2);
        assert!(cache.take(7) && cache.take(6));
        assert!(ReadCache::new(0, 4096).is_off());
    }

    #[test]
    fn units_that_are_not_cached_are_fetched_in_runs() {
        let mut cache = ReadCache::new(16 * 4096, 4096);
        cache.keep(3, 1);
        let mut runs = |lpn, n| {
            let mut runs = Vec::new();
            cache.take_all(lpn, n, |offset, length| runs.push((offset, length)));
            runs
        };
        assert_eq!(runs(1, 5), [(0, 2), (3, 2)]);
        assert_eq!(runs(0, 6), [(0, 1)]);
        assert_eq!(runs(0, 6), []);
    }
}

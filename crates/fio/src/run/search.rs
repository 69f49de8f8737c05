//! `latency_target=`: searches for the largest queue depth at which enough operations meet a
//! latency, by fio's algorithm.
//!
//! Each depth is tried for a window: it doubles from 1 until a window fails, then moves halfway
//! between the deepest success and the shallowest failure. A successful window that leaves the
//! depth unchanged ends the search. The depth never falls below the deepest success (asserted). Statistics are reset, and the next successful window is the
//! result. With `latency_run`, the search never ends but keeps adjusting.

use rig::Continuation;

use crate::LatencyTarget;

/// Number of consecutive successful windows just below a failed depth after which that depth is
/// tried again.
const STABLE: u32 = 3;

/// The search of one clone.
#[derive(Clone, Debug)]
pub(super) struct Search {
    target_ns: u64,
    window_ns: u64,
    percentile: f64,
    goes_on: bool,
    depth_max: u32,
    depth: u32,
    /// The deepest success, and the shallowest failure.
    low: u32,
    high: u32,
    stable: u32,
    /// Whether the current window is the result.
    last: bool,
    began_ns: u64,
    seen: u64,
    failed: u64,
}

impl Search {
    pub(super) fn new(asked: &LatencyTarget, depth_max: u32, began_ns: u64) -> Search {
        Search {
            target_ns: asked.target.as_nanos() as u64,
            window_ns: asked.window.as_nanos() as u64,
            percentile: asked.percentile,
            goes_on: asked.run,
            depth_max,
            depth: 1,
            low: 1,
            high: depth_max,
            stable: 0,
            last: false,
            began_ns,
            seen: 0,
            failed: 0,
        }
    }

    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    pub(super) fn target_ns(&self) -> u64 {
        self.target_ns
    }

    /// Resets the window.
    pub(super) fn restart(&mut self, now_ns: u64) {
        self.new_window(now_ns);
    }

    /// Handles a completion. `None`: the latency cannot be met at all.
    pub(super) fn completed(&mut self, service_ns: u64, now_ns: u64) -> Option<Continuation> {
        self.seen += 1;
        if service_ns > self.target_ns {
            self.failed += 1;
            // No operation may fail: one failure decides the window.
            if self.percentile >= 100.0 {
                return self.shallower(now_ns);
            }
        }
        if now_ns.saturating_sub(self.began_ns) < self.window_ns {
            return Some(Continuation::GoOn);
        }
        let percent_in_time = (self.seen - self.failed) as f64 * 100.0 / self.seen as f64;
        if percent_in_time >= self.percentile {
            Some(self.deeper(now_ns))
        } else {
            Some(self.shallower(now_ns).unwrap_or(Continuation::GoOn))
        }
    }

    fn shallower(&mut self, now_ns: u64) -> Option<Continuation> {
        if self.depth == 1 {
            return None;
        }
        self.high = self.depth;
        if self.depth == self.low {
            self.low -= 1;
        }
        self.depth = ((self.depth + self.low) / 2).max(1);
        self.stable = 0;
        self.new_window(now_ns);
        Some(Continuation::Depth(self.depth))
    }

    fn deeper(&mut self, now_ns: u64) -> Continuation {
        let depth = self.depth;
        self.low = depth;
        if depth + 1 == self.high {
            self.stable += 1;
            if self.stable >= STABLE {
                (self.high, self.stable) = (self.high + 1, 0);
            }
        }
        let next = if self.high == self.depth_max {
            depth.saturating_mul(2)
        } else {
            (depth + self.high) / 2
        };
        self.depth = next.min(self.depth_max);
        self.new_window(now_ns);
        if self.depth != depth {
            Continuation::Depth(self.depth)
        } else if self.goes_on {
            Continuation::GoOn
        } else if self.last {
            Continuation::End
        } else {
            self.last = true;
            Continuation::Reset
        }
    }

    fn new_window(&mut self, now_ns: u64) {
        let depths = self.low..=self.depth_max;
        assert!(depths.contains(&self.depth), "the depth is at least the deepest success");
        (self.began_ns, self.seen, self.failed) = (now_ns, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn asked(percentile: f64, run: bool) -> LatencyTarget {
        let (target, window) = (Duration::from_micros(100), Duration::from_millis(10));
        LatencyTarget { target, window, percentile, run }
    }

    /// Simulates a drive whose latency grows with the depth beyond `knee`. Returns the depths of
    /// all windows, and the number of resets.
    fn tried(search: &mut Search, knee: u32, windows: usize) -> (Vec<u32>, usize) {
        let (mut depths, mut resets, mut now) = (vec![search.depth()], 0, 0);
        while depths.len() < windows {
            let latency = if search.depth() > knee { 150_000 } else { 50_000 };
            now += latency / u64::from(search.depth());
            match search.completed(latency, now) {
                Some(Continuation::GoOn) => continue,
                Some(Continuation::End) => break,
                Some(Continuation::Reset) => resets += 1,
                Some(Continuation::Depth(depth)) => assert_eq!(depth, search.depth()),
                other => panic!("{other:?} at depth {}", search.depth()),
            }
            depths.push(search.depth());
        }
        (depths, resets)
    }

    #[test]
    fn the_depth_doubles_and_then_halves_the_gap() {
        let mut search = Search::new(&asked(99.0, false), 64, 0);
        let (depths, resets) = tried(&mut search, 20, 100);
        assert_eq!(depths, [1, 2, 4, 8, 16, 32, 24, 20, 22, 21, 20, 20]);
        assert_eq!((search.depth(), resets), (20, 1));
    }

    #[test]
    fn a_drive_that_meets_the_latency_gets_the_maximum_depth() {
        let mut search = Search::new(&asked(99.0, false), 24, 0);
        assert_eq!(tried(&mut search, 99, 100).0, [1, 2, 4, 8, 16, 24, 24]);
    }

    #[test]
    fn with_latency_run_it_keeps_adjusting() {
        let mut search = Search::new(&asked(99.0, true), 64, 0);
        let (_, resets) = tried(&mut search, 20, 100);
        assert_eq!(resets, 0);
        let (depths, _) = tried(&mut search, 5, 100);
        assert!(depths[90..].iter().all(|depth| (5..=7).contains(depth)), "{depths:?}");
    }

    #[test]
    fn a_latency_missed_at_depth_1_cannot_be_met() {
        let mut search = Search::new(&asked(100.0, false), 64, 0);
        assert_eq!(search.completed(150_000, 1), None);
        let mut most = Search::new(&asked(99.0, false), 64, 0);
        assert_eq!(most.completed(150_000, 20_000_000), Some(Continuation::GoOn));
    }

    #[test]
    fn one_failure_is_enough_if_all_must_meet_it() {
        let mut search = Search::new(&asked(100.0, false), 64, 0);
        assert_eq!(search.completed(50_000, 10_000_000), Some(Continuation::Depth(2)));
        assert_eq!(search.completed(50_000, 20_000_000), Some(Continuation::Depth(4)));
        assert_eq!(search.completed(150_000, 20_000_001), Some(Continuation::Depth(3)));
    }
}

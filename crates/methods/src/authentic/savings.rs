//! How much programming a drive avoids on redundant content: the same writes with 0 to 100% zeros,
//! or repeats of the same 4 KiB. Runs only on drives that [`super::content`] found to be faster
//! with such content.
//!
//! A drive that programs less is faster while programming limits it. The saved share is therefore
//! derived from the middle level. If the gain ends before 100%, another limit was reached, and the
//! share is a lower bound.

use analysis::mean;
use record::{Covers, Metric, MetricInfo};
use workload::{Content, Mix, Pattern, Region, Stop, Workload};

use super::{COMPRESSED, COMPRESSIBLE, DEDUPED, DUPLICATE};
use script::{Budget, Result, Session, TestRegion};

/// Percentages of redundant content.
pub(super) const LEVELS: [u32; 5] = [0, 25, 50, 75, 100];

/// Index in [`LEVELS`] of the level from which the share is derived.
const MIDDLE: usize = 2;

/// Queue depth: enough to keep any drive busy.
const DEPTH: u32 = 8;

/// Rounds, one upwards and one downwards.
const ROUNDS: u32 = 2;

/// Time of one write workload in a run of the default duration, seconds.
const SECONDS: f64 = 0.5;

/// A smaller share cannot be distinguished from the scatter of the rates.
const LEAST: f64 = 0.05;

/// Writes of one kind of redundant content.
pub(super) struct Curve {
    /// The share saved; also names the step.
    saved: MetricInfo,
    /// The writes, by percentage.
    writes: MetricInfo,
    content: fn(f64) -> Content,
    seed: u32,
}

/// Zeros in every 4 KiB.
pub(super) static COMPRESSION: Curve =
    Curve { saved: COMPRESSED, writes: COMPRESSIBLE, content: Content::Compressible, seed: 29 };

/// Repeats of the same 4 KiB.
pub(super) static DEDUPE: Curve =
    Curve { saved: DEDUPED, writes: DUPLICATE, content: Content::Duplicate, seed: 33 };

impl Curve {
    /// Writes all levels in alternation to a drive that gains from such content. It is a single
    /// step of a plan, because the gain is not known in advance.
    pub(super) fn run(
        &self,
        session: &mut Session<'_>,
        test_region: &TestRegion,
        gains: bool,
    ) -> Result<()> {
        let workloads = LEVELS.map(|percent| self.workload(test_region, percent));
        let count = LEVELS.len() as u64 * u64::from(ROUNDS);
        let budget = Budget {
            // Twice the time of the writes, because each ends with a flush.
            seconds: 2.0 * count as f64 * seconds(test_region),
            bytes: count * bytes(test_region),
            ..Budget::default()
        };
        session.budget(self.saved.name, budget, |session| {
            if session.assume(gains, true) { self.write(session, &workloads) } else { Ok(()) }
        })
    }

    fn write(&self, session: &mut Session<'_>, workloads: &[Workload; LEVELS.len()]) -> Result<()> {
        let rates = session.alternate(workloads, ROUNDS, |_, _| {})?;
        if let Some(savings) = Saved::from_rates(&rates.map(|rates| mean(&rates))) {
            session.put_metric(savings.metric(self.saved));
        }
        Ok(())
    }

    fn workload(&self, test_region: &TestRegion, percent: u32) -> Workload {
        let region = Region::first(bytes(test_region));
        let key = self.writes.member(&[&percent]);
        let mut w = Workload::new(key, Pattern::Sequential, Mix::WRITE, test_region.large, region);
        (w.depth, w.flush_at_end) = (DEPTH, true);
        w.content = (self.content)(f64::from(percent) / 100.0);
        w.seed = test_region.seed_of(self.seed);
        w.stop = Stop::after_seconds(seconds(test_region));
        w.stop.bytes = Some(region.bytes);
        w
    }
}

/// Time of one write workload, seconds.
fn seconds(test_region: &TestRegion) -> f64 {
    SECONDS / super::SECONDS * test_region.seconds
}

/// Maximum bytes of one write workload: an eighth of the region, far more than a buffer holds.
fn bytes(test_region: &TestRegion) -> u64 {
    let large = u64::from(test_region.large);
    (test_region.bytes / 8 / large * large).max(large)
}

/// Share of redundant content that is not programmed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Saved {
    share: f64,
    /// Another limit applies at higher levels, so the share is a lower bound.
    at_least: bool,
}

impl Saved {
    /// Derives the share from the rates at each level; `None` if it is below [`LEAST`] or a rate is
    /// unknown.
    fn from_rates(rates: &[f64; LEVELS.len()]) -> Option<Saved> {
        let [share, full_share] = [MIDDLE, LEVELS.len() - 1].map(|index| {
            let time = rates[0] / rates[index];
            (1.0 - time) / (f64::from(LEVELS[index]) / 100.0)
        });
        let valid = rates.iter().all(|rate| *rate > 0.0) && share >= LEAST;
        valid.then_some(Saved { share: share.min(1.0), at_least: full_share < 0.9 * share })
    }

    fn metric(self, saved: MetricInfo) -> Metric {
        let metric = saved.single(self.share);
        if self.at_least { metric.between(self.share, 1.0, Covers::Resolution) } else { metric }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rates of a drive that saves this share, with a link that carries at most `most`.
    fn rates(saved: f64, most: f64) -> [f64; LEVELS.len()] {
        LEVELS.map(|percent| (1.0 / (1.0 - saved * f64::from(percent) / 100.0)).min(most))
    }

    #[test]
    fn the_share_saved_follows_from_the_rates_or_is_a_lower_bound() {
        let found = Saved::from_rates(&rates(0.6, 10.0)).expect("it saves");
        assert!((found.share - 0.6).abs() < 1e-9 && !found.at_least);
        // The link ends the gain beyond the middle, then before it.
        let found = Saved::from_rates(&rates(0.6, 1.6)).expect("it saves");
        assert!((found.share - 0.6).abs() < 1e-9 && found.at_least);
        let found = Saved::from_rates(&rates(0.8, 1.2)).expect("it saves");
        assert!(found.share < 0.8 && found.at_least, "{found:?}");
        assert_eq!(Saved::from_rates(&[1.0; LEVELS.len()]), None);
        // The scatter of a drive that saves nothing is not reported.
        assert_eq!(Saved::from_rates(&[1.0, 0.99, 1.02, 1.0, 1.01]), None);
        assert_eq!(Saved::from_rates(&[0.0; LEVELS.len()]), None);
    }
}

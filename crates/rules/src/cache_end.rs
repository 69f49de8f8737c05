//! CACHE END: did the drive write fast only until a cache was full, and how did it continue?
//!
//! The evidence is a rate that falls for good during the first pass over a discarded drive. Heat
//! also lowers the rate, so the answer is unknown if the drive was hot at that point. A rate below
//! that of overwriting the full drive indicates folding: the drive empties the cache at the same
//! time.

use record::{Unit, VerdictKind};
use rig::TargetInfo;
use workload::units::{decimal, throughput};

use super::rule::{Role, Rule};
use super::{Ruling, percent};
use crate::time_series::{Fall, TimeSeries};

/// Approximate temperature at which flash drives throttle, used if the drive reports no warning
/// level, degrees Celsius.
const HOT_C: f64 = 70.0;

/// Drives begin to throttle this far below their warning level, kelvin.
const HOT_MARGIN_K: f64 = 5.0;

/// The drive is folding if its rate after the cache is below this share of the overwrite rate.
const FOLDING_BELOW: f64 = 0.85;

/// Results of the passes of `sustain`.
#[derive(Clone, Debug, Default)]
pub struct Sustained {
    /// The fall of the first pass; `None` if there was none, or the pass was too short to show it.
    pub cache: Option<Fall>,
    /// Whether the first pass was long enough.
    pub conclusive: bool,
    /// Average rate of the first pass, bytes per second.
    pub average: Option<f64>,
    /// Rate of overwriting the full drive, bytes per second.
    pub overwriting: Option<f64>,
    /// Maximum temperature of all passes, degrees Celsius.
    pub hottest: Option<f64>,
    /// Whether the first pass wrote a file, not the whole drive.
    pub in_file: bool,
}

impl Sustained {
    /// Evaluates the first pass.
    pub fn from_series(fresh: &TimeSeries) -> Sustained {
        let fall = fresh.first_fall();
        Sustained {
            cache: fall.flatten(),
            conclusive: fall.is_some(),
            average: fresh.average(),
            overwriting: None,
            hottest: fresh.hottest(),
            in_file: false,
        }
    }

    /// Adds the temperatures of another pass.
    pub fn add_heat(&mut self, series: &TimeSeries) {
        self.hottest = self.hottest.into_iter().chain(series.hottest()).reduce(f64::max);
    }

    /// Ratio of the rate after the cache to the overwrite rate; below 1, the rate dips.
    pub fn undershoot(&self) -> Option<f64> {
        Some(self.cache?.after / self.overwriting?)
    }

    /// Bytes that a burst after a rest wrote at the rate of the cache, computed from the total time
    /// because fast and slow phases can alternate. `None` without a cache.
    pub fn recovered(&self, burst: &TimeSeries) -> Option<f64> {
        let cache = self.cache?;
        burst.crossing(0.0, burst.bytes(), cache.before, cache.after)
    }
}

pub static RULE: Rule = Rule {
    role: Role::Claim,
    overridden_by: &[],
    judge: |facts| {
        facts.checks.get().map(|sustained| cache_end(facts.target, sustained)).into_iter().collect()
    },
};

pub fn cache_end(target: &TargetInfo, seen: &Sustained) -> Ruling {
    let Some(average) = seen.average.filter(|_| seen.conclusive) else {
        return Ruling::unknown(
            "Whether the speed drops at the end of a cache is unknown: the pass was too short.",
        );
    };
    let Some(cache) = seen.cache else {
        let rate = throughput(average);
        let text = if seen.in_file {
            format!("The file was written at {rate}: no cache ended within it.")
        } else {
            format!("The drive wrote {rate} from end to end: no cache ended.")
        };
        return Ruling::no(VerdictKind::NoCacheEnd, text).with(
            "average",
            average,
            Unit::BytesPerSecond,
        );
    };
    let (size, low, high) =
        (decimal(cache.bytes as u64), decimal(cache.low as u64), decimal(cache.high as u64));
    let (before, after) = (throughput(cache.before), throughput(cache.after));
    let fall = format!("{before} up to {size} [{low}, {high}], then {after}");
    let ruling = if hot(target, &cache) {
        Ruling::unknown(format!(
            "{fall}; the drive was hot at that point: heat or the end of a cache. Better cooling \
             moves the fall only if heat caused it."
        ))
    } else {
        Ruling::yes(VerdictKind::CacheEnd, format!("{fall}: a cache was full{}.", folding(seen)))
    };
    let ruling = ruling
        .with("bytes until the rate fell", cache.bytes, Unit::Bytes)
        .with("rate before", cache.before, Unit::BytesPerSecond)
        .with("rate after", cache.after, Unit::BytesPerSecond);
    let ruling = match seen.undershoot() {
        Some(ratio) => ruling.with("rate after / rate of overwriting", ratio, Unit::Number),
        None => ruling,
    };
    match cache.celsius {
        Some(c) => ruling.with("temperature there", c, Unit::Celsius),
        None => ruling,
    }
}

/// The behaviour after the end of the cache.
fn folding(seen: &Sustained) -> String {
    match (seen.undershoot(), seen.overwriting) {
        (Some(ratio), Some(full)) if ratio < FOLDING_BELOW => format!(
            ", and is emptied (folded) during further writes, at {} of the {} of overwriting a \
             full drive",
            percent(ratio),
            throughput(full)
        ),
        (Some(_), Some(full)) => format!("; a full drive is overwritten at {}", throughput(full)),
        _ => String::new(),
    }
}

fn hot(target: &TargetInfo, cache: &Fall) -> bool {
    let warn_c = target.target.drive.as_ref().and_then(|d| d.health.temperature_warn_c);
    let limit = warn_c.map_or(HOT_C, |warn| warn - HOT_MARGIN_K);
    cache.celsius.is_some_and(|c| c >= limit)
}

#[cfg(test)]
mod tests {
    use super::super::Answer;
    use super::super::testing::target;
    use super::*;

    fn seen(celsius: Option<f64>, overwriting: f64) -> Sustained {
        let cache =
            Fall { bytes: 170e9, low: 165e9, high: 175e9, before: 5e9, after: 1.47e9, celsius };
        Sustained {
            cache: Some(cache),
            conclusive: true,
            average: Some(1.9e9),
            overwriting: Some(overwriting),
            hottest: celsius,
            in_file: false,
        }
    }

    #[test]
    fn a_fall_is_the_end_of_a_cache_and_a_dip_below_overwriting_is_folding() {
        let ruling = cache_end(&target(), &seen(None, 2.1e9));
        assert_eq!((ruling.answer, ruling.verdict.kind.name()), (Answer::Yes, "CACHE END"));
        let text = &ruling.verdict.text;
        assert!(
            text.starts_with("5000 MB/s up to 170 GB [165 GB, 175 GB], then 1470 MB/s"),
            "{text}"
        );
        assert!(text.contains("70% of the 2100 MB/s"), "{text}");
        let plain = cache_end(&target(), &seen(Some(45.0), 1.5e9)).verdict.text;
        assert!(!plain.contains("folded") && plain.contains("overwritten at 1500 MB/s"), "{plain}");
        let level = Sustained { cache: None, in_file: true, ..seen(None, 1.5e9) };
        let text = cache_end(&target(), &level).verdict.text;
        assert_eq!(text, "The file was written at 1900 MB/s: no cache ended within it.");
    }
}

//! FLUSH: does a flush take effect, or does the drive only report completion?
//!
//! Making a page durable takes a program operation, at least 100 us on any flash. A faster flush is
//! possible if the drive has no volatile cache, and declares none; otherwise a power cut can lose
//! the data.

use record::{Histogram, Unit, VerdictKind};
use rig::TargetInfo;
use workload::units::latency;

use super::Ruling;
use super::rule::{Role, Rule};

/// Minimum plausible time of a flush, nanoseconds: faster than any flash programs, with margin.
const HONEST_NS_MIN: u64 = 30_000;

/// Service times of flushes, each after one small write.
#[derive(Clone, Debug, Default)]
pub struct FlushTimes {
    pub service: Histogram,
}

pub static RULE: Rule = Rule {
    role: Role::Check,
    overridden_by: &[],
    judge: |facts| facts.checks.get().map(|times| flush(facts.target, times)).into_iter().collect(),
};

pub fn flush(target: &TargetInfo, times: &FlushTimes) -> Ruling {
    let Some(median) = times.service.percentile(0.5) else {
        let text = "Flush honesty is unknown: too few flushes were timed (20 are needed).";
        return Ruling::unknown(text);
    };
    let volatile_cache = target.target.drive.as_ref().and_then(|d| d.write_cache);
    let time = latency(median as f64);
    let ruling = if target.ram {
        Ruling::unknown("Memory has nothing to flush: durability was not tested.")
    } else if median >= HONEST_NS_MIN {
        Ruling::no(
            VerdictKind::FlushPlausible,
            format!("Flush takes {time}: plausible, not proof."),
        )
    } else if volatile_cache == Some(false) {
        let text = format!("Flush takes {time}; the drive declares no volatile cache to flush.");
        Ruling::no(VerdictKind::FlushPlausible, text)
    } else {
        let text = format!(
            "Flush takes {time}, less than flash takes to program, and no power-loss protection is \
             declared: acknowledged writes may not survive a power cut."
        );
        Ruling::yes(VerdictKind::Flush, text)
    };
    ruling.with("flush p50", median as f64, Unit::Nanoseconds).with(
        "flushes timed",
        times.service.count() as f64,
        Unit::Number,
    )
}

#[cfg(test)]
mod tests {
    use super::super::Answer;
    use super::super::testing::{target, with_drive};
    use super::*;

    fn times(ns: u64, count: u64) -> FlushTimes {
        let mut times = FlushTimes::default();
        (0..count).for_each(|_| times.service.record(ns));
        times
    }

    #[test]
    fn too_fast_is_suspicious_unless_nothing_is_volatile() {
        assert_eq!(flush(&target(), &times(9_000, 100)).answer, Answer::Yes);
        assert_eq!(flush(&target(), &times(900_000, 100)).answer, Answer::No);
        let protected = with_drive(|d| d.write_cache = Some(false));
        assert_eq!(flush(&protected, &times(9_000, 100)).answer, Answer::No);
        let volatile = with_drive(|d| d.write_cache = Some(true));
        assert_eq!(flush(&volatile, &times(9_000, 100)).answer, Answer::Yes);
    }
}

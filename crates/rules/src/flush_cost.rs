//! FLUSH as a cost: does the flush that makes writes durable take a noticeable part of their time?
//!
//! A cell of writes ends with a flush. Its cost without the data that it drains is that of a flush
//! after one small write, which the checks measure.

use record::{Unit, VerdictKind};
use workload::units::latency;

use super::rule::{Role, Rule};
use super::subject::{Subject, listed};
use super::{FlushTimes, Ruling, percent};
use crate::Digest;

/// Minimum share of the time; a smaller one changes no figure by 10%.
const SHARE_MIN: f64 = 0.1;

pub static RULE: Rule = Rule {
    role: Role::Cause,
    overridden_by: &[&super::ram::RULE],
    judge: |facts| {
        let times = facts.checks.get();
        times.and_then(|times| flush_cost(times, facts.seen)).into_iter().collect()
    },
};

pub fn flush_cost(times: &FlushTimes, seen: &[Digest]) -> Option<Ruling> {
    let flush_s = times.service.percentile(0.5)? as f64 / 1e9;
    let subjects = Subject::reported(seen);
    let shares = subjects.iter().map(|s| {
        let flushes = s.sum(|run| run.flushes as f64);
        (s, (flushes * flush_s / s.seconds().max(1e-9)).min(1.0))
    });
    let limited: Vec<_> = shares.filter(|(_, share)| *share >= SHARE_MIN).collect();
    let most = limited.iter().map(|(_, share)| *share).reduce(f64::max)?;
    let text = format!(
        "A flush takes {}: up to {} of the time of {}.",
        latency(flush_s * 1e9),
        percent(most),
        listed(limited.iter().map(|(subject, _)| *subject))
    );
    let ruling = Ruling::yes(VerdictKind::Flush, text)
        .next_test("longer runs (--time 5m): the share of a single flush falls")
        .with("flush p50", flush_s * 1e9, Unit::Nanoseconds)
        .with("share of the time", most, Unit::Number);
    Some(ruling.explaining_each(limited))
}

#[cfg(test)]
mod tests {
    use super::super::testing::digest;
    use super::*;

    #[test]
    fn a_tenth_of_the_time_is_a_cost() {
        let mut times = FlushTimes::default();
        (0..100).for_each(|_| times.service.record(20_000_000));
        let run = |flushes| Digest { flushes, ..digest("w") };
        let verdict = flush_cost(&times, &[run(6)]).expect("12%").verdict;
        assert_eq!((verdict.kind, verdict.explains.len()), (VerdictKind::Flush, 1));
        assert!((verdict.explains[0].share.expect("known") - 0.12).abs() < 0.01);
        assert!(flush_cost(&times, &[run(4)]).is_none());
        assert!(flush_cost(&FlushTimes::default(), &[run(50)]).is_none());
    }
}

//! CACHE END in short writes: did a cache of the drive fill up during the writes of a cell?
//!
//! Most SSDs write the first gigabytes fast, into flash used at one bit per cell. If that cache
//! fills up within a cell, the figure is a mixture. A used drive without such a cache falls in the
//! same way when its erased blocks run out, so the text names both. The evidence is a rate that falls for good:
//! every late interval is below every early one, of a drive that was not slowed down by its heat. A
//! run that ends before the cache is full cannot detect this; `quick` reports that in a finding.

use analysis::mean;
use record::{FindingKind, Unit, VerdictKind, capitalised};
use workload::units::throughput;

use super::rule::{Role, Rule};
use super::subject::Subject;
use super::{Ruling, Sustained};
use crate::Digest;
use crate::rate_change::FELL_BELOW;

/// Minimum number of intervals; fewer have no clear beginning and end.
const INTERVALS_MIN: usize = 9;

pub static RULE: Rule = Rule {
    role: Role::Check,
    overridden_by: &[&super::ram::RULE, &super::cache_end::RULE, &super::throttle::RULE],
    judge: |facts| match facts.checks.get::<Sustained>() {
        Some(_) => Vec::new(),
        None => fallen(facts.seen),
    },
};

pub fn fallen(seen: &[Digest]) -> Vec<Ruling> {
    let subjects = Subject::reported(seen);
    // Random writes of a cell are short and scatter; those of a run are as long as the user wants.
    let writes = subjects.iter().filter(|subject| {
        let first = subject.first();
        first.mix.read == 0 && (!first.random || first.is_run())
    });
    let writes = writes.filter(|s| !s.runs().any(|run| run.found(&FindingKind::Throttled)));
    let falls = writes.filter_map(|s| Some((s, fall(s)?)));
    falls.map(|(subject, fall)| end(subject, fall)).collect()
}

/// Rates at the beginning and at the end, bytes per second.
type Fall = (f64, f64);

fn end(subject: &Subject<'_>, (before, after): Fall) -> Ruling {
    let text = format!(
        "{} fell from {} to {}: a cache or the erased blocks ran out; the \
         figure mixes both rates.",
        capitalised(&subject.in_words()),
        throughput(before),
        throughput(after)
    );
    Ruling::yes(VerdictKind::CacheEnd, text)
        .explaining(subject, None)
        .next_test("ssdyno run -m sustain measures both rates and the size of the cache")
        .with("rate before", before, Unit::BytesPerSecond)
        .with("rate after", after, Unit::BytesPerSecond)
}

/// The rates of the first and the last third of all intervals, if the rate fell for good. The
/// series of a run's only workload shows where it fell.
fn fall(subject: &Subject<'_>) -> Option<Fall> {
    let first = subject.first();
    if let Some(fall) = first.fall.filter(|_| first.is_run()) {
        return Some((fall.before, fall.after));
    }
    if first.random {
        return None;
    }
    let rates: Vec<f64> = subject.runs().flat_map(|run| run.rates.iter().copied()).collect();
    let third = rates.len() / 3;
    if rates.len() < INTERVALS_MIN {
        return None;
    }
    let (early, late) = (&rates[..third], &rates[rates.len() - third..]);
    let is_apart = early.iter().copied().fold(f64::INFINITY, f64::min)
        > late.iter().copied().fold(0.0, f64::max);
    let (before, after) = (mean(early), mean(late));
    (is_apart && after < FELL_BELOW * before).then_some((before, after))
}

#[cfg(test)]
mod tests {
    use record::{Finding, Level};
    use workload::Mix;

    use super::super::testing::digest;
    use super::*;

    fn writes(rates: &[f64]) -> Digest {
        let rates = rates.iter().map(|rate| rate * 1e6).collect();
        let (mix, bytes) = (Mix::WRITE, [0, 2_000_000_000]);
        Digest { mix, random: false, bytes, rates, ..digest("seq-write-1MiB-q8") }
    }

    #[test]
    fn a_rate_that_falls_for_good_is_the_end_of_a_cache() {
        let seen =
            [writes(&[900.0; 5]), writes(&[880.0, 900.0, 500.0, 410.0]), writes(&[400.0; 4])];
        let found = fallen(&seen);
        let [ruling] = &found[..] else { panic!("{found:?}") };
        assert_eq!(ruling.verdict.kind, VerdictKind::CacheEnd);
        assert!(ruling.verdict.explains("seq-write-1MiB-q8"));
        assert!(ruling.verdict.text.contains("fell from 900 MB/s to 4"), "{}", ruling.verdict.text);
    }

    #[test]
    fn a_drive_that_slows_down_when_it_is_hot_shows_no_end_of_a_cache() {
        let hot = Finding::new(FindingKind::Throttled, Level::Warn, "");
        let seen = [writes(&[900.0; 5]), writes(&[400.0; 5])];
        let throttled = Digest { findings: vec![hot], ..seen[1].clone() };
        assert_eq!(fallen(&seen).len(), 1);
        assert!(fallen(&[seen[0].clone(), throttled]).is_empty());
    }

    #[test]
    fn scatter_and_reads_are_no_end_of_a_cache() {
        let quiet = |rates: &[f64]| assert!(fallen(&[writes(rates)]).is_empty());
        quiet(&[900.0; 12]);
        quiet(&[900.0, 900.0, 900.0, 700.0, 700.0, 700.0, 640.0, 640.0, 640.0]);
        // The rate recovered in between: scatter, not the end of a cache.
        quiet(&[900.0, 300.0, 900.0, 300.0, 900.0, 300.0, 300.0, 350.0, 300.0]);
        quiet(&[900.0, 900.0, 400.0, 400.0]);
        assert!(fallen(&[digest("reads")]).is_empty());
    }
}

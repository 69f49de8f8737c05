//! RATE LIMIT: does something below this machine limit the rate, as providers do with volumes?
//!
//! Reads after a rest are as fast as the drive until a bucket is used up, and then keep one rate to
//! the operation; a drive has no cache that serves a while of random reads and is ready again after
//! a second. What passes fast is all of the bucket only if it is no more after a longer rest. Blocks of
//! another size tell what is counted: no more of it passes. All figures at that rate have the limit,
//! those of writes, too. If a burst outlasts every figure, none has it, and the figures are those of
//! the burst.
//!
//! A limit that this machine sets is known to the kernel (`group.rs`) and overrides this rule. Work
//! beside the run explains the figures of the workloads that waited for a processor, not the others.

use record::{Unit, VerdictKind};
use workload::Mix;
use workload::units::{decimal, throughput};

use super::Ruling;
use super::cpu_shared::cpu_shared;
use super::grid::within;
use super::limit::{Counted, SAME_RATE, ShownLimit};
use super::rule::{Role, Rule};
use super::subject::{Subject, listed};
use crate::Digest;
use crate::changes::is_limit_test;

/// Maximum share of a rate that was left in the bucket: a workload that is faster is not held.
const LEFT: f64 = 0.15;

pub static RULE: Rule = Rule {
    role: Role::Cause,
    overridden_by: &[&super::ram::RULE, &super::group::QUOTA, &super::group::IO],
    judge: |facts| {
        let shared = Vec::from_iter(cpu_shared(facts.seen));
        let limits = rate_limit(facts.seen).into_iter();
        limits.filter_map(|limit| limit.of_the_rest(&shared)).collect()
    },
};

/// A limit that no figure has leaves them to the rules of the drive.
pub static BEYOND: Rule = Rule {
    role: Role::Cause,
    overridden_by: &[&super::ram::RULE, &super::group::QUOTA, &super::group::IO],
    judge: |facts| limit_beyond(facts.seen),
};

/// The limits that figures have.
pub fn rate_limit(seen: &[Digest]) -> Vec<Ruling> {
    let subjects = Subject::all(seen);
    let limits = limits(&subjects).into_iter();
    limits.filter_map(|limit| of_figures(&limit, &figures(&subjects, &limit))).collect()
}

/// The limits that no figure has, because their bursts last longer.
pub fn limit_beyond(seen: &[Digest]) -> Vec<Ruling> {
    let subjects = Subject::all(seen);
    let limits = limits(&subjects).into_iter();
    let unseen = limits.filter(|l| l.is_sure && figures(&subjects, l).is_empty());
    unseen.map(|limit| of_no_figure(&limit)).collect()
}

/// The limits that tests show.
fn limits(subjects: &[Subject<'_>]) -> Vec<ShownLimit> {
    let tests = subjects.iter().filter(|subject| {
        let first = subject.first();
        let is_test = is_limit_test(subject.name()) || (first.is_run() && first.random);
        first.mix == Mix::READ && is_test
    });
    let mut limits: Vec<ShownLimit> = Vec::new();
    for limit in tests.filter_map(|test| ShownLimit::from_test(test, subjects)) {
        if !limits.iter().any(|known| known.is_same(&limit)) {
            limits.push(limit);
        }
    }
    limits
}

/// The reported workloads that a limit holds.
fn figures<'s, 'a>(subjects: &'s [Subject<'a>], limit: &ShownLimit) -> Vec<&'s Subject<'a>> {
    let reported = subjects.iter().filter(|subject| !subject.first().probe);
    reported.filter(|subject| is_held(subject, limit)).collect()
}

fn of_figures(limit: &ShownLimit, figures: &[&Subject<'_>]) -> Option<Ruling> {
    let text = format!(
        "Something below this machine, such as a provider's limit of the volume, holds {} to {}; \
         {} pass faster after a rest.",
        listed(figures.iter().copied()),
        limit_in_words(limit),
        burst_in_words(limit)
    );
    let ruling = ruling(limit, text)
        .next_test("the same on a volume with a higher limit: these figures should rise with it");
    (!figures.is_empty()).then(|| ruling.explaining_all(figures))
}

fn of_no_figure(limit: &ShownLimit) -> Ruling {
    let text = format!(
        "Something below this machine, such as a provider's limit of the volume, holds reads to {} \
         once {} have passed faster after a rest; no figure here shows it.",
        limit_in_words(limit),
        burst_in_words(limit)
    );
    ruling(limit, text).next_test("the same with a longer --time: figures should fall to this rate")
}

fn ruling(limit: &ShownLimit, text: String) -> Ruling {
    let (of_limit, of_burst) = match limit.counted {
        Counted::Operations => (Unit::Iops, Unit::Number),
        Counted::Bytes => (Unit::BytesPerSecond, Unit::Bytes),
    };
    Ruling::yes(VerdictKind::RateLimit, text).with("limit per second", limit.per_s, of_limit).with(
        format!("{}burst after a rest", least(limit)),
        limit.burst,
        of_burst,
    )
}

fn limit_in_words(limit: &ShownLimit) -> String {
    match limit.counted {
        Counted::Operations => format!("{:.0} operations per second", limit.per_s),
        Counted::Bytes => throughput(limit.per_s),
    }
}

fn burst_in_words(limit: &ShownLimit) -> String {
    let burst = match limit.counted {
        Counted::Operations => format!("{:.0} operations", limit.burst),
        Counted::Bytes => decimal(limit.burst as u64),
    };
    format!("{}{burst}", least(limit))
}

fn least(limit: &ShownLimit) -> &'static str {
    if limit.is_part { "at least " } else { "" }
}

/// Whether a limit holds a workload: its runs have the limit's rate, or keep it after a burst of their
/// own, or have little more, which was left in the bucket.
fn is_held(subject: &Subject<'_>, limit: &ShownLimit) -> bool {
    let ShownLimit { counted, per_s, burst, .. } = *limit;
    let block_bytes = subject.first().block_bytes;
    let is_limit = |rate| within(counted.of_bytes(rate, block_bytes), per_s, SAME_RATE);
    let is_run_held = |run: &Digest| {
        let bytes = (run.bytes[0] + run.bytes[1]) as f64;
        let rate = bytes / run.seconds.max(1e-9);
        let left = (LEFT * per_s).min(burst / run.seconds.max(1e-9));
        is_limit(rate)
            || run.plateau.is_some_and(|plateau| is_limit(plateau.rate))
            || (per_s..=per_s + left).contains(&counted.of_bytes(rate, block_bytes))
    };
    within(counted.rate(subject), per_s, SAME_RATE) || subject.runs().all(is_run_held)
}

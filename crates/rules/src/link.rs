//! LINK: is the link the limit, and does it run at the speed and width that the drive supports?
//!
//! A high share of the ceiling alone proves nothing: flash can be as fast by chance. Every workload
//! that the link limits reaches the same rate. So that rate must be the ceiling itself, or reads and
//! writes, which have no other resource in common, must both reach it; a workload that stays below
//! it has another limit. At depth 1, where a transfer waits for the command before it, a workload
//! is limited by the link if the same workload at a higher depth is.

use record::{Link, Unit, VerdictKind};
use rig::{Bus, TargetInfo};
use workload::Mix;
use workload::units::throughput;

use super::rule::{Role, Rule};
use super::subject::{Subject, listed};
use super::{Ruling, percent};
use crate::Digest;

/// Nothing but the link is the limit from this share of its payload ceiling.
const FULL_SHARE: f64 = 0.97;

/// The link can be the limit from this share of its payload ceiling: commands and responses take the
/// rest.
const BOUND_SHARE: f64 = 0.85;

/// A link used below this share has room.
pub(super) const LINK_ROOM: f64 = BOUND_SHARE;

/// Rates from this share of the fastest workload's count as the same.
const SAME_SHARE: f64 = 0.97;

/// At depth 1, a random read or write is bound by the link from this share: most of its time.
const ALONE_SHARE: f64 = 0.5;

/// Reads from memory reveal nothing about a link.
pub static RULE: Rule = Rule {
    role: Role::Bound,
    overridden_by: &[&super::ram::RULE],
    judge: |facts| link(facts.target, facts.seen),
};

pub static DOWNGRADED: Rule =
    Rule { role: Role::Cause, overridden_by: &[], judge: |facts| vec![downgraded(facts.target)] };

/// Judges the workloads that reach the link's ceiling, and the share that the others use. A
/// workload counts by the median of its replicates, because a cache can speed up a single one.
/// Writes count by their mean if that is less, because their rate falls for good at the end of a
/// cache.
pub fn link(target: &TargetInfo, seen: &[Digest]) -> Vec<Ruling> {
    let Some(ceiling) = ceiling(target) else {
        return vec![Ruling::unknown("link speed")];
    };
    let subjects = Subject::reported(seen);
    let rates = subjects.iter().map(|subject| (subject, used(target.bus, subject)));
    let mut rates: Vec<_> = rates.filter(|(_, rate)| *rate > 0.0).collect();
    rates.sort_by(|a, b| b.1.total_cmp(&a.1));
    if rates.is_empty() {
        let reason = if subjects.is_empty() {
            "no workload bypassed the page cache"
        } else {
            "no workload moved data"
        };
        return vec![Ruling::unknown(format!("share of the link in use ({reason})"))];
    }
    let limit = Reached::new(&rates, ceiling);
    let (limited, free): (Vec<_>, Vec<_>) =
        rates.iter().copied().partition(|(subject, rate)| limit.limits(subject, *rate));
    let yes = limited.first().map(|(_, rate)| {
        let text = format!(
            "The link is the limit of {}: up to {} of the {} that {} carries.",
            listed(limited.iter().map(|(subject, _)| *subject)),
            percent(rate / ceiling),
            throughput(ceiling),
            link_of(target).and_then(|l| l.now.as_deref()).unwrap_or("it"),
        );
        let ruling = Ruling::yes(VerdictKind::Link, text)
            .next_test("the same drive on a faster port: these figures should rise");
        let shares = limited.iter().map(|(subject, rate)| (*subject, rate / ceiling));
        (ruling.explaining_each(shares), *rate)
    });
    let no = free.first().map(|(_, rate)| {
        let text = format!("link at most {} used", percent(rate / ceiling));
        (Ruling::no(VerdictKind::LinkFree, text), *rate)
    });
    let rulings = yes.into_iter().chain(no).map(|(ruling, rate)| {
        let ruling = ruling.with("throughput", rate, Unit::BytesPerSecond);
        ruling.with("ceiling of the link", ceiling, Unit::BytesPerSecond)
    });
    rulings.collect()
}

/// The rate that the workloads on a link reach.
struct Reached<'s, 'a> {
    rates: &'s [(&'s Subject<'a>, f64)],
    ceiling: f64,
    /// The rate from which the link is the limit; infinite if it may be the limit of none.
    limit: f64,
}

impl<'s, 'a> Reached<'s, 'a> {
    /// Takes the rates in descending order.
    fn new(rates: &'s [(&'s Subject<'a>, f64)], ceiling: f64) -> Reached<'s, 'a> {
        let fastest = rates.first().map_or(0.0, |(_, rate)| *rate);
        let limit = (SAME_SHARE * fastest).max(BOUND_SHARE * ceiling);
        let fast = rates.iter().filter(|(_, rate)| *rate >= limit);
        let is_proven = fastest >= FULL_SHARE * ceiling
            || (0..2).all(|side: usize| {
                fast.clone().any(|(subject, _)| subject.first().bytes[1 - side] == 0)
            });
        Reached { rates, ceiling, limit: if is_proven { limit } else { f64::INFINITY } }
    }

    /// Whether the link is the limit of a workload with this rate. At depth 1, a random block has
    /// the link to itself; sequential blocks overlap with flash.
    fn limits(&self, subject: &Subject<'_>, rate: f64) -> bool {
        let (first, share) = (subject.first(), rate / self.ceiling);
        let is_alone = first.depth_nominal == Some(1);
        rate >= self.limit
            || (is_alone && first.random && share >= ALONE_SHARE)
            || (is_alone && !first.random && share >= BOUND_SHARE && self.limits_deep(first.mix))
    }

    /// Whether the link limits a sequential workload of this mix that has a queue.
    fn limits_deep(&self, mix: Mix) -> bool {
        self.rates.iter().any(|(subject, rate)| {
            let first = subject.first();
            let is_deep = first.depth_nominal > Some(1) && !first.random;
            is_deep && first.mix == mix && *rate >= self.limit
        })
    }
}

/// The payload ceiling of the link, bytes per second, if it is known.
pub(super) fn ceiling(target: &TargetInfo) -> Option<f64> {
    link_of(target)?.ceiling_bytes_per_s.filter(|ceiling| *ceiling > 0.0)
}

/// The rate of a workload on the link, whose directions may share it.
fn used(bus: Bus, subject: &Subject<'_>) -> f64 {
    let half_duplex = matches!(bus, Bus::Sata | Bus::Sd | Bus::Emmc);
    let rate_of = if half_duplex { Digest::both_ways } else { Digest::throughput };
    let writes = subject.first().bytes[1] > 0;
    let mean = if writes { subject.mean(rate_of) } else { f64::INFINITY };
    subject.median(rate_of).min(mean)
}

/// Whether the link runs slower or narrower than the drive supports.
pub fn downgraded(target: &TargetInfo) -> Ruling {
    match link_of(target) {
        Some(Link { downgraded: Some(true), now, best, .. }) => {
            let [now, best] = [now, best].map(|link| link.as_deref().unwrap_or("unknown"));
            let text = format!(
                "The link runs at {now}, but the drive supports {best}: try another slot, port or \
                 cable."
            );
            Ruling::yes(VerdictKind::LinkDowngraded, text)
        }
        Some(Link { downgraded: Some(false), .. }) => {
            Ruling::no(VerdictKind::LinkFull, "The link is as fast as the drive allows.")
        }
        _ => Ruling::unknown("Whether the link could be faster is unknown."),
    }
}

fn link_of(target: &TargetInfo) -> Option<&Link> {
    target.target.drive.as_ref()?.link.as_ref()
}

#[cfg(test)]
mod tests {
    use super::super::Answer;
    use super::super::testing::{digest, named, target, with_link};
    use super::*;
    use record::Explained;

    #[test]
    fn near_the_ceiling_is_a_yes_far_below_a_no_without_a_ceiling_unknown() {
        let seen =
            [Digest { bytes: [970_000_000, 100_000_000], depth_nominal: Some(8), ..digest("seq") }];
        let answers = |target: &TargetInfo, seen: &[Digest]| {
            link(target, seen).iter().map(|ruling| ruling.answer).collect::<Vec<_>>()
        };
        assert_eq!(answers(&with_link(1e9), &seen), [Answer::Yes]);
        assert_eq!(answers(&with_link(1.1e9), &seen), [Answer::No]);
        assert_eq!(answers(&target(), &seen), [Answer::Unknown]);
        assert_eq!(answers(&with_link(1e9), &[]), [Answer::Unknown]);
        let text = |seen: &[Digest]| link(&with_link(1e9), seen)[0].verdict.text.clone();
        assert!(text(&[]).contains("bypassed the page cache"), "{}", text(&[]));
        let idle = [Digest { bytes: [0, 0], ..digest("seq") }];
        assert!(text(&idle).contains("no workload moved data"), "{}", text(&idle));
    }

    #[test]
    fn it_is_the_limit_of_the_workloads_that_reach_it_and_of_no_other() {
        let run = |name: &str, bytes: u64| Digest { bytes: [bytes, 0], ..digest(name) };
        // One fast replicate does not establish the limit; one slow replicate does not refute it.
        let seen = [
            run("seq", 970_000_000),
            run("seq", 980_000_000),
            run("seq", 300_000_000),
            run("burst", 990_000_000),
            run("burst", 200_000_000),
            run("burst", 210_000_000),
            run("rand", 70_000_000),
            Digest { probe: true, ..run("check", 999_000_000) },
        ];
        let found = link(&with_link(1e9), &seen);
        let [yes, no] = &found[..] else { panic!("{found:?}") };
        assert_eq!(yes.answer, Answer::Yes);
        let explained = [Explained { metric: "seq".into(), share: Some(0.97) }];
        assert_eq!(yes.verdict.explains, explained);
        assert_eq!(no.verdict.text, "link at most 21% used");
    }

    /// Reads at a rate in MB/s (powers of 1000) and a queue depth.
    fn reads(random: bool, depth: u32, mb: u64) -> Digest {
        let (name, block_bytes) =
            (format!("{random}-q{depth}"), if random { 4096 } else { 1 << 20 });
        let (bytes, depth_nominal) = ([mb * 1_000_000, 0], Some(depth));
        named(&name, Digest { bytes, depth_nominal, random, block_bytes, ..digest("x") })
    }

    #[test]
    fn one_at_a_time_it_is_the_limit_where_it_takes_most_of_the_time() {
        let bound = |seen: &[Digest]| {
            let all = link(&with_link(1e9), seen).into_iter().filter(Ruling::applies);
            all.flat_map(|r| r.verdict.explains).map(|e| e.metric).collect::<Vec<_>>()
        };
        assert_eq!(bound(&[reads(true, 1, 510)]), ["true-q1"]);
        assert!(bound(&[reads(true, 1, 490), reads(true, 8, 600)]).is_empty());
        // With sequential reads, flash works in parallel.
        assert_eq!(bound(&[reads(false, 1, 800), reads(false, 8, 980)]), ["false-q8"]);
        assert_eq!(bound(&[reads(false, 1, 860), reads(false, 8, 980)]), ["false-q8", "false-q1"]);
        assert!(bound(&[reads(false, 1, 860), reads(false, 8, 900)]).is_empty());
    }
}

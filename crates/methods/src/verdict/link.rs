//! LINK: is the link the limit, and does it run at its best?

use record::{Link, Unit, VerdictKind};
use rig::TargetInfo;
use workload::units::throughput;

use super::rule::{Role, Rule};
use super::{Ruling, percent};
use crate::Digest;

/// The link is the limit from this share of its payload ceiling: commands and responses take the
/// rest.
const BOUND_SHARE: f64 = 0.85;

/// Memory says nothing about a link.
pub(crate) static RULE: Rule = Rule {
    role: Role::Bound,
    overridden_by: &[&super::ram::RULE],
    judge: |facts| vec![link(facts.target, facts.seen)],
};

pub(crate) static DOWNGRADED: Rule =
    Rule { role: Role::Cause, overridden_by: &[], judge: |facts| vec![downgraded(facts.target)] };

/// Whether the fastest workload reaches the link's ceiling.
pub(crate) fn link(target: &TargetInfo, seen: &[Digest]) -> Ruling {
    let ceiling = link_of(target).and_then(|l| l.ceiling_bytes_per_s).filter(|c| *c > 0.0);
    let Some(ceiling) = ceiling else {
        return Ruling::unknown("link speed");
    };
    let fastest = seen.iter().max_by(|a, b| a.throughput().total_cmp(&b.throughput()));
    let Some(fastest) = fastest.filter(|d| d.throughput() > 0.0) else {
        return Ruling::unknown("share of the link in use (nothing was measured)");
    };
    let share = fastest.throughput() / ceiling;
    let ruling = match share >= BOUND_SHARE {
        true => Ruling::yes(
            VerdictKind::Link,
            format!(
                "The link is the limit: {} runs at {} of the {} that {} carries.",
                fastest.name,
                percent(share),
                throughput(ceiling),
                link_of(target).and_then(|l| l.now.as_deref()).unwrap_or("it"),
            ),
        )
        .about(&fastest.name),
        false => Ruling::no(VerdictKind::LinkFree, format!("link at most {} used", percent(share))),
    };
    ruling.with("throughput", fastest.throughput(), Unit::BytesPerSecond).with(
        "ceiling of the link",
        ceiling,
        Unit::BytesPerSecond,
    )
}

/// Whether the link runs slower or narrower than the drive supports.
pub(crate) fn downgraded(target: &TargetInfo) -> Ruling {
    match link_of(target) {
        Some(Link { downgraded: Some(true), now, best, .. }) => {
            let words = |link: &Option<String>| link.clone().unwrap_or("unknown".into());
            let text = format!(
                "The link runs at {}, the drive could do {}: another slot, port or cable may help.",
                words(now),
                words(best)
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
    use super::super::testing::{digest, target, with_drive, with_link};
    use super::*;

    #[test]
    fn near_the_ceiling_is_a_yes_far_below_a_no_without_a_ceiling_unknown() {
        let seen = [Digest { bytes: [850_000_000, 100_000_000], ..digest("seq") }];
        assert_eq!(link(&with_link(1e9), &seen).answer, Answer::Yes);
        assert_eq!(link(&with_link(1.1e9), &seen).answer, Answer::No);
        assert_eq!(link(&target(), &seen).answer, Answer::Unknown);
        assert_eq!(link(&with_link(1e9), &[]).answer, Answer::Unknown);
    }

    #[test]
    fn a_downgraded_link_is_reported() {
        let answer = |flag| {
            let link = Link { downgraded: flag, now: Some("x1".into()), ..Link::default() };
            downgraded(&with_drive(|d| d.link = Some(link))).answer
        };
        assert_eq!(answer(Some(true)), Answer::Yes);
        assert_eq!(answer(Some(false)), Answer::No);
        assert_eq!(answer(None), Answer::Unknown);
    }
}

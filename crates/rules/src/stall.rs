//! STALL: did the drive complete nothing for part of the time?
//!
//! A closed loop hides a stall in one slow operation per slot: percentiles do not show it, and the
//! mean rate is never the actual rate. A limit of a control group, a thread without a processor, a
//! stopped process and a drive that serves other programs complete nothing for it, either: those
//! workloads have not stalled.

use record::{Unit, VerdictKind};
use rig::TargetInfo;
use workload::units::span;

use super::rule::{Role, Rule};
use super::subject::Subject;
use super::{Ruling, cpu_shared, group, others, percent};
use crate::Digest;

/// Minimum share of a workload's time; a stall of this length changes the rate by as much.
const SHARE_MIN: f64 = 0.1;

pub static RULE: Rule = Rule {
    role: Role::Cause,
    overridden_by: &[&super::ram::RULE],
    judge: |facts| stall(facts.target, facts.seen).into_iter().collect(),
};

pub fn stall(target: &TargetInfo, seen: &[Digest]) -> Option<Ruling> {
    let limits = [
        group::quota(target, seen),
        group::io_limit(&target.limits.group, seen),
        cpu_shared::cpu_shared(seen),
    ];
    let mut subjects = Subject::reported(seen);
    subjects.retain(|subject| {
        let is_limited = limits.iter().flatten().any(|limit| limit.explains(subject));
        !is_limited && others::noticeable_share(target, subject).is_none()
    });
    let shares = subjects.iter().map(|s| (s, s.share_of_time(stalled_s)));
    let stalled: Vec<_> = shares.filter(|(_, share)| *share >= SHARE_MIN).collect();
    let (worst, share) = stalled.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let text = format!(
        "During {}, nothing completed for {} of {}: without such stalls they would be {} faster.",
        worst.in_words(),
        span(worst.sum(stalled_s)),
        span(worst.seconds()),
        percent(1.0 / (1.0 - share).max(0.01) - 1.0)
    );
    let ruling = Ruling::yes(VerdictKind::Stall, text)
        .next_test("the same again: the drive's background work and other programs vary")
        .with(format!("share of the time, {}", worst.in_words()), *share, Unit::Number);
    Some(ruling.explaining_each(stalled))
}

/// The time without a completion in which the process was not stopped.
fn stalled_s(run: &Digest) -> f64 {
    (run.stalled_s - run.stood_s()).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{digest, named, target};
    use super::*;

    #[test]
    fn a_second_in_ten_is_a_stall_and_less_is_none() {
        let run = |s| named("a", Digest { seconds: 10.0, stalled_s: s, ..digest("x") });
        let verdict = stall(&target(), &[run(2.0), run(0.0)]).expect("a tenth of both").verdict;
        assert_eq!(
            verdict.text,
            "During a, nothing completed for 2.0 s of 20 s: without such stalls they would be 11% \
             faster."
        );
        assert_eq!(verdict.explains[0].share, Some(0.1));
        assert!(
            stall(&target(), &[run(1.9), run(0.0)]).is_none() && stall(&target(), &[]).is_none()
        );
    }
}

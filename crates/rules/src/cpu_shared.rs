//! CPU SHARED: did threads wait for a processor on which other work ran?
//!
//! The kernel counts the time in which a thread could have run but waited. A thread that waits does
//! not issue the next operation, so the drive is idle meanwhile: two busy processes beside a run
//! halve its rate at depth 1. Other programs, other threads of the run and other virtual machines
//! are not told apart.

use record::{Unit, VerdictKind};

use super::rule::{Role, Rule};
use super::subject::{Subject, listed};
use super::{Ruling, percent};
use crate::Digest;

/// Minimum share of the time of the busiest thread; a smaller one changes no figure by 10%.
const WAITING_MIN: f64 = 0.1;

pub static RULE: Rule = Rule {
    role: Role::Cause,
    overridden_by: &[&super::group::QUOTA],
    judge: |facts| cpu_shared(facts.seen).into_iter().collect(),
};

/// Whether a thread of a workload waited for a processor during enough of its time.
pub(super) fn waits(subject: &Subject<'_>) -> bool {
    waiting_share(subject) >= WAITING_MIN
}

fn waiting_share(subject: &Subject<'_>) -> f64 {
    subject.share_of_time(|run| run.waiting_s)
}

pub fn cpu_shared(seen: &[Digest]) -> Option<Ruling> {
    let subjects = Subject::reported(seen);
    let waiting: Vec<_> =
        subjects.iter().filter(|s| waits(s)).map(|s| (s, waiting_share(s))).collect();
    let (worst, share) = waiting.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let text = format!(
        "The processor was shared: a thread that could have issued {} waited for it during {} of \
         the time.",
        listed(waiting.iter().map(|(subject, _)| *subject)),
        percent(*share)
    );
    let ruling = Ruling::yes(VerdictKind::CpuShared, text)
        .next_test("the same with nothing else running, or fewer jobs: these figures should rise")
        .with(format!("share of the time, {}", worst.in_words()), *share, Unit::Number);
    Some(ruling.explaining_each(waiting))
}

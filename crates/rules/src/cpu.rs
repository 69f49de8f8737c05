//! CPU: is this machine's processor the limit?

use record::{FindingKind, Unit, VerdictKind};

use super::rule::{Role, Rule};
use super::subject::{Subject, listed};
use super::{Ruling, percent};
use crate::Digest;

/// Minimum time of a workload, seconds; shorter times are below the clock's resolution.
const SHORTEST: f64 = 0.01;

/// Minimum share of the time for which a wait is mentioned.
const WAITED_MIN: f64 = 0.01;

pub static RULE: Rule = Rule {
    role: Role::Bound,
    overridden_by: &[&super::group::QUOTA],
    judge: |facts| vec![cpu(facts.seen)],
};

pub fn cpu(seen: &[Digest]) -> Ruling {
    let subjects = Subject::all(seen);
    let long: Vec<&Subject<'_>> =
        subjects.iter().filter(|subject| subject.seconds() >= SHORTEST).collect();
    let busiest = long.iter().max_by(|a, b| share(a).total_cmp(&share(b)));
    let Some(busiest) = busiest.filter(|subject| share(subject) > 0.0) else {
        return Ruling::unknown("processor time");
    };
    let bound: Vec<&Subject<'_>> =
        long.iter().filter(|subject| generator_bound(subject)).copied().collect();
    let subject = bound.first().unwrap_or(busiest);
    let ruling = if bound.is_empty() {
        Ruling::no(
            VerdictKind::CpuFree,
            format!("CPU at most {} of a core{}", percent(share(busiest)), waited(&long)),
        )
    } else {
        Ruling::yes(
            VerdictKind::Cpu,
            format!(
                "The processor is the limit of {}: its threads were busy {} of the time.",
                listed(bound.iter().copied()),
                percent(share(subject))
            ),
        )
        .next_test("--jobs 4: with more threads these figures should rise")
    };
    let ruling = ruling.explaining_each(bound.iter().map(|subject| (*subject, share(subject))));
    ruling.with(format!("processor share, {}", subject.in_words()), share(subject), Unit::Number)
}

/// The largest share of the time for which a thread waited for a processor, in words.
fn waited(subjects: &[&Subject<'_>]) -> String {
    let shares = subjects.iter().map(|s| s.share_of_time(|run| run.waiting_s));
    let most = shares.fold(0.0, f64::max);
    if most < WAITED_MIN {
        return String::new();
    }
    format!(", which a thread waited for during at most {} of the time", percent(most))
}

/// Processor time over elapsed time.
fn share(subject: &Subject<'_>) -> f64 {
    subject.mean(|run| run.cpu_share)
}

/// Whether the rig found the processor to be the limit for most of the time.
fn generator_bound(subject: &Subject<'_>) -> bool {
    subject.mean(|run| f64::from(run.found(&FindingKind::GeneratorBound))) > 0.5
}

#[cfg(test)]
mod tests {
    use super::super::Answer;
    use super::super::testing::digest;
    use super::*;
    use record::{Finding, Level};

    #[test]
    fn the_rigs_own_finding_decides() {
        let finding = Finding::new(FindingKind::GeneratorBound, Level::Warn, "");
        let bound = Digest { findings: vec![finding], cpu_share: 0.97, ..digest("a") };
        let ruling = cpu(&[digest("b"), bound.clone()]);
        assert_eq!(ruling.answer, Answer::Yes);
        assert!(ruling.verdict.explains("a") && !ruling.verdict.explains("b"));
        // One disturbed replicate out of three does not decide.
        let once = [bound, digest("a"), digest("a")];
        assert_eq!(cpu(&once).answer, Answer::No);
        assert_eq!(cpu(&[digest("b")]).answer, Answer::No);
        assert_eq!(cpu(&[Digest { cpu_share: 0.0, ..digest("b") }]).answer, Answer::Unknown);
        assert_eq!(cpu(&[]).answer, Answer::Unknown);
    }
}

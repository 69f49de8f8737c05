//! HEAT: did the drive slow down because of its temperature?

use record::{FindingKind, Unit, VerdictKind};
use rig::{TargetInfo, Temperature};

use super::Ruling;
use super::rule::{Role, Rule};
use super::subject::{Subject, listed};
use crate::Digest;

/// Approximate temperature at which flash drives throttle, used if the drive reports no warning
/// level, degrees Celsius.
const HOT_C: f64 = 70.0;

/// A cause applies to a workload if it is present in more than this share of the workload's time.
const MOST: f64 = 0.5;

/// Rates from this share of the highest count as equal.
const ONE_RATE: f64 = 0.9;

/// The rate under a sustained load is better evidence of heat than a temperature.
pub static RULE: Rule = Rule {
    role: Role::Cause,
    overridden_by: &[&super::throttle::RULE],
    judge: |facts| vec![heat(facts.target, facts.seen)],
};

pub fn heat(target: &TargetInfo, seen: &[Digest]) -> Ruling {
    let subjects = Subject::reported(seen);
    let throttled: Vec<&Subject<'_>> = subjects
        .iter()
        .filter(|subject| in_most(subject, |run| run.found(&FindingKind::Throttled)))
        .collect();
    let stopped = seen.iter().any(|d| d.found(&FindingKind::TemperatureLimit));
    let warmth = warmth(seen);
    let warn_c = target.target.drive.as_ref().and_then(|d| d.health.temperature_warn_c);
    let ruling = match (warmth, warn_c) {
        _ if stopped => {
            let text = "The run was ended because the drive came near its warning temperature.";
            Ruling::yes(VerdictKind::Heat, text)
        }
        _ if !throttled.is_empty() => {
            let text = format!("The drive slowed down in {}.", listed(throttled.iter().copied()));
            Ruling::yes(VerdictKind::Heat, text).explaining_all(&throttled)
        }
        (Some(t), Some(warn_c)) if t.start_c >= warn_c => {
            let hot = subjects.iter().filter(|subject| {
                in_most(subject, |run| run.temperature.is_some_and(|t| t.start_c >= warn_c))
            });
            let limited = at_one_rate(hot.collect());
            let text = format!(
                "The drive was at {:.0} C from the start; from its warning temperature of \
                 {warn_c:.0} C, it may slow down all the time.",
                t.start_c
            );
            Ruling::yes(VerdictKind::Heat, text).explaining_all(&limited)
        }
        (Some(t), Some(warn_c)) if t.max_c >= warn_c => Ruling::yes(
            VerdictKind::Heat,
            format!("The drive reached {:.0} C; its warning level is {warn_c:.0} C.", t.max_c),
        ),
        (Some(t), None) if t.max_c >= HOT_C => Ruling::unknown(format!(
            "Whether heat slowed the drive down is unknown: it was at {:.0} to {:.0} C, and \
             reports no warning level.",
            t.start_c, t.max_c
        )),
        (Some(t), _) => Ruling::no(
            VerdictKind::Cool,
            format!(
                "The drive warmed from {:.0} to {:.0} C and did not slow down.",
                t.start_c, t.max_c
            ),
        ),
        (None, _) => Ruling::unknown("The drive's temperature is unknown."),
    };
    let ruling = if ruling.applies() {
        ruling.next_test("the same after cooling, or with a fan: -m heat measures both")
    } else {
        ruling
    };
    let Some(t) = warmth else {
        return ruling;
    };
    let ruling = ruling.with("first temperature", t.start_c, Unit::Celsius);
    ruling.with("highest temperature", t.max_c, Unit::Celsius)
}

/// The workloads limited by a throttle on bytes: reads and writes, sequential and random, all at
/// one rate. Nothing else in a drive makes them equal. Empty if the rates differ.
fn at_one_rate<'s, 'a>(hot: Vec<&'s Subject<'a>>) -> Vec<&'s Subject<'a>> {
    let rates: Vec<_> = hot.into_iter().map(|s| (s, s.median(Digest::both_ways))).collect();
    let rate_max = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let limited = rates.into_iter().filter(|(_, rate)| *rate >= ONE_RATE * rate_max);
    let limited: Vec<_> = limited.map(|(subject, _)| subject).collect();
    let all_kinds = limited.iter().any(|s| s.first().random)
        && limited.iter().any(|s| !s.first().random)
        && limited.iter().any(|s| s.first().mix.write == 0)
        && limited.iter().any(|s| s.first().mix.read == 0);
    if all_kinds { limited } else { Vec::new() }
}

/// Whether this holds for most of the time of a workload.
fn in_most(subject: &Subject<'_>, holds: impl Fn(&Digest) -> bool) -> bool {
    subject.mean(|run| f64::from(holds(run))) > MOST
}

/// Temperatures from the first measurement to the last.
fn warmth(seen: &[Digest]) -> Option<Temperature> {
    let temperatures = seen.iter().filter_map(|d| d.temperature);
    temperatures.reduce(|first, next| Temperature {
        start_c: first.start_c,
        end_c: next.end_c,
        max_c: first.max_c.max(next.max_c),
    })
}

#[cfg(test)]
mod tests {
    use super::super::Answer;
    use super::super::testing::{digest, named, target, with_drive};
    use super::*;
    use record::{Finding, Level};
    use workload::{Mix, OpKind};

    fn at(start_c: f64, max_c: f64) -> Digest {
        let temperature = Some(Temperature { start_c, end_c: max_c, max_c });
        Digest { temperature, ..digest("a") }
    }

    #[test]
    fn throttled_or_above_the_drives_warning_level_is_a_yes() {
        let finding = Finding::new(FindingKind::Throttled, Level::Warn, "");
        let limit = Finding::new(FindingKind::TemperatureLimit, Level::Bad, "");
        let stopped = Digest { findings: vec![limit], ..at(40.0, 66.0) };
        assert_eq!(heat(&target(), &[stopped]).answer, Answer::Yes);
        let slow = Digest { findings: vec![finding], ..at(40.0, 70.0) };
        let ruling = heat(&target(), std::slice::from_ref(&slow));
        assert!(ruling.answer == Answer::Yes && ruling.verdict.explains("a"));
        // One replicate out of three does not decide.
        let once = [slow, at(70.0, 60.0), at(60.0, 60.0)];
        assert_eq!(heat(&target(), &once).answer, Answer::Unknown);
        let limited = with_drive(|d| d.health.temperature_warn_c = Some(70.0));
        assert_eq!(heat(&limited, &[at(40.0, 60.0), at(60.0, 71.0)]).answer, Answer::Yes);
        assert_eq!(heat(&limited, &[at(40.0, 60.0)]).answer, Answer::No);
    }

    #[test]
    fn warm_is_a_no_and_no_sensor_unknown() {
        let ruling = heat(&target(), &[at(40.0, 50.0), at(50.0, 61.0)]);
        assert_eq!(ruling.answer, Answer::No);
        assert_eq!(ruling.verdict.evidence[0].value, 40.0);
        assert_eq!(ruling.verdict.evidence[1].value, 61.0);
        assert_eq!(heat(&target(), &[digest("a")]).answer, Answer::Unknown);
    }

    #[test]
    fn a_drive_that_is_hot_from_the_start_is_not_cool() {
        let hot = [at(125.0, 125.0), at(124.0, 125.0)];
        let limited = with_drive(|d| d.health.temperature_warn_c = Some(80.0));
        let ruling = heat(&limited, &hot);
        assert_eq!((ruling.answer, ruling.verdict.kind.name()), (Answer::Yes, "HEAT"));
        assert!(ruling.verdict.explains.is_empty(), "warm is not slowed down");
        // The drive reached the level only at the end: HEAT is reported but explains no figure.
        let late = heat(&limited, &[at(60.0, 70.0), at(70.0, 81.0)]);
        assert_eq!((late.answer, late.verdict.explains.len()), (Answer::Yes, 0));
        // Without a warning level, it is unknown whether heat slowed the drive down.
        assert_eq!(heat(&target(), &hot).answer, Answer::Unknown);
        assert_eq!(heat(&target(), &[at(69.0, 69.9)]).answer, Answer::No);
    }

    #[test]
    fn one_rate_for_all_kinds_of_work_is_a_throttle() {
        let limited = with_drive(|d| d.health.temperature_warn_c = Some(80.0));
        let run = |name, kind, random, mb: u64| {
            let bytes = if kind == OpKind::Read { [mb << 20, 0] } else { [0, mb << 20] };
            named(name, Digest { mix: Mix::from_kind(kind), random, bytes, ..at(110.0, 110.0) })
        };
        let seen = |random_read| {
            [
                run("seq-read", OpKind::Read, false, 200),
                run("seq-write", OpKind::Write, false, 198),
                run("rand-read", OpKind::Read, true, random_read),
                run("rand-read-q1", OpKind::Read, true, 60),
            ]
        };
        let explained = |mb| {
            let verdict = heat(&limited, &seen(mb)).verdict;
            verdict.explains.into_iter().map(|e| e.metric).collect::<Vec<_>>()
        };
        assert_eq!(explained(190), ["seq-read", "seq-write", "rand-read"]);
        assert_eq!(explained(170), [""; 0], "random reads have a limit of their own");
    }
}

//! HEAT: did the drive slow down because of its temperature?

use record::{FindingKind, Unit, VerdictKind};
use rig::{TargetInfo, Temperature};

use super::Ruling;
use super::rule::{Role, Rule};
use crate::Digest;

/// The rate under a lasting load says more about heat than a temperature does.
pub(crate) static RULE: Rule = Rule {
    role: Role::Cause,
    overridden_by: &[&super::throttle::RULE],
    judge: |facts| vec![heat(facts.target, facts.seen)],
};

pub(crate) fn heat(target: &TargetInfo, seen: &[Digest]) -> Ruling {
    let throttled = seen.iter().find(|d| d.found(&FindingKind::Throttled));
    let stopped = seen.iter().any(|d| d.found(&FindingKind::TemperatureLimit));
    let course = course(seen);
    let warn_c = target.target.drive.as_ref().and_then(|d| d.health.temperature_warn_c);
    let ruling = match (throttled, course, warn_c) {
        _ if stopped => {
            let text = "The run was ended because the drive came near its own warning level.";
            Ruling::yes(VerdictKind::Heat, text)
        }
        (Some(d), _, _) => {
            let text = format!("The drive slowed down in {}.", d.name);
            Ruling::yes(VerdictKind::Heat, text).about(&d.name)
        }
        (_, Some(t), Some(warn_c)) if t.max_c >= warn_c => Ruling::yes(
            VerdictKind::Heat,
            format!("The drive reached {:.0} C; its own warning level is {warn_c:.0} C.", t.max_c),
        ),
        (_, Some(t), _) => Ruling::no(
            VerdictKind::Cool,
            format!(
                "The drive went from {:.0} to {:.0} C and did not slow down for it.",
                t.start_c, t.max_c
            ),
        ),
        (None, None, _) => Ruling::unknown("The drive's temperature is unknown."),
    };
    let Some(t) = course else {
        return ruling;
    };
    let ruling = ruling.with("first temperature", t.start_c, Unit::Celsius);
    ruling.with("highest temperature", t.max_c, Unit::Celsius)
}

/// From the first measurement to the last.
fn course(seen: &[Digest]) -> Option<Temperature> {
    let all = seen.iter().filter_map(|d| d.temperature);
    all.reduce(|first, next| Temperature {
        start_c: first.start_c,
        end_c: next.end_c,
        max_c: first.max_c.max(next.max_c),
    })
}

#[cfg(test)]
mod tests {
    use super::super::Answer;
    use super::super::testing::{digest, target, with_drive};
    use super::*;
    use record::{Finding, Level};

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
        assert_eq!(heat(&target(), &[slow]).answer, Answer::Yes);
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
}

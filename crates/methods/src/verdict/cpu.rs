//! CPU: is this machine's processor the limit?

use record::{FindingKind, Unit, VerdictKind};

use super::rule::{Role, Rule};
use super::{Ruling, percent};
use crate::Digest;

/// Shorter times are below the clock's resolution, seconds.
const SHORTEST: f64 = 0.01;

pub(crate) static RULE: Rule =
    Rule { role: Role::Bound, overridden_by: &[], judge: |facts| vec![cpu(facts.seen)] };

pub(crate) fn cpu(seen: &[Digest]) -> Ruling {
    let long = seen.iter().filter(|d| d.seconds >= SHORTEST);
    let busiest = long.max_by(|a, b| a.cpu_share.total_cmp(&b.cpu_share));
    let Some(busiest) = busiest.filter(|d| d.cpu_share > 0.0) else {
        return Ruling::unknown("processor time");
    };
    let bound = seen.iter().find(|d| d.found(&FindingKind::GeneratorBound));
    let shown = bound.unwrap_or(busiest);
    let ruling = match bound {
        Some(bound) => Ruling::yes(
            VerdictKind::Cpu,
            format!(
                "The processor is the limit in {}: its threads were busy {} of the time.",
                bound.name,
                percent(bound.cpu_share)
            ),
        )
        .about(&bound.name),
        None => Ruling::no(
            VerdictKind::CpuFree,
            format!("CPU at most {} of a core", percent(busiest.cpu_share)),
        ),
    };
    ruling.with(format!("processor share, {}", shown.name), shown.cpu_share, Unit::Number)
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
        assert_eq!(cpu(&[digest("b"), bound]).answer, Answer::Yes);
        assert_eq!(cpu(&[digest("b")]).answer, Answer::No);
        assert_eq!(cpu(&[Digest { cpu_share: 0.0, ..digest("b") }]).answer, Answer::Unknown);
        assert_eq!(cpu(&[]).answer, Answer::Unknown);
    }
}

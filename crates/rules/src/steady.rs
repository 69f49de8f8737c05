//! STEADY: was the drive in steady state when it was measured? Two definitions have separate terms.

use record::{MetricKey, Unit, VerdictKind, capitalised};

use super::rule::{Role, Rule};
use super::{Ruling, percent};

/// Progress of the rounds of a test.
#[derive(Clone, Debug)]
pub struct Steadiness {
    /// Name of the rounds.
    pub name: String,
    /// Number of rounds so far.
    pub rounds: u32,
    /// Last round of the first window that is steady by the specification.
    pub pts: Option<u32>,
    /// Last round of the window that is a plateau.
    pub plateau: Option<u32>,
    /// Largest change of a fitted line over the last window, as a share of its mean.
    pub excursion: Option<f64>,
    /// Drive writes during the rounds.
    pub passes: f64,
}

impl Steadiness {
    /// The progress before the first round.
    pub fn new(name: &str) -> Steadiness {
        let name = name.to_string();
        Steadiness { name, rounds: 0, pts: None, plateau: None, excursion: None, passes: 0.0 }
    }
}

pub static RULE: Rule = Rule {
    role: Role::Claim,
    overridden_by: &[],
    judge: |facts| facts.checks.list().iter().map(steady).collect(),
};

pub fn steady(seen: &Steadiness) -> Ruling {
    let Steadiness { rounds, .. } = seen;
    let name = MetricKey::parse(&seen.name).in_words();
    let begin = capitalised(&name);
    let excursion = seen.excursion.unwrap_or(0.0);
    let ruling = match (seen.pts, seen.plateau) {
        _ if seen.excursion.is_none() => Ruling::unknown(format!(
            "Whether {name} was steady is unknown: {rounds} rounds are too few."
        )),
        (Some(pts), Some(plateau)) => Ruling::yes(
            VerdictKind::Steady,
            format!(
                "{begin} is PTS-steady from round {pts} and plateau-steady from round {plateau}."
            ),
        ),
        (None, Some(plateau)) => Ruling::yes(
            VerdictKind::Steady,
            format!("{begin} is plateau-steady from round {plateau}."),
        ),
        (Some(pts), None) => Ruling::yes(
            VerdictKind::PtsSteadyOnly,
            format!(
                "{begin} is PTS-steady from round {pts} but reached no plateau in {rounds} rounds: \
                 the last five change by {}, after {:.1} full drive writes.",
                percent(excursion),
                seen.passes
            ),
        ),
        (None, None) => Ruling::no(
            VerdictKind::NotSteady,
            format!(
                "{begin} was not steady in {rounds} rounds: the last five change by {}.",
                percent(excursion)
            ),
        ),
    };
    ruling.with("slope over the window / mean", excursion, Unit::Number).with(
        "times the drive was written",
        seen.passes,
        Unit::Number,
    )
}

//! Judges the verdicts of `quick` on a drawn drive by the truth about it (`truth.rs`).

use std::collections::BTreeMap;

use record::VerdictKind;

use super::drawn::Drawn;
use super::truth::{CAUSE_MIN, HELD_MIN, Truth, Usual};

/// The judgement of one verdict on one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    Right,
    /// Lifting what is named has a small effect.
    Neither,
    Wrong,
    /// The drive's description has no parameter for it.
    Unjudged,
}

/// One verdict on one figure.
#[derive(Clone, Debug)]
pub struct Claim {
    pub kind: VerdictKind,
    pub metric: String,
    pub judgement: Judgement,
}

/// A drive with its verdicts and the truth about it.
pub struct Trial {
    pub drawn: Drawn,
    pub claims: Vec<Claim>,
    /// Figures that a group raises by [`HELD_MIN`] or more.
    pub held: Vec<String>,
    /// Those of them without a verdict.
    pub silent: Vec<String>,
    /// For every figure, the factors by which the groups raise it, largest first: all groups, unless
    /// its verdicts are right.
    pub gains: BTreeMap<String, Vec<(&'static str, f64)>>,
    /// Number of figures that no single group raises.
    pub causeless: usize,
}

impl Trial {
    /// Runs `quick` on the drive, finds the truth and judges the verdicts.
    pub fn run(drawn: &Drawn) -> Trial {
        let spec = drawn.spec();
        let usual = Usual::run(&spec, drawn.session);
        let truth = Truth::find(&spec, drawn.session, &usual);
        let verdicts = &usual.out.verdicts;
        let claims = verdicts.iter().flat_map(|verdict| {
            let metrics = verdict.explains.iter().map(|explained| explained.metric.clone());
            metrics.filter_map(|metric| {
                let judgement = truth.judge(verdict, &metric)?;
                Some(Claim { kind: verdict.kind.clone(), metric, judgement })
            })
        });
        let held = truth.metrics().filter(|metric| truth.gain(metric) >= HELD_MIN).cloned();
        let held: Vec<String> = held.collect();
        let is_silent = |metric: &&String| !verdicts.iter().any(|v| v.explains(metric));
        Trial {
            drawn: drawn.clone(),
            claims: claims.collect(),
            silent: held.iter().filter(is_silent).cloned().collect(),
            held,
            causeless: truth.metrics().filter(|metric| truth.gain(metric) < CAUSE_MIN).count(),
            gains: truth.metrics().map(|metric| (metric.clone(), truth.gains(metric))).collect(),
        }
    }

    /// The number of claims with this judgement.
    pub fn count(&self, judgement: Judgement) -> usize {
        self.claims.iter().filter(|claim| claim.judgement == judgement).count()
    }
}

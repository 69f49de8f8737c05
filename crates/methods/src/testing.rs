//! Outcomes for the tests of answers.

use record::{Metric, Unit};
use script::Outcome;

/// An outcome with these metrics.
pub(crate) fn outcome(metrics: &[(&str, Unit, f64)]) -> Outcome {
    let metrics = metrics.iter().map(|(name, unit, v)| Metric::single(*name, *unit, *v));
    let mut out = Outcome::default();
    out.metrics = metrics.collect();
    out
}

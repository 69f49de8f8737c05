//! Compares a figure of a record with the published one. Pure.

use record::Run;
use serde::Serialize;

use super::basis::basis;
use super::document::{Basis, Bound, PublishedFigure};
use super::time_series::read;
use super::unit::Unit;

/// A published figure and its replication.
#[derive(Debug, Serialize)]
pub struct Compared {
    /// A description for readers.
    pub what: String,
    /// The experiment whose record contains it.
    pub experiment: String,
    /// The number of the run.
    pub run: Option<i64>,
    /// As published, or the lower end of a published range.
    pub published: f64,
    /// The upper end of a published range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_to: Option<f64>,
    /// As replicated; `null` if it could not be read.
    pub here: Option<f64>,
    /// The unit of all these values.
    pub unit: Unit,
    /// Relative difference from the published figure, or from the nearer end of a range.
    pub difference: Option<f64>,
    /// The permitted relative difference.
    pub tolerance: f64,
    /// For figures published as a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// Whether it is within the tolerance.
    pub met: bool,
    /// Whether the drive was fitted to it, is stated to have it, or predicts it.
    pub basis: Basis,
    /// Its place in the document, or another source.
    pub source: String,
    /// Why the model cannot match it, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Compares a figure with the records of its experiments. `run_of` finds records by name; `None` if
/// one is missing.
pub fn compare<'a>(
    figure: &PublishedFigure,
    run_of: impl Fn(&str) -> Option<&'a Run>,
) -> Option<Compared> {
    let run = run_of(&figure.experiment)?;
    let measured = match &figure.over {
        None => read(&figure.read, run),
        Some(over) => {
            let divisor = read(&over.read, run_of(&over.experiment)?);
            read(&figure.read, run).zip(divisor).map(|(above, divisor)| above / divisor)
        }
    };
    let measured = measured.map(|value| value / figure.unit.name_and_scale().1);
    let difference = measured.map(|measured| difference(measured, figure.published, figure.to));
    let is_met = difference.is_some_and(|difference| match figure.bound {
        Some(Bound::AtLeast) => difference >= -figure.tolerance,
        Some(Bound::AtMost) => difference <= figure.tolerance,
        None => difference.abs() <= figure.tolerance,
    });
    Some(Compared {
        what: figure.what.clone(),
        experiment: figure.experiment.clone(),
        run: run.number,
        published: figure.published,
        published_to: figure.to,
        here: measured,
        unit: figure.unit,
        difference,
        tolerance: figure.tolerance,
        bound: figure.bound,
        met: is_met,
        basis: basis(figure, &run.target.spec),
        source: figure.source.clone(),
        reason: figure.reason.clone(),
    })
}

/// The relative difference of a figure from a published one, or from the nearer end of a range.
pub fn difference(here: f64, published: f64, to: Option<f64>) -> f64 {
    let nearest = here.clamp(published, to.unwrap_or(published).max(published));
    here / nearest - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_limits_are_compared_by_their_nearer_end() {
        assert_eq!(difference(90.0, 80.0, Some(100.0)), 0.0);
        assert!((difference(110.0, 80.0, Some(100.0)) - 0.1).abs() < 1e-9);
        assert!((difference(72.0, 80.0, Some(100.0)) + 0.1).abs() < 1e-9);
        assert!((difference(1.1, 1.0, None) - 0.1).abs() < 1e-9);
    }
}

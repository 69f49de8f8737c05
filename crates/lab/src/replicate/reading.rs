//! Compares a figure of a record with the published one. Pure.

use record::Run;
use serde::Serialize;

use super::basis::basis;
use super::document::{Bound, Experiment, PublishedFigure};
use super::label::Basis;
use super::time_series::read;
use super::unit::{Unit, number};

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
    /// Why the model cannot match it, if known, with the result of the experiment that shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Compares a figure with the records of its experiments. `run_of` finds records by name; `None` if
/// one is missing.
pub fn compare<'a>(
    figure: &PublishedFigure,
    experiment: &Experiment,
    run_of: impl Fn(&str) -> Option<&'a Run>,
) -> Option<Compared> {
    let run = run_of(&figure.experiment)?;
    let divisor = match &figure.over {
        None => Some(1.0),
        Some(over) => read(&over.read, run_of(&over.experiment)?),
    };
    let measured = |run: &Run| {
        let value = read(&figure.read, run)? / divisor?;
        Some(value / figure.unit.name_and_scale().1)
    };
    let measured_here = measured(run);
    let lifted = figure.lift.as_ref().and_then(|lift| {
        let value = measured(run_of(&lift.experiment)?)?;
        Some(lifted(figure, &lift.with, value))
    });
    let reason = figure.reason.iter().cloned().chain(lifted).collect::<Vec<_>>().join("; ");
    Some(Compared {
        what: figure.what.clone(),
        experiment: figure.experiment.clone(),
        run: run.number,
        published: figure.published,
        published_to: figure.to,
        here: measured_here,
        unit: figure.unit,
        difference: measured_here.map(|here| difference(here, figure.published, figure.to)),
        tolerance: figure.tolerance,
        bound: figure.bound,
        met: measured_here.is_some_and(|here| is_met(figure, here)),
        basis: basis(figure, experiment),
        source: figure.source.clone(),
        reason: Some(reason).filter(|reason| !reason.is_empty()),
    })
}

/// Whether a value in the figure's unit is within its tolerance.
fn is_met(figure: &PublishedFigure, here: f64) -> bool {
    let difference = difference(here, figure.published, figure.to);
    match figure.bound {
        Some(Bound::AtLeast) => difference >= -figure.tolerance,
        Some(Bound::AtMost) => difference <= figure.tolerance,
        None => difference.abs() <= figure.tolerance,
    }
}

/// `with a mapping unit of 32 KiB it is 4.6 MB/s, within the tolerance`
fn lifted(figure: &PublishedFigure, with: &str, value: f64) -> String {
    let unit = figure.unit.name_and_scale().0;
    let place = if is_met(figure, value) { "within" } else { "still outside" };
    format!("with {with} it is {} {unit}, {place} the tolerance", number(value))
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

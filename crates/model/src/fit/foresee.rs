//! Predicts work that was not measured, and says which undetermined parameters the prediction rests on.

use super::MeasuredCell;
use super::replay::rate;
use crate::spec::DriveSpec;

/// Factor by which a parameter may be off that nothing determined: about that between the drives of a
/// class.
const OFF_FACTOR: f64 = 1.5;

/// Change of a prediction from which it rests on a parameter.
const RESTS: f64 = 0.07;

/// Sections of parameters that decide rates. Heat, wear and variation are left out: a fit describes a
/// cool, new drive.
const SECTIONS: [&str; 7] = ["op", "nand", "command", "buffer", "slc", "map", "collect"];

/// A prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreseen {
    /// Bytes per second.
    pub rate: f64,
    /// Keys of the guessed parameters that change the rate by more than 7%, if they are off by half.
    pub rests_on: Vec<String>,
}

/// Predicts the rate of a cell, whose own rate is ignored, on a fitted drive.
pub fn foresee(spec: &DriveSpec, cell: &MeasuredCell) -> Foreseen {
    let usual = rate(spec, cell);
    let figures = spec.figures().into_iter();
    let guessed = figures.filter(|figure| {
        let section = figure.key.split('.').next().unwrap_or_default();
        figure.from == "guessed" && SECTIONS.contains(&section)
    });
    let rests_on = guessed.filter(|figure| {
        let Ok(value) = figure.value.parse::<f64>() else { return false };
        let changed = [value * OFF_FACTOR, value / OFF_FACTOR].into_iter().filter_map(|value| {
            let whole = figure.value.parse::<u64>().is_ok();
            let text = if whole { format!("{:.0}", value.max(1.0)) } else { value.to_string() };
            spec.with_overrides(&[(figure.key.as_str(), text.as_str())]).ok()
        });
        value > 0.0
            && changed.into_iter().any(|spec| libm::log(rate(&spec, cell) / usual).abs() > RESTS)
    });
    let rests_on = rests_on.map(|figure| figure.key).collect();
    Foreseen { rate: usual, rests_on }
}

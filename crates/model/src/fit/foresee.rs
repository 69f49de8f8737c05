//! Predicts work that was not measured, and says which undetermined parameters the prediction rests on.
//!
//! A prediction rests on a guessed parameter if another value changes the prediction, and no measurement
//! would have shown that value.

use super::replay::{rate, run_pass};
use super::{MeasuredCell, Observed};
use crate::spec::DriveSpec;

/// Factor by which a parameter may be off that nothing determined: about that between the drives of a
/// class.
const OFF_FACTOR: f64 = 1.5;

/// Change of a prediction from which it rests on a parameter.
const RESTS: f64 = 0.07;

/// Change of a measured rate that would have been noticed.
const SHOWN: f64 = 0.05;

/// Sections of parameters that decide rates. Heat, wear and variation are left out: a fit describes a
/// cool, new drive.
const SECTIONS: [&str; 7] = ["op", "nand", "command", "buffer", "slc", "map", "collect"];

/// A prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreseen {
    /// Bytes per second.
    pub rate: f64,
    /// Keys of the guessed parameters that change the rate by more than 7%, if they are off by half,
    /// and that no measurement excludes.
    pub rests_on: Vec<String>,
}

/// Predicts the rate of a cell, whose own rate is ignored, on a drive that was fitted to `observed`.
pub fn foresee(spec: &DriveSpec, cell: &MeasuredCell, observed: &Observed) -> Foreseen {
    let usual = rate(spec, cell);
    let is_costly = cell.before.is_costly();
    let usual_measured = measured(spec, observed, is_costly);
    let figures = spec.figures().into_iter();
    let guessed = figures.filter(|figure| {
        let section = figure.key.split('.').next().unwrap_or_default();
        figure.from == "guessed" && SECTIONS.contains(&section)
    });
    let rests_on = guessed.filter(|figure| {
        other_values(spec, &figure.key, &figure.value).iter().any(|changed| {
            libm::log(rate(changed, cell) / usual).abs() > RESTS
                && measured(changed, observed, is_costly)
                    .iter()
                    .zip(&usual_measured)
                    .all(|(rate, usual)| libm::log(rate / usual).abs() < SHOWN)
        })
    });
    let rests_on = rests_on.map(|figure| figure.key).collect();
    Foreseen { rate: usual, rests_on }
}

/// The description with a larger and with a smaller value of a parameter, as far as they are permitted;
/// none for one that is off.
fn other_values(spec: &DriveSpec, key: &str, text: &str) -> Vec<DriveSpec> {
    let value = text.parse::<f64>().ok().filter(|value| *value > 0.0);
    let values = value.map(|value| [value * OFF_FACTOR, value / OFF_FACTOR]);
    let is_whole = text.parse::<u64>().is_ok();
    let specs = values.into_iter().flatten().filter_map(|value| {
        let text = if is_whole { format!("{:.0}", value.max(1.0)) } else { value.to_string() };
        spec.with_overrides(&[(key, text.as_str())]).ok()
    });
    specs.collect()
}

/// What a drive with this description shows in the measurements, those on full drives only on request.
fn measured(spec: &DriveSpec, observed: &Observed, with_costly: bool) -> Vec<f64> {
    let cells = observed.cells.iter().filter(|cell| with_costly || !cell.before.is_costly());
    let mut rates: Vec<f64> = cells.map(|cell| rate(spec, cell)).collect();
    if let Some(pass) = &observed.pass {
        let pass = run_pass(spec, pass);
        rates.push(pass.average);
        rates.extend(pass.again);
        rates.extend(pass.cache.into_iter().flat_map(|(_, inside, after)| [inside, after]));
    }
    rates
}

//! Fits a virtual drive to records of a real one, and reports how well it predicts them.
//!
//! `observe` extracts the measurements from the records, the model finds the parameters, and `file`
//! writes the description. Parameters that the records do not determine keep the base's value and
//! are listed as undetermined.

mod advice;
mod file;
mod notes;
mod observe;

pub use advice::RunAdvice;
pub use model::fit::{Before, Foreseen, Prediction};
use model::fit::{MeasuredCell, Observed};
use model::{DriveSpec, FigureLine};
pub use notes::HEAD;
pub(crate) use notes::{FitNotes, Residual, region_bytes};
use record::Run;
use workload::Workload;

use crate::error::{LabError, Result};
use crate::virtual_drive;

/// The description of a drive as the text of a file.
pub(crate) fn description(spec: &DriveSpec) -> String {
    file::text(spec)
}

/// Measurements of a drive, the input of a fit.
pub struct Measurements {
    observed: Observed,
    /// The target of the first record, as the user named it.
    of: String,
    runs: Vec<Run>,
}

/// A fitted description.
#[derive(Clone, Debug)]
pub struct FitReport {
    /// Parameters determined by the records.
    pub decided: Vec<FigureLine>,
    /// Parameters taken from the base.
    pub undetermined: Vec<FigureLine>,
    /// Runs that would determine more.
    pub advice: Vec<RunAdvice>,
    /// Parameters that the records could have determined, if the drive's figures depended on them.
    pub without_effect: Vec<String>,
    /// Every measurement with the fitted drive's value.
    pub predictions: Vec<Prediction>,
    /// The description as the text of a file.
    pub toml: String,
    spec: DriveSpec,
    observed: Observed,
}

impl FitReport {
    /// Predicts the rate of a workload on the fitted drive from this state, and says on which
    /// undetermined parameters the prediction rests.
    pub fn foresee(&self, workload: &Workload, before: Before) -> Foreseen {
        let cell = MeasuredCell { workload: workload.clone(), before, rate: 0.0 };
        model::fit::foresee(&self.spec, &cell, &self.observed)
    }
}

impl Measurements {
    /// Extracts the measurements from the records of one drive. `name` is the name of the fitted
    /// drive.
    pub fn from_runs(name: &str, runs: &[Run]) -> Result<Measurements> {
        let observed = observe::observe(name, runs);
        let drive = runs.first().map(|run| run.target.spec.clone()).unwrap_or_default();
        let measurements = Measurements { observed, of: drive, runs: runs.to_vec() };
        if measurements.count() == 0 {
            let error = LabError::usage("no measurement in these records can be fitted");
            return Err(error.advise("runs of quick, sustain, zones or states of one drive"));
        }
        Ok(measurements)
    }

    /// Number of measurements.
    pub fn count(&self) -> usize {
        self.observed.cells.len() + self.observed.pass.iter().count()
    }

    /// Fits a description, starting from the virtual drive `base` or, without it, a plain NVMe
    /// drive. Can take minutes, because random writes on a full drive are simulated many times.
    pub fn fit(&self, base: Option<&str>) -> Result<FitReport> {
        let base = base.map_or_else(
            || Ok(DriveSpec { name: "a plain NVMe drive".into(), ..DriveSpec::default() }),
            virtual_drive::named,
        )?;
        let mut fitted = model::fit::fit(&self.observed, &base);
        fitted.spec.about = format!(
            "Fitted to records of {}; undetermined parameters are those of {}.",
            self.of, base.name
        );
        let figures = fitted.spec.figures().into_iter();
        let (decided, undetermined): (Vec<_>, Vec<_>) =
            figures.partition(|figure| figure.from != "guessed");
        let notes = FitNotes::of_fit(&fitted.spec, &self.runs, &fitted.predictions);
        let toml = file::fitted_text(&fitted.spec, &notes);
        let (advice, without_effect) = advice::advice(&self.runs, &undetermined);
        let model::fit::Fitted { spec, predictions } = fitted;
        let observed = self.observed.clone();
        Ok(FitReport {
            decided,
            undetermined,
            advice,
            without_effect,
            predictions,
            toml,
            spec,
            observed,
        })
    }
}

//! Fits a virtual drive to records of a real one, and reports how well it predicts them.
//!
//! `observe` extracts the measurements from the records, the model finds the parameters, and `file`
//! writes the description. Parameters that the records do not determine keep the base's value and
//! are listed as undetermined.

mod file;
mod observe;

pub use file::HEAD;
use model::fit::Observed;
pub use model::fit::Prediction;
use model::{DriveSpec, FigureLine};
use record::Run;

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
}

/// A fitted description.
#[derive(Clone, Debug)]
pub struct FitReport {
    /// Parameters determined by the records.
    pub decided: Vec<FigureLine>,
    /// Parameters taken from the base.
    pub undetermined: Vec<FigureLine>,
    /// Every measurement with the fitted drive's value.
    pub predictions: Vec<Prediction>,
    /// The description as the text of a file.
    pub toml: String,
}

impl Measurements {
    /// Extracts the measurements from the records of one drive. `name` is the name of the fitted
    /// drive.
    pub fn from_runs(name: &str, runs: &[Run]) -> Result<Measurements> {
        let observed = observe::observe(name, runs);
        let drive = runs.first().map(|run| run.target.spec.clone()).unwrap_or_default();
        let measurements = Measurements { observed, of: drive };
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
        let (decided, undetermined) = figures.partition(|figure| figure.from != "guessed");
        let toml = file::text(&fitted.spec);
        Ok(FitReport { decided, undetermined, predictions: fitted.predictions, toml })
    }
}

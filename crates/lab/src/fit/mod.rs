//! A virtual drive fitted to records of a drive, and how well it predicts them.
//!
//! `observe` reads the measurements out of the records, the model finds the parameters, and `file`
//! writes the description. Parameters that the records do not decide keep the value of the base and
//! are listed as undetermined.

mod file;
mod observe;

use model::fit::Observed;
pub use model::fit::Prediction;
use model::{DriveSpec, FigureLine};
use record::Run;

use crate::error::{LabError, Result};
use crate::virtual_drive;

/// Measurements of a drive that a description can be fitted to.
pub struct Measurements {
    observed: Observed,
    /// The target of the first record, as the user named it.
    of: String,
}

/// A fitted description.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// Parameters decided by the records.
    pub decided: Vec<FigureLine>,
    /// Parameters taken from the base.
    pub undetermined: Vec<FigureLine>,
    /// Every measurement beside the fitted drive's value.
    pub predictions: Vec<Prediction>,
    /// The description as the text of a file.
    pub toml: String,
}

impl Measurements {
    /// The measurements in records of one drive, which is to be called `name`.
    pub fn of(name: &str, runs: &[Run]) -> Result<Measurements> {
        let observed = observe::observe(name, runs);
        let of = runs.first().map(|run| run.target.spec.clone()).unwrap_or_default();
        let found = Measurements { observed, of };
        if found.count() == 0 {
            let error = LabError::usage("no measurement in these records can be fitted");
            return Err(error.advise("runs of quick, sustain, zones or states of one drive"));
        }
        Ok(found)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.observed.cells.len() + self.observed.pass.iter().count()
    }

    /// Fits a description, beginning with the virtual drive called `base`, or a plain NVMe drive.
    /// Takes up to minutes: random writes on a full drive are simulated again and again.
    pub fn fit(&self, base: Option<&str>) -> Result<Fitted> {
        let plain = || DriveSpec { name: "a plain NVMe drive".into(), ..DriveSpec::default() };
        let base = base.map_or_else(|| Ok(plain()), virtual_drive::named)?;
        let mut fitted = model::fit::fit(&self.observed, &base);
        fitted.spec.about = format!(
            "Fitted to records of {}; undetermined parameters are those of {}.",
            self.of, base.name
        );
        let figures = fitted.spec.figures().into_iter();
        let (decided, undetermined) = figures.partition(|figure| figure.from != "guessed");
        let toml = file::text(&fitted.spec);
        Ok(Fitted { decided, undetermined, predictions: fitted.predictions, toml })
    }
}

//! Replicates published experiments, on virtual drives or on the user's own drive.
//!
//! Documents and their steps are data (`published/*.toml`). An experiment on a virtual drive
//! produces a record, from which its figures are read and compared within their tolerance; a missed
//! figure stays missed even if the reason is known. On the user's drive, figures are only shown
//! next to the published ones, because another drive is not expected to match them.

mod basis;
pub mod beside;
pub mod claims;
pub mod document;
mod experiment;
pub mod expression;
pub mod headline;
pub mod here;
mod imported;
pub mod judgement;
pub mod label;
mod own_drive;
pub mod question;
mod reading;
mod records;
mod repeated;
mod time_series;
mod unit;
mod view;

pub use self::document::{Document, Experiment, parse};
pub use self::imported::imported;
pub use self::own_drive::OwnDriveSteps;
pub use self::records::from_records;
pub use self::repeated::{Done, Repeated};
use crate::error::{LabError, Result};
use crate::request::TargetRequest;

impl Document {
    /// The experiments whose name contains `only`; the error lists the known names.
    pub fn chosen(&self, only: Option<&str>) -> Result<Vec<&Experiment>> {
        let experiments = self.experiments.iter();
        let experiments: Vec<_> =
            experiments.filter(|e| only.is_none_or(|only| e.id.contains(only))).collect();
        if experiments.is_empty() {
            Err(no_match(self.experiments.iter().map(|e| &e.id)))
        } else {
            Ok(experiments)
        }
    }

    /// The author's steps whose name contains `only`, for a target that is a drive of this machine.
    /// `name` is the document's name, for messages.
    pub fn steps_for(
        &self,
        name: &str,
        target: &TargetRequest,
        only: Option<&str>,
    ) -> Result<Vec<&here::HereStep>> {
        let spec = &target.spec;
        if self.here.is_empty() {
            let text = format!("nothing in {name} can be repeated unchanged on your own drive");
            return Err(LabError::usage(text).advise(format!("ssdyno run {spec} -m METHOD")));
        }
        if target.is_simulated() {
            let text = format!("{spec} is neither a directory nor a device");
            let advice = format!("ssdyno replicate {name}, which uses virtual drives");
            return Err(LabError::usage(text).advise(advice));
        }
        let steps = self.here.iter();
        let steps: Vec<_> =
            steps.filter(|step| only.is_none_or(|only| step.id.contains(only))).collect();
        if steps.is_empty() {
            Err(no_match(self.here.iter().map(|step| &step.id)))
        } else {
            Ok(steps)
        }
    }
}

/// The error for a name that matches nothing in a document.
fn no_match<'a>(known: impl Iterator<Item = &'a String>) -> LabError {
    let names = known.map(String::as_str).collect::<Vec<_>>().join(", ");
    LabError::usage(format!("no experiment matches; known: {names}"))
}

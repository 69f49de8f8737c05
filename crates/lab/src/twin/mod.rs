//! Holds a run against a twin: a virtual drive that describes the drive as it was.
//!
//! The work of the run is repeated on the twin in virtual time. A figure differs if it is beyond what
//! chance and the accuracy of the twin permit. A cause is named only if the drive reports it (wear, a
//! temperature, a slower link, another identity) and the twin with this cause shows the same figures;
//! otherwise the difference stays undetermined. A drive that reports nothing cannot be judged so, and a
//! cause that is not among these is never guessed.

mod causes;
mod figures;
mod sentence;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use model::{DriveSpec, FigureOrigin};
use record::{Run, Stamp};
use serde::Serialize;

pub use self::causes::{CauseOutcome, DriveChange, TestedCause};
pub use self::figures::HeldFigure;
use self::figures::{Accuracy, Doubt, Reference};
use crate::error::{LabError, Result};
use crate::fit::{self, FitNotes};
use crate::repeat::{Repeat, Repeated, run_name};
use crate::spread;
use crate::virtual_drive;

/// A virtual drive that a run is held against.
#[derive(Clone, Debug)]
pub struct Twin {
    /// Its name, as the user typed it.
    pub name: String,
    /// What it was fitted to; `None` for a twin that was not fitted.
    fit: Option<FitNotes>,
    spec: DriveSpec,
}

impl Twin {
    /// A file of `drives fit`, a preset, or a description as in `sim:NAME?key=value`.
    pub fn read(name: &str) -> Result<Twin> {
        let spec = virtual_drive::varied(virtual_drive::named(name)?);
        let bare = name.strip_prefix(virtual_drive::PREFIX).unwrap_or(name);
        // A name that is no file is that of a preset or a class.
        let file = fs::read_to_string(bare.split('?').next().unwrap_or(bare)).unwrap_or_default();
        Ok(Twin { name: name.to_string(), fit: FitNotes::parse(&file), spec })
    }

    /// Identifiers of the runs that it was fitted to; none for a twin that was not fitted.
    pub fn fitted_runs(&self) -> &[String] {
        self.fit.as_ref().map_or(&[], |notes| notes.runs.as_slice())
    }
}

/// What a run says about the drive that a twin describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TwinVerdict {
    /// Every figure is as expected.
    Same,
    /// Figures differ, or the identity does, and one cause explains it.
    Changed(DriveChange),
    /// Figures differ, and no cause is supported, or more than one.
    Undetermined,
}

/// A run held against a twin.
#[derive(Clone, Debug, Serialize)]
pub struct TwinCheck {
    /// The answer.
    pub sentence: String,
    pub verdict: TwinVerdict,
    /// The compared figures, in the order of the run.
    pub figures: Vec<HeldFigure>,
    /// The causes that were tested, with their evidence; empty if nothing differs.
    pub causes: Vec<TestedCause>,
    /// Assumptions about what the record does not say.
    pub assumptions: Vec<String>,
}

/// Holds `run` against the twin. `fitted_to` are the runs that the twin was fitted to, as far as they
/// are at hand: a repeat of one of them is compared with it directly.
pub fn check(
    twin: &Twin,
    run: &Run,
    fitted_to: &[Run],
    interrupt: &Arc<AtomicBool>,
) -> Result<TwinCheck> {
    refuse_unusable(run)?;
    let repeat = Repeat::new(run, interrupt)?;
    let simulated = repeat.on(&twin.spec)?;
    let earlier =
        fitted_to.iter().find(|other| other.id != run.id && spread::comparable(run, other));
    let other_size =
        fitted_size(twin).filter(|_| earlier.is_none() && !is_of_fitted_size(twin, run));
    let doubts = match other_size {
        Some(bytes) => doubts(&twin.spec, &repeat, bytes, &simulated)?,
        None => Vec::new(),
    };
    let accuracy = Accuracy::of_twin(twin, run);
    let reference = Reference { earlier, simulated: &simulated.metrics, accuracy, doubts: &doubts };
    let figures = figures::held(run, &reference);
    if figures.is_empty() {
        return Err(nothing_held(twin, run));
    }
    let differs = figures.iter().any(|figure| figure.differs);
    let mut causes: Vec<TestedCause> =
        causes::identity(&twin.spec, run, fitted_to).into_iter().collect();
    if differs && causes.is_empty() {
        causes = causes::test(twin, run, &repeat, &simulated, &figures)?;
    }
    let verdict = verdict(differs, &causes);
    Ok(TwinCheck {
        sentence: sentence::sentence(verdict, run, &figures, &causes),
        verdict,
        figures,
        causes,
        assumptions: repeat.assumptions,
    })
}

/// Bytes that the run worked on to which the twin was fitted.
fn fitted_size(twin: &Twin) -> Option<u64> {
    twin.fit.as_ref().and_then(|notes| notes.region_bytes)
}

/// Whether a run worked on as much data as that of the fit, as far as both are known.
fn is_of_fitted_size(twin: &Twin, run: &Run) -> bool {
    let sizes = fitted_size(twin).zip(fit::region_bytes(run));
    sizes.is_none_or(|(fitted, now)| {
        fitted.max(now) as f64 <= spread::SIZE_FACTOR * fitted.min(now) as f64
    })
}

/// How far the figures of the twin move between the amount of data of the fit and that of the run; and
/// if the drive has no cache, or one for everything, unless the fit determined it.
fn doubts(
    spec: &DriveSpec,
    repeat: &Repeat,
    fitted_size: u64,
    simulated: &Repeated,
) -> Result<Vec<Doubt>> {
    let mut variants = vec![repeat.on_size(fitted_size).on(spec)?];
    if [spec.slc.dynamic.from, spec.slc.fixed.from] == [FigureOrigin::Guessed; 2] {
        for bytes in [0, spec.capacity.0] {
            let mut other_cache = spec.clone();
            other_cache.slc.fixed.value.0 = 0;
            other_cache.slc.dynamic.value.0 = bytes;
            variants.push(repeat.on(&other_cache)?);
        }
    }
    let doubts =
        variants.iter().flat_map(|other| figures::doubts(&other.metrics, &simulated.metrics));
    Ok(doubts.collect())
}

/// The run has no figure that the twin has, or none like those that it was fitted to.
fn nothing_held(twin: &Twin, run: &Run) -> LabError {
    let (name, method) = (&twin.name, &run.method);
    if twin.fit.is_none() {
        let text = format!("the twin {name} has no figure in common with this run");
        return LabError::usage(text).advise("a run of quick, sustain or states");
    }
    let text = format!("the twin {name} was fitted to no figures like those of {method}");
    LabError::usage(text)
        .advise(format!("fit it to a run of {method}, too, or check a run of quick"))
}

/// The cause, if exactly one explains the differences.
fn verdict(differs: bool, causes: &[TestedCause]) -> TwinVerdict {
    let mut explaining = causes.iter().filter(|cause| cause.outcome == CauseOutcome::Explains);
    match (explaining.next(), explaining.next()) {
        (Some(cause), None) => TwinVerdict::Changed(cause.change),
        (None, None) if !differs => TwinVerdict::Same,
        _ => TwinVerdict::Undetermined,
    }
}

/// Refuses a record that says itself that it is no measure of the drive.
fn refuse_unusable(run: &Run) -> Result<()> {
    let name = run_name(run);
    let refuse = |why: &str| {
        let error = LabError::usage(format!("{name} {why}"));
        Err(error.advise("another run of the same method"))
    };
    if matches!(Stamp::of_run(run), Stamp::NotTheDrive(_)) {
        return refuse("did not measure the drive, by its own findings");
    }
    if !run.complete && run.origin.is_none() {
        return refuse("ended early");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(change: DriveChange, outcome: CauseOutcome) -> TestedCause {
        TestedCause { change, outcome, evidence: String::new() }
    }

    #[test]
    fn only_a_single_explanation_is_named() {
        use CauseOutcome::*;
        use DriveChange::*;
        assert_eq!(verdict(false, &[]), TwinVerdict::Same);
        assert_eq!(verdict(true, &[]), TwinVerdict::Undetermined);
        let one = [cause(Wear, Explains), cause(Heat, Excluded)];
        assert_eq!(verdict(true, &one), TwinVerdict::Changed(Wear));
        let two = [cause(Wear, Explains), cause(Heat, Explains)];
        assert_eq!(verdict(true, &two), TwinVerdict::Undetermined);
        let none = [cause(Wear, DoesNotExplain), cause(Heat, NotReported)];
        assert_eq!(verdict(true, &none), TwinVerdict::Undetermined);
        // A drive of another model that behaves the same is another drive.
        let other = [cause(AnotherDrive, Explains)];
        assert_eq!(verdict(false, &other), TwinVerdict::Changed(AnotherDrive));
    }
}

//! The error of this crate: kind, context in one sentence, and optional advice.
//!
//! Converts the errors of all lower crates and assigns each a kind (`real.rs` those of drives and
//! journals). The command
//! maps the kind to its exit code.

use std::fmt::Display;

use fio::run::RunError;
use rig::{ErrorClass, RigError};
use script::MethodError;
use serde::{Deserialize, Serialize};
use store::StoreError;
use thiserror::Error;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, LabError>;

/// The kind of an error, from which the command derives its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorKind {
    /// The request is invalid.
    Usage,
    /// The request is unsafe or not permitted.
    Refused,
    /// The drive, the store or the system failed.
    Io,
    /// A check or the measured command failed, or the limits ended the run before its first round.
    Check,
    /// The user ended the run.
    Interrupted,
}

/// Why a request could not be fulfilled.
#[derive(Clone, Debug, Error, Serialize, Deserialize)]
#[error("{context}")]
pub struct LabError {
    kind: ErrorKind,
    context: String,
    advice: Option<String>,
}

impl LabError {
    /// Creates an error without advice.
    pub fn new(kind: ErrorKind, context: impl Display) -> LabError {
        LabError { kind, context: context.to_string(), advice: None }
    }

    /// Creates an error for an invalid request.
    pub(crate) fn usage(context: impl Display) -> LabError {
        LabError::new(ErrorKind::Usage, context)
    }

    /// The error for what concerns a real drive, on a system where none can be measured.
    #[cfg(not(target_os = "linux"))]
    pub fn needs_linux() -> LabError {
        let text = "measuring real drives needs Linux; virtual drives (sim:NAME) work here";
        LabError::usage(text).advise("ssdyno drives, which lists them")
    }

    /// Adds a command or an action to try.
    #[must_use]
    pub fn advise(self, advice: impl Display) -> LabError {
        self.advise_if(Some(advice))
    }

    /// Adds an action to try, if there is one.
    #[must_use]
    pub fn advise_if(self, advice: Option<impl Display>) -> LabError {
        LabError { advice: advice.map(|advice| advice.to_string()), ..self }
    }

    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// A command or an action to try.
    pub fn advice(&self) -> Option<&str> {
        self.advice.as_deref()
    }
}

impl From<ErrorClass> for ErrorKind {
    fn from(fault: ErrorClass) -> ErrorKind {
        match fault {
            ErrorClass::Usage => ErrorKind::Usage,
            ErrorClass::Refused => ErrorKind::Refused,
            ErrorClass::Io => ErrorKind::Io,
        }
    }
}

impl From<RunError> for LabError {
    fn from(error: RunError) -> LabError {
        let advice = error.advice().map(String::from);
        let kind = error.fault().map_or(ErrorKind::Interrupted, ErrorKind::from);
        LabError::new(kind, error).advise_if(advice)
    }
}

impl From<RigError> for LabError {
    fn from(error: RigError) -> LabError {
        let advice = error.advice().map(String::from);
        let kind = error.fault().map_or(ErrorKind::Interrupted, ErrorKind::from);
        LabError::new(kind, error).advise_if(advice)
    }
}

impl From<MethodError> for LabError {
    fn from(error: MethodError) -> LabError {
        use MethodError::*;
        let kind = match error {
            Rig(error) => return error.into(),
            Unknown { .. }
            | Option { .. }
            | TooSmall { .. }
            | NoCommand
            | Undeclared { .. }
            | Ignored { .. } => ErrorKind::Usage,
            Errors { .. } | NoReference | Spent { .. } | Overrun { .. } => ErrorKind::Io,
            CommandFailed { .. } | Unfinished { .. } => ErrorKind::Check,
        };
        let advice = match error {
            Unknown { .. } => Some("ssdyno methods"),
            Unfinished { .. } => Some("a longer --time"),
            _ => None,
        };
        LabError::new(kind, error).advise_if(advice)
    }
}

impl From<StoreError> for LabError {
    fn from(error: StoreError) -> LabError {
        use StoreError::*;
        let kind = match &error {
            NoHome
            | Missing { .. }
            | Foreign { .. }
            | NotAFile { .. }
            | Newer { .. }
            | TooLarge
            | NoSuchRun(_)
            | NoRuns
            | Ambiguous { .. }
            | Running(_)
            | Date(_) => ErrorKind::Usage,
            Busy { .. }
            | Damaged { .. }
            | Failing { .. }
            | Full { .. }
            | Limited { .. }
            | Io { .. }
            | NotMigrated { .. }
            | Random(_)
            | ReadOnly { .. }
            | Sql { .. }
            | Unfit(_) => ErrorKind::Io,
        };
        let advice = match &error {
            NoSuchRun(_) => Some("ssdyno runs"),
            Ambiguous { .. } => Some("more of the id, or its number: ssdyno runs"),
            Missing { .. } | NoRuns => Some("ssdyno run . measures the drive under this directory"),
            Running(_) | Date(_) | Random(_) | Unfit(_) | TooLarge => None,
            Limited { .. } => Some("ulimit -f unlimited"),
            _ => Some("--store FILE keeps runs elsewhere"),
        };
        LabError::new(kind, &error).advise_if(advice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kind, context and advice.
    fn parts(error: impl Into<LabError>) -> (ErrorKind, String, Option<String>) {
        let LabError { kind, context, advice } = error.into();
        (kind, context, advice)
    }

    #[test]
    fn errors_of_the_rig_keep_their_kind() {
        let source = std::io::Error::from_raw_os_error(5);
        let table = [
            (RigError::Interrupted, ErrorKind::Interrupted),
            (RigError::Refused("no".into()), ErrorKind::Refused),
            (RigError::Unsupported("no".into()), ErrorKind::Usage),
            (RigError::Workload(workload::WorkloadError::EmptyMix), ErrorKind::Usage),
            (RigError::Io { context: "fill on .".into(), source }, ErrorKind::Io),
        ];
        for (error, kind) in table {
            assert_eq!(parts(MethodError::Rig(error)).0, kind);
        }
        assert_eq!(parts(MethodError::Errors { workload: "a".into() }).0, ErrorKind::Io);
    }

    #[test]
    fn a_misspelt_word_gets_advice() {
        let unknown = methods::find("qick").expect_err("no such method");
        let (kind, context, advice) = parts(unknown);
        assert_eq!(kind, ErrorKind::Usage);
        assert!(context.contains("quick"), "{context}");
        assert_eq!(advice.as_deref(), Some("ssdyno methods"));
        let (kind, _, advice) = parts(StoreError::NoSuchRun("9".into()));
        assert_eq!((kind, advice.as_deref()), (ErrorKind::Usage, Some("ssdyno runs")));
        let missing =
            drive::DriveError::NotFound { path: "x".into(), what: "gone".into(), hint: None };
        assert_eq!(parts(missing), (ErrorKind::Usage, "x: gone".into(), None));
    }

    #[test]
    fn an_unusable_store_suggests_another() {
        let path = std::path::PathBuf::from("/s");
        let newer = StoreError::Newer { path: path.clone(), found: 9, known: 1 };
        let (kind, context, advice) = parts(newer);
        assert_eq!(kind, ErrorKind::Usage);
        assert!(context.contains("/s") && advice.is_some_and(|a| a.contains("--store")));
        assert_eq!(parts(StoreError::Full { path }).0, ErrorKind::Io);
    }
}

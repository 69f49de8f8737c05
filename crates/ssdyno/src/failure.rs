//! What goes wrong, as the user sees it: one line of what and where, one of what to try, and the
//! exit code that scripts rely on.

use std::fmt::Display;
use std::process::ExitCode;

use drive::DriveError;
use journal::JournalError;
use methods::MethodError;
use rig::RigError;
use store::StoreError;

use crate::screen;

/// A check or verdict failed.
pub const CHECK_FAILED: u8 = 1;
/// Bad usage.
pub const USAGE: u8 = 2;
/// Refused for safety.
pub const REFUSED: u8 = 3;
/// I/O error on the target.
pub const IO: u8 = 4;
/// Ended by the user: 128 + SIGINT, as shells have it.
pub const INTERRUPTED: u8 = 130;

/// Result of a command.
pub type Result<T = ExitCode> = std::result::Result<T, Failure>;

/// A command that could not do what it was asked.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    text: String,
    advice: Option<String>,
}

impl Failure {
    /// A failure with its exit code.
    pub fn new(code: u8, text: impl Display) -> Failure {
        Failure { code, text: one_line(&text.to_string()), advice: None }
    }

    /// The same with something to try.
    pub fn advise(mut self, advice: impl Display) -> Failure {
        self.advice = Some(one_line(&advice.to_string()));
        self
    }

    /// The same with something to try, if there is something.
    pub fn advise_if(self, advice: Option<impl Display>) -> Failure {
        match advice {
            Some(advice) => self.advise(advice),
            None => self,
        }
    }

    /// The line.
    pub fn text(&self) -> String {
        self.text.clone()
    }

    /// What to try.
    pub fn advice(&self) -> Option<&str> {
        self.advice.as_deref()
    }

    /// The exit code.
    #[cfg(test)]
    pub fn code(&self) -> u8 {
        self.code
    }

    /// Prints it and gives the exit code.
    pub fn report(&self) -> ExitCode {
        screen::say(&format!("ssdyno: {}", self.text));
        if let Some(advice) = &self.advice {
            screen::say(&format!("   try: {advice}"));
        }
        ExitCode::from(self.code)
    }
}

/// Messages of the system may have several lines; ours have one.
fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("; ")
}

impl From<DriveError> for Failure {
    fn from(error: DriveError) -> Failure {
        Failure::new(error.kind().exit_code(), &error).advise_if(error.advice())
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Failure {
        Failure::new(error.kind().exit_code(), &error).advise_if(error.advice())
    }
}

impl From<RigError> for Failure {
    fn from(error: RigError) -> Failure {
        let code = match &error {
            RigError::Interrupted => INTERRUPTED,
            RigError::Refused(_) => REFUSED,
            RigError::Unsupported(_) | RigError::Workload(_) => USAGE,
            RigError::Io { .. } => IO,
        };
        Failure::new(code, error)
    }
}

impl From<MethodError> for Failure {
    fn from(error: MethodError) -> Failure {
        match error {
            MethodError::Rig(error) => error.into(),
            MethodError::Errors { .. } => Failure::new(IO, error),
            MethodError::Unknown { .. } => Failure::new(USAGE, error).advise("ssdyno methods"),
            MethodError::Option { .. } | MethodError::TooSmall { .. } => Failure::new(USAGE, error),
            MethodError::NoCommand => Failure::new(USAGE, error),
            MethodError::NoReference => Failure::new(IO, error),
            MethodError::CommandFailed { .. } => Failure::new(CHECK_FAILED, error),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        use StoreError::*;
        let code = match &error {
            NoHome
            | Missing { .. }
            | Foreign { .. }
            | Newer { .. }
            | NoSuchRun(_)
            | NoRuns
            | Ambiguous { .. }
            | Running(_)
            | Date(_) => USAGE,
            Busy { .. }
            | Damaged { .. }
            | Full { .. }
            | Io { .. }
            | Random(_)
            | ReadOnly { .. }
            | Sql { .. }
            | Unfit(_) => IO,
        };
        let advice = match &error {
            NoSuchRun(_) => Some("ssdyno runs"),
            Ambiguous { .. } => Some("more of the id, or its number: ssdyno runs"),
            Missing { .. } | NoRuns => Some("ssdyno run . measures the drive under this directory"),
            Running(_) | Date(_) | Random(_) | Unfit(_) => None,
            _ => Some("--store FILE keeps runs elsewhere"),
        };
        Failure::new(code, &error).advise_if(advice)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::new(IO, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exit code, text and advice.
    fn parts(failure: impl Into<Failure>) -> (u8, String, Option<String>) {
        let Failure { code, text, advice } = failure.into();
        (code, text, advice)
    }

    #[test]
    fn whatever_the_system_says_is_one_line() {
        let failure = Failure::new(IO, "first\n\n  second\n").advise("a\nb");
        assert_eq!(parts(failure), (IO, "first; second".into(), Some("a; b".into())));
    }

    #[test]
    fn what_the_rig_says_has_its_exit_code() {
        let io = || std::io::Error::from_raw_os_error(5);
        let context = "fill on .".to_string();
        let table = [
            (RigError::Interrupted, INTERRUPTED),
            (RigError::Refused("no".into()), REFUSED),
            (RigError::Unsupported("no".into()), USAGE),
            (RigError::Workload(workload::WorkloadError::EmptyMix), USAGE),
            (RigError::Io { context, source: io() }, IO),
        ];
        for (error, code) in table {
            assert_eq!(parts(MethodError::Rig(error)).0, code);
        }
        assert_eq!(parts(MethodError::Errors { workload: "a".into() }).0, IO);
        assert_eq!(parts(io()).0, IO);
    }

    #[test]
    fn what_was_typed_wrong_is_usage_with_advice() {
        let unknown = methods::find("qick").err().expect("no such method");
        let (code, text, advice) = parts(unknown);
        assert_eq!(code, USAGE);
        assert!(text.contains("quick"), "{text}");
        assert_eq!(advice.as_deref(), Some("ssdyno methods"));
        let (code, _, advice) = parts(StoreError::NoSuchRun("9".into()));
        assert_eq!((code, advice.as_deref()), (USAGE, Some("ssdyno runs")));
        let missing = DriveError::NotFound { path: "x".into(), what: "gone".into(), hint: None };
        assert_eq!(parts(missing), (USAGE, "x: gone".into(), None));
    }

    #[test]
    fn a_store_that_cannot_be_used_names_another() {
        let path = std::path::PathBuf::from("/s");
        let newer = StoreError::Newer { path: path.clone(), found: 9, known: 1 };
        let (code, text, advice) = parts(newer);
        assert_eq!(code, USAGE);
        assert!(text.contains("/s") && advice.is_some_and(|a| a.contains("--store")));
        let full = parts(StoreError::Full { path });
        assert_eq!(full.0, IO);
    }
}

//! What goes wrong, as the user sees it: one line of what and where, one of what to try, and the
//! exit code that scripts rely on.

use std::fmt::Display;
use std::process::ExitCode;

use drive::DriveError;
use methods::MethodError;
use rig::RigError;
use store::StoreError;

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

    /// The line.
    pub fn text(&self) -> String {
        self.text.clone()
    }

    /// The exit code.
    pub fn code(&self) -> u8 {
        self.code
    }

    /// Prints it and gives the exit code. A reader that went away is not a failure.
    pub fn report(&self) -> ExitCode {
        eprintln!("ssdyno: {}", self.text);
        if let Some(advice) = &self.advice {
            eprintln!("   try: {advice}");
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
        let failure = Failure::new(error.kind().exit_code(), &error);
        match error.advice() {
            Some(advice) => failure.advise(advice),
            None => failure,
        }
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
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        use StoreError::{Foreign, Missing, Newer, NoHome, NoSuchRun};
        let code = match &error {
            NoHome | Missing { .. } | Foreign { .. } | Newer { .. } | NoSuchRun(_) => USAGE,
            _ => IO,
        };
        let advice = match &error {
            NoSuchRun(_) => Some("ssdyno runs"),
            Missing { .. } => Some("ssdyno run . measures the drive under this directory"),
            NoHome | Foreign { .. } | Newer { .. } => Some("--store FILE keeps runs elsewhere"),
            _ => None,
        };
        let failure = Failure::new(code, &error);
        match advice {
            Some(advice) => failure.advise(advice),
            None => failure,
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        // `ssdyno show | head`: whoever read has read enough.
        let code = if error.kind() == std::io::ErrorKind::BrokenPipe { 0 } else { IO };
        Failure::new(code, error)
    }
}

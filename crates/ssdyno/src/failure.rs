//! Failures as shown to the user: one line with the cause, one with a suggestion, and the exit code
//! for scripts.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use lab::{ErrorKind, LabError};
use store::StoreError;

use crate::interrupt::INTERRUPTED;
use crate::screen;

pub const CHECK_FAILED: u8 = 1;
/// Bad usage.
pub const USAGE: u8 = 2;
/// Refused for safety.
pub const REFUSED: u8 = 3;
/// I/O error on the target.
pub const IO: u8 = 4;

/// Result of a command.
pub type Result<T = ExitCode> = std::result::Result<T, Failure>;

/// The failure of a command.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    text: String,
    advice: Option<String>,
    is_reported: bool,
}

impl Failure {
    /// Creates a failure with its exit code.
    pub fn new(code: u8, text: impl Display) -> Failure {
        Failure { code, text: emit::one_line(&text.to_string()), advice: None, is_reported: false }
    }

    /// Failure to write a file.
    pub fn cannot_write(path: &Path, error: &io::Error) -> Failure {
        Failure::new(IO, format!("cannot write {}: {error}", path.display()))
    }

    /// A failure that the user has seen: only its exit code is left.
    pub fn reported(error: LabError) -> Failure {
        Failure { is_reported: true, ..Failure::from(error) }
    }

    /// Adds a suggestion.
    pub fn advise(mut self, advice: impl Display) -> Failure {
        self.advice = Some(emit::one_line(&advice.to_string()));
        self
    }

    /// Adds a suggestion, if there is one.
    pub fn advise_if(self, advice: Option<impl Display>) -> Failure {
        match advice {
            Some(advice) => self.advise(advice),
            None => self,
        }
    }

    /// The line with the cause.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Prints the failure and returns the exit code.
    pub fn report(&self) -> ExitCode {
        if self.is_reported {
            return ExitCode::from(self.code);
        }
        screen::say_wrapped("ssdyno: ", &self.text);
        if let Some(advice) = &self.advice {
            // A command stays in one piece, to copy.
            screen::say(&format!("   try: {advice}"));
        }
        ExitCode::from(self.code)
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Failure {
        let code = match error.kind() {
            ErrorKind::Check => CHECK_FAILED,
            ErrorKind::Usage => USAGE,
            ErrorKind::Refused => REFUSED,
            ErrorKind::Io => IO,
            ErrorKind::Interrupted => INTERRUPTED,
        };
        Failure::new(code, &error).advise_if(error.advice())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        LabError::from(error).into()
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::new(IO, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exit code, text and advice.
    fn parts(failure: impl Into<Failure>) -> (u8, String, Option<String>) {
        let Failure { code, text, advice, .. } = failure.into();
        (code, text, advice)
    }

    #[test]
    fn a_message_of_several_lines_becomes_one() {
        let failure = Failure::new(IO, "first\n\n  second\n").advise("a\nb");
        assert_eq!(parts(failure), (IO, "first; second".into(), Some("a; b".into())));
    }

    #[test]
    fn every_kind_has_its_exit_code() {
        let table = [
            (ErrorKind::Check, 1),
            (ErrorKind::Usage, 2),
            (ErrorKind::Refused, 3),
            (ErrorKind::Io, 4),
            (ErrorKind::Interrupted, 130),
        ];
        for (kind, code) in table {
            let error = LabError::new(kind, "no").advise("yes");
            assert_eq!(parts(error), (code, "no".into(), Some("yes".into())));
        }
        assert_eq!(parts(io::Error::from_raw_os_error(5)).0, IO);
    }
}

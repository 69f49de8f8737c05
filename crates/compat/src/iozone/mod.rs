//! iozone's language: parses a command line into a [`methods::Iozone`], and prints a record as
//! iozone's table.
//!
//! Source: iozone's documentation and published outputs. An iozone option that ssdyno does not
//! support is an error that names it and suggests an alternative; one without effect gets a note.

mod size;
mod sweep;
mod table;
mod words;

pub(crate) use table::{REPORTS, TITLE};
pub use table::{csv, excel, honest, table};
pub use words::{Request, parse};

use methods::Iozone;

/// A parsed command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The method to run.
    pub run: Iozone,
    /// `-f`: the file as typed; `None`: a scratch file in the current directory.
    pub file: Option<String>,
    /// `-R`: repeat the figures, one block per figure.
    pub excel: bool,
    /// `-b`: file for the table as CSV.
    pub csv: Option<String>,
    /// Lines above the table that describe the options, as in iozone.
    pub lines: Vec<String>,
    /// Differences from iozone's interpretation.
    pub notes: Vec<String>,
    /// The command line as typed, for the line that echoes it.
    pub typed: String,
}

/// An error in a command line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct IozoneError {
    /// One line that names the option.
    pub what: String,
    /// The suggested alternative, if any.
    pub advice: Option<String>,
}

impl IozoneError {
    fn new(what: impl Into<String>) -> IozoneError {
        IozoneError { what: what.into(), advice: None }
    }

    fn advise(self, advice: &str) -> IozoneError {
        IozoneError { advice: Some(advice.into()), ..self }
    }
}

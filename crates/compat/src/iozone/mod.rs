//! iozone's language: its command line into a [`methods::Iozone`], its table out of a record.
//!
//! Source: iozone's documentation and the outputs people publish. An option that iozone knows and
//! ssdyno does not serve is an error that names it and says what to do instead; none is ignored.

mod size;
mod sweep;
mod table;
mod words;

pub use table::{csv, excel, table};
pub use words::{Request, parse};

use methods::Iozone;

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// What is measured.
    pub run: Iozone,
    /// `-f`: the file, as it was typed; `None`: one in this directory.
    pub file: Option<String>,
    /// `-R`: the figures once more, a block for each.
    pub excel: bool,
    /// `-b`: a file for the table as CSV.
    pub csv: Option<String>,
    /// Lines above the table that say what was asked for, as iozone has them.
    pub lines: Vec<String>,
    /// What was understood in another way than iozone does.
    pub notes: Vec<String>,
    /// All words, for the line that repeats them.
    pub typed: String,
}

/// What is wrong with a command line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct IozoneError {
    /// One line that names the word.
    pub what: String,
    /// What to do instead, where there is something.
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

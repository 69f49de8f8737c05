//! Errors of command lines and job files: one line with location, option and reason, and one with
//! advice.

/// A command line or job file that cannot be run; exit code 2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct FioError {
    /// Location: `file:line`, or `command line`.
    pub place: String,
    /// The option as given, and the reason.
    pub what: String,
    pub advice: Option<String>,
}

impl FioError {
    /// Creates an error with its location.
    pub(crate) fn new(place: impl Into<String>, what: impl Into<String>) -> FioError {
        FioError { place: line(place.into()), what: line(what.into()), advice: None }
    }

    /// Adds advice.
    pub(crate) fn advise(mut self, advice: impl Into<String>) -> FioError {
        self.advice = Some(line(advice.into()));
        self
    }
}

/// Maximum length of an error line, in characters; a longer one quotes user input and is truncated.
const LONGEST: usize = 400;

/// One line that a terminal can show safely, whatever input it quotes.
fn blank_control(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

pub(crate) fn line(text: String) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => text[..end].chars().map(blank_control).chain("...".chars()).collect(),
        None if text.contains(char::is_control) => text.chars().map(blank_control).collect(),
        None => text,
    }
}

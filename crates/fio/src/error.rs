//! Errors of command lines and job files: one line with the place, the option and the reason, and one
//! with advice.

/// A command line or job file that cannot be run; exit code 2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct FioError {
    /// Where: `file:line`, or `command line`.
    pub place: String,
    /// The option as given, and the reason.
    pub what: String,
    /// Advice.
    pub advice: Option<String>,
}

impl FioError {
    /// An error at a place.
    pub(crate) fn new(place: impl Into<String>, what: impl Into<String>) -> FioError {
        FioError { place: line(place.into()), what: line(what.into()), advice: None }
    }

    /// The same with advice.
    pub(crate) fn advise(mut self, advice: impl Into<String>) -> FioError {
        self.advice = Some(line(advice.into()));
        self
    }
}

/// Longest line of an error, in letters; a longer one repeats the user's input.
const LONGEST: usize = 400;

/// One line that a terminal can show, whatever input it quotes.
pub(crate) fn line(text: String) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => text[..end].chars().map(plain).chain("...".chars()).collect(),
        None if text.contains(char::is_control) => text.chars().map(plain).collect(),
        None => text,
    }
}

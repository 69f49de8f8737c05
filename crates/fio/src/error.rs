//! Why a command line or job file cannot be run: one line of where, which option and what is wrong,
//! and one of what to do.

/// A command line or job file that cannot be run; exit code 2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct FioError {
    /// Where: `file:line`, or `command line`.
    pub place: String,
    /// The option as given and what is wrong with it.
    pub what: String,
    /// What to do about it.
    pub advice: Option<String>,
}

impl FioError {
    /// What is wrong, where.
    pub(crate) fn new(place: impl Into<String>, what: impl Into<String>) -> FioError {
        FioError { place: line(place.into()), what: line(what.into()), advice: None }
    }

    /// The same with what to do.
    pub(crate) fn advise(mut self, advice: impl Into<String>) -> FioError {
        self.advice = Some(line(advice.into()));
        self
    }
}

/// Longest line of an error, in letters; what is beyond was somebody's input.
const LONGEST: usize = 400;

/// One line that a terminal can show, whatever the input it speaks of.
pub(crate) fn line(text: String) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => text[..end].chars().map(plain).chain("...".chars()).collect(),
        None if text.contains(char::is_control) => text.chars().map(plain).collect(),
        None => text,
    }
}

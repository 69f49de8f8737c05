//! A section as written in a job file or on a command line, before its options are interpreted.

use crate::FioError;

/// Options under one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Section {
    /// Its name; none for options before the first `--name`.
    pub name: Option<String>,
    /// Its start: `file:line`, or `command line`.
    pub place: String,
    /// Whether it starts a job file other than the first; it then waits for all jobs before it.
    pub stonewall: bool,
    /// Its options in the order given.
    pub options: Vec<Given>,
}

impl Section {
    /// Whether all later sections inherit its options. fio compares six letters.
    pub fn global(&self) -> bool {
        self.name.as_ref().is_none_or(|name| name.starts_with("global"))
    }
}

/// One option as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    /// `file:line`, or `command line`.
    pub place: String,
    pub name: String,
    /// The text after the `=`; `None` for an option alone.
    pub value: Option<String>,
}

impl Given {
    /// The error that something is wrong with it.
    pub fn error(&self, what: &str) -> FioError {
        FioError::new(&self.place, format!("{}: {what}", self.shown()))
    }

    /// As written, truncated if long.
    pub fn shown(&self) -> String {
        let text = match &self.value {
            Some(value) => format!("{}={value}", self.name),
            None => self.name.clone(),
        };
        match text.char_indices().nth(80) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text,
        }
    }
}

//! A command that concerns real drives alone, on systems other than Linux.

use std::path::Path;

use lab::LabError;

use super::choice::Choice;
use crate::failure::Result;

/// Refuses the command.
pub fn run<T>(_args: &T) -> Result {
    Err(LabError::needs_linux().into())
}

/// The drives to choose from: none.
pub fn choices() -> Vec<Choice> {
    Vec::new()
}

/// The drives of this machine: not known.
pub fn overview() -> String {
    String::new()
}

/// Mentions what earlier runs have left on drives: nothing.
pub fn mention(_journal: Option<&Path>) {}

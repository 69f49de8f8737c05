//! A command that concerns real drives alone, on systems other than Linux.

use std::path::Path;

use lab::LabError;

use crate::failure::Result;

/// Refuses the command.
pub fn run<T>(_args: &T) -> Result {
    Err(LabError::needs_linux().into())
}

/// Mentions what earlier runs have left on drives: nothing.
pub fn mention(_journal: Option<&Path>) {}

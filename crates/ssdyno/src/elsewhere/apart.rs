//! Commands apart from the process that the user waits for, on systems other than Linux: none.

use std::process::ExitCode;

/// Leaves the work to the caller.
pub fn run() -> Option<ExitCode> {
    None
}

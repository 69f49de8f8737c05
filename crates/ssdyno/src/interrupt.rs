//! SIGINT (Ctrl-C), SIGTERM and SIGHUP: the first ends the run cleanly and keeps the results, the
//! second quits immediately.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

use crate::failure::INTERRUPTED;

/// A flag that is set when the user or the system asks the run to end.
pub fn flag() -> std::io::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The order matters: a signal that finds the flag set ends the process.
        flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), Arc::clone(&asked))?;
        flag::register(signal, Arc::clone(&asked))?;
    }
    Ok(asked)
}

/// Turns a write beyond the file size limit (`ulimit -f`) into an error of that write, with path
/// and reason, instead of the end of the process.
pub fn survive_file_limit() {
    // A handler that does nothing replaces the signal's default action. Child processes get the
    // default back.
    let _ = flag::register(SIGXFSZ, Arc::default());
}

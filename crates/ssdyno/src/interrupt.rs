//! Ctrl-C: the first one ends the run cleanly and keeps the results, the second quits at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

use crate::failure::INTERRUPTED;

/// A flag that is set when the user or the system asks the run to end.
pub fn flag() -> std::io::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: a signal that finds the flag set ends the process.
        flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), Arc::clone(&asked))?;
        flag::register(signal, Arc::clone(&asked))?;
    }
    Ok(asked)
}

/// Makes a write beyond the limit of file sizes (`ulimit -f`) an error of that write, which has a
/// path and a reason, rather than the end of the process.
pub fn survive_file_limit() {
    // A handler that does nothing else keeps the signal from its default; programs started from here
    // get that back.
    let _ = flag::register(SIGXFSZ, Arc::default());
}

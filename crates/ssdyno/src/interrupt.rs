//! SIGINT (Ctrl-C), SIGTERM and SIGHUP: the first ends the run cleanly and keeps the results, the
//! second quits immediately.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

use crate::failure::INTERRUPTED;

/// A flag that is set when the user or the system asks the run to end. A SIGHUP that was ignored
/// at the start stays ignored, so that `nohup` keeps a run alive after a logout.
pub fn flag() -> std::io::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let hangup = if ignores(&status, SIGHUP) { None } else { Some(SIGHUP) };
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
        // The order matters: a signal that finds the flag set ends the process.
        flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), Arc::clone(&asked))?;
        flag::register(signal, Arc::clone(&asked))?;
    }
    Ok(asked)
}

/// Whether a process ignores a signal, according to its status as in proc(5).
fn ignores(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Turns a write beyond the file size limit (`ulimit -f`) into an error of that write, with path
/// and reason, instead of the end of the process.
pub fn survive_file_limit() {
    // A handler that does nothing replaces the signal's default action. Child processes get the
    // default back.
    let _ = flag::register(SIGXFSZ, Arc::default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_signal_is_found_in_the_status() {
        let status = "Name:\tssdyno\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\n";
        assert!(ignores(status, SIGHUP) && !ignores(status, SIGINT) && !ignores("", SIGHUP));
    }
}

//! SIGINT (Ctrl-C), SIGTERM, SIGHUP and SIGQUIT: during a run, the first ends it cleanly and keeps
//! the results, and the second quits immediately. At any other time, the first quits: whatever the
//! command waits for, a signal ends it. The exit code is 130 in both cases.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::{flag, low_level};

use crate::signals::{ENDING, FILE_LIMIT, HANGUP};

/// Exit code of a process that a signal ended: 128 + SIGINT, the shell convention for Ctrl-C.
pub const INTERRUPTED: u8 = 130;

/// The state of the process, shared with its signal handlers.
struct Signals {
    /// A signal has asked the run to end.
    is_asked: Arc<AtomicBool>,
    /// Nothing is to be ended cleanly.
    quits_at_once: Arc<AtomicBool>,
}

static SIGNALS: OnceLock<Signals> = OnceLock::new();

/// Makes every signal end the process at once. A SIGHUP that was ignored at the start stays
/// ignored, so that `nohup` keeps a run alive after a logout.
pub fn install() -> io::Result<()> {
    let signals = SIGNALS.get_or_init(|| Signals {
        is_asked: Arc::default(),
        quits_at_once: Arc::new(AtomicBool::new(true)),
    });
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let hangup = HANGUP.filter(|hangup| !ignores(&status, *hangup));
    for signal in ENDING.iter().copied().chain(hangup) {
        // The order matters: a signal that finds a flag set ends the process.
        for quits in [&signals.quits_at_once, &signals.is_asked] {
            flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(quits))?;
        }
        flag::register(signal, Arc::clone(&signals.is_asked))?;
    }
    Ok(())
}

/// A time during which the first signal only sets [`InterruptibleRun::flag`].
pub struct InterruptibleRun(Arc<AtomicBool>);

impl InterruptibleRun {
    /// Begins it; dropping it ends it.
    pub fn begin() -> InterruptibleRun {
        let Some(signals) = SIGNALS.get() else { return InterruptibleRun(Arc::default()) };
        signals.quits_at_once.store(false, Ordering::SeqCst);
        InterruptibleRun(Arc::clone(&signals.is_asked))
    }

    /// The flag that is set when the user or the system asks the run to end.
    pub fn flag(&self) -> &Arc<AtomicBool> {
        &self.0
    }
}

impl Drop for InterruptibleRun {
    fn drop(&mut self) {
        SIGNALS.get().iter().for_each(|all| all.quits_at_once.store(true, Ordering::SeqCst));
    }
}

/// Longest wait for the reader of an output once the run has been asked to end.
const OUTPUT_MAX: Duration = Duration::from_secs(1);

/// Interval between looks at the flag.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Name of the thread that shows a run.
pub const SCREEN_THREAD: &str = "screen";

/// A limit for an output that may wait for its reader: the process ends if the output still waits
/// some time after a signal. A second signal would end it, too.
pub struct OutputLimit {
    _done: Option<Sender<()>>,
}

impl OutputLimit {
    /// Begins it; dropping it ends it.
    pub fn begin() -> OutputLimit {
        // A run does not wait for the thread that shows it, and must not end with it.
        if thread::current().name() == Some(SCREEN_THREAD) {
            return OutputLimit { _done: None };
        }
        if !is_asked() && SIGNALS.get().is_none_or(|all| all.quits_at_once.load(Ordering::SeqCst)) {
            return OutputLimit { _done: None };
        }
        let (finished, waiting) = channel::<()>();
        let watch = thread::Builder::new().spawn(move || {
            let mut interrupted_at = None;
            while waiting.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                if is_asked()
                    && interrupted_at.get_or_insert_with(Instant::now).elapsed() >= OUTPUT_MAX
                {
                    low_level::exit(INTERRUPTED.into());
                }
            }
        });
        OutputLimit { _done: watch.is_ok().then_some(finished) }
    }
}

/// Whether a signal has asked the command to end.
pub fn is_asked() -> bool {
    SIGNALS.get().is_some_and(|signals| signals.is_asked.load(Ordering::SeqCst))
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
    let _ = FILE_LIMIT.map(|signal| flag::register(signal, Arc::default()));
}

/// Lets a process outlive the signals that end a run.
pub fn outlive() {
    for signal in ENDING.iter().copied().chain(HANGUP) {
        // As above.
        let _ = flag::register(signal, Arc::default());
    }
}

#[cfg(test)]
mod tests {
    use signal_hook::consts::{SIGHUP, SIGINT};

    use super::*;

    #[test]
    fn an_ignored_signal_is_found_in_the_status() {
        let status = "Name:\tssdyno\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\n";
        assert!(ignores(status, SIGHUP) && !ignores(status, SIGINT) && !ignores("", SIGHUP));
    }
}

//! Checks the target while a phase is running, on a thread of its own: a file for its size ten times
//! a second, every target for other users once a second.
//!
//! A check can block in the kernel, for example if a file is on a network drive that has stopped
//! responding. The measuring threads therefore never wait for one, and the end of a phase only for
//! a short time.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use drive::{DriveError, Sentry};

/// Time between two checks of size. A write beyond the end extends a file that was cut short, and
/// the kernel has no mode that prevents this, so the time is short.
const SIZE_EVERY: Duration = Duration::from_millis(100);
/// Checks of size per check of users, which takes milliseconds.
const SIZES_PER_USERS: u32 = 10;
/// How long the end of a phase waits for a check.
const END_PATIENCE: Duration = Duration::from_secs(2);

/// What is checked.
#[derive(Clone, Debug)]
pub(crate) enum Watched {
    /// A target with its size and users.
    Target(Sentry),
    /// A target or file whose jobs change its size: its users only.
    Users(Sentry),
    /// Files by name: their users only.
    Files(Vec<PathBuf>),
}

impl Watched {
    fn check(&self, with_users: bool) -> Result<(), DriveError> {
        match self {
            Watched::Target(sentry) if with_users => sentry.check(),
            Watched::Target(sentry) => sentry.check_size(),
            Watched::Users(sentry) if with_users => sentry.check_users(),
            Watched::Files(files) if with_users => drive::check_unused(files),
            Watched::Users(_) | Watched::Files(_) => Ok(()),
        }
    }
}

/// The thread that checks.
pub(crate) struct Vigil {
    alarm: Arc<AtomicBool>,
    /// Ends the thread when dropped.
    end: Sender<()>,
    outcome: Receiver<Result<(), DriveError>>,
}

impl Vigil {
    /// Begins to check; `None` if there is nothing to check.
    pub fn begin(watched: Vec<Watched>) -> std::io::Result<Option<Vigil>> {
        if watched.is_empty() {
            return Ok(None);
        }
        let alarm = Arc::new(AtomicBool::new(false));
        let ((end, ended), (sender, outcome)) = (channel(), channel());
        let raised = Arc::clone(&alarm);
        let thread = std::thread::Builder::new().name("vigil".into());
        thread.spawn(move || {
            let result = keep(&watched, &ended);
            raised.store(result.is_err(), Ordering::Release);
            // Closes the target before the phase ends: a format needs every descriptor closed.
            drop(watched);
            // Nobody receives it if the phase ended without waiting.
            let _ = sender.send(result);
        })?;
        Ok(Some(Vigil { alarm, end, outcome }))
    }

    /// Set when a check has failed: the phase must end.
    pub fn alarm(&self) -> &AtomicBool {
        &self.alarm
    }

    /// Ends the checks; returns the error if one failed.
    pub fn end(self) -> Result<(), DriveError> {
        drop(self.end);
        match self.outcome.recv_timeout(END_PATIENCE) {
            Ok(result) => result,
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Err(RecvTimeoutError::Disconnected) => panic!("the checks of the target panicked"),
        }
    }
}

/// Checks until the phase ends or a check fails.
fn keep(watched: &[Watched], until: &Receiver<()>) -> Result<(), DriveError> {
    for round in 1u32.. {
        if until.recv_timeout(SIZE_EVERY) != Err(RecvTimeoutError::Timeout) {
            break;
        }
        let with_users = round.is_multiple_of(SIZES_PER_USERS);
        watched.iter().try_for_each(|watched| watched.check(with_users))?;
    }
    Ok(())
}

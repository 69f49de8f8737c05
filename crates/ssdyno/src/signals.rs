//! The signals of the system, as far as the command handles them.

use signal_hook::consts::{SIGINT, SIGTERM};

/// The signals that end a run, besides [`HANGUP`].
#[cfg(unix)]
pub const ENDING: &[i32] = &[SIGINT, SIGTERM, signal_hook::consts::SIGQUIT];
#[cfg(not(unix))]
pub const ENDING: &[i32] = &[SIGINT, SIGTERM];

/// The signal of a terminal that closes.
#[cfg(unix)]
pub const HANGUP: Option<i32> = Some(signal_hook::consts::SIGHUP);
#[cfg(not(unix))]
pub const HANGUP: Option<i32> = None;

/// The signal after a write beyond the file size limit.
#[cfg(unix)]
pub const FILE_LIMIT: Option<i32> = Some(signal_hook::consts::SIGXFSZ);
#[cfg(not(unix))]
pub const FILE_LIMIT: Option<i32> = None;

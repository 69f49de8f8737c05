//! A journal that a run with another home directory left, and the command for it.

use std::path::PathBuf;

use drive::DriveKey;
use emit::shell_word;

/// A journal that a run with another home directory left.
#[derive(Clone, Debug, PartialEq)]
pub struct ElsewhereLeft {
    /// Path of the journal.
    pub path: PathBuf,
    /// The drive of its blocks.
    pub drive: DriveKey,
    /// The XDG state directory of that run.
    pub state: PathBuf,
}

impl ElsewhereLeft {
    /// The command that restores its blocks.
    pub fn command(&self) -> String {
        let state = self.state.display().to_string();
        format!("XDG_STATE_HOME={} ssdyno recover", shell_word(&state))
    }
}

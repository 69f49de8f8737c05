//! A journal that is not this user's, or that a run with another home directory left, and the
//! command that shows it.

use std::path::PathBuf;

use drive::{DriveKey, user_name};
use emit::shell_word;

/// A journal that another user left, or that is in another user's home.
#[derive(Clone, Debug, PartialEq)]
pub struct ElsewhereLeft {
    pub path: PathBuf,
    /// The drive of its blocks, according to the journal.
    pub drive: DriveKey,
    /// The number of the user who could have written it: the owner of the file, or if that is this
    /// user or root, of its directory; `None` if nobody else could.
    pub uid: Option<u32>,
    /// Whether the file belongs to this user or to root, so that its content is trusted.
    pub is_ours: bool,
    /// Its directory, if that is not the default place of the user's account.
    pub dir: Option<PathBuf>,
}

impl ElsewhereLeft {
    /// The user's name, or number; `None` if nobody else could have written it.
    pub fn user(&self) -> Option<String> {
        self.uid.map(user_name)
    }

    /// The name by which users refer to it.
    pub(crate) fn id(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The command that shows it and compares its blocks.
    pub fn command(&self) -> String {
        let dir = self.dir.as_ref().map(|dir| dir.display().to_string());
        let dir = dir.map(|dir| format!(" --journal {}", shell_word(&dir)));
        let user = self.user().map(|user| format!(" --journal-of {}", shell_word(&user)));
        format!("ssdyno recover{}{}", user.unwrap_or_default(), dir.unwrap_or_default())
    }
}

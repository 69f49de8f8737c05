//! Output: text for users, and files they requested.
//!
//! Foreign text (from drives, file names, job files, records) passes [`plain`] before it reaches a
//! terminal, a CSV file or a page, so that it cannot control how it is displayed. [`replace`]
//! replaces files atomically, so that a full disk or a kill never leaves a partial file, and
//! refuses symbolic links, which another user may have placed, and drives. [`renew`] also refuses
//! files that are not earlier versions of the same output. [`user_directory`] finds the place for
//! files without a requested name, [`directory_of`] the directory of a file. A [`Directory`] is opened
//! once and used by descriptor; in another user's, root acts as that user. [`nearest`] suggests a
//! known name for a misspelt one, and [`shell_word`] quotes a word of a command line. This crate
//! does not know the meaning of a text or a file. `elsewhere/` has the files of other systems than
//! Linux.

#![forbid(unsafe_code)]

#[cfg_attr(not(target_os = "linux"), path = "elsewhere/directory.rs")]
mod directory;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere/entry.rs")]
mod entry;
mod file;
mod home;
mod kind;
mod name;
mod output;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere/owner.rs")]
mod owner;
mod text;

pub use directory::Directory;
#[cfg(target_os = "linux")]
pub use directory::resolve;
pub use file::{Replacement, check};
pub use home::user_directory;
pub use name::{did_you_mean, nearest, typo_of};
pub use output::directory_of;
pub use owner::Owner;
pub use text::{controls_display, json, one_line, plain, screen, shell_word, without_error_number};

use std::io::{self, Write};
use std::path::Path;

/// Creates a file, or replaces an earlier one of the same kind, which begins with the same bytes. A
/// mistyped name therefore cannot destroy another file. It does not wait for the disk: for what can
/// be made again, such as pages, and for commands that must end soon.
pub fn renew(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let content = content.as_ref();
    let mut file = Replacement::renew(path, output::head_of(content))?;
    file.write_all(content)?;
    file.place()
}

/// Replaces the content of a file, whatever it is, or creates it.
pub fn replace(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = Replacement::create(path)?;
    file.write_all(content.as_ref())?;
    file.finish()
}

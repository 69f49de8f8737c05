//! The machine with the drives: the root of its /sys, /proc and /dev.
//!
//! This crate reads all kernel files through [`Machine`], so a directory with the files of another
//! machine can stand in for it. The tests use this to simulate hardware.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The default XDG state directory in a home directory.
pub const STATE_IN_HOME: &str = ".local/state";

/// A machine whose kernel files are below one root directory.
#[derive(Clone, Debug)]
pub struct Machine {
    root: PathBuf,
}

impl Machine {
    /// The machine this process runs on.
    pub fn here() -> Machine {
        Machine { root: PathBuf::from("/") }
    }

    /// The machine whose `sys`, `proc`, `dev` and `etc` are in `root`.
    pub fn at(root: impl AsRef<Path>) -> Machine {
        let root = root.as_ref();
        Machine { root: root.canonicalize().unwrap_or_else(|_| root.to_path_buf()) }
    }

    /// Maps an absolute path of the machine to the real path. A relative path remains relative to
    /// the working directory.
    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        path.strip_prefix("/").map_or_else(|_| path.to_path_buf(), |below| self.root.join(below))
    }

    /// An absolute path with links resolved, as a path on the machine.
    pub(crate) fn real_path(&self, path: &Path) -> std::io::Result<PathBuf> {
        let real = self.path(path).canonicalize()?;
        Ok(real.strip_prefix(&self.root).map_or(real.clone(), |below| Path::new("/").join(below)))
    }

    /// Whether this is the machine the process runs on, whose kernel can be queried.
    pub(crate) fn is_here(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Text of a kernel file, trimmed; `None` if empty or unreadable.
    pub(crate) fn text(&self, absolute: impl AsRef<Path>) -> Option<String> {
        read_text(&self.path(absolute))
    }

    /// Value of a kernel file.
    pub(crate) fn value<T: FromStr>(&self, absolute: impl AsRef<Path>) -> Option<T> {
        self.text(absolute)?.parse().ok()
    }

    /// Names in a directory, sorted; empty if unreadable.
    pub(crate) fn names(&self, absolute: impl AsRef<Path>) -> Vec<String> {
        names(&self.path(absolute))
    }

    /// The machine's accounts, as far as `/etc/passwd` lists them.
    pub fn accounts(&self) -> Vec<Account> {
        let text = self.text("/etc/passwd").unwrap_or_default();
        text.lines()
            .filter_map(|line| {
                let fields: Vec<&str> = line.split(':').collect();
                let (name, uid, home) = (fields.first()?, fields.get(2)?, fields.get(5)?);
                Some(Account { name: (*name).into(), uid: uid.parse().ok()?, home: home.into() })
            })
            .collect()
    }

    /// The account with this name or number. A number without an account is a user without a home.
    pub fn account(&self, user: &str) -> Option<Account> {
        let uid = user.parse().ok();
        let account =
            self.accounts().into_iter().find(|one| one.name == user || Some(one.uid) == uid);
        account.or_else(|| uid.map(|uid| Account { name: user.into(), uid, home: PathBuf::new() }))
    }

    /// The XDG state directories in the homes of the machine's accounts, sorted, once each.
    pub fn account_states(&self) -> Vec<PathBuf> {
        let accounts = self.accounts().into_iter();
        let mut states: Vec<PathBuf> = accounts.filter_map(|account| account.state()).collect();
        states.sort_unstable();
        states.dedup();
        states
    }
}

/// A user's account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The user's name.
    pub name: String,
    /// The user's number.
    pub uid: u32,
    home: PathBuf,
}

impl Account {
    /// The default XDG state directory in its home; `None` if it has no home.
    pub fn state(&self) -> Option<PathBuf> {
        self.home.is_absolute().then(|| self.home.join(STATE_IN_HOME))
    }
}

/// The name of a user of this machine; the number of one without an account.
pub fn user_name(uid: u32) -> String {
    let account = Machine::here().accounts().into_iter().find(|account| account.uid == uid);
    account.map_or_else(|| uid.to_string(), |account| printable(&account.name))
}

/// The value of a line `name: value`.
pub(crate) fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
}

/// Text of a small file, without surrounding space and NULs; `None` if empty or unreadable.
pub(crate) fn read_text(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_string())
}

/// Text from drives and file systems, without terminal control characters.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Names in a directory, sorted; empty if unreadable.
pub(crate) fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}

/// Major and minor number of a device. The kernel uses major 0 for file systems without a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DevNumber {
    pub major: u32,
    pub minor: u32,
}

impl DevNumber {
    /// From `st_dev` or `st_rdev`.
    pub fn from_dev(dev: u64) -> DevNumber {
        DevNumber { major: rustix::fs::major(dev), minor: rustix::fs::minor(dev) }
    }
}

impl fmt::Display for DevNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl FromStr for DevNumber {
    type Err = ();

    fn from_str(text: &str) -> Result<DevNumber, ()> {
        let (major, minor) = text.trim().split_once(':').ok_or(())?;
        let numbers = major.parse().ok().zip(minor.parse().ok());
        numbers.map(|(major, minor)| DevNumber { major, minor }).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_home_of_an_account_has_one_state_directory() {
        let root = tempfile::tempdir().expect("a directory");
        let machine = Machine::at(root.path());
        assert_eq!(machine.account_states(), Vec::<PathBuf>::new(), "no accounts");
        std::fs::create_dir(root.path().join("etc")).expect("made");
        let accounts = "r:x:0:0:r:/r:/bin/sh\nu:x:1:1::/h/u:/bin/sh\nv:x:2:2::/h/u:/bin/sh\n\
                        w:x:3:3::relative:/bin/sh\nbroken\n";
        std::fs::write(root.path().join("etc/passwd"), accounts).expect("written");
        let expected = ["/h/u/.local/state", "/r/.local/state"].map(PathBuf::from);
        assert_eq!(machine.account_states(), expected);
    }
}

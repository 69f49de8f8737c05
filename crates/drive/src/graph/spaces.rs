//! The mount namespaces of a machine: whatever is mounted in one that this user may read is in use.
//!
//! A path means a file in one namespace only, so it is looked up below the root directory of a
//! process there. Namespaces of other users, and those without a process, cannot be read; for
//! them, the kernel's list of active file systems and O_EXCL remain.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::machine::Machine;
use crate::mounts::Mounts;

/// A mount namespace, as a process in it sees it.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    pub mounts: Mounts,
    /// Root directory of the process, `/` for the own namespace.
    root: PathBuf,
    pub is_own: bool,
}

impl Space {
    /// The own namespace, and the others that this user may read, once each.
    pub fn all(machine: &Machine) -> Vec<Space> {
        let own_space = Space { mounts: Mounts::read(machine), root: "/".into(), is_own: true };
        let mut identities: HashSet<(PathBuf, PathBuf)> =
            identity(machine, "self").into_iter().collect();
        let processes = machine.names("/proc").into_iter();
        let processes = processes.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
        let other_spaces = processes.filter_map(|process| {
            let is_new = identities.insert(identity(machine, &process)?);
            is_new.then(|| Space::of_process(machine, &process)).flatten()
        });
        std::iter::once(own_space).chain(other_spaces.collect::<Vec<_>>()).collect()
    }

    fn of_process(machine: &Machine, process: &str) -> Option<Space> {
        let text = machine.text(format!("/proc/{process}/mountinfo"))?;
        let root = PathBuf::from(format!("/proc/{process}/root"));
        Some(Space { mounts: Mounts::parse(&text), root, is_own: false })
    }

    /// A path of this namespace as this process can open it.
    pub fn path(&self, machine: &Machine, path: &Path) -> PathBuf {
        let relative = path.strip_prefix("/").unwrap_or(path);
        if self.is_own { machine.path(path) } else { machine.path(self.root.join(relative)) }
    }
}

/// Namespace and root directory of a process; `None` if not readable, or without a process.
fn identity(machine: &Machine, process: &str) -> Option<(PathBuf, PathBuf)> {
    let process = machine.path(format!("/proc/{process}"));
    Some((process.join("ns/mnt").read_link().ok()?, process.join("root").read_link().ok()?))
}

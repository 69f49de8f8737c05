//! Finds the drive under a path.

use std::path::{Path, PathBuf};

use record::{DriveIdentity, FileSystem};
use serde::Serialize;

use crate::error::DriveError;
use crate::identity;
use crate::machine::Machine;
use crate::mounts::{Mount, Mounts};
use crate::node::Node;
use crate::stack::{Stack, Walk, mount_of};
use crate::watch::Watch;

/// Location of a file or directory.
#[derive(Clone, Debug, Serialize)]
pub struct Location {
    /// The absolute path with links resolved.
    pub path: PathBuf,
    /// The file system of the path.
    pub filesystem: FileSystem,
    /// Layers between the file system and the drive, nearest first: `/dev/dm-0`, `/dev/sda2`, or
    /// the backing file of a loop device. For a file system on several devices (btrfs), those
    /// devices; there is then no single drive.
    pub layers: Vec<String>,
    /// The drive, if there is one and the kernel reveals it.
    pub drive: Option<DriveIdentity>,
    /// Kernel names of the whole devices whose counters (`/sys/block/NAME/stat`) cover the traffic.
    pub disks: Vec<String>,
    /// Whether the data are in memory, not on a drive.
    pub ram: bool,
    #[serde(skip)]
    pub(crate) stack: Stack,
}

impl Location {
    /// A watch on the devices whose counters cover the traffic.
    pub fn watch(&self) -> Watch {
        Watch::on(&self.stack)
    }
}

/// Finds the file system of a path and the underlying drive; for a device node, its drive and the
/// file system that contains the node.
pub fn locate(path: impl AsRef<Path>) -> Result<Location, DriveError> {
    Machine::here().locate(path.as_ref())
}

impl Machine {
    /// [`locate`] on this machine.
    pub fn locate(&self, path: &Path) -> Result<Location, DriveError> {
        let real = self.real_path(path).map_err(|e| DriveError::from_io("read", path, e))?;
        let mounts = Mounts::read(self);
        let mount = mount_of(self, &mounts, path);
        let walk = Walk::new(self, &mounts);
        let stack = match Node::at_path(self, &real) {
            Some(device) => walk.under_node(&device),
            None => mount.map(|mount| walk.under_mount(mount)).unwrap_or_default(),
        };
        Ok(Location {
            filesystem: filesystem(&self.path(&real), mount),
            path: real,
            layers: stack.layers.clone(),
            drive: stack.drive.as_ref().map(|node| identity::identify(self, node, stack.ram)),
            disks: stack.disks.iter().map(|node| node.name.clone()).collect(),
            ram: stack.ram,
            stack,
        })
    }
}

/// The file system as reported by mountinfo and statvfs.
pub(crate) fn filesystem(path: &Path, mount: Option<&Mount>) -> FileSystem {
    let sizes = rustix::fs::statvfs(path).ok();
    let field_text = |field: fn(&Mount) -> &String| mount.map(|mount| field(mount).clone());
    FileSystem {
        kind: field_text(|m| &m.kind).unwrap_or_else(|| "unknown".into()),
        mount: field_text(|m| &m.point).unwrap_or_else(|| "unknown".into()),
        source: field_text(|m| &m.source),
        options: field_text(|m| &m.options),
        bytes: sizes.as_ref().map(|s| s.f_blocks.saturating_mul(s.f_frsize)),
        free_bytes: sizes.as_ref().map(|s| s.f_bavail.saturating_mul(s.f_frsize)),
        unit_bytes: sizes.as_ref().map(|s| s.f_frsize),
    }
}

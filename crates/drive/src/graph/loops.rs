//! The backing file of a loop device, by the kernel's numbers.
//!
//! `LOOP_GET_STATUS64` has device and inode of the file. Without permission to ask, sysfs remains:
//! its offset and size are the kernel's, but its name is text. It is believed if a file of the
//! right size has it and no removed file can have had it; otherwise the file is unknown.

use std::fs::OpenOptions;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::overlay;
use super::region::{Container, FileNumber};
use super::spaces::Space;
use crate::machine::{DevNumber, Machine};
use crate::node::{Node, SECTOR};
use crate::sys::stacked::{LoopStatus, loop_status};

/// The backing of an attached loop device.
#[derive(Clone, Debug)]
pub(crate) struct Backing {
    /// The file or device; a file of an overlay also as the file of its layer.
    pub containers: Vec<Container>,
    /// Start in it, bytes.
    pub offset: u64,
    /// Size of it, bytes, if known.
    pub bytes: Option<u64>,
    /// Its name, as text.
    pub name: String,
}

impl Backing {
    /// The backing of a device; `None` if it is not an attached loop device.
    pub fn read(machine: &Machine, spaces: &[Space], node: &Node) -> Option<Backing> {
        let name = name(node)?;
        let status = ask(machine, node);
        let attribute = |file: &str| node.value::<u64>(&format!("loop/{file}")).unwrap_or(0);
        let offset = status.map_or_else(|| attribute("offset"), |status| status.offset);
        let limit = status.map_or_else(|| attribute("sizelimit"), |status| status.sizelimit);
        let to_end = (limit == 0).then(|| offset.saturating_add(node.bytes().unwrap_or(0)));
        let bytes = to_end.or_else(|| size_by_name(machine, spaces, &name, status?));
        let containers = match status {
            Some(LoopStatus { node: Some(number), .. }) => vec![Container::Device(number)],
            Some(LoopStatus { device, inode, .. }) => {
                of_file(machine, spaces, &name, FileNumber { device, inode })
            }
            None => by_name(machine, spaces, &name, to_end),
        };
        Some(Backing { containers, offset, bytes, name: name.display().to_string() })
    }
}

/// A file, and the file of the layer if it belongs to an overlay.
pub(super) fn of_file(
    machine: &Machine,
    spaces: &[Space],
    name: &Path,
    file: FileNumber,
) -> Vec<Container> {
    let layer = overlay::may_contain(spaces, file).then(|| {
        let layer = overlay::layer_file(machine, spaces, name, file);
        layer.map_or(Container::UnknownFile, Container::File)
    });
    std::iter::once(Container::File(file)).chain(layer).collect()
}

/// Size of the backing file, if it still has its name in a namespace.
fn size_by_name(
    machine: &Machine,
    spaces: &[Space],
    name: &Path,
    status: LoopStatus,
) -> Option<u64> {
    let file = FileNumber { device: status.device, inode: status.inode };
    let metas = spaces.iter().filter_map(|space| space.path(machine, name).metadata().ok());
    let mut files = metas.filter(|meta| meta.is_file() && FileNumber::from_metadata(meta) == file);
    files.next().map(|meta| meta.len())
}

/// The file with this name, if it has the right size.
fn by_name(machine: &Machine, spaces: &[Space], name: &Path, bytes: Option<u64>) -> Vec<Container> {
    let mut containers = Vec::new();
    if let Some(node) = Node::at_path(machine, name).and_then(|node| node.number()) {
        containers.push(Container::Device(node));
    } else if let Ok(meta) = machine.path(name).metadata() {
        let is_same_size = bytes.is_none_or(|bytes| meta.len() / SECTOR == bytes / SECTOR);
        // A simulated machine has empty files.
        if meta.is_file() && (is_same_size || !machine.is_here()) {
            containers = of_file(machine, spaces, name, FileNumber::from_metadata(&meta));
        }
    }
    if containers.is_empty() || name.as_os_str().as_bytes().ends_with(b" (deleted)") {
        containers.push(Container::Unknown);
    }
    containers
}

/// The name of the backing file, which may contain any byte but NUL. The kernel adds a line feed.
fn name(node: &Node) -> Option<PathBuf> {
    let bytes = std::fs::read(node.dir.join("loop/backing_file")).ok()?;
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

/// The kernel's answer, if this user may open the device.
fn ask(machine: &Machine, node: &Node) -> Option<LoopStatus> {
    if !machine.is_here() {
        return None;
    }
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(OFlags::NONBLOCK.bits() as i32);
    let path = node.path();
    // Opening anything but a block device may have effects.
    std::fs::symlink_metadata(&path).ok().filter(|m| m.file_type().is_block_device())?;
    let file = options.open(path).ok()?;
    file.metadata().ok().filter(|m| m.file_type().is_block_device())?;
    let number = std::os::unix::fs::MetadataExt::rdev(&file.metadata().ok()?);
    (Some(DevNumber::from_dev(number)) == node.number()).then(|| loop_status(&file).ok()).flatten()
}

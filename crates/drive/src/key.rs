//! What tells a drive from all others when its name no longer does: after a reboot, in another port.
//!
//! A kernel name such as `sdb` means another drive tomorrow. A [`DriveKey`] is kept in a file and
//! finds the drive again: by its serial number and size, a partition also by its place on the disk,
//! a loop device by the file it stands on. Where there is no serial number, several drives may answer.

use std::path::Path;

use record::DriveIdentity;
use serde::{Deserialize, Serialize};

use crate::error::DriveError;
use crate::identity;
use crate::machine::Machine;
use crate::mounts::Mounts;
use crate::node::{Node, SECTOR, numbered_as};
use crate::stack::{Stack, Walk};

/// A block device, so that it is known again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriveKey {
    /// Where it was; says nothing of where it is.
    pub path: String,
    /// Maker and model, where they are known.
    pub model: Option<String>,
    /// Serial number of the drive.
    pub serial: Option<String>,
    /// Bytes of the whole drive.
    pub disk_bytes: u64,
    /// First byte of a partition on its drive; `None` for a whole drive.
    pub start: Option<u64>,
    /// Bytes of the device itself.
    pub bytes: u64,
    /// The file a loop device stands on.
    pub backing_file: Option<String>,
}

impl DriveKey {
    pub(crate) fn of(machine: &Machine, node: &Node) -> Option<DriveKey> {
        let disk = node.disk();
        let DriveIdentity { vendor, model, serial, .. } = identity::identify(machine, &disk, false);
        let model: Vec<String> = vendor.into_iter().chain(model).collect();
        let start = match node.partition() {
            Some(_) => Some(node.value::<u64>("start")?.checked_mul(SECTOR)?),
            None => None,
        };
        Some(DriveKey {
            path: node.path(),
            model: (!model.is_empty()).then(|| model.join(" ")),
            serial,
            disk_bytes: disk.bytes()?,
            start,
            bytes: node.bytes()?,
            backing_file: disk.backing_file().map(|file| file.display().to_string()),
        })
    }

    /// The key of a device node; `None` for what is none.
    pub fn at(device: &Path) -> Option<DriveKey> {
        let machine = Machine::here();
        DriveKey::of(&machine, &Node::at_path(&machine, device)?)
    }

    /// Whether both are the same device, wherever each was found.
    pub fn is(&self, other: &DriveKey) -> bool {
        DriveKey { path: String::new(), ..self.clone() }
            == DriveKey { path: String::new(), ..other.clone() }
    }

    /// Whether the serial number, or the file it stands on, tells it from other drives of its size.
    pub fn is_unique(&self) -> bool {
        self.serial.is_some() || self.backing_file.is_some()
    }

    /// The drive as a person knows it: `ACME X1, serial number S6Z1, 1000204886016 bytes`.
    pub fn in_words(&self) -> String {
        let model = self.model.clone().unwrap_or_else(|| "a drive of an unknown model".into());
        let name = match (&self.serial, &self.backing_file) {
            (Some(serial), _) => format!("{model}, serial number {serial}"),
            (None, Some(file)) => format!("a loop device over {file}"),
            (None, None) => format!("{model} without a serial number"),
        };
        let part = self.start.map(|at| format!(", its partition at byte {at}"));
        format!("{name}{}, {} bytes", part.unwrap_or_default(), self.bytes)
    }
}

/// The device nodes of this machine that the key fits: none, one, or several that look alike.
pub fn find(key: &DriveKey) -> Vec<String> {
    let machine = Machine::here();
    let nodes = machine.names("/sys/class/block").into_iter();
    let nodes = nodes.filter_map(|name| Node::named(&machine, &name));
    let keys = nodes.filter_map(|node| DriveKey::of(&machine, &node));
    keys.filter(|found| found.is(key)).map(|found| found.path).collect()
}

/// What a directory has to do with a device, when something of the device is to be kept in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    /// It lies elsewhere, where it outlasts a loss of power.
    Elsewhere,
    /// It lies on the same drive.
    SameDrive,
    /// It lies in memory.
    Memory,
}

/// Whether a directory lies on another drive than a block device. Both namespaces of one NVMe drive
/// are one drive; a loop device is a drive of its own, whatever its file lies on.
pub fn apart(directory: &Path, device: &Path) -> Result<Apart, DriveError> {
    let machine = Machine::here();
    let keeps = machine.locate(directory)?.stack;
    if keeps.ram || keeps.passed.iter().any(Node::is_ram) {
        return Ok(Apart::Memory);
    }
    let node = Node::at_path(&machine, device);
    let node = node.ok_or_else(|| DriveError::of("find", device, std::io::ErrorKind::NotFound))?;
    let disk = node.disk();
    let below = match numbered_as(&disk.name, "loop") {
        true => Stack { passed: vec![node, disk], ..Stack::default() },
        false => Walk::new(&machine, &Mounts::of(&machine)).under_node(&node),
    };
    let shared = keeps.passed.iter().any(|a| below.passed.iter().any(|b| same(&machine, a, b)));
    Ok(if shared { Apart::SameDrive } else { Apart::Elsewhere })
}

/// Whether two devices are one piece of hardware.
fn same(machine: &Machine, a: &Node, b: &Node) -> bool {
    let (a, b) = (a.disk(), b.disk());
    let serial = |node: &Node| identity::identify(machine, node, false).serial;
    a == b || serial(&a).is_some_and(|serial_a| serial(&b) == Some(serial_a))
}

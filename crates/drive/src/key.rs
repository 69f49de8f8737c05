//! Recognises a drive after a reboot or in another port, when its kernel name has changed.
//!
//! A kernel name such as `sdb` may be another drive tomorrow. A [`DriveKey`] is stored in a file
//! and finds the drive by its serial number and size, a partition also by its position on the disk,
//! and a loop device by its backing file. Without a serial number, several drives may match.

use std::path::Path;

use record::DriveIdentity;
use serde::{Deserialize, Serialize};

use crate::error::DriveError;
use crate::identity;
use crate::machine::Machine;
use crate::mounts::Mounts;
use crate::node::{Node, SECTOR, numbered_as};
use crate::stack::{Stack, Walk};

/// The persistent identity of a block device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriveKey {
    /// Path when the key was created; not used for matching.
    pub path: String,
    /// Manufacturer and model, if known.
    pub model: Option<String>,
    /// Serial number of the drive.
    pub serial: Option<String>,
    /// Size of the whole drive, bytes.
    pub disk_bytes: u64,
    /// Offset of a partition on its drive, bytes; `None` for a whole drive.
    pub start: Option<u64>,
    /// Size of the device itself, bytes.
    pub bytes: u64,
    /// Backing file of a loop device.
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

    /// The key of a device node; `None` if the path is not a device node.
    pub fn at(device: &Path) -> Option<DriveKey> {
        let machine = Machine::here();
        DriveKey::of(&machine, &Node::at_path(&machine, device)?)
    }

    /// Whether both keys denote the same device, even in different places.
    pub fn is(&self, other: &DriveKey) -> bool {
        DriveKey { path: String::new(), ..self.clone() }
            == DriveKey { path: String::new(), ..other.clone() }
    }

    /// Whether both keys denote places on the same drive that have bytes in common, as a drive and
    /// its partition do.
    pub fn overlaps(&self, other: &DriveKey) -> bool {
        let disk = |key: &DriveKey| {
            (key.model.clone(), key.serial.clone(), key.disk_bytes, key.backing_file.clone())
        };
        let begin = |key: &DriveKey| key.start.unwrap_or(0);
        let end = |key: &DriveKey| begin(key).saturating_add(key.bytes);
        disk(self) == disk(other) && begin(self) < end(other) && begin(other) < end(self)
    }

    /// Whether a serial number or backing file distinguishes it from other drives of the same size.
    pub fn is_unique(&self) -> bool {
        self.serial.is_some() || self.backing_file.is_some()
    }

    /// Description in words: `ACME X1, serial number S6Z1, 1000204886016 bytes`.
    pub fn in_words(&self) -> String {
        let model = self.model.clone().unwrap_or_else(|| "a drive of unknown model".into());
        let name = match (&self.serial, &self.backing_file) {
            (Some(serial), _) => format!("{model}, serial number {serial}"),
            (None, Some(file)) => format!("a loop device over {file}"),
            (None, None) => format!("{model} without a serial number"),
        };
        let part = self.start.map(|at| format!(", its partition at byte {at}"));
        format!("{name}{}, {} bytes", part.unwrap_or_default(), self.bytes)
    }
}

/// The device nodes of this machine that match the key: none, one, or several similar ones.
pub fn find(key: &DriveKey) -> Vec<String> {
    let machine = Machine::here();
    let nodes = machine.names("/sys/class/block").into_iter();
    let nodes = nodes.filter_map(|name| Node::named(&machine, &name));
    let keys = nodes.filter_map(|node| DriveKey::of(&machine, &node));
    keys.filter(|found| found.is(key)).map(|found| found.path).collect()
}

/// Location of a directory relative to the device whose data are to be stored in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separation {
    /// On another drive, where it survives a power loss, or on one that the kernel does not
    /// reveal (ZFS, network).
    Elsewhere,
    /// On the same drive.
    SameDrive,
    /// In memory.
    Memory,
}

/// Location of a directory relative to a block device. Two namespaces of an NVMe drive are on the
/// same drive; a loop device is a separate drive, wherever its backing file is.
pub fn separation(directory: &Path, device: &Path) -> Result<Separation, DriveError> {
    let machine = Machine::here();
    let keeps = machine.locate(directory)?.stack;
    if keeps.ram || keeps.passed.iter().any(Node::is_ram) {
        return Ok(Separation::Memory);
    }
    let node = Node::at_path(&machine, device);
    let node = node.ok_or_else(|| DriveError::of("find", device, std::io::ErrorKind::NotFound))?;
    let disk = node.disk();
    let below = match numbered_as(&disk.name, "loop") {
        true => Stack { passed: vec![node, disk], ..Stack::default() },
        false => Walk::new(&machine, &Mounts::of(&machine)).under_node(&node),
    };
    let shared = keeps.passed.iter().any(|a| below.passed.iter().any(|b| same(&machine, a, b)));
    Ok(if shared { Separation::SameDrive } else { Separation::Elsewhere })
}

/// Whether two devices are on the same hardware.
fn same(machine: &Machine, a: &Node, b: &Node) -> bool {
    let (a, b) = (a.disk(), b.disk());
    let serial = |node: &Node| identity::identify(machine, node, false).serial;
    a == b || serial(&a).is_some_and(|serial_a| serial(&b) == Some(serial_a))
}

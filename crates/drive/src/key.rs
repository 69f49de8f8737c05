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
use crate::mounts::{Mounts, is_remote};
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
    /// Number of an NVMe namespace, because all namespaces of a drive have its serial number;
    /// `None` also in keys of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nsid: Option<u32>,
}

impl DriveKey {
    pub(crate) fn from_node(machine: &Machine, node: &Node) -> Option<DriveKey> {
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
            nsid: disk.value("nsid"),
        })
    }

    /// The key of a device node; `None` if the path is not a device node.
    pub fn from_path(device: &Path) -> Option<DriveKey> {
        let machine = Machine::here();
        DriveKey::from_node(&machine, &Node::at_path(&machine, device)?)
    }

    /// Whether both keys denote the same device, even in different places.
    pub fn is(&self, other: &DriveKey) -> bool {
        self.is_on_disk_of(other) && (self.start, self.bytes) == (other.start, other.bytes)
    }

    /// Whether both keys denote places on the same drive that have bytes in common, as a drive and
    /// its partition do.
    pub fn overlaps(&self, other: &DriveKey) -> bool {
        let [a, b] = [self, other].map(|key| key.start.unwrap_or(0));
        let ends = (a.saturating_add(self.bytes), b.saturating_add(other.bytes));
        self.is_on_disk_of(other) && a < ends.1 && b < ends.0
    }

    /// Whether both keys denote the same whole device. An unknown namespace may be any.
    fn is_on_disk_of(&self, other: &DriveKey) -> bool {
        fn disk(key: &DriveKey) -> (&Option<String>, &Option<String>, u64, &Option<String>) {
            (&key.model, &key.serial, key.disk_bytes, &key.backing_file)
        }
        let namespaces = self.nsid.zip(other.nsid);
        disk(self) == disk(other) && namespaces.is_none_or(|(a, b)| a == b)
    }

    /// Whether a serial number or backing file distinguishes it from other drives of the same size.
    /// The serial number of a USB device may be that of a reader or dock: it then only
    /// distinguishes the reader.
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
    Machine::here().find(key)
}

/// Location of a directory relative to the device whose data are to be stored in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separation {
    /// On another drive, where it survives a power loss, or on another machine.
    Elsewhere,
    SameDrive,
    Memory,
    /// On a drive that the kernel does not reveal (ZFS, a container), which may be the same.
    Unknown,
}

/// Location of a directory relative to a block device that the kernel grants exclusively. Two
/// namespaces of an NVMe drive are on the same drive; a loop device is a separate drive, wherever
/// its backing file is.
pub fn separation(directory: &Path, device: &Path) -> Result<Separation, DriveError> {
    Machine::here().separation(directory, device)
}

impl Machine {
    /// [`find`] on this machine.
    pub fn find(&self, key: &DriveKey) -> Vec<String> {
        let nodes = self.names("/sys/class/block").into_iter();
        let nodes = nodes.filter_map(|name| Node::named(self, &name)).filter(Node::is_shown);
        let keys = nodes.filter_map(|node| DriveKey::from_node(self, &node));
        keys.filter(|found| found.is(key)).map(|found| found.path).collect()
    }

    /// [`separation`] on this machine.
    pub fn separation(&self, directory: &Path, device: &Path) -> Result<Separation, DriveError> {
        let place = self.locate(directory)?;
        let keeps = place.stack;
        if keeps.ram || keeps.passed.iter().any(Node::is_ram) {
            return Ok(Separation::Memory);
        }
        let node = Node::at_path(self, device);
        let node =
            node.ok_or_else(|| DriveError::from_io("find", device, std::io::ErrorKind::NotFound))?;
        let disk = node.disk();
        let stack = if numbered_as(&disk.name, "loop") {
            Stack { passed: vec![node.clone(), disk], ..Stack::default() }
        } else {
            Walk::new(self, &Mounts::read(self)).under_node(&node)
        };
        let shared = keeps.passed.iter().any(|a| stack.passed.iter().any(|b| same(self, a, b)));
        let is_known = !keeps.passed.is_empty() || is_remote(&place.filesystem.kind);
        Ok(if shared {
            Separation::SameDrive
        } else if is_known || is_alone(self, &node, &stack) {
            Separation::Elsewhere
        } else {
            Separation::Unknown
        })
    }
}

/// Whether a device is all of its drive: no partition, without a layer below it, and without
/// another device on the same hardware. If the kernel grants it exclusively, no mounted file system
/// is on the drive.
fn is_alone(machine: &Machine, node: &Node, below: &Stack) -> bool {
    let devices = machine.names("/sys/block").into_iter();
    let devices = devices.filter_map(|name| Node::named(machine, &name)).filter(Node::is_shown);
    let mut devices = devices.filter(|other| other != node && other.bytes() > Some(0));
    below.passed.iter().all(|layer| layer == node) && !devices.any(|o| same(machine, &o, node))
}

/// Whether two devices are on the same hardware.
fn same(machine: &Machine, a: &Node, b: &Node) -> bool {
    let (a, b) = (a.disk(), b.disk());
    if a == b {
        return true;
    }
    let [a, b] = [a, b].map(|node| identity::identify(machine, &node, false).serial);
    a.is_some() && a == b
}

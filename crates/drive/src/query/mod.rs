//! Queries a drive with commands, in addition to sysfs.
//!
//! Each bus has a file, which adds the drive's responses to the identity, and failed queries with
//! their reasons to `missing` (rule 9 of safety). All commands are read-only. A drive is queried
//! when it is listed, when it is opened for a run, and after the run, never during a measurement.

mod ata;
mod card;
pub(crate) mod nvme;
mod scsi;
mod usb;

use std::fs::File;
use std::io;

use record::{Detail, DriveIdentity, Health};

use crate::bus::Bus;
use crate::identity;
use crate::machine::Machine;
use crate::node::Node;

/// A drive being queried.
struct Query<'a> {
    disk: &'a Node,
    /// Its node, if it could be opened; a simulated machine has none.
    file: io::Result<File>,
    id: &'a mut DriveIdentity,
}

/// Identity of a whole device, from sysfs and from the drive itself.
pub(crate) fn identify(machine: &Machine, disk: &Node, ram: bool) -> DriveIdentity {
    let mut id = identity::identify(machine, disk, ram);
    let run: fn(&mut Query<'_>) = match Bus::from_node(disk) {
        Bus::Nvme => nvme::run,
        Bus::Sata => ata::run,
        Bus::Usb => usb::run,
        Bus::Scsi | Bus::Ufs => scsi::run,
        Bus::Sd | Bus::Mmc => {
            card::run(machine, disk, &mut id);
            return id;
        }
        _ => return id,
    };
    let file = if machine.is_here() {
        File::open(disk.path())
    } else {
        Err(io::ErrorKind::Unsupported.into())
    };
    run(&mut Query { disk, file, id: &mut id });
    id
}

/// Current health of a previously identified drive; `None` if it is gone or was replaced.
pub fn health(drive: &DriveIdentity) -> Option<Health> {
    let machine = Machine::here();
    let node = Node::named(&machine, &drive.name)?;
    let current = identify(&machine, &node, drive.ram);
    (current.serial == drive.serial && current.bus == drive.bus).then_some(current.health)
}

impl Query<'_> {
    /// Runs a command on the drive's node.
    fn with<T>(&self, command: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
        match &self.file {
            Ok(file) => command(file),
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        }
    }

    /// The result, or a note of the reason why it is missing.
    fn or_missing<T>(&mut self, what: &str, result: io::Result<T>) -> Option<T> {
        result.map_err(|error| self.miss(what, &error)).ok()
    }

    fn miss(&mut self, what: &str, error: &io::Error) {
        let reason = match error.kind() {
            // A simulated machine, where no system call was made: the drive cannot be queried.
            io::ErrorKind::Unsupported if error.raw_os_error().is_none() => return,
            io::ErrorKind::PermissionDenied => "needs root".to_string(),
            _ => error.to_string(),
        };
        self.id.missing.push(format!("{what}: {reason}"));
    }

    fn detail(&mut self, name: &str, value: impl Into<String>) {
        detail(self.id, name, value);
    }
}

fn detail(id: &mut DriveIdentity, name: &str, value: impl Into<String>) {
    id.details.push(Detail { name: name.into(), value: value.into() });
}

//! Asks a drive about itself with commands, on top of what sysfs tells.
//!
//! Each bus has its own file; each adds to the identity what the drive answered, and to `missing`
//! what it did not and why (rule 9 of safety). Only commands that read are sent. A drive is asked
//! when it is listed and when it is opened for a run, never while it is measured.

mod ata;
mod card;
pub(crate) mod nvme;
mod scsi;
mod usb;

use std::fs::File;
use std::io;

use record::{Detail, DriveIdentity, Health};

use crate::identity::{self, Bus};
use crate::machine::Machine;
use crate::node::Node;

/// A drive that is being asked.
struct Asked<'a> {
    disk: &'a Node,
    /// Its node, where it could be opened; never that of another machine.
    file: io::Result<File>,
    id: &'a mut DriveIdentity,
}

/// Identity of a whole device, from sysfs and from the drive itself.
pub(crate) fn fully(machine: &Machine, disk: &Node, ram: bool) -> DriveIdentity {
    let mut id = identity::identify(machine, disk, ram);
    let ask: fn(&mut Asked<'_>) = match Bus::of(disk) {
        Bus::Nvme => nvme::ask,
        Bus::Sata => ata::ask,
        Bus::Usb => usb::ask,
        Bus::Scsi | Bus::Ufs => scsi::ask,
        Bus::Sd | Bus::Mmc => {
            card::ask(machine, disk, &mut id);
            return id;
        }
        _ => return id,
    };
    let file = match machine.is_here() {
        true => File::open(disk.path()),
        false => Err(io::ErrorKind::Unsupported.into()),
    };
    ask(&mut Asked { disk, file, id: &mut id });
    id
}

/// What a drive that was identified before tells of its health now; `None` where it has gone, or
/// another one took its place.
pub fn health(drive: &DriveIdentity) -> Option<Health> {
    let machine = Machine::here();
    let node = Node::named(&machine, &drive.name)?;
    let now = fully(&machine, &node, drive.ram);
    (now.serial == drive.serial && now.bus == drive.bus).then_some(now.health)
}

impl Asked<'_> {
    /// Runs a command on the drive's node.
    fn with<T>(&self, command: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
        match &self.file {
            Ok(file) => command(file),
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        }
    }

    /// What came, or a word on why not.
    fn or_missing<T>(&mut self, what: &str, result: io::Result<T>) -> Option<T> {
        result.map_err(|error| self.miss(what, &error)).ok()
    }

    fn miss(&mut self, what: &str, error: &io::Error) {
        let why = match error.kind() {
            // The kernel files of another machine: it could not be asked.
            io::ErrorKind::Unsupported => return,
            io::ErrorKind::PermissionDenied => "needs root".to_string(),
            _ => error.to_string(),
        };
        self.id.missing.push(format!("{what}: {why}"));
    }

    fn detail(&mut self, name: &str, value: impl Into<String>) {
        detail(self.id, name, value);
    }
}

fn detail(id: &mut DriveIdentity, name: &str, value: impl Into<String>) {
    id.details.push(Detail { name: name.into(), value: value.into() });
}

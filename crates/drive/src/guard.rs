//! Checks during a run that the target is still the drive the user named and that nothing else has
//! started to use it.

use std::fs::{File, Metadata};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

use record::Safety;

use crate::error::DriveError;
use crate::graph::Graph;
use crate::hold::Others;
use crate::identity;
use crate::key::DriveKey;
use crate::machine::{DevNumber, Machine};
use crate::node::Node;
use crate::open_file::OpenFile;
use crate::partitions::PartitionTable;

/// The guard of a target: checked before each phase and kept until the end of the run.
#[derive(Debug)]
pub struct Guard(Arc<Kind>);

/// The checks of a guard for another thread, which makes them during a phase.
#[derive(Clone, Debug)]
pub struct Sentry(Arc<Kind>);

#[derive(Debug)]
enum Kind {
    Nothing,
    File(Box<OpenFile>),
    /// A scratch file that needs its name until the end of the run, when it is removed.
    Scratch {
        _name: ScratchName,
    },
    Device(Box<Held>),
}

/// The name of a scratch file, removed on drop.
#[derive(Debug)]
struct ScratchName(PathBuf);

/// A block device and its identity when it was opened.
#[derive(Debug)]
pub(crate) struct Held {
    machine: Machine,
    path: PathBuf,
    /// Opened with O_EXCL if the device is overwritten or borrowed, to prevent mounting.
    pub file: File,
    /// The devices with the same bytes, opened in the same way.
    others: Others,
    allowed: Safety,
    identity: Identity,
}

/// The properties that distinguish a device from another with the same name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Identity {
    number: DevNumber,
    bytes: u64,
    serial: Option<String>,
    /// Attachment count of the disk (Linux 5.15): changes if the card in a reader is exchanged.
    sequence: Option<u64>,
    /// Size of the file under a loop device: reads beyond its end return zeros without an error.
    backing_bytes: Option<u64>,
    /// Start of a partition on its disk, 512-byte sectors.
    start: Option<u64>,
    /// Partitions of a whole drive as the kernel knows them: number, start and size in 512-byte
    /// sectors.
    partitions: Vec<(Option<u32>, Option<u64>, Option<u64>)>,
}

impl Identity {
    pub fn read(machine: &Machine, node: &Node) -> Option<Identity> {
        let disk = node.disk();
        Some(Identity {
            number: node.number()?,
            bytes: node.bytes()?,
            serial: identity::identify(machine, &disk, false).serial,
            sequence: disk.value("diskseq"),
            backing_bytes: backing_bytes(&disk),
            start: node.value("start"),
            partitions: node.partitions().iter().map(range).collect(),
        })
    }

    pub fn number(&self) -> DevNumber {
        self.number
    }

    /// The confirmation for `--destroy`: the serial number, or else the size in bytes.
    pub fn confirmation(&self) -> (&'static str, String) {
        match &self.serial {
            Some(serial) => ("serial number", serial.clone()),
            None => ("size in bytes", self.bytes.to_string()),
        }
    }
}

impl Guard {
    /// The guard of a target that needs no checks.
    pub fn none() -> Guard {
        Guard(Arc::new(Kind::Nothing))
    }

    /// Guards an open file.
    pub(crate) fn file(open: OpenFile) -> Guard {
        Guard(Arc::new(Kind::File(Box::new(open))))
    }

    /// A guard that removes the file on drop.
    pub(crate) fn named(scratch: PathBuf) -> Guard {
        Guard(Arc::new(Kind::Scratch { _name: ScratchName(scratch) }))
    }

    /// Guards an open device. For overwriting or borrowing, `file` and the devices with the same
    /// bytes, `others`, must be open with O_EXCL.
    pub(crate) fn device(
        machine: &Machine,
        path: PathBuf,
        (file, others): (File, Others),
        allowed: Safety,
        identity: Identity,
    ) -> Guard {
        let machine = machine.clone();
        let device = Held { machine, path, file, others, allowed, identity };
        Guard(Arc::new(Kind::Device(Box::new(device))))
    }

    /// The key to recognise the device later; `None` if the target is not a device.
    pub fn key(&self) -> Option<DriveKey> {
        let Kind::Device(device) = &*self.0 else { return None };
        let node = Node::numbered(&device.machine, device.identity.number)?;
        DriveKey::from_node(&device.machine, &node)
    }

    pub(crate) fn held(&self) -> Option<&Held> {
        match &*self.0 {
            Kind::Device(held) => Some(held),
            Kind::Nothing | Kind::File(..) | Kind::Scratch { .. } => None,
        }
    }

    /// Checks serial number, size and device number to verify that the target is still the one
    /// opened. An exclusively opened device must not have been mounted or held since.
    pub fn check_again(&self) -> Result<(), DriveError> {
        self.sentry().check()
    }

    /// The checks for another thread.
    pub fn sentry(&self) -> Sentry {
        Sentry(Arc::clone(&self.0))
    }
}

impl Sentry {
    /// [`Guard::check_again`]: takes milliseconds.
    pub fn check(&self) -> Result<(), DriveError> {
        match &*self.0 {
            Kind::Device(held) => held.check(),
            Kind::File(open) => open.check(&Machine::here()),
            Kind::Nothing | Kind::Scratch { .. } => Ok(()),
        }
    }

    /// Checks the size of a file: a microsecond. Nothing is checked of a device.
    pub fn check_size(&self) -> Result<(), DriveError> {
        match &*self.0 {
            Kind::File(open) => open.check_size(),
            Kind::Device(_) | Kind::Nothing | Kind::Scratch { .. } => Ok(()),
        }
    }

    /// Checks the users of a file whose size may change, or everything of a device.
    pub fn check_users(&self) -> Result<(), DriveError> {
        match &*self.0 {
            Kind::File(open) => open.check_users(&Machine::here()),
            Kind::Device(_) | Kind::Nothing | Kind::Scratch { .. } => self.check(),
        }
    }

    /// Whether there is anything to check.
    pub fn has_target(&self) -> bool {
        matches!(&*self.0, Kind::File(_) | Kind::Device(_))
    }
}

impl Drop for ScratchName {
    fn drop(&mut self) {
        // If the name cannot be removed, the next run removes it as an orphan.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Held {
    /// The device as the kernel presents it now.
    pub fn node(&self) -> Option<Node> {
        Node::numbered(&self.machine, self.identity.number)
    }

    /// Whether the device may be overwritten: its serial number was typed, unlike that of a
    /// borrowed device.
    pub fn may_destroy(&self) -> bool {
        self.allowed == Safety::Destroys
    }

    /// Whether the drive had partitions, and its table no longer names any: only the backup of a GPT
    /// may be left.
    fn has_lost_table(&self) -> bool {
        let sector = self.node().and_then(|node| node.value("queue/logical_block_size"));
        !self.identity.partitions.is_empty()
            && PartitionTable::read(&self.file, self.identity.bytes, sector.unwrap_or(512))
                .is_none_or(|table| table.entries.is_empty())
    }

    fn check(&self) -> Result<(), DriveError> {
        let path = self.path.display().to_string();
        let changed = |what: String| DriveError::Changed { path: path.clone(), what };
        let meta =
            self.file.metadata().map_err(|e| DriveError::io(format!("cannot query {path}"), e))?;
        let node = Node::numbered(&self.machine, DevNumber::from_dev(meta.rdev()));
        let error_gone = || DriveError::Gone { path: path.clone() };
        let node = node.ok_or_else(error_gone)?;
        let current = Identity::read(&self.machine, &node);
        let mut current =
            current.filter(|current| !fading(&self.identity, current)).ok_or_else(error_gone)?;
        if self.may_destroy() && self.has_lost_table() {
            // Kernels before 6.3 may reread a table that the run has overwritten.
            current.partitions.clone_from(&self.identity.partitions);
        }
        if current != self.identity {
            return Err(changed(difference(&self.identity, &current)));
        }
        let mut file = &self.file;
        let bytes = file.seek(SeekFrom::End(0));
        let bytes =
            bytes.map_err(|e| DriveError::io(format!("cannot query the size of {path}"), e))?;
        match resized(self.identity.bytes, bytes) {
            Some(Resized::Gone) => return Err(error_gone()),
            Some(Resized::Another(what)) => return Err(changed(what)),
            None => {}
        }
        let reasons = if self.allowed >= Safety::Borrows {
            self.others.uses(Graph::read(&self.machine).contacts_of(&node))
        } else {
            Vec::new()
        };
        if reasons.is_empty() { Ok(()) } else { Err(DriveError::InUse { path, reasons }) }
    }
}

/// Number, start and size of a partition.
fn range(partition: &Node) -> (Option<u32>, Option<u64>, Option<u64>) {
    (partition.partition(), partition.value("start"), partition.value("size"))
}

/// Size of the file under a loop device, if visible.
fn backing_bytes(disk: &Node) -> Option<u64> {
    disk.backing_file()?.metadata().ok().filter(Metadata::is_file).map(|meta| meta.len())
}

/// Whether a drive is disappearing: the kernel no longer reports properties that it reported
/// before. A replacement drive would report its own.
fn fading(then: &Identity, now: &Identity) -> bool {
    (then.serial.is_some() && now.serial.is_none())
        || (then.sequence.is_some() && now.sequence.is_none())
        || (then.bytes > 0 && now.bytes == 0)
}

/// The meaning of a size change of a drive that sysfs still shows.
#[derive(Debug, PartialEq)]
enum Resized {
    /// Removed a moment ago.
    Gone,
    /// Exchanged or resized, in words.
    Another(String),
}

fn resized(then: u64, now: u64) -> Option<Resized> {
    match now {
        _ if now == then => None,
        0 => Some(Resized::Gone),
        _ => Some(Resized::Another(format!("it had {then} bytes, now {now}"))),
    }
}

fn difference(then: &Identity, now: &Identity) -> String {
    if then.bytes != now.bytes {
        return format!("it had {} bytes, now {}", then.bytes, now.bytes);
    }
    if then.backing_bytes != now.backing_bytes {
        let [then, now] = [then, now].map(|identity| identity.backing_bytes);
        let [then, now] = [then, now].map(|b| b.map_or("no".into(), |bytes| bytes.to_string()));
        return format!("the file under it had {then} bytes, now {now}");
    }
    if then.serial != now.serial {
        let [then, now] = [then, now].map(|identity| identity.serial.as_deref().unwrap_or("none"));
        return format!("its serial number was {then}, now {now}");
    }
    if (then.start, &then.partitions) != (now.start, &now.partitions) {
        "its partition table is another".into()
    } else {
        "it was replaced by another drive".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive() -> Identity {
        let number = DevNumber::from_dev(rustix::fs::makedev(8, 16));
        Identity {
            number,
            bytes: 4096,
            serial: Some("S1".into()),
            sequence: Some(7),
            backing_bytes: None,
            start: None,
            partitions: Vec::new(),
        }
    }

    #[test]
    fn a_drive_that_reports_less_than_before_is_disappearing() {
        let fades = |now: Identity| fading(&drive(), &now);
        assert!(fades(Identity { serial: None, ..drive() }));
        assert!(fades(Identity { sequence: None, ..drive() }));
        assert!(fades(Identity { bytes: 0, ..drive() }));
        assert!(!fades(drive()));
        let replaced = Identity { serial: Some("S2".into()), sequence: Some(8), ..drive() };
        assert!(!fades(Identity { bytes: 1, ..replaced }), "a replacement reports its own");
    }

    #[test]
    fn a_drive_that_never_had_a_property_does_not_lose_it() {
        let bare = Identity { serial: None, sequence: None, bytes: 0, ..drive() };
        assert!(!fading(&bare, &bare));
        assert!(!fading(&bare, &drive()));
    }

    #[test]
    fn a_size_of_zero_means_gone_and_any_other_change_another_drive() {
        assert_eq!(resized(4096, 4096), None);
        assert_eq!(resized(0, 0), None, "a reader without a card");
        assert_eq!(resized(4096, 0), Some(Resized::Gone));
        let says = |then, now| match resized(then, now) {
            Some(Resized::Another(what)) => what,
            other => format!("{other:?}"),
        };
        assert_eq!(says(4096, 512), "it had 4096 bytes, now 512");
        assert_eq!(says(0, 512), "it had 0 bytes, now 512");
    }

    #[test]
    fn the_difference_names_a_property_that_the_user_can_check() {
        let says = |now: Identity| difference(&drive(), &now);
        let smaller = Identity { bytes: 512, serial: Some("S2".into()), ..drive() };
        assert_eq!(says(smaller), "it had 4096 bytes, now 512");
        let other = Identity { serial: Some("S2".into()), ..drive() };
        assert_eq!(says(other), "its serial number was S1, now S2");
        let same_kind = Identity { sequence: Some(8), ..drive() };
        assert_eq!(says(same_kind), "it was replaced by another drive");
    }
}

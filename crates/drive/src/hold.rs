//! Exclusive access to a target and to what shares its bytes, so that nothing is mounted there
//! meanwhile.

use std::fs::{File, OpenOptions};
use std::io::Error;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::error::DriveError;
use crate::graph::{Attached, Contacts, Graph};
use crate::node::Node;

/// A forked child keeps copies of descriptors that other threads have closed until it calls exec,
/// and formatting tools release a drive late. Both take milliseconds.
const BUSY_RETRIES: u32 = 5;
const BUSY_PAUSE: Duration = Duration::from_millis(20);

/// Opens a device node. With `exclusive`, the kernel refuses a device that is mounted or held in
/// any namespace, and prevents mounting it while it is open.
pub(crate) fn open_node(path: &Path, write: bool, exclusive: bool) -> Result<File, DriveError> {
    let flags = if exclusive { OFlags::EXCL } else { OFlags::empty() };
    let mut options = OpenOptions::new();
    options.read(true).write(write).custom_flags(flags.bits() as i32);
    let busy = |error: &Error| Errno::from_io_error(error) == Some(Errno::BUSY);
    let mut file = options.open(path);
    for _ in 0..BUSY_RETRIES {
        if !file.as_ref().is_err_and(busy) {
            break;
        }
        std::thread::sleep(BUSY_PAUSE);
        file = options.open(path);
    }
    file.map_err(|error| {
        if !busy(&error) {
            return DriveError::from_io(if write { "write" } else { "read" }, path, error);
        }
        let reason = "the kernel reports another holder (ZFS, or a mount elsewhere)";
        DriveError::InUse { path: path.display().to_string(), reasons: vec![reason.into()] }
    })
}

/// Devices that share bytes with a target and are held with it.
#[derive(Debug, Default)]
pub(crate) struct Others {
    _files: Vec<File>,
    /// Names of the unused loop devices beside the target.
    beside: Vec<String>,
}

impl Others {
    /// Holds what is below the loop devices under a device, and the unused loop devices beside it.
    pub fn hold(graph: &Graph, spec: &str, node: &Node) -> Result<Others, DriveError> {
        let mut files = lower(graph, spec, node)?;
        let attachments = graph.contacts_of(node).attached;
        for other in &attachments {
            files.extend(beside(spec, other)?);
        }
        let names = attachments.into_iter().map(|other| other.node.name).collect();
        Ok(Others { _files: files, beside: names })
    }

    /// The uses of a target, and the loop devices that were attached to its bytes since.
    pub fn uses(&self, contacts: Contacts) -> Vec<String> {
        let Contacts { mut uses, attached } = contacts;
        let attachments =
            attached.into_iter().filter(|other| !self.beside.contains(&other.node.name));
        uses.extend(attachments.map(|other| other.words));
        uses
    }
}

/// Opens the devices below the loop devices under a device exclusively: loop devices do not claim
/// what they stand on, so the kernel would grant the upper one although the lower one is mounted. A
/// refusal is expected if something is known to use other bytes of the lower device.
fn lower(graph: &Graph, spec: &str, node: &Node) -> Result<Vec<File>, DriveError> {
    let mut files = Vec::new();
    for lower in graph.below_loops(node) {
        match open_node(Path::new(&lower.path()), false, true) {
            Ok(file) => files.push(file),
            Err(DriveError::InUse { .. }) if !graph.is_shared(&lower, node) => {
                let path = lower.path();
                let reason = format!("below it, the kernel reports another holder of {path}");
                return Err(DriveError::InUse { path: spec.into(), reasons: vec![reason] });
            }
            // Without the permission or the node, the graph alone decides.
            Err(_) => {}
        }
    }
    Ok(files)
}

/// Opens an unused loop device beside the target exclusively. One that cannot be opened is in use.
fn beside(spec: &str, other: &Attached) -> Result<Option<File>, DriveError> {
    let path = other.node.path();
    let reason = match open_node(Path::new(&path), false, true) {
        Ok(file) => return Ok(Some(file)),
        Err(DriveError::InUse { .. }) if other.is_used_elsewhere => return Ok(None),
        Err(DriveError::InUse { .. }) => format!("the kernel reports another holder of {path}"),
        Err(error) => format!("it cannot be held: {error}"),
    };
    let reasons = vec![format!("{}, and {reason}", other.words)];
    Err(DriveError::InUse { path: spec.into(), reasons })
}

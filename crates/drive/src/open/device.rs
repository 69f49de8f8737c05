//! Block devices: opened for reading by default. They are opened for writing only if confirmed with
//! `--destroy` or borrowed, and then only if they are unused and the kernel grants exclusive access
//! (rules 2 and 4 of safety).

use std::fs::File;
use std::path::{Path, PathBuf};

use record::{Safety, TargetKind};

use super::{Expected, Facts, OpenRequest, Plan, first_bytes};
use crate::contents;
use crate::error::DriveError;
use crate::graph::Graph;
use crate::guard::{Guard, Identity};
use crate::hold::{Others, open_node};
use crate::machine::{DevNumber, Machine};
use crate::mounts::Mounts;
use crate::node::Node;
use crate::stack::Walk;

pub(super) fn plan(
    machine: &Machine,
    spec: &str,
    number: u64,
    request: &OpenRequest,
) -> Result<Plan, DriveError> {
    let path = Path::new(spec).canonicalize().unwrap_or_else(|_| PathBuf::from(spec));
    let node = Node::numbered(machine, DevNumber::from_dev(number)).ok_or_else(|| unknown(spec))?;
    let identity = Identity::read(machine, &node).ok_or_else(|| unknown(spec))?;
    let block_bytes = node.disk().value("queue/logical_block_size").unwrap_or(512);
    let bytes = usable_bytes(spec, &node, block_bytes, request.size)?;
    let safety = allowed(machine, spec, &node, &identity, request)?;
    let confirmed = safety == Safety::Destroys;
    let file = open_node(&path, false, safety >= Safety::Borrows)?;
    if safety >= Safety::Borrows {
        Others::hold(&Graph::read(machine), spec, &node)?;
    }
    let destroys = confirmed.then(|| lost(&node, &file, block_bytes));
    let stack = Walk::new(machine, &Mounts::read(machine)).under_node(&node);
    let facts = Facts {
        spec,
        kind: TargetKind::Device,
        path: &path,
        bytes,
        filesystem: None,
        logical_block_bytes: block_bytes,
        allowed: safety,
        discard: confirmed && can_discard(&node),
    };
    let info = facts.info(machine, &stack);
    Ok(Plan { info, stack, identity: Some(Expected::Device(identity)), destroys })
}

fn usable_bytes(
    spec: &str,
    node: &Node,
    block_bytes: u32,
    requested: Option<u64>,
) -> Result<u64, DriveError> {
    let bytes = node.bytes().unwrap_or(0);
    if bytes == 0 {
        let text = format!("{spec} has no bytes: no medium, or nothing attached");
        return Err(DriveError::BadSize { text, hint: None });
    }
    first_bytes(spec, bytes, block_bytes, requested)
}

fn can_discard(node: &Node) -> bool {
    node.disk().value::<u64>("queue/discard_max_bytes").is_some_and(|most| most > 0)
}

fn unknown(spec: &str) -> DriveError {
    DriveError::NotFound {
        path: spec.into(),
        what: "unknown to the kernel".into(),
        hint: Some("ssdyno list".into()),
    }
}

fn allowed(
    machine: &Machine,
    spec: &str,
    node: &Node,
    identity: &Identity,
    request: &OpenRequest,
) -> Result<Safety, DriveError> {
    let path = spec.to_string();
    let (expected, word) = identity.confirmation();
    let granted = match &request.destroy {
        Some(given) if *given != word => {
            return Err(DriveError::Unconfirmed { path, given: given.clone(), expected, is: None });
        }
        Some(_) if request.wants == Safety::Destroys => Safety::Destroys,
        _ if request.wants == Safety::Borrows => Safety::Borrows,
        _ => return Ok(Safety::Reads),
    };
    if node.is_read_only() || node.disk().is_read_only() {
        return Err(DriveError::ReadOnly { what: path });
    }
    let reasons = Graph::read(machine).uses_of(node);
    if reasons.is_empty() { Ok(granted) } else { Err(DriveError::InUse { path, reasons }) }
}

/// Contents of a device that would be overwritten.
fn lost(node: &Node, file: &File, block_bytes: u32) -> String {
    format!("everything on {}: {}", node.path(), content_of(node, file, block_bytes))
}

/// Contents of a device, in words.
pub(crate) fn content_of(node: &Node, file: &File, block_bytes: u32) -> String {
    contents::in_words(&contents::scan(file, node.bytes().unwrap_or(0), block_bytes))
}

/// Opens the device as planned, if it is still the planned device.
pub(super) fn open(
    machine: &Machine,
    path: &Path,
    allowed: Safety,
    identity: Identity,
) -> Result<(File, Guard), DriveError> {
    let write = allowed >= Safety::Borrows;
    let exclusive = open_node(path, write, write)?;
    let file = open_node(path, write, false)?;
    let node = Node::numbered(machine, identity.number());
    let other_devices = match node.filter(|_| write) {
        Some(node) => Others::hold(&Graph::read(machine), &path.to_string_lossy(), &node)?,
        None => Others::default(),
    };
    let guard =
        Guard::device(machine, path.to_path_buf(), (exclusive, other_devices), allowed, identity);
    guard.check_again()?;
    Ok((file, guard))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_supports_discards_if_the_kernel_reports_a_maximum() {
        let dir = tempfile::TempDir::new().expect("a directory");
        let node = Node { name: "sdx".into(), dir: dir.path().to_path_buf() };
        std::fs::create_dir(dir.path().join("queue")).expect("created");
        assert!(!can_discard(&node), "without the file");
        for (most, discards) in [("0", false), ("1", true), ("2147450880", true)] {
            std::fs::write(dir.path().join("queue/discard_max_bytes"), most).expect("written");
            assert_eq!(can_discard(&node), discards, "{most}");
        }
    }
}

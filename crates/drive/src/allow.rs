//! The operations allowed on a block device, with the reason for any limit.

use std::fs::File;
use std::io::{Error, ErrorKind};
use std::path::Path;

use record::Safety;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use serde::Serialize;

use crate::error::{CONFINED, who_may};
use crate::graph::Graph;
use crate::guard::Identity;
use crate::machine::Machine;
use crate::node::Node;

/// The most destructive operation possible on a device in its present state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Allowance {
    /// `reads` or `destroys`; `null` if not even reads are possible.
    pub most: Option<Safety>,
    /// The reason for the limit, in words.
    pub reason: String,
    /// Argument of `--destroy`, if the device may be overwritten: its serial number, or else its
    /// size in bytes.
    pub confirm: Option<String>,
    /// Everything that uses a byte of the device, in words; empty if it is free.
    pub uses: Vec<String>,
}

/// The operations allowed to this user on a device or partition.
pub(crate) fn allowance(machine: &Machine, graph: &Graph, node: &Node) -> Allowance {
    let path = machine.path(node.path());
    let uses = graph.uses_of(node);
    let no_more =
        |most, reason: String| Allowance { most, reason, confirm: None, uses: uses.clone() };
    if node.bytes().unwrap_or(0) == 0 {
        return no_more(None, "nothing: no medium".into());
    }
    if let Err(error) = File::open(&path) {
        return no_more(None, format!("nothing: {}", refusal(&path, &error)));
    }
    if let Some(reason) = unwritable(&uses, node, &path) {
        return no_more(Some(Safety::Reads), format!("reads only: {reason}"));
    }
    let Some(identity) = Identity::read(machine, node) else {
        return no_more(Some(Safety::Reads), "reads only: it cannot be identified".into());
    };
    let (name, word) = identity.confirmation();
    Allowance {
        most: Some(Safety::Destroys),
        reason: format!("anything: not in use; confirm with its {name}: --destroy={word}"),
        confirm: Some(word),
        uses,
    }
}

/// Why a device must not or cannot be written; `None` if it can.
fn unwritable(uses: &[String], node: &Node, path: &Path) -> Option<String> {
    match uses {
        [] => {}
        [only] => return Some(only.clone()),
        [first, more @ ..] => return Some(format!("{first}, and {} more", more.len())),
    }
    if node.is_read_only() || node.disk().is_read_only() {
        return Some("it is read-only".into());
    }
    let is_denied = accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_err();
    is_denied.then(|| format!("writes need {}", who_may(path, Access::WRITE_OK)))
}

fn refusal(path: &Path, error: &Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => match who_may(path, Access::READ_OK) {
            missing if missing == CONFINED => "a container or control group forbids it".into(),
            missing => format!("reads need {missing}"),
        },
        ErrorKind::NotFound => format!("there is no device node {}", path.display()),
        _ => format!("it cannot be opened: {error}"),
    }
}

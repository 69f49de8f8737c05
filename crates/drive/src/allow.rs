//! What ssdyno may do with a block device, and why no more.

use std::fs::File;
use std::io::{Error, ErrorKind};
use std::path::Path;

use record::Safety;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use serde::Serialize;

use crate::error::who_may;
use crate::guard::Identity;
use crate::machine::Machine;
use crate::node::Node;
use crate::usage;

/// The most that may be done with a device as it is now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Allowance {
    /// `reads` or `destroys`; `null` where not even reads are possible.
    pub most: Option<Safety>,
    /// Why that and no more, in words.
    pub reason: String,
    /// What `--destroy` has to be given, where the device may be given away: its serial number, or
    /// its size in bytes.
    pub confirm: Option<String>,
}

/// What may be done with a device or partition by this user.
pub(crate) fn allowance(machine: &Machine, node: &Node) -> Allowance {
    let path = machine.path(node.path());
    let no_more = |most, reason: String| Allowance { most, reason, confirm: None };
    if node.bytes().unwrap_or(0) == 0 {
        return no_more(None, "nothing: no medium is in it".into());
    }
    if let Err(error) = File::open(&path) {
        return no_more(None, format!("nothing: {}", refusal(&path, &error)));
    }
    let reads = |reason: &str| no_more(Some(Safety::Reads), format!("reads only: {reason}"));
    let uses = usage::uses_of(machine, node);
    match uses.as_slice() {
        [] => {}
        [only] => return reads(only),
        [first, more @ ..] => return reads(&format!("{first}, and {} more", more.len())),
    }
    if node.value::<u8>("ro") == Some(1) || node.disk().value::<u8>("ro") == Some(1) {
        return reads("it is read-only");
    }
    if accessat(CWD, &path, Access::WRITE_OK, AtFlags::EACCESS).is_err() {
        return reads(&format!("writes need {}", who_may(&path, Access::WRITE_OK)));
    }
    let Some(identity) = Identity::of(machine, node) else {
        return reads("it cannot be identified");
    };
    let (name, word) = identity.confirmation();
    Allowance {
        most: Some(Safety::Destroys),
        reason: format!("anything: nobody uses it, and --destroy with its {name} gives it away"),
        confirm: Some(word),
    }
}

fn refusal(path: &Path, error: &Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => format!("reads need {}", who_may(path, Access::READ_OK)),
        ErrorKind::NotFound => format!("there is no device node {}", path.display()),
        _ => format!("it cannot be opened: {error}"),
    }
}

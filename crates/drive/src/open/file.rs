//! Files of the user: opened for reading, or for writing if their size was given as confirmation.
//! Never truncated, never extended.

use std::fs::{File, Metadata, OpenOptions};
use std::path::Path;

use record::{Safety, TargetKind};
use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::scratch::direct_bytes;
use super::{Facts, OpenRequest, Plan, first_bytes};
use crate::error::DriveError;
use crate::machine::Machine;
use crate::usage;

pub(super) fn plan(
    machine: &Machine,
    spec: &str,
    meta: &Metadata,
    request: &OpenRequest,
) -> Result<Plan, DriveError> {
    let location = machine.locate(Path::new(spec))?;
    let block_bytes = direct_bytes(&location.filesystem, &location.stack);
    let allowed = allowed(spec, meta.len(), request)?;
    check_access(&location.path, allowed)?;
    let bytes = first_bytes(spec, meta.len(), block_bytes, request.size)?;
    if allowed == Safety::Destroys {
        check_unused(machine, spec, &location.path)?;
    }
    let destroys = format!("the content of {}", location.path.display());
    let stack = location.stack;
    let facts = Facts {
        spec,
        kind: TargetKind::File,
        path: &location.path,
        bytes,
        filesystem: Some(location.filesystem),
        logical_block_bytes: block_bytes,
        allowed,
        discard: false,
    };
    let info = facts.info(machine, &stack);
    let destroys = (allowed == Safety::Destroys).then_some(destroys);
    Ok(Plan { info, stack, identity: None, destroys })
}

fn allowed(spec: &str, bytes: u64, request: &OpenRequest) -> Result<Safety, DriveError> {
    match &request.destroy {
        Some(given) if *given != bytes.to_string() => Err(DriveError::Unconfirmed {
            path: spec.into(),
            given: given.clone(),
            expected: "size in bytes",
            is: Some(bytes.to_string()),
        }),
        Some(_) if request.wants == Safety::Destroys => Ok(Safety::Destroys),
        _ => Ok(Safety::Reads),
    }
}

fn check_access(path: &Path, allowed: Safety) -> Result<(), DriveError> {
    let may = |access, action| {
        accessat(CWD, path, access, AtFlags::EACCESS).map_err(|e| DriveError::of(action, path, e))
    };
    may(Access::READ_OK, "read")?;
    if allowed == Safety::Destroys { may(Access::WRITE_OK, "write") } else { Ok(()) }
}

fn check_unused(machine: &Machine, spec: &str, path: &Path) -> Result<(), DriveError> {
    let reasons = usage::uses_of_file(machine, path);
    if reasons.is_empty() {
        return Ok(());
    }
    Err(DriveError::InUse { path: spec.into(), reasons })
}

pub(super) fn open(path: &Path, allowed: Safety) -> Result<File, DriveError> {
    let write = allowed == Safety::Destroys;
    let file = OpenOptions::new().read(true).write(write).open(path);
    file.map_err(|e| DriveError::of(if write { "write" } else { "read" }, path, e))
}

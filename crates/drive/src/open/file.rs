//! The user's files: opened for reading, or for writing if their size was given as confirmation.
//! Never truncated, never extended. Because a name may refer to another file later, a file is
//! opened through the descriptor whose device, inode and size were checked.

use std::fs::{File, Metadata, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use record::{Safety, TargetKind};
use rustix::fs::{Access, AtFlags, CWD, OFlags, accessat};

use super::scratch::direct_bytes;
use super::{Expected, Facts, OpenRequest, Plan, first_bytes};
use crate::error::DriveError;
use crate::graph::Graph;
use crate::guard::Guard;
use crate::machine::Machine;
use crate::open_file::{FileIdentity, OpenFile};

pub(super) fn plan(
    machine: &Machine,
    spec: &str,
    meta: &Metadata,
    request: &OpenRequest,
) -> Result<Plan, DriveError> {
    let location = machine.locate(Path::new(spec))?;
    let block_bytes = direct_bytes(&location.filesystem, &location.stack);
    let safety = allowed(spec, meta.len(), request)?;
    check_access(&location.path, safety)?;
    // The name may have been moved meanwhile; the location must be that of the inspected file.
    let identity = FileIdentity::from_metadata(meta);
    pinned(&location.path, safety == Safety::Reads, identity)?.check_users(machine)?;
    let bytes = first_bytes(spec, meta.len(), block_bytes, request.size)?;
    let destroys = format!("the content of {}", location.path.display());
    let stack = location.stack;
    let facts = Facts {
        spec,
        kind: TargetKind::File,
        path: &location.path,
        bytes,
        filesystem: Some(location.filesystem),
        logical_block_bytes: block_bytes,
        allowed: safety,
        discard: false,
    };
    let info = facts.info(machine, &stack);
    let destroys = (safety == Safety::Destroys).then_some(destroys);
    Ok(Plan { info, stack, identity: Some(Expected::File(identity)), destroys })
}

/// A descriptor of the file, if its name still refers to it. An O_PATH descriptor does not open the
/// file, so whatever the name refers to stays unaffected.
fn pinned(path: &Path, reads: bool, identity: FileIdentity) -> Result<OpenFile, DriveError> {
    let flags = OFlags::PATH.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = file.map_err(|e| DriveError::from_io("read", path, e))?;
    let pinned = OpenFile::new(path.to_path_buf(), file, reads, identity);
    pinned.check_size().map(|()| pinned)
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
    let check = |access, action| {
        accessat(CWD, path, access, AtFlags::EACCESS)
            .map_err(|e| DriveError::from_io(action, path, e))
    };
    check(Access::READ_OK, "read")?;
    if allowed == Safety::Destroys { check(Access::WRITE_OK, "write") } else { Ok(()) }
}

/// Checks that no file is in use: swap, or under a loop device. Missing files are free.
pub fn check_unused(files: &[PathBuf]) -> Result<(), DriveError> {
    if files.is_empty() {
        return Ok(());
    }
    let graph = Graph::read(&Machine::here());
    files.iter().try_for_each(|file| {
        let reasons = graph.uses_of_file(file);
        let path = file.display().to_string();
        if reasons.is_empty() { Ok(()) } else { Err(DriveError::InUse { path, reasons }) }
    })
}

/// Opens the file as planned, through the checked descriptor.
pub(super) fn open(
    machine: &Machine,
    path: &Path,
    allowed: Safety,
    identity: FileIdentity,
) -> Result<(File, Guard), DriveError> {
    let write = allowed == Safety::Destroys;
    let pinned = pinned(path, !write, identity)?;
    let path_of_fd = format!("/proc/self/fd/{}", pinned.file.as_raw_fd());
    pinned.check_users(machine)?;
    let file = OpenOptions::new().read(true).write(write).open(path_of_fd);
    let file =
        file.map_err(|e| DriveError::from_io(if write { "write" } else { "read" }, path, e))?;
    let reopened = file.metadata().map(|meta| FileIdentity::from_metadata(&meta));
    let is_checked = reopened.map_or(true, |reopened| reopened.is_same_file(&identity));
    assert!(is_checked, "{} was checked, and another file opened", path.display());
    Ok((file, Guard::file(pinned)))
}

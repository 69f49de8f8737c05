//! What a plan's files lie on, as the record and the doctor know it.

use std::path::PathBuf;

use drive::{OpenRequest, Watch};
use record::Safety;
use rig::TargetInfo;

use super::files::Files;
use super::{Actor, RunError};
use crate::Engine;

/// What the first file lies on, for the record and the doctor.
pub(super) fn target(clones: &[Actor<'_>], files: &Files) -> Result<(TargetInfo, Watch), RunError> {
    let real = clones.iter().find(|clone| clone.job.engine != Engine::Null);
    let bytes: u64 = clones.iter().flat_map(|c| &c.uses).map(|u| u.bytes).sum();
    let Some(path) = real.and_then(|clone| Some(clone.uses.first()?.path.clone())) else {
        return Ok((TargetInfo::null(bytes), Watch::nothing()));
    };
    if let Some(opened) = files.opened(&path) {
        let watch = drive::locate(&path)?.watch();
        return Ok((opened.info.clone(), watch));
    }
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    // The smallest scratch file: only what the directory lies on is asked for.
    let request = OpenRequest { size: Some(1), wants: Safety::Scratch, destroy: None };
    // Where there is no room for even that, the file may still be there.
    let there = OpenRequest { size: None, wants: Safety::Reads, destroy: None };
    let planned = drive::plan_open(&directory.to_string_lossy(), &request)
        .or_else(|full| drive::plan_open(&path.to_string_lossy(), &there).map_err(|_| full));
    let mut info = planned?.info;
    (info.bytes, info.target.bytes) = (bytes, Some(bytes));
    info.target.spec = path.display().to_string();
    Ok((info, drive::locate(&directory)?.watch()))
}

//! A drive without a kernel driver as the only file of jobs (`filename=pci:0000:01:00.0`).

use std::path::Path;

use drive::{OpenRequest, PlannedTarget};
use record::Safety;
use rig::{FileSeen, Result};

use super::{Known, refused};
use crate::permissions::Permissions;

/// A drive that passed every check, and the request that opens it.
pub(super) struct PlannedDrive {
    pub planned: PlannedTarget,
    pub request: OpenRequest,
}

/// The target specification in a path, if it is one.
pub(super) fn spec(path: &Path) -> Option<String> {
    let spec = path.to_str()?;
    spec.starts_with(drive::pci::PREFIX).then(|| spec.to_string())
}

/// Plans a drive for jobs that change or only read it. One of the words given with `--destroy` can
/// be its serial number.
pub(super) fn plan(spec: &str, changed: bool, permissions: &Permissions) -> Result<PlannedDrive> {
    let wants = if changed { Safety::Destroys } else { Safety::Scratch };
    let Permissions { destroy, no_iommu, .. } = permissions;
    let no_iommu = *no_iommu;
    let mut wrong = None;
    for word in destroy {
        let request =
            OpenRequest { destroy: Some(word.clone()), no_iommu, ..OpenRequest::to(wants) };
        match drive::plan_open(spec, &request) {
            Ok(planned) => return Ok(PlannedDrive { planned, request }),
            Err(error) => wrong = wrong.or(Some(error)),
        }
    }
    // A drive that is already bound can be read without `--destroy`.
    let request = OpenRequest { no_iommu, ..OpenRequest::to(wants) };
    match (drive::plan_open(spec, &request), wrong) {
        (Ok(planned), None) => Ok(PlannedDrive { planned, request }),
        (_, Some(error)) | (Err(error), None) => Err(refused(error)),
    }
}

/// Inspects the drive as a file of its size.
pub(super) fn look(spec: &str, permissions: &Permissions) -> Result<Known> {
    let planned = plan(spec, false, permissions)?.planned;
    let file_seen =
        FileSeen { bytes: Some(planned.info.bytes), device: true, ..FileSeen::default() };
    Ok(Known { seen: file_seen, ours: false, identity: None, plan: None })
}

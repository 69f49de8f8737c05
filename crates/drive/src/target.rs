//! Plans for targets of every kind: paths, and drives without the kernel's driver.

use crate::error::DriveError;
use crate::open::{self, OpenRequest, PlannedTarget};
use crate::pci;

/// Makes all checks of an open; creates nothing and opens nothing for writing.
pub fn plan_open(spec: &str, request: &OpenRequest) -> Result<PlannedTarget, DriveError> {
    if spec.starts_with(pci::PREFIX) {
        pci::plan_here(spec, request)
    } else {
        open::plan_here(spec, request)
    }
}

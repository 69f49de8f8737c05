//! Plans for targets of every kind: paths, and drives without the kernel's driver.

use crate::error::DriveError;
use crate::open::{self, OpenRequest, Planned};
use crate::pci;

/// Makes all checks of an open; creates nothing and opens nothing for writing.
pub fn plan_open(spec: &str, request: &OpenRequest) -> Result<Planned, DriveError> {
    match spec.starts_with(pci::PREFIX) {
        true => pci::plan_here(spec, request),
        false => open::plan_here(spec, request),
    }
}

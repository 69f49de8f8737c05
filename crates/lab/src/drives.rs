//! Virtual drives as data for display: a description of each, and the source of every figure.

use model::DriveSpec;
pub use model::FigureLine;

use crate::error::{LabError, Result};
use crate::virtual_drive;
pub use crate::virtual_drive::PREFIX;

#[derive(Clone, Debug)]
pub struct VirtualDrive {
    /// Its name without `sim:`.
    pub name: String,
    /// The drive it models.
    pub model: String,
    /// A sentence of description.
    pub about: String,
    /// Capacity, bytes.
    pub bytes: u64,
    /// The buses between host and drive, nearest to the host first.
    pub links: Vec<String>,
    /// Every parameter with its source.
    pub figures: Vec<FigureLine>,
}

/// Every preset, in alphabetical order.
pub fn presets() -> Result<Vec<VirtualDrive>> {
    DriveSpec::presets()
        .map(|name| DriveSpec::preset(name).map_err(LabError::usage).map(VirtualDrive::from))
        .collect()
}

/// A preset or a file, with optional `sim:` prefix and overrides, as a run uses it.
pub fn named(name: &str) -> Result<VirtualDrive> {
    virtual_drive::named(name).map(virtual_drive::varied).map(VirtualDrive::from)
}

impl From<DriveSpec> for VirtualDrive {
    fn from(spec: DriveSpec) -> VirtualDrive {
        VirtualDrive {
            bytes: spec.capacity.0,
            links: spec.link.iter().map(|link| link.bus.value.clone()).collect(),
            figures: spec.figures(),
            name: spec.name,
            model: spec.model,
            about: spec.about,
        }
    }
}

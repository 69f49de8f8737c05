//! Virtual drives as data for display: a description of each, and the source of every figure.

use std::sync::OnceLock;

use model::DriveSpec;
pub use model::FigureLine;

pub use crate::bands::{ErrorBand, error_bands};
use crate::error::{LabError, Result};
use crate::virtual_drive;
pub use crate::virtual_drive::PREFIX;

#[derive(Clone, Debug)]
pub struct VirtualDrive {
    /// Its name without `sim:`.
    pub name: String,
    /// The drive it models.
    pub model: String,
    /// The class whose parameters it has where nothing better is known; empty: none.
    pub class: String,
    /// A sentence of description.
    pub about: String,
    /// Capacity, bytes.
    pub bytes: u64,
    /// The buses between host and drive, nearest to the host first.
    pub links: Vec<String>,
    /// Every parameter with its source.
    pub figures: Vec<FigureLine>,
}

/// Every preset, in alphabetical order. They are parsed once in a process.
pub fn presets() -> Result<&'static [VirtualDrive]> {
    static PRESETS: OnceLock<Vec<VirtualDrive>> = OnceLock::new();
    if let Some(presets) = PRESETS.get() {
        return Ok(presets);
    }
    let presets = DriveSpec::presets()
        .map(|name| DriveSpec::preset(name).map_err(LabError::usage).map(VirtualDrive::from));
    let presets = presets.collect::<Result<Vec<_>>>()?;
    Ok(PRESETS.get_or_init(|| presets))
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
            class: spec.class,
            about: spec.about,
        }
    }
}

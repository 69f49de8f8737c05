//! The machine and its drives: fitness to measure, and the drives under a path.

use std::path::Path;

use drive::BlockDevice;
use record::{Environment, Finding};

use crate::error::{LabError, Result};

/// Whether a machine is fit to measure.
#[derive(Clone, Debug)]
pub struct Fitness {
    /// The machine.
    pub environment: Environment,
    /// The clock that times operations.
    pub clock: &'static str,
    /// Everything that would spoil a measurement.
    pub findings: Vec<Finding>,
}

/// Observes the machine for a moment.
pub fn fitness() -> Fitness {
    Fitness {
        environment: drive::host::environment(),
        clock: engine::Clock::new().name(),
        findings: drive::host::fitness(),
    }
}

/// Every drive of this machine.
pub fn drives() -> Vec<BlockDevice> {
    drive::list()
}

/// The device of that name, or the drive that holds a path, through every layer between them.
pub fn drives_under(path: &Path) -> Result<Vec<BlockDevice>> {
    let named = path.canonicalize().ok().map(|path| path.display().to_string());
    if let Some(device) = drive::list().into_iter().find(|d| d.drive.path == named) {
        return Ok(vec![device]);
    }
    let location = drive::locate(path)?;
    let Some(name) = location.drive.map(|d| d.name) else {
        let kind = location.filesystem.kind;
        let text = format!("no drive is known under {} ({kind})", path.display());
        return Err(LabError::usage(text).advise("ssdyno list"));
    };
    Ok(drive::list().into_iter().filter(|d| d.drive.name == name).collect())
}

//! The machine and its drives: fitness to measure, and the drives under a path.

use std::path::Path;

use drive::BlockDevice;
use drive::pci::BoundDrive;
use record::{Environment, Finding};
use serde::Serialize;

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

/// A drive of a list.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Listed {
    /// A block device.
    Device(Box<BlockDevice>),
    /// An NVMe drive that the kernel's driver does not have.
    Bound(BoundDrive),
}

/// Every drive of this machine, with those that the kernel's driver does not have.
pub fn all_drives() -> Vec<Listed> {
    let devices = drives().into_iter().map(|device| Listed::Device(Box::new(device)));
    devices.chain(drive::pci::list().into_iter().map(Listed::Bound)).collect()
}

/// Takes an NVMe drive `pci:...` from the kernel, to stay so; its serial number confirms that.
pub fn bind(target: &str, serial: &str) -> Result<()> {
    Ok(drive::pci::bind(target, serial)?)
}

/// Gives such a drive back to the kernel.
pub fn unbind(target: &str) -> Result<()> {
    Ok(drive::pci::unbind(target)?)
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

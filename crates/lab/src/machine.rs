//! The machine and its drives: fitness for measuring, and the drives under a path.

use std::path::Path;

use drive::BlockDevice;
use drive::pci::BoundDrive;
use record::{Environment, Finding};
use serde::Serialize;

use crate::error::{LabError, Result};

/// The fitness of a machine for measuring.
#[derive(Clone, Debug)]
pub struct Fitness {
    /// The machine.
    pub environment: Environment,
    /// The clock that times operations.
    pub clock: &'static str,
    /// Everything that could spoil a measurement.
    pub findings: Vec<Finding>,
}

/// Observes the machine for a short time.
pub fn fitness() -> Fitness {
    Fitness {
        environment: drive::host::environment(),
        clock: engine::Clock::new().name(),
        findings: drive::host::fitness(),
    }
}

/// Lists the block devices of this machine.
pub fn drives() -> Vec<BlockDevice> {
    drive::list()
}

/// The confirmations of drives that may be overwritten, each with the drive's name.
pub fn confirmations() -> Vec<(String, String)> {
    drives()
        .into_iter()
        .filter_map(|device| {
            let name = device.drive.path.unwrap_or(device.drive.name);
            Some((device.allowance.confirm?, name))
        })
        .collect()
}

/// A listed drive.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Listed {
    Device(Box<BlockDevice>),
    /// An NVMe drive that is not bound to the kernel's driver.
    Bound(BoundDrive),
}

/// Lists every drive of this machine, including those not bound to the kernel's driver.
pub fn all_drives() -> Vec<Listed> {
    let devices = drives().into_iter().map(|device| Listed::Device(Box::new(device)));
    devices.chain(drive::pci::list().into_iter().map(Listed::Bound)).collect()
}

/// Detaches an NVMe drive `pci:...` from the kernel until [`unbind`]; its serial number is the
/// confirmation.
pub fn bind(target: &str, serial: &str) -> Result<()> {
    Ok(drive::pci::bind(target, serial)?)
}

/// Returns such a drive to the kernel.
pub fn unbind(target: &str) -> Result<()> {
    Ok(drive::pci::unbind(target)?)
}

/// The device with this name, or the drives that contain a path, through all layers between them.
pub fn drives_under(path: &Path) -> Result<Vec<BlockDevice>> {
    let name = path.canonicalize().ok().map(|path| path.display().to_string());
    if let Some(device) = drive::list().into_iter().find(|d| d.drive.path == name) {
        return Ok(vec![device]);
    }
    let location = drive::locate(path)?;
    let Some(name) = location.drive.map(|d| d.name) else {
        let kind = location.filesystem.kind;
        let text = format!("no known drive under {} ({kind})", path.display());
        return Err(LabError::usage(text).advise("ssdyno list"));
    };
    Ok(drive::list().into_iter().filter(|d| d.drive.name == name).collect())
}

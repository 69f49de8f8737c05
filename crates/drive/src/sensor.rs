//! Temperature sensors of drives: hwmon of the NVMe driver and of `drivetemp` (SATA).
//!
//! The position of the hwmon directory below the drive's device varies between kernels:
//! `device/hwmon/hwmon3`, `device/hwmon3`, or one device higher (the PCI function). Source: the
//! kernel's Documentation/hwmon/sysfs-interface.rst and drivetemp.rst.

use std::path::{Path, PathBuf};

use crate::machine::{names, read_text};
use crate::node::{Node, numbered_as};

/// Temperature sensor of a drive.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sensor {
    /// The sensor file, in thousandths of a degree.
    pub input: PathBuf,
    /// The drive's warning temperature, degrees Celsius.
    pub warn_c: Option<f64>,
}

/// The sensor of a whole device.
pub(crate) fn find(disk: &Node) -> Option<Sensor> {
    let device = disk.dir.join("device");
    let dirs = ["", "device"].map(|below| device.join(below));
    // With multipath, the controllers are below a subsystem.
    let controllers = names(&device).into_iter().filter(|name| numbered_as(name, "nvme"));
    let controllers = controllers.map(|name| device.join(name));
    dirs.into_iter().chain(controllers).find_map(|place| sensor_in(&place))
}

fn sensor_in(place: &Path) -> Option<Sensor> {
    let dirs = [place.to_path_buf(), place.join("hwmon")].into_iter();
    let mut sensors = dirs.flat_map(|dir| {
        names(&dir).into_iter().filter(|n| numbered_as(n, "hwmon")).map(move |n| dir.join(n))
    });
    let dir = sensors.find(|dir| dir.join("temp1_input").exists())?;
    let warn = read_text(&dir.join("temp1_max")).and_then(|text| celsius(text.as_bytes()));
    Some(Sensor { input: dir.join("temp1_input"), warn_c: warn })
}

/// Parses thousandths of a degree into degrees. Drives without a sensor report implausible values
/// such as -273 or 65261, so values outside -60..=200 are rejected.
pub(crate) fn celsius(text: &[u8]) -> Option<f64> {
    let thousandths: f64 = std::str::from_utf8(text).ok()?.trim().parse().ok()?;
    let degrees = thousandths / 1000.0;
    (-60.0..=200.0).contains(&degrees).then_some(degrees)
}

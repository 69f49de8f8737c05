//! The target of a run.

use serde::{Deserialize, Serialize};

use crate::Finding;
use crate::kind::kinds;

kinds! { word
    /// Where the I/O goes.
    TargetKind {
        /// A scratch file in a directory.
        Directory = "directory",
        /// A user's file.
        File = "file",
        /// A block device.
        Device = "device",
        /// A virtual drive.
        Virtual = "virtual",
        /// None: the null backend.
        Null = "null",
        /// Unknown (an imported record).
        Unknown = "unknown",
    }
}

#[expect(clippy::derivable_impls, reason = "the macro makes the enum")]
impl Default for TargetKind {
    fn default() -> TargetKind {
        TargetKind::Unknown
    }
}

impl TargetKind {
    /// Advice for a run that read blocks without content.
    pub fn advice_if_unwritten(&self) -> &'static str {
        match self {
            TargetKind::Virtual => "?state=used after its name: a virtual drive begins fresh",
            _ => "ssdyno prepare --to used writes all blocks first; their content is lost",
        }
    }
}

/// The link of a drive: its current mode, and the best supported mode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// `pcie`, `sata`, `usb`, `mmc`, `sd`, `virtio`, ...
    pub kind: String,
    /// Current mode in the usual terms: `PCIe 3.0 x4`, `SATA 6 Gb/s`, `USB 480 Mb/s`.
    pub now: Option<String>,
    /// The best mode the drive supports.
    pub best: Option<String>,
    /// Maximum payload rate of the link in its current mode, bytes per second.
    pub ceiling_bytes_per_s: Option<f64>,
    /// Whether it runs slower or narrower than the drive supports.
    pub downgraded: Option<bool>,
    /// The machine's port: a PCI address, `ata3`, `1-2` for USB, `mmc0`; for a virtual drive its
    /// host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
}

/// Wear and errors as reported by the drive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// Degrees Celsius.
    pub temperature_c: Option<f64>,
    /// The drive's warning temperature, degrees Celsius.
    pub temperature_warn_c: Option<f64>,
    /// Share of rated life used, percent.
    pub wear_percent: Option<f64>,
    /// Bytes written by hosts over the drive's life.
    pub written_bytes: Option<u64>,
    /// Rated life in bytes written, if known.
    pub rated_bytes: Option<u64>,
    /// Media errors counted by the drive.
    pub media_errors: Option<u64>,
    /// Bytes read by hosts over the drive's life.
    #[serde(default)]
    pub read_bytes: Option<u64>,
    /// Bytes written to flash over the drive's life, including its internal writes.
    #[serde(default)]
    pub flash_written_bytes: Option<u64>,
    /// Spare blocks left, percent.
    #[serde(default)]
    pub spare_percent: Option<f64>,
    /// Sectors or blocks replaced by spares.
    #[serde(default)]
    pub reallocated: Option<u64>,
    /// Corrupted transfers (CRC errors on the link).
    #[serde(default)]
    pub link_errors: Option<u64>,
    /// Errors in the drive's log.
    #[serde(default)]
    pub logged_errors: Option<u64>,
    /// Power-on hours.
    #[serde(default)]
    pub power_on_hours: Option<u64>,
    /// Number of power cycles.
    #[serde(default)]
    pub power_cycles: Option<u64>,
    /// Number of unsafe shutdowns.
    #[serde(default)]
    pub unsafe_shutdowns: Option<u64>,
    /// Additional temperature sensors, degrees Celsius, in the drive's order.
    #[serde(default)]
    pub sensors_c: Vec<f64>,
    /// Warnings from the drive: `spare below threshold`, `read-only`.
    #[serde(default)]
    pub warnings: Vec<String>,
}

impl Health {
    /// Fraction of the drive's life used by writing this many bytes; it may exceed 1. With a rated
    /// life, the fraction of it; otherwise an upper bound, at the same wear per byte as so far:
    /// drives report whole percents, so up to one more percent may be used. `None` without a rated
    /// life if the reported wear is unknown or below 1%.
    pub fn life_share(&self, bytes: u64) -> Option<f64> {
        if let Some(rated) = self.rated_bytes.filter(|rated| *rated > 0) {
            return Some(bytes as f64 / rated as f64);
        }
        let used = self.wear_percent.filter(|used| *used >= 1.0)?;
        let bytes_written = self.written_bytes.filter(|written| *written > 0)?;
        Some((used + 1.0) / 100.0 * bytes as f64 / bytes_written as f64)
    }

    /// Bytes whose writing uses this share of the drive's life, if [`Health::life_share`] knows it.
    pub fn bytes_of_life(&self, share: f64) -> Option<f64> {
        const SAMPLE_BYTES: u64 = 1_000_000_000_000;
        Some(share * SAMPLE_BYTES as f64 / self.life_share(SAMPLE_BYTES)?)
    }

    /// Fills in missing values from `other`.
    #[must_use]
    pub fn or(self, other: Health) -> Health {
        Health {
            temperature_c: self.temperature_c.or(other.temperature_c),
            temperature_warn_c: self.temperature_warn_c.or(other.temperature_warn_c),
            wear_percent: self.wear_percent.or(other.wear_percent),
            written_bytes: self.written_bytes.or(other.written_bytes),
            rated_bytes: self.rated_bytes.or(other.rated_bytes),
            media_errors: self.media_errors.or(other.media_errors),
            read_bytes: self.read_bytes.or(other.read_bytes),
            flash_written_bytes: self.flash_written_bytes.or(other.flash_written_bytes),
            spare_percent: self.spare_percent.or(other.spare_percent),
            reallocated: self.reallocated.or(other.reallocated),
            link_errors: self.link_errors.or(other.link_errors),
            logged_errors: self.logged_errors.or(other.logged_errors),
            power_on_hours: self.power_on_hours.or(other.power_on_hours),
            power_cycles: self.power_cycles.or(other.power_cycles),
            unsafe_shutdowns: self.unsafe_shutdowns.or(other.unsafe_shutdowns),
            sensors_c: if self.sensors_c.is_empty() { other.sensors_c } else { self.sensors_c },
            warnings: if self.warnings.is_empty() { other.warnings } else { self.warnings },
        }
    }
}

/// A property reported by a drive, for which there is no field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detail {
    /// Name: `TRIM`, `allocation unit`.
    pub name: String,
    /// Display value.
    pub value: String,
}

/// Internal sizes declared by a drive, bytes; absent if not declared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeclaredSizes {
    /// Allocation unit of an SD card (AU_SIZE in its status).
    pub allocation_unit: Option<u64>,
    /// Linux's `preferred_erase_size` of a card: its allocation unit if declared, otherwise a
    /// multiple of its erase group that the kernel chooses by capacity.
    pub preferred_erase: Option<u64>,
    /// Preferred write granularity of an NVMe namespace (NPWG).
    pub write_granularity: Option<u64>,
    /// Optimal write size of an NVMe namespace (NOWS).
    pub optimal_write: Option<u64>,
    /// Discard granularity.
    pub discard_granularity: Option<u64>,
    /// Offset of the first discard unit from the start of the drive.
    pub discard_alignment: Option<u64>,
}

impl DeclaredSizes {
    /// Whether the drive declares none of them.
    fn is_empty(&self) -> bool {
        *self == DeclaredSizes::default()
    }
}

/// Identity of a drive. Missing information stays unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriveIdentity {
    /// Kernel name (`nvme0n1`), or the preset's name.
    pub name: String,
    /// Device node, such as `/dev/nvme0n1`.
    pub path: Option<String>,
    /// `nvme`, `sata`, `usb`, `mmc`, `sd`, `virtio`, `loop`, `zram`, `virtual`, ...
    pub bus: String,
    /// Manufacturer.
    pub vendor: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Capacity in bytes.
    pub bytes: Option<u64>,
    /// Smallest addressable unit, bytes.
    pub logical_block_bytes: Option<u32>,
    /// Declared smallest unit that is written without read-modify-write, bytes.
    pub physical_block_bytes: Option<u32>,
    /// Whether it is a spinning disk.
    pub rotational: Option<bool>,
    /// Whether it is read-only.
    pub read_only: Option<bool>,
    /// Whether it declares a volatile write cache.
    pub write_cache: Option<bool>,
    /// Maximum discard in bytes; 0: not supported.
    pub discard_max_bytes: Option<u64>,
    /// Maximum transfer per command, as configured in the kernel, bytes.
    #[serde(default)]
    pub transfer_max_bytes: Option<u64>,
    /// I/O scheduler.
    pub scheduler: Option<String>,
    /// Whether it is memory rather than flash (zram, brd, tmpfs).
    pub ram: bool,
    /// The link.
    pub link: Option<Link>,
    /// Wear and temperature.
    pub health: Health,
    /// Identifier of the hardware type or of this particular device: the VID:PID of USB, the CID of
    /// a card, otherwise the world-wide name.
    #[serde(default)]
    pub hardware_id: Option<String>,
    /// Logical block sizes without metadata to which it can be formatted, bytes.
    #[serde(default)]
    pub formats: Vec<u32>,
    /// Declared internal sizes; absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "DeclaredSizes::is_empty")]
    pub declared: DeclaredSizes,
    /// What the kernel or a bridge leaves unused on the way to the drive, with its remedy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path_faults: Vec<Finding>,
    /// Other properties reported by the drive.
    #[serde(default)]
    pub details: Vec<Detail>,
    /// Information that could not be queried, with its requirement: `health log: root`.
    #[serde(default)]
    pub missing: Vec<String>,
}

/// The file system of a directory or file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileSystem {
    /// `ext4`, `vfat`, `btrfs`, `tmpfs`, ...
    pub kind: String,
    /// Mount point.
    pub mount: String,
    /// Mounted device, such as `/dev/sda1`.
    pub source: Option<String>,
    /// Mount options.
    pub options: Option<String>,
    /// Size in bytes.
    pub bytes: Option<u64>,
    /// Bytes available to this user.
    pub free_bytes: Option<u64>,
    /// Its allocation unit in bytes: a block, or a cluster.
    #[serde(default)]
    pub unit_bytes: Option<u64>,
}

/// The target of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// As typed by the user.
    pub spec: String,
    /// Kind.
    pub kind: TargetKind,
    /// The absolute path, if any.
    pub path: Option<String>,
    /// Bytes available to the methods; `null` if unknown.
    pub bytes: Option<u64>,
    /// The underlying drive, if it could be determined.
    pub drive: Option<DriveIdentity>,
    /// Layers between target and drive, nearest first (`/dev/dm-0`, `/dev/sda2`).
    #[serde(default)]
    pub layers: Vec<String>,
    /// The file system, for directories and files.
    pub filesystem: Option<FileSystem>,
    /// Whether I/O bypasses the page cache; `null` if not yet tried.
    pub direct: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fraction_of_life_is_an_upper_bound_or_unknown() {
        let share = |wear_percent, written_bytes, rated_bytes| {
            Health { wear_percent, written_bytes, rated_bytes, ..Health::default() }
                .life_share(1000)
        };
        assert_eq!(share(Some(1.0), Some(20_000), None), Some(0.001));
        assert_eq!(share(Some(1.0), Some(20_000), Some(10_000)), Some(0.1));
        assert_eq!(share(Some(0.0), Some(20_000), None), None);
        assert_eq!((share(None, Some(1), None), share(Some(5.0), None, None)), (None, None));
        assert_eq!(share(Some(5.0), Some(0), None), None);
    }
}

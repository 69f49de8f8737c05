//! What was put on the dynamometer.

use serde::{Deserialize, Serialize};

/// Where the I/O goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// A scratch file in a directory.
    Directory,
    /// A file of the user's.
    File,
    /// A block device.
    Device,
    /// A virtual drive.
    Virtual,
    /// Nothing: the null backend.
    Null,
    /// Nobody told (a record from elsewhere).
    Unknown,
}

/// The link a drive sits on: what it runs at, and what both sides could do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// `pcie`, `sata`, `usb`, `mmc`, `sd`, `virtio`, ...
    pub kind: String,
    /// In the field's words: `PCIe 3.0 x4`, `SATA 6 Gb/s`, `USB 480 Mb/s`.
    pub now: Option<String>,
    /// What the drive could do.
    pub best: Option<String>,
    /// Payload ceiling of the link as it runs now, bytes per second.
    pub ceiling_bytes_per_s: Option<f64>,
    /// It runs slower or narrower than the drive could.
    pub downgraded: Option<bool>,
}

/// Wear and errors as the drive tells them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// Degrees Celsius.
    pub temperature_c: Option<f64>,
    /// The drive's own warning level, degrees Celsius.
    pub temperature_warn_c: Option<f64>,
    /// Share of rated life used, percent.
    pub wear_percent: Option<f64>,
    /// Bytes written by hosts over the drive's life.
    pub written_bytes: Option<u64>,
    /// Rated life in bytes written, where known.
    pub rated_bytes: Option<u64>,
    /// Media errors counted by the drive.
    pub media_errors: Option<u64>,
}

/// Who a drive is. What the kernel does not tell stays unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriveIdentity {
    /// Kernel name (`nvme0n1`), or the preset's name.
    pub name: String,
    /// Device node, `/dev/nvme0n1`.
    pub path: Option<String>,
    /// `nvme`, `sata`, `usb`, `mmc`, `sd`, `virtio`, `loop`, `zram`, `virtual`, ...
    pub bus: String,
    /// Maker.
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
    /// Smallest unit written without read-modify-write, as declared, bytes.
    pub physical_block_bytes: Option<u32>,
    /// Spinning disk.
    pub rotational: Option<bool>,
    /// Read-only.
    pub read_only: Option<bool>,
    /// Has a volatile write cache, as declared.
    pub write_cache: Option<bool>,
    /// Largest discard in bytes; 0: none.
    pub discard_max_bytes: Option<u64>,
    /// I/O scheduler.
    pub scheduler: Option<String>,
    /// Memory and not flash (zram, brd, tmpfs).
    pub ram: bool,
    /// The link.
    pub link: Option<Link>,
    /// Wear and temperature.
    pub health: Health,
}

/// The file system a directory or file lies in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileSystem {
    /// `ext4`, `vfat`, `btrfs`, `tmpfs`, ...
    pub kind: String,
    /// Where it is mounted.
    pub mount: String,
    /// What is mounted, `/dev/sda1`.
    pub source: Option<String>,
    /// Mount options.
    pub options: Option<String>,
    /// Size in bytes.
    pub bytes: Option<u64>,
    /// Free for this user, bytes.
    pub free_bytes: Option<u64>,
}

/// The target of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// As the user typed it.
    pub spec: String,
    /// What it is.
    pub kind: TargetKind,
    /// The absolute path, where there is one.
    pub path: Option<String>,
    /// Bytes that the methods may use; `null` where nobody told.
    pub bytes: Option<u64>,
    /// The drive behind it, where it could be found.
    pub drive: Option<DriveIdentity>,
    /// What lies between target and drive, nearest first (`/dev/dm-0`, `/dev/sda2`).
    #[serde(default)]
    pub layers: Vec<String>,
    /// The file system, for directories and files.
    pub filesystem: Option<FileSystem>,
    /// Whether I/O goes past the page cache; `null` before it was tried.
    pub direct: Option<bool>,
}

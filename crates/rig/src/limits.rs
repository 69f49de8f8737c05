//! The bounds of a drive that are known before it is measured.
//!
//! The byte bound of a plan is derived from them. No drive is faster than they allow, and most are
//! slower.

use record::DriveIdentity;

/// Bus of a drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bus {
    /// NVMe over PCIe.
    Nvme,
    /// SATA.
    Sata,
    /// USB mass storage.
    Usb,
    /// SD card in a dedicated reader.
    Sd,
    /// eMMC.
    Emmc,
    /// UFS.
    Ufs,
    /// A virtual machine's paravirtual disk.
    Virtio,
    /// Memory.
    Ram,
    /// Anything else, or unknown.
    #[default]
    Other,
}

impl Bus {
    /// The bus for a transport in a drive's identity (`nvme`) or a virtual drive's link
    /// (`pcie-4x4`).
    pub fn parse(word: &str) -> Bus {
        let kinds = [
            ("nvme", Bus::Nvme),
            ("pcie", Bus::Nvme),
            ("sata", Bus::Sata),
            ("usb", Bus::Usb),
            ("sd", Bus::Sd),
            ("emmc", Bus::Emmc),
            ("mmc", Bus::Emmc),
            ("ufs", Bus::Ufs),
            ("virtio", Bus::Virtio),
            ("ram", Bus::Ram),
            ("zram", Bus::Ram),
        ];
        kinds.into_iter().find(|(start, _)| word.starts_with(start)).map_or(Bus::Other, |k| k.1)
    }
}

/// Limits of a drive; `None` where unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Payload of the link, bytes per second.
    pub link_bytes_per_s: Option<f64>,
    /// Minimum time from issue to completion of a command, nanoseconds.
    pub least_command_ns: Option<u64>,
    /// Bytes that its buffers and caches absorb beyond the rate of the media.
    pub burst_bytes: Option<u64>,
    /// Maximum rate of the media after a burst, bytes per second.
    pub native_bytes_per_s: Option<f64>,
    /// The flash below the caches; what is expected of a run depends on it, no bound does.
    pub flash: Option<Flash>,
    /// Requests that a queue of the block layer holds at a time, of the layer that holds fewest.
    pub queue_requests: Option<u32>,
    /// Limits that control groups impose on this process.
    pub group: GroupLimits,
}

/// The flash of a drive below its caches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flash {
    /// Size of the fast cache that even a full drive has, bytes.
    pub fixed_bytes: u64,
    /// Largest size of its part in unfilled flash, bytes.
    pub dynamic_bytes: u64,
    /// Bits per cell outside the cache: a byte in the cache takes the room of so many.
    pub bits: u32,
    /// Rate at which all dies program, bytes per second.
    pub bytes_per_s: f64,
    /// Rate at which all dies read scattered blocks of the map, which are collected one by one,
    /// bytes per second.
    pub gathered_bytes_per_s: f64,
    /// Flash beyond the capacity, as a share of it.
    pub spare_share: f64,
}

/// Limits that control groups (containers, services) impose on this process; `None` without one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GroupLimits {
    /// Bytes per second read and written, on the drive or a layer above it.
    pub bytes_per_s: [Option<f64>; 2],
    /// Reads and writes per second.
    pub iops: [Option<f64>; 2],
    /// Processors.
    pub processors: Option<f64>,
}

impl Limits {
    /// The limits of a real drive: only its link is known.
    pub fn of_drive(drive: Option<&DriveIdentity>) -> Limits {
        let link = drive.and_then(|drive| drive.link.as_ref());
        let link_bytes_per_s = link.and_then(|link| link.ceiling_bytes_per_s);
        Limits { link_bytes_per_s, ..Limits::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_identities_and_links() {
        let words = ["nvme", "pcie-4x4", "usb-3-uas", "sd-sdr104", "mmc", "zram", "none", "dm"];
        let buses = words.map(Bus::parse);
        use Bus::*;
        assert_eq!(buses, [Nvme, Nvme, Usb, Sd, Emmc, Ram, Other, Other]);
    }
}

//! What bounds a drive, as far as that is known before it is measured.
//!
//! A bound on the bytes that a plan may write follows from these. They are ceilings: no drive moves
//! more, most move less.

use record::DriveIdentity;

/// How a drive is attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bus {
    /// NVMe over PCIe.
    Nvme,
    /// SATA.
    Sata,
    /// USB mass storage.
    Usb,
    /// SD card in a reader of its own.
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
    /// The bus of a word in a drive's identity (`nvme`) or in a virtual drive's link (`pcie-4x4`).
    pub fn of(word: &str) -> Bus {
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

/// Ceilings of a drive; `None` where unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Payload of the link, bytes per second.
    pub link_bytes_per_s: Option<f64>,
    /// Least time from the issue of a command to its completion, nanoseconds.
    pub least_command_ns: Option<u64>,
    /// Bytes that its buffers and caches accept beyond what the media take, bytes.
    pub burst_bytes: Option<u64>,
    /// The most that the media take in, beyond a burst, bytes per second.
    pub native_bytes_per_s: Option<f64>,
}

impl Limits {
    /// Of a real drive: only the link is known.
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
        let buses = words.map(Bus::of);
        use Bus::*;
        assert_eq!(buses, [Nvme, Nvme, Usb, Sd, Emmc, Ram, Other, Other]);
    }
}

//! The bus to which a drive is attached, from its place in sysfs.

use std::path::{Path, PathBuf};

use crate::node::{Node, numbered_as};

/// Attachment of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bus {
    Nvme,
    Sata,
    Usb,
    Mmc,
    Sd,
    Ufs,
    Virtio,
    Scsi,
    Xen,
    Loop,
    Zram,
    Ram,
    DeviceMapper,
    Md,
    Other,
}

/// Drivers with distinctive device names.
const BY_NAME: [(&str, Bus); 7] = [
    ("loop", Bus::Loop),
    ("zram", Bus::Zram),
    ("ram", Bus::Ram),
    ("dm-", Bus::DeviceMapper),
    ("md", Bus::Md),
    ("nvme", Bus::Nvme),
    ("xvd", Bus::Xen),
];

impl Bus {
    pub fn from_node(disk: &Node) -> Bus {
        let name = disk.name.as_str();
        if let Some((_, bus)) = BY_NAME.into_iter().find(|(start, _)| name.starts_with(start)) {
            return bus;
        }
        match disk.text("device/type").as_deref() {
            Some("SD") => return Bus::Sd,
            Some("MMC") => return Bus::Mmc,
            // The boot partitions of an eMMC are separate devices without a type.
            _ if name.starts_with("mmcblk") => return Bus::Mmc,
            _ => {}
        }
        let components: Vec<&str> = disk.dir.iter().filter_map(|part| part.to_str()).collect();
        let passes = |kind: &str| components.iter().any(|part| numbered_as(part, kind));
        // The outermost bus decides: a SATA drive in a USB enclosure is a USB drive.
        if passes("usb") {
            Bus::Usb
        } else if passes("ata") {
            Bus::Sata
        } else if passes("virtio") {
            Bus::Virtio
        } else if components.iter().any(|part| part.contains("ufs")) {
            Bus::Ufs
        } else if passes("host") {
            Bus::Scsi
        } else {
            Bus::Other
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Bus::Nvme => "nvme",
            Bus::Sata => "sata",
            Bus::Usb => "usb",
            Bus::Mmc => "mmc",
            Bus::Sd => "sd",
            Bus::Ufs => "ufs",
            Bus::Virtio => "virtio",
            Bus::Scsi => "scsi",
            Bus::Xen => "xen",
            Bus::Loop => "loop",
            Bus::Zram => "zram",
            Bus::Ram => "ram",
            Bus::DeviceMapper => "dm",
            Bus::Md => "md",
            Bus::Other => "other",
        }
    }
}

/// The USB device that contains a drive.
pub(crate) fn usb_device(disk: &Node) -> Option<PathBuf> {
    disk.dir.ancestors().find(|dir| dir.join("idVendor").is_file()).map(Path::to_path_buf)
}

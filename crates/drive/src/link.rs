//! The link of a drive: its present mode, the drive's best mode, and its payload ceiling.
//!
//! Ceilings are payload rates after line encoding and packet headers, so a throughput within a few
//! percent of a ceiling is limited by the link:
//! - PCIe: rate x encoding x MPS / (MPS + 28), for 28 bytes of framing, header and CRC a packet.
//!   Gen2 x1 at 128 bytes gives 410 MB/s, Gen3 x4 at 256 gives 3550 MB/s.
//! - SATA: rate x 8b/10b x 14/15. The best drives of each generation reach 560 MB/s on 6 Gb/s.
//! - USB 2: 13 bulk packets of 512 bytes in each of 8000 microframes a second (USB 2.0, 5.8.4).
//! - USB 3: rate x encoding x 1024 / (1024 + 32), for header, CRCs and link commands.
//! - MMC and SD: clock x width, which no card reaches in full.

use std::path::Path;

use record::Link;

use crate::bus::{Bus, usb_device};
use crate::machine::{Machine, field, read_text};
use crate::node::{Node, numbered_as};
use crate::response::ata::Identify;

/// The link of a whole device, if reported by the kernel.
pub(crate) fn read(machine: &Machine, disk: &Node, bus: Bus) -> Option<Link> {
    match bus {
        Bus::Nvme => nvme(disk),
        Bus::Sata => sata(machine, disk),
        Bus::Usb => usb(disk),
        Bus::Mmc | Bus::Sd => card(machine, disk, bus),
        _ => None,
    }
}

fn nvme(disk: &Node) -> Option<Link> {
    // With multipath, the disk is below a subsystem with controllers `nvme0`, `nvme1`.
    let device = disk.dir.join("device");
    let controller_name =
        crate::machine::names(&device).into_iter().find(|n| numbered_as(n, "nvme"));
    let controller = controller_name.map_or(device.clone(), |name| device.join(name));
    let transport = read_text(&controller.join("transport"));
    if let Some(fabric) = transport.filter(|kind| kind != "pcie") {
        return Some(Link { kind: fabric, ..Link::default() });
    }
    let function = controller.join("device").canonicalize().ok()?;
    pcie(&function)
}

/// Speed in GT/s and number of lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Lanes {
    gt_per_s: f64,
    width: u32,
}

impl Lanes {
    fn read(function: &Path, which: &str) -> Option<Lanes> {
        let [speed, width] = ["speed", "width"]
            .map(|what| read_text(&function.join(format!("{which}_link_{what}"))));
        Lanes::parse(&speed?, &width?)
    }

    fn is_slower_than(self, other: Lanes) -> bool {
        self.gt_per_s < other.gt_per_s || self.width < other.width
    }

    /// Parses `8.0 GT/s PCIe` and `4`. `Unknown` and widths of 0 or 255 are unknown.
    fn parse(speed: &str, width: &str) -> Option<Lanes> {
        let gt_per_s: f64 = speed.split_whitespace().next()?.parse().ok()?;
        let width = width.parse().ok().filter(|width| (1..=32).contains(width))?;
        (gt_per_s > 0.0).then_some(Lanes { gt_per_s, width })
    }

    fn generation(self) -> u32 {
        let rates = [2.5, 5.0, 8.0, 16.0, 32.0, 64.0];
        1 + rates.iter().filter(|rate| **rate < self.gt_per_s).count() as u32
    }

    fn payload_bytes_per_s(self, packet_bytes: f64) -> f64 {
        // 8b/10b below 8 GT/s, 128b/130b above; generation 6 uses 242 of 256 bytes for data.
        let encoding = match self.generation() {
            1 | 2 => 0.8,
            3..=5 => 128.0 / 130.0,
            _ => 242.0 / 256.0,
        };
        let raw = self.gt_per_s * 1e9 / 8.0 * f64::from(self.width);
        raw * encoding * packet_bytes / (packet_bytes + 28.0)
    }
}

impl std::fmt::Display for Lanes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PCIe {}.0 x{}", self.generation(), self.width)
    }
}

fn pcie(function: &Path) -> Option<Link> {
    let (now, best) = (Lanes::read(function, "current"), Lanes::read(function, "max"));
    now.or(best)?;
    let reported = std::fs::read(function.join("config")).ok().and_then(|c| max_payload_bytes(&c));
    let ceiling = now.map(|lanes| {
        // Only root may read configuration space. Machines of generation 3 mostly use 256, older
        // ones 128.
        let guess = if lanes.generation() >= 3 { 256 } else { 128 };
        lanes.payload_bytes_per_s(f64::from(reported.unwrap_or(guess)))
    });
    Some(Link {
        kind: "pcie".into(),
        now: now.map(|lanes| lanes.to_string()),
        best: best.map(|lanes| lanes.to_string()),
        ceiling_bytes_per_s: ceiling,
        downgraded: now.zip(best).map(|(now, best)| now.is_slower_than(best)),
        port: pci_port(function),
    })
}

/// PCI address of the port above a function; on the root complex itself, the function's own.
fn pci_port(function: &Path) -> Option<String> {
    let port = function.parent().and_then(name_of).filter(|name| !name.starts_with("pci"));
    port.or_else(|| name_of(function)).map(str::to_string)
}

fn name_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// Max_Payload_Size in use: bits 7:5 of Device Control, in the PCI Express capability (id 0x10) of
/// configuration space (PCIe 4.0, 7.5.3.4). Without privileges, only the first 64 bytes are
/// readable.
fn max_payload_bytes(config: &[u8]) -> Option<u32> {
    let mut offset = usize::from(*config.get(0x34)?);
    // The list has at most 48 entries; the bound stops at a broken list with a loop.
    for _ in 0..48 {
        if offset < 0x40 {
            return None;
        }
        if *config.get(offset)? == 0x10 {
            let control = *config.get(offset + 8)?;
            let code = u32::from(control >> 5);
            return (code <= 5).then_some(128 << code);
        }
        offset = usize::from(*config.get(offset + 1)?);
    }
    None
}

fn sata(machine: &Machine, disk: &Node) -> Option<Link> {
    let port = disk.dir.iter().filter_map(|part| part.to_str()).find(|p| numbered_as(p, "ata"))?;
    let link = format!("/sys/class/ata_link/link{}", port.strip_prefix("ata")?);
    let speed = machine.text(format!("{link}/sata_spd"));
    let gb_per_s: Option<f64> = speed.and_then(|text| text.split_whitespace().next()?.parse().ok());
    let generation_max = Identify::read(disk).and_then(|ata| ata.generation_max());
    let gb_per_s_max = generation_max.map(|generation| [1.5, 3.0, 6.0][generation as usize - 1]);
    let [now, best] = [gb_per_s, gb_per_s_max].map(|gb_per_s| match gb_per_s? {
        1.5 => Some("SATA 1.5 Gb/s".to_string()),
        gb_per_s => Some(format!("SATA {gb_per_s:.0} Gb/s")),
    });
    Some(Link {
        kind: "sata".into(),
        now,
        best,
        ceiling_bytes_per_s: gb_per_s.map(|gb| gb * 1e9 / 10.0 * 14.0 / 15.0),
        downgraded: gb_per_s
            .zip(gb_per_s_max)
            .map(|(gb_per_s, gb_per_s_max)| gb_per_s < gb_per_s_max),
        port: Some(port.to_string()),
    })
}

fn usb(disk: &Node) -> Option<Link> {
    let device = usb_device(disk)?;
    let mb_per_s: Option<f64> = read_text(&device.join("speed")).and_then(|text| text.parse().ok());
    let mb_per_s_max =
        std::fs::read(device.join("bos_descriptors")).ok().and_then(|b| usb_best(&b));
    let driver = usb_driver(disk, &device).map(|driver| format!(", {driver}")).unwrap_or_default();
    Some(Link {
        kind: "usb".into(),
        now: mb_per_s.map(|mb| format!("{}{driver}", usb_name(mb))),
        best: mb_per_s_max.map(usb_name),
        ceiling_bytes_per_s: mb_per_s.map(usb_payload_bytes_per_s),
        downgraded: mb_per_s
            .zip(mb_per_s_max)
            .map(|(mb_per_s, mb_per_s_max)| mb_per_s < mb_per_s_max),
        port: device.file_name().and_then(|name| name.to_str()).map(str::to_string),
    })
}

fn usb_name(mb_per_s: f64) -> String {
    if mb_per_s < 1000.0 {
        format!("USB {mb_per_s} Mb/s")
    } else {
        format!("USB {} Gb/s", mb_per_s / 1000.0)
    }
}

fn usb_payload_bytes_per_s(mb_per_s: f64) -> f64 {
    let super_speed = |encoding: f64| mb_per_s * 1e6 / 8.0 * encoding * 1024.0 / 1056.0;
    match mb_per_s {
        // Full speed: 19 bulk packets of 64 bytes in each of 1000 frames.
        v if v < 480.0 => 19.0 * 64.0 * 1000.0,
        v if v < 5000.0 => 13.0 * 512.0 * 8000.0,
        v if v < 10_000.0 => super_speed(0.8),
        _ => super_speed(128.0 / 132.0),
    }
}

/// The highest speed of a USB device, Mb/s, from its Binary Object Store (Linux 6.11): the
/// SuperSpeed capability means 5 Gb/s, SuperSpeedPlus 10 Gb/s or more (USB 3.2, 9.6.2).
fn usb_best(descriptors: &[u8]) -> Option<f64> {
    let mut mb_per_s_max = None;
    let mut rest = descriptors;
    while let [length, kind, capability, ..] = *rest {
        match (kind, capability) {
            (0x10, 0x03) => mb_per_s_max = mb_per_s_max.max(Some(5_000)),
            (0x10, 0x0a) => mb_per_s_max = mb_per_s_max.max(Some(10_000)),
            _ => {}
        }
        rest = rest.get(usize::from(length).max(1)..).unwrap_or(&[]);
    }
    mb_per_s_max.map(f64::from)
}

/// `usb-storage` or `uas`: the interface driver between device and disk.
pub(crate) fn usb_driver(disk: &Node, device: &Path) -> Option<String> {
    let mut dirs = disk.dir.ancestors().take_while(|dir| *dir != device);
    let interface = dirs.find(|dir| dir.join("bInterfaceNumber").is_file())?;
    let driver = interface.join("driver").canonicalize().ok()?;
    driver.file_name()?.to_str().map(str::to_string)
}

/// Timing, clock and width are only in debugfs, for root.
fn card(machine: &Machine, disk: &Node, bus: Bus) -> Option<Link> {
    let mut parts = disk.dir.iter().filter_map(|part| part.to_str());
    let host = parts.rfind(|part| numbered_as(part, "mmc"));
    let settings = host.and_then(|host| machine.text(format!("/sys/kernel/debug/{host}/ios")));
    let ios = settings.and_then(|text| Ios::parse(&text));
    Some(Link {
        kind: bus.name().into(),
        now: ios
            .as_ref()
            .map(|ios| format!("{}, {} MHz x{}", ios.timing, (ios.hertz / 1e6).round(), ios.width)),
        best: None,
        ceiling_bytes_per_s: ios.as_ref().map(Ios::bytes_per_s),
        downgraded: None,
        port: host.map(str::to_string),
    })
}

/// Settings of an MMC host controller.
#[derive(Debug, PartialEq)]
struct Ios {
    timing: String,
    hertz: f64,
    width: u32,
}

impl Ios {
    fn parse(text: &str) -> Option<Ios> {
        let clock = field(text, "actual clock").or_else(|| field(text, "clock"))?;
        let width = in_brackets(field(text, "bus width")?)?;
        Some(Ios {
            timing: in_brackets(field(text, "timing spec")?)?.to_string(),
            hertz: clock.split_whitespace().next()?.parse().ok()?,
            width: width.split_whitespace().next()?.parse().ok()?,
        })
    }

    fn bytes_per_s(&self) -> f64 {
        let both_edges = self.timing.contains("DDR5") || self.timing.contains("HS400");
        let edges = if both_edges { 2.0 } else { 1.0 };
        self.hertz * edges * f64::from(self.width) / 8.0
    }
}

fn in_brackets(text: &str) -> Option<&str> {
    text.split_once('(')?.1.split_once(')').map(|(inside, _)| inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ceilings_match_the_published_values() {
        let of = |gt_per_s, width, packet| {
            (Lanes { gt_per_s, width }.payload_bytes_per_s(packet) / 1e6).round()
        };
        assert_eq!(of(5.0, 1, 128.0), 410.0);
        assert_eq!(of(8.0, 4, 256.0), 3550.0);
        assert_eq!(of(16.0, 4, 256.0), 7100.0);
        assert_eq!((usb_payload_bytes_per_s(480.0) / 1e5).round() / 10.0, 53.2);
    }

    #[test]
    fn invalid_links_are_unknown() {
        assert_eq!(Lanes::parse("Unknown", "4"), None);
        assert_eq!(Lanes::parse("Unknown speed", "4"), None);
        assert_eq!(Lanes::parse("8.0 GT/s PCIe", "0"), None);
        assert_eq!(Lanes::parse("8.0 GT/s PCIe", "255"), None);
        let lanes = Lanes::parse("16.0 GT/s PCIe", "4").expect("known");
        assert_eq!(lanes.to_string(), "PCIe 4.0 x4");
    }

    #[test]
    fn the_payload_size_is_found_after_other_capabilities() {
        let mut config = vec![0; 256];
        config[0x34] = 0x40;
        config[0x40..0x42].copy_from_slice(&[0x01, 0x70]);
        config[0x70] = 0x10;
        config[0x78] = 1 << 5;
        assert_eq!(max_payload_bytes(&config), Some(256));
        assert_eq!(max_payload_bytes(&config[..64]), None, "readable without privileges");
        config[0x41] = 0x40;
        assert_eq!(max_payload_bytes(&config), None, "a list with a loop");
    }

    #[test]
    fn settings_of_an_mmc_host() {
        let text = "clock:\t\t200000000 Hz\nactual clock:\t150000000 Hz\nvdd:\t\t21 (3.3 ~ 3.4 V)\n\
                    bus width:\t2 (4 bits)\ntiming spec:\t6 (sd uhs SDR104)\n";
        let ios = Ios::parse(text).expect("all there");
        assert_eq!((ios.timing.as_str(), ios.width), ("sd uhs SDR104", 4));
        assert_eq!(ios.bytes_per_s(), 75e6);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), text in ".{0,80}") {
            max_payload_bytes(&bytes);
            usb_best(&bytes);
            Ios::parse(&text);
            Lanes::parse(&text, &text);
        }
    }
}

//! The QEMU machine: a q35 board, with a drive for every word in a script's `drives`.
//!
//! | word | device in the guest |
//! |---|---|
//! | `nvme` | an NVMe controller with a namespace of 512-byte blocks, on its own PCIe port |
//! | `null` | the same without data: reads and writes transfer nothing |
//! | `pair` | an NVMe controller with two namespaces: `pair` of 512-byte blocks, `pair4k` of 4096 |
//! | `ssd`, `disk` | a SATA drive on AHCI that does not rotate, and one that does |
//! | `usb`, `uas` | USB 3: bulk-only storage, and USB attached SCSI |
//! | `sd` | an SD card in a controller on PCI; one per machine |
//! | `bare-x86_64`, `bare-aarch64` | like `nvme`, with the content that `cargo xtask bare` left on it |
//! | `scratch` | a virtio disk for data of a test, separate from the drive |
//! | `tight` | the same with a queue of less room than it has requests: the kernel puts some back and issues them again |
//!
//! A number after the word adds another of the same kind (`usb2`); `:64M` sets a size other than
//! 128 MiB. Devices are in QMP's JSON format, for the command line and for hot-plugging.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::script::bare as bare_word;
use crate::bare;

const MIB: u64 = 1 << 20;

/// A drive: its devices and their images.
#[derive(Debug)]
pub struct Drive {
    /// Its word in `drives`.
    pub name: String,
    /// In order of creation; a test unplugs the device that has the drive's name as its ID.
    pub devices: Vec<Value>,
    /// Block devices of the drive in the guest.
    pub volumes: Vec<Volume>,
}

/// A block device of the guest and its image on the host.
#[derive(Debug)]
pub struct Volume {
    /// Name in scripts.
    pub name: String,
    /// Part of its sysfs path, by which the guest finds it.
    pub glob: String,
    /// Argument of `--destroy`.
    pub serial: String,
    /// Path of the sparse image file.
    pub image: PathBuf,
    /// Size of the image.
    pub bytes: u64,
}

/// Creates drives and assigns their bus addresses.
#[derive(Default)]
pub struct Builder {
    slot: u32,
    sata: u32,
    usb: u32,
}

/// The image that a bare-metal program wrote, for a drive that begins with its content.
pub fn bare_metal_image(name: &str) -> Option<PathBuf> {
    name.strip_prefix("bare-").map(bare::image_of)
}

impl Builder {
    /// Creates the drive for a word. `dir` is the directory of its image.
    pub fn drive(&mut self, word: &str, dir: &Path) -> Result<Drive> {
        let (name, bytes) = (bare_word(word), size(word)?);
        let volume = |name: &str, glob: String| Volume {
            name: name.into(),
            glob,
            serial: serial(name),
            image: dir.join(format!("{name}.img")),
            bytes,
        };
        let one = |devices: Vec<Value>, glob: String| Drive {
            name: name.into(),
            devices,
            volumes: vec![volume(name, glob)],
        };
        if bare_metal_image(name).is_some() {
            let slot = self.next_slot();
            return Ok(one(nvme(name, &slot, true), nvme_glob(&slot, 1)));
        }
        Ok(match name.trim_end_matches(|c: char| c.is_ascii_digit()) {
            "nvme" | "null" => {
                let slot = self.next_slot();
                one(nvme(name, &slot, true), nvme_glob(&slot, 1))
            }
            "pair" => {
                let slot = self.next_slot();
                let mut drive = one(nvme(name, &slot, false), nvme_glob(&slot, 1));
                let large = format!("{name}4k");
                drive.devices.push(namespace(name, name, 1, 512));
                drive.devices.push(namespace(name, &large, 2, 4096));
                drive.volumes.push(volume(&large, nvme_glob(&slot, 2)));
                drive.volumes[1].serial = drive.volumes[0].serial.clone();
                drive
            }
            "ssd" => self.sata(one, name, 1),
            "disk" => self.sata(one, name, 7200),
            "usb" => {
                let (port, glob) = self.next_usb();
                let devices = json!({"driver": "usb-storage", "id": name, "drive": name,
                    "port": port, "serial": serial(name)});
                one(vec![devices], glob)
            }
            "uas" => {
                let (port, glob) = self.next_usb();
                let bridge =
                    json!({"driver": "usb-uas", "id": name, "port": port, "serial": serial(name)});
                let disk = json!({"driver": "scsi-hd", "id": format!("{name}.0"),
                    "bus": format!("{name}.0"), "drive": name, "serial": serial(name),
                    "vendor": "ssdyno", "product": "uas disk", "ver": "1.5", "rotation_rate": 1});
                one(vec![bridge, disk], glob)
            }
            "sd" => {
                let controller = json!({"driver": "sdhci-pci", "id": name});
                let card = json!({"driver": "sd-card", "id": "sd.card", "drive": name});
                let mut drive = one(vec![controller, card], "*/mmc_host/*/mmcblk*".into());
                drive.volumes[0].serial = "0xdeadbeef".into();
                drive
            }
            kind @ ("scratch" | "tight") => {
                let slot = self.next_slot();
                let mut disk = json!({"driver": "virtio-blk-pci", "id": name, "drive": name,
                    "addr": slot, "serial": serial(name)});
                if kind == "tight" {
                    // Three descriptors a request, of eight; the driver counts on two.
                    disk["indirect_desc"] = json!(false);
                    disk["queue-size"] = json!(8);
                }
                one(vec![disk], format!("*/0000:00:{slot}.0/virtio*"))
            }
            _ => bail!("unknown kind of drive: {word}"),
        })
    }

    fn sata(&mut self, one: impl Fn(Vec<Value>, String) -> Drive, name: &str, turns: u32) -> Drive {
        let bus = self.sata;
        self.sata += 1;
        let disk = json!({"driver": "ide-hd", "id": name, "drive": name, "serial": serial(name),
            "bus": format!("ide.{bus}"), "model": format!("SSDYNO SATA {name}"),
            "ver": "FW1.2", "rotation_rate": turns});
        one(vec![disk], format!("*/ata{}/*", bus + 1))
    }

    /// The next free slot on the board's root bus, as two hexadecimal digits.
    fn next_slot(&mut self) -> String {
        self.slot += 1;
        format!("{:02x}", 0x10 + self.slot)
    }

    fn next_usb(&mut self) -> (String, String) {
        self.usb += 1;
        (self.usb.to_string(), format!("*/usb*/*-{}/*", self.usb))
    }
}

/// A port with a controller, with its only namespace or with none.
fn nvme(name: &str, slot: &str, alone: bool) -> Vec<Value> {
    let port = json!({"driver": "pcie-root-port", "id": format!("{name}.port"), "addr": slot,
        "chassis": u32::from_str_radix(slot, 16).unwrap_or(1), "x-speed": "16", "x-width": "4"});
    let mut controller = json!({"driver": "nvme", "id": name, "bus": format!("{name}.port"),
        "serial": serial(name)});
    if alone {
        controller["drive"] = json!(name);
        controller["logical_block_size"] = json!(512);
    }
    vec![port, controller]
}

fn namespace(controller: &str, drive: &str, number: u32, block: u32) -> Value {
    json!({"driver": "nvme-ns", "id": format!("{drive}.ns"), "drive": drive, "nsid": number,
        "bus": controller, "logical_block_size": block, "physical_block_size": block})
}

fn nvme_glob(slot: &str, namespace: u32) -> String {
    format!("*/0000:00:{slot}.0/*/nvme*n{namespace}")
}

fn serial(name: &str) -> String {
    format!("SSDYNO-{}", name.to_uppercase())
}

/// The size after the colon, in bytes; 128 MiB without one. An SD card's must be a power of two.
fn size(word: &str) -> Result<u64> {
    let Some((_, size)) = word.split_once(':') else {
        return Ok(128 * MIB);
    };
    let mib: u64 = size
        .strip_suffix('M')
        .and_then(|n| n.parse().ok())
        .context("a size is a number and M, such as 64M")?;
    Ok(mib * MIB)
}

/// The QEMU options of an image: the guest's discards create holes. A `null` drive has no image.
pub fn image(volume: &Volume, aio: &str) -> Value {
    if volume.name.starts_with("null") {
        return json!({"driver": "null-co", "node-name": volume.name, "size": volume.bytes,
            "read-zeroes": false});
    }
    json!({"driver": "raw", "node-name": volume.name, "discard": "unmap",
        "file": {"driver": "file", "filename": volume.image, "discard": "unmap", "aio": aio}})
}

/// The board and its processor.
#[derive(Clone, Copy, Debug)]
pub enum Board {
    /// An x86-64 machine.
    Q35,
    /// QEMU's own board with a Cortex-A53, which runs 64-bit and 32-bit programs.
    Virt,
}

impl Board {
    /// The program that emulates it.
    pub fn emulator(self) -> &'static str {
        match self {
            Board::Q35 => "qemu-system-x86_64",
            Board::Virt => "qemu-system-aarch64",
        }
    }

    /// Its options of QEMU.
    pub fn options(self) -> &'static [&'static str] {
        match self {
            Board::Q35 => &["-machine", "q35"],
            Board::Virt => &["-machine", "virt", "-cpu", "cortex-a53"],
        }
    }

    /// The kernel's name for its serial port.
    pub fn console(self) -> &'static str {
        match self {
            Board::Q35 => "ttyS0",
            Board::Virt => "ttyAMA0",
        }
    }
}

/// Options independent of the script and the board.
pub const OPTIONS: &[&str] = &[
    "-accel",
    "tcg",
    "-m",
    "640",
    "-smp",
    "1",
    "-nodefaults",
    "-no-user-config",
    "-display",
    "none",
    "-device",
    "virtio-serial-pci",
    "-device",
    "virtserialport,chardev=host,nr=1",
    "-device",
    "virtserialport,chardev=out,nr=2",
    "-device",
    "qemu-xhci,id=xhci,p2=8,p3=8",
    "-mon",
    "chardev=qmp,mode=control",
];

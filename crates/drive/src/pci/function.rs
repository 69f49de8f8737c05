//! A PCI function in sysfs: its driver, its IOMMU group, the namespaces of its NVMe controller.
//!
//! Source: the kernel's Documentation/ABI/testing/sysfs-bus-pci.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::address::{Address, Spec};
use crate::error::DriveError;
use crate::machine::{self, Machine};
use crate::node::Node;

/// PCI class of an NVMe controller, and base class (the upper 8 of 24 bits) of bridges.
const NVME_CLASS: u32 = 0x01_0802;
const BRIDGE: u32 = 0x06;

/// The kernel's NVMe driver, the driver that leaves devices to user space, and a name that matches
/// no driver, so none binds.
pub(crate) const KERNEL: &str = "nvme";
pub(crate) const VFIO: &str = "vfio-pci";
pub(crate) const NOBODY: &str = "ssdyno";

/// The command register in configuration space, and the bit that enables access to memory.
const COMMAND: u64 = 4;
const MASTER: u16 = 0b100;

/// The NVMe controller of a PCI function.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    machine: Machine,
    pub address: Address,
    dir: PathBuf,
}

impl Function {
    /// Finds the function of a target, which must be an NVMe controller.
    pub fn find(machine: &Machine, spec: &str, parsed: Spec) -> Result<Function, DriveError> {
        let function = Function::at(machine, parsed.address).ok_or_else(|| {
            let text = "there is no such PCI function".into();
            DriveError::NotFound { path: spec.into(), what: text, hint: Some("ssdyno list".into()) }
        })?;
        match function.class() {
            Some(NVME_CLASS) => Ok(function),
            _ => Err(DriveError::NotATarget {
                path: spec.into(),
                what: "a PCI function without an NVMe controller",
                hint: None,
            }),
        }
    }

    /// The function at an address, of any kind.
    pub fn at(machine: &Machine, address: Address) -> Option<Function> {
        let dir = machine.path(format!("/sys/bus/pci/devices/{address}")).canonicalize().ok()?;
        Some(Function { machine: machine.clone(), address, dir })
    }

    /// All NVMe controllers, by address.
    pub fn all(machine: &Machine) -> Vec<Function> {
        let names = machine.names("/sys/bus/pci/devices").into_iter();
        let functions = names.filter_map(|name| Function::at(machine, name.parse().ok()?));
        functions.filter(|function| function.class() == Some(NVME_CLASS)).collect()
    }

    fn class(&self) -> Option<u32> {
        let text = machine::read_text(&self.dir.join("class"))?;
        u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
    }

    /// Name of the driver; `None` without one.
    pub fn driver(&self) -> Option<String> {
        self.link("driver")
    }

    /// Number of the IOMMU group; `None` without an IOMMU.
    pub fn group(&self) -> Option<String> {
        self.link("iommu_group")
    }

    fn link(&self, name: &str) -> Option<String> {
        let target = std::fs::read_link(self.dir.join(name)).ok()?;
        Some(target.file_name()?.to_str()?.to_string())
    }

    /// Other functions of its group with a driver other than `vfio-pci`: all must be free before
    /// one may be driven from user space, because the IOMMU cannot isolate them. Bridges do not
    /// count.
    pub fn group_peers(&self) -> Vec<String> {
        let members = machine::names(&self.dir.join("iommu_group/devices"));
        members
            .iter()
            .filter_map(|name| {
                let peer = Function::at(&self.machine, name.parse().ok()?)?;
                let is_free = peer.address == self.address || peer.class()? >> 16 == BRIDGE;
                let driver = peer.driver().filter(|driver| !is_free && driver != VFIO)?;
                Some(format!("{name} ({driver})"))
            })
            .collect()
    }

    /// Block devices of the controller's namespaces with their numbers, ascending. With multipath,
    /// the visible node is elsewhere in sysfs than this controller's hidden path.
    pub fn namespaces(&self) -> Vec<(u32, Node)> {
        let controllers = machine::names(&self.dir.join("nvme"));
        let names = controllers.iter().flat_map(|controller| {
            let dir = self.dir.join("nvme").join(controller);
            machine::names(&dir).into_iter().filter(|name| name.starts_with("nvme"))
        });
        let mut namespaces: Vec<(u32, Node)> = names
            .filter_map(|name| {
                let node = Node::named(&self.machine, &visible(&name))?;
                Some((node.value("nsid")?, node))
            })
            .collect();
        namespaces.sort_by_key(|(nsid, _)| *nsid);
        namespaces
    }

    /// Writes a word to a file of the function.
    pub fn set(&self, file: &str, word: &str) -> Result<(), DriveError> {
        write(&self.dir.join(file), word, &self.address.to_string())
    }

    /// Writes the function's address to a file of the bus: `drivers/nvme/unbind`, `drivers_probe`.
    pub fn announce(&self, file: &str) -> Result<(), DriveError> {
        let address = self.address.to_string();
        write(&self.machine.path(format!("/sys/bus/pci/{file}")), &address, &address)
    }

    /// Directory of the function in sysfs.
    pub fn directory(&self) -> &Path {
        &self.dir
    }

    /// Whether [`Function::silence`] can work.
    pub fn can_be_silenced(&self) -> io::Result<()> {
        OpenOptions::new().read(true).write(true).open(self.dir.join("config"))?;
        OpenOptions::new().write(true).open(self.dir.join("reset")).map(drop)
    }

    /// Disables the function's access to memory and resets it, so that it forgets all addresses.
    /// Only for a function without a driver.
    pub fn silence(&self) -> io::Result<()> {
        let config = OpenOptions::new().read(true).write(true).open(self.dir.join("config"))?;
        let mut bits = [0; 2];
        config.read_exact_at(&mut bits, COMMAND)?;
        let bits = u16::from_le_bytes(bits) & !MASTER;
        config.write_all_at(&bits.to_le_bytes(), COMMAND)?;
        // The response to a read arrives after all earlier writes of the function.
        config.read_exact_at(&mut [0; 2], COMMAND)?;
        std::fs::write(self.dir.join("reset"), "1")
    }

    /// Whether the bus has a driver of this name.
    pub fn has_driver(&self, name: &str) -> bool {
        self.machine.path(format!("/sys/bus/pci/drivers/{name}")).is_dir()
    }
}

fn write(path: &Path, word: &str, address: &str) -> Result<(), DriveError> {
    std::fs::write(path, word).map_err(|error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => DriveError::Permission {
            action: "change the driver of",
            path: format!("pci:{address}"),
            missing: "root".into(),
        },
        _ if word.trim().is_empty() => {
            DriveError::io(format!("cannot clear {}", path.display()), error)
        }
        _ => DriveError::io(format!("cannot write {word} to {}", path.display()), error),
    })
}

/// The visible node of a hidden path: `nvme0n1` for `nvme0c1n1`.
fn visible(name: &str) -> String {
    let node = name.strip_prefix("nvme").and_then(|rest| {
        let (subsystem, rest) = rest.split_once('c')?;
        Some(format!("nvme{subsystem}n{}", rest.split_once('n')?.1))
    });
    node.unwrap_or_else(|| name.to_string())
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_error_of_clearing_a_file_is_one_line() {
        let path = std::path::Path::new("/nonexistent/driver_override");
        let error = super::write(path, "\n", "0000:00:05.0").expect_err("no such file");
        let text = error.to_string();
        assert!(text.starts_with("cannot clear /nonexistent/driver_override: "), "{text}");
        assert!(!text.contains('\n'), "{text}");
    }

    #[test]
    fn the_node_of_a_hidden_path_is_that_of_the_subsystem() {
        assert_eq!(super::visible("nvme0c1n2"), "nvme0n2");
        assert_eq!(super::visible("nvme10n1"), "nvme10n1");
    }
}

//! One block device in sysfs: a whole drive, a partition, or a device built on others.
//!
//! A node is a name and its real directory (`/sys/devices/.../block/sda`). The layer below it is
//! [`Lower`]: the disk of a partition, the slaves of dm and md, the file of a loop device.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::machine::{self, DevNumber, Machine};

/// Sectors in sysfs have 512 bytes, whatever the drive's block size.
pub(crate) const SECTOR: u64 = 512;

/// A block device in sysfs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// Kernel name, with `/` where sysfs has `!`.
    pub name: String,
    /// Directory of the device, with links resolved.
    pub dir: PathBuf,
}

/// The layer below a device.
#[derive(Debug, PartialEq)]
pub(crate) enum Lower {
    /// None: the device is a drive, as far as the kernel shows.
    Nothing,
    /// Other block devices.
    Nodes(Vec<Node>),
    File(PathBuf),
}

impl Node {
    /// The device with this kernel name.
    pub fn named(machine: &Machine, name: &str) -> Option<Node> {
        let plain = !name.is_empty() && name != "." && name != "..";
        plain
            .then(|| Node::in_dir(&machine.path("/sys/class/block").join(name.replace('/', "!"))))?
    }

    /// The device with this number.
    pub fn numbered(machine: &Machine, number: DevNumber) -> Option<Node> {
        Node::in_dir(&machine.path("/sys/dev/block").join(number.to_string()))
    }

    /// The device of a node such as `/dev/sda`, or of a link to a node.
    pub fn at_path(machine: &Machine, path: &Path) -> Option<Node> {
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        let real = machine.path(path).canonicalize().ok()?;
        let meta = std::fs::metadata(&real).ok()?;
        if meta.file_type().is_block_device() {
            return Node::numbered(machine, DevNumber::from_dev(meta.rdev()));
        }
        if machine.is_here() {
            return None;
        }
        // A simulated machine has no device nodes, so the name is used.
        let dev = machine.path("/dev").canonicalize().ok()?;
        Node::named(machine, real.strip_prefix(dev).ok()?.to_str()?)
    }

    fn in_dir(dir: &Path) -> Option<Node> {
        let dir = dir.canonicalize().ok()?;
        let name = dir.file_name()?.to_str()?.replace('!', "/");
        Some(Node { name, dir })
    }

    /// Device node, `/dev/sda1`.
    pub fn path(&self) -> String {
        format!("/dev/{}", self.name)
    }

    pub fn text(&self, file: &str) -> Option<String> {
        machine::read_text(&self.dir.join(file))
    }

    pub fn value<T: FromStr>(&self, file: &str) -> Option<T> {
        self.text(file)?.parse().ok()
    }

    pub fn names(&self, dir: &str) -> Vec<String> {
        machine::names(&self.dir.join(dir))
    }

    pub fn number(&self) -> Option<DevNumber> {
        self.value("dev")
    }

    pub fn bytes(&self) -> Option<u64> {
        self.value::<u64>("size")?.checked_mul(SECTOR)
    }

    /// Number of a partition; `None` for whole devices.
    pub fn partition(&self) -> Option<u32> {
        self.value("partition")
    }

    pub fn is_read_only(&self) -> bool {
        self.value::<u8>("ro") == Some(1)
    }

    /// The whole device of a partition, or the device itself.
    pub fn disk(&self) -> Node {
        let parent = self.partition().and_then(|_| Node::in_dir(self.dir.parent()?));
        parent.unwrap_or_else(|| self.clone())
    }

    /// By number.
    pub fn partitions(&self) -> Vec<Node> {
        let dirs = self.names(".").into_iter().map(|name| self.dir.join(name));
        let mut partitions: Vec<Node> = dirs
            .filter(|dir| dir.join("partition").is_file())
            .filter_map(|d| Node::in_dir(&d))
            .collect();
        partitions.sort_by_key(Node::partition);
        partitions
    }

    /// Whether it is memory presented as a drive: zram or a RAM disc.
    pub fn is_ram(&self) -> bool {
        ["zram", "ram"].iter().any(|kind| numbered_as(&self.name, kind))
    }

    /// The layer below the device.
    pub fn lower(&self, machine: &Machine) -> Lower {
        if self.partition().is_some() {
            return Lower::Nodes(vec![self.disk()]);
        }
        if let Some(file) = self.backing_file() {
            return Lower::File(file);
        }
        let slaves = self.names("slaves").into_iter();
        let slaves: Vec<Node> = slaves.filter_map(|name| Node::named(machine, &name)).collect();
        if slaves.is_empty() { Lower::Nothing } else { Lower::Nodes(slaves) }
    }

    /// The backing file of a loop device.
    pub fn backing_file(&self) -> Option<PathBuf> {
        let file = self.text("loop/backing_file")?;
        Some(PathBuf::from(file.strip_suffix(" (deleted)").unwrap_or(&file)))
    }

    /// The devices whose counters cover the traffic. Before Linux 6.4, a multipath NVMe head has no
    /// counters; the hidden path devices always have counters.
    pub fn counted(&self, machine: &Machine) -> Vec<Node> {
        let split = self.name.rsplit_once('n').filter(|_| self.name.starts_with("nvme"));
        let Some((controller, namespace)) = split else { return vec![self.clone()] };
        let names = machine.names("/sys/block").into_iter().filter(|name| {
            let rest = name.strip_prefix(controller).and_then(|rest| rest.strip_prefix('c'));
            rest.and_then(|rest| rest.split_once('n')).is_some_and(|(_, n)| n == namespace)
        });
        let paths: Vec<Node> = names.filter_map(|name| Node::named(machine, &name)).collect();
        if paths.is_empty() { vec![self.clone()] } else { paths }
    }

    /// Whether users see the device: it is neither unused nor a hidden path of a drive.
    pub fn is_shown(&self) -> bool {
        let made_on_demand = ["loop", "zram", "ram", "nbd"];
        let is_unused = self.bytes().unwrap_or(0) == 0
            && made_on_demand.iter().any(|kind| numbered_as(&self.name, kind));
        self.value::<u8>("hidden") != Some(1) && !is_unused
    }
}

/// Whether a name is `kind` followed by a number.
pub(crate) fn numbered_as(name: &str, kind: &str) -> bool {
    let number = name.strip_prefix(kind);
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

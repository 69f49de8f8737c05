//! All block devices of a machine: identity, contents, uses, allowed operations.

use std::fs::File;

use record::{DriveIdentity, FileSystem};
use serde::Serialize;

use crate::allow::{Allowance, allowance};
use crate::contents::{self, DeviceContent};
use crate::graph::{Below, Graph};
use crate::locate::filesystem;
use crate::machine::Machine;
use crate::mounts::Mounts;
use crate::node::{Node, SECTOR};
use crate::partitions::{PartitionTable, PartitionType};
use crate::query;
use crate::stack::{Walk, mounted_nodes};

/// A whole block device.
#[derive(Clone, Debug, Serialize)]
pub struct BlockDevice {
    pub drive: DriveIdentity,
    /// Whether the kernel reports it as removable, as it does USB sticks and card readers.
    pub removable: bool,
    /// Backing file of a loop device.
    pub backing_file: Option<String>,
    /// The places on other devices and in files that hold its bytes.
    pub below: Vec<Below>,
    /// Contents and uses.
    #[serde(flatten)]
    pub inside: Inside,
    /// Partitions known to the kernel, by number.
    pub partitions: Vec<Partition>,
    /// Allowed operations.
    pub allowance: Allowance,
}

#[derive(Clone, Debug, Serialize)]
pub struct Partition {
    /// Kernel name, such as `sda1`.
    pub name: String,
    /// Device node.
    pub path: String,
    /// Number in the table.
    pub number: u32,
    /// Offset on the disk, bytes.
    pub start: u64,
    /// Size, bytes.
    pub bytes: u64,
    /// Whether it starts on a 4 KiB boundary; if not, every 4 KiB write touches two pages of the
    /// drive.
    pub aligned_4k: bool,
    /// Whether it starts on a 1 MiB boundary, the default of partitioning tools since 2010.
    pub aligned_1m: bool,
    /// Type in the partition table; `null` if the table could not be read.
    #[serde(rename = "type")]
    pub kind: Option<PartitionType>,
    /// Contents and uses.
    #[serde(flatten)]
    pub inside: Inside,
    /// Allowed operations.
    pub allowance: Allowance,
}

/// Contents and uses of a device or partition.
#[derive(Clone, Debug, Serialize)]
pub struct Inside {
    /// Recognised contents; `null` if they could not be read.
    pub contents: Option<Vec<DeviceContent>>,
    pub mounts: Vec<FileSystem>,
    /// Whether it is used as swap.
    pub swap: bool,
    /// Devices stacked on it: `dm-0 (vg-home)`, `md0`, `loop3`.
    pub holders: Vec<String>,
}

/// All whole block devices of this machine, sorted by name, except unused loop, zram and similar
/// devices (size 0) and the hidden paths of NVMe multipath.
pub fn list() -> Vec<BlockDevice> {
    Machine::here().list()
}

impl Machine {
    /// [`list`] for this machine.
    pub fn list(&self) -> Vec<BlockDevice> {
        let nodes =
            self.names("/sys/block").into_iter().filter_map(|name| Node::named(self, &name));
        let (mounts, graph) = (Mounts::read(self), Graph::read(self));
        let view = Seen { machine: self, mounts: &mounts, graph: &graph };
        nodes.filter(Node::is_shown).map(|node| device(&view, &node)).collect()
    }
}

/// The machine as read once for a list.
struct Seen<'a> {
    machine: &'a Machine,
    mounts: &'a Mounts,
    graph: &'a Graph,
}

fn device(seen: &Seen<'_>, node: &Node) -> BlockDevice {
    let Seen { machine, mounts, graph } = *seen;
    let ram = Walk::new(machine, mounts).under_node(node).ram;
    let drive = query::identify(machine, node, ram);
    let image = File::open(machine.path(node.path())).ok();
    let block_bytes = drive.logical_block_bytes.unwrap_or(512);
    let partitions = node.partitions();
    let bytes = node.bytes().unwrap_or(0);
    let surface = image.as_ref().map(|file| contents::surface(file, bytes, block_bytes));
    let table = image.as_ref().filter(|_| !partitions.is_empty());
    let table = table.and_then(|file| PartitionTable::read(file, bytes, block_bytes));
    BlockDevice {
        removable: node.value::<u8>("removable") == Some(1),
        below: graph.below(node),
        backing_file: node.backing_file().map(|file| file.display().to_string()),
        inside: inside(seen, node, surface),
        partitions: partitions
            .iter()
            .filter_map(|part| partition(seen, part, (image.as_ref(), table.as_ref())))
            .collect(),
        allowance: allowance(machine, graph, node),
        drive,
    }
}

fn partition(
    seen: &Seen<'_>,
    node: &Node,
    (image, table): (Option<&File>, Option<&PartitionTable>),
) -> Option<Partition> {
    let start = node.value::<u64>("start")?.checked_mul(SECTOR)?;
    let bytes = node.bytes()?;
    let contents = image.map(|image| contents::part(image, start, bytes));
    let number = node.partition()?;
    let entry = table.and_then(|table| table.entries.iter().find(|e| e.number == number));
    Some(Partition {
        name: node.name.clone(),
        path: node.path(),
        number,
        kind: entry.map(|entry| entry.kind),
        start,
        bytes,
        aligned_4k: start.is_multiple_of(4 << 10),
        aligned_1m: start.is_multiple_of(1 << 20),
        inside: inside(seen, node, contents),
        allowance: allowance(seen.machine, seen.graph, node),
    })
}

fn inside(seen: &Seen<'_>, node: &Node, contents: Option<Vec<DeviceContent>>) -> Inside {
    let Seen { machine, mounts, graph } = *seen;
    let mounted = mounts.0.iter().filter(|mount| mounted_nodes(machine, mount).contains(node));
    Inside {
        contents,
        mounts: mounted.map(|m| filesystem(&machine.path(&m.point), Some(m))).collect(),
        swap: graph.is_swap(node),
        holders: graph.holders(node),
    }
}

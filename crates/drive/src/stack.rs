//! The layers below a file system or device, down to the drives.
//!
//! Follows partitions, dm and md through sysfs, loop devices through their backing file and its
//! file system, overlays through their upper directory, btrfs through its members. A layer on
//! exactly one other device continues the walk. A layer on several (RAID) is considered the drive,
//! and the drives below it are only used for counters.

use std::path::{Path, PathBuf};

use crate::machine::Machine;
use crate::mounts::{Mount, Mounts};
use crate::node::{Lower, Node};

/// Maximum number of layers: a loop device over a file on itself would never end.
const DEPTH_MAX: usize = 24;

/// The layers below a file system or device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stack {
    /// Layers above the drive, from the top.
    pub layers: Vec<String>,
    /// The drive, if there is one.
    pub drive: Option<Node>,
    /// The devices whose counters cover the traffic.
    pub disks: Vec<Node>,
    /// All devices visited, including the drives, from the lowest.
    pub passed: Vec<Node>,
    /// Whether the data are in memory.
    pub ram: bool,
}

impl Stack {
    /// The largest logical block size of all visited devices, which all of them accept.
    pub fn block_bytes(&self) -> Option<u32> {
        self.passed.iter().filter_map(|node| node.value("queue/logical_block_size")).max()
    }

    fn passing(mut self, node: &Node) -> Stack {
        if !self.passed.contains(node) {
            self.passed.push(node.clone());
        }
        self
    }

    fn on(self, layer: String) -> Stack {
        let layers = std::iter::once(layer).chain(self.layers).collect();
        Stack { layers, ..self }
    }
}

/// A walk down the layers.
pub(crate) struct Walk<'m> {
    machine: &'m Machine,
    mounts: &'m Mounts,
}

impl<'m> Walk<'m> {
    pub fn new(machine: &'m Machine, mounts: &'m Mounts) -> Walk<'m> {
        Walk { machine, mounts }
    }

    /// Starts at a file or directory.
    pub fn under_path(&self, path: &Path) -> Stack {
        self.path(path, 0)
    }

    /// Starts at a mounted file system.
    pub fn under_mount(&self, mount: &Mount) -> Stack {
        self.mount(mount, 0)
    }

    /// Starts at a block device, which is included.
    pub fn under_node(&self, node: &Node) -> Stack {
        self.node(node, 0)
    }

    fn path(&self, path: &Path, depth: usize) -> Stack {
        let mount = mount_of(self.machine, self.mounts, path);
        mount.map(|mount| self.mount(mount, depth)).unwrap_or_default()
    }

    fn mount(&self, mount: &Mount, depth: usize) -> Stack {
        if mount.in_memory() {
            return Stack { ram: true, ..Stack::default() };
        }
        let data = overlay_data(mount).filter(|dir| depth < DEPTH_MAX && self.sees(dir, mount));
        if let Some(upper) = data {
            return self.path(&upper, depth + 1).on(upper.display().to_string());
        }
        match mounted_nodes(self.machine, mount).as_slice() {
            [] => Stack::default(),
            [node] => self.node(node, depth),
            nodes => Stack {
                layers: nodes.iter().map(Node::path).collect(),
                drive: None,
                ..self.several(nodes, depth)
            },
        }
    }

    /// Whether a directory of an overlay is visible here: in a container, it is a path of the host.
    fn sees(&self, dir: &Path, overlay: &Mount) -> bool {
        let mount = mount_of(self.machine, self.mounts, dir);
        let real = self.machine.real_path(dir);
        // A directory that this user may not search is visible nevertheless.
        let is_missing = real.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        !is_missing && mount.is_some_and(|mount| mount.id != overlay.id)
    }

    fn node(&self, node: &Node, depth: usize) -> Stack {
        let lower = if depth < DEPTH_MAX { node.lower(self.machine) } else { Lower::Nothing };
        let stack = match lower {
            Lower::Nothing => return self.drive(node, node.is_ram()),
            Lower::File(file) => {
                let stack = self.path(&file, depth + 1).on(file.display().to_string());
                if stack.disks.is_empty() {
                    return self.drive(node, stack.ram);
                }
                stack
            }
            Lower::Nodes(nodes) => match nodes.as_slice() {
                [one] => self.node(one, depth + 1),
                several => {
                    let drive = Some(node.clone());
                    Stack { layers: Vec::new(), drive, ..self.several(several, depth) }
                        .passing(node)
                }
            },
        };
        let drive = stack.drive.as_ref().map(|drive| drive.name.clone());
        let stack = stack.passing(node);
        if drive.as_deref() == Some(&node.name) { stack } else { stack.on(node.path()) }
    }

    fn drive(&self, node: &Node, ram: bool) -> Stack {
        Stack {
            layers: Vec::new(),
            drive: Some(node.clone()),
            disks: node.counted(self.machine),
            passed: vec![node.clone()],
            ram,
        }
    }

    fn several(&self, nodes: &[Node], depth: usize) -> Stack {
        let mut sum = Stack { ram: true, ..Stack::default() };
        for stack in nodes.iter().map(|node| self.node(node, depth + 1)) {
            let disks: Vec<Node> =
                stack.disks.into_iter().filter(|disk| !sum.disks.contains(disk)).collect();
            sum.disks.extend(disks);
            sum.passed.extend(stack.passed);
            sum.ram &= stack.ram;
        }
        sum
    }
}

/// The mount that contains a path: found by the kernel's mount ID if available (Linux 5.8),
/// otherwise by path.
pub(crate) fn mount_of<'m>(
    machine: &Machine,
    mounts: &'m Mounts,
    path: &Path,
) -> Option<&'m Mount> {
    let reported = machine.is_here().then(|| mount_id(path)).flatten();
    reported.and_then(|id| mounts.by_id(id)).or_else(|| {
        let real = machine.real_path(path);
        mounts.covering(&real.unwrap_or_else(|_| path.to_path_buf()))
    })
}

fn mount_id(path: &Path) -> Option<u64> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    let answer = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
    (answer.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(answer.stx_mnt_id)
}

/// The block devices of a mounted file system: one, or several for btrfs and similar.
pub(crate) fn mounted_nodes(machine: &Machine, mount: &Mount) -> Vec<Node> {
    if mount.dev.major != 0 {
        return Node::numbered(machine, mount.dev).into_iter().collect();
    }
    let sources = mount.source.split(':').filter(|source| source.starts_with("/dev/"));
    let nodes = sources.filter_map(|source| {
        // A container may lack the device node, or the link to it.
        Node::at_path(machine, Path::new(source)).or_else(|| {
            let name = source.strip_prefix("/dev/")?;
            Node::named(machine, name).or_else(|| mapped(machine, name.strip_prefix("mapper/")?))
        })
    });
    let nodes: Vec<Node> = nodes.collect();
    match nodes.as_slice() {
        [one] if mount.kind == "btrfs" => btrfs_members(machine, one).unwrap_or(nodes),
        _ => nodes,
    }
}

/// The volume of the device mapper with this name.
fn mapped(machine: &Machine, name: &str) -> Option<Node> {
    let nodes = machine.names("/sys/class/block").into_iter();
    let mut nodes = nodes.filter_map(|node| Node::named(machine, &node));
    nodes.find(|node| node.text("dm/name").as_deref() == Some(name))
}

/// All devices of the btrfs file system on this device.
fn btrfs_members(machine: &Machine, node: &Node) -> Option<Vec<Node>> {
    let systems = machine.names("/sys/fs/btrfs").into_iter();
    let mut members = systems.map(|id| machine.names(format!("/sys/fs/btrfs/{id}/devices")));
    let names = members.find(|names| names.contains(&node.name))?;
    Some(names.iter().filter_map(|name| Node::named(machine, name)).collect())
}

/// The directory of an overlay that receives writes; without an upper directory, the one that
/// serves reads.
fn overlay_data(mount: &Mount) -> Option<PathBuf> {
    if mount.kind != "overlay" {
        return None;
    }
    let dir = mount.option("upperdir").or_else(|| mount.option("lowerdir")?.split(':').next())?;
    dir.starts_with('/').then(|| PathBuf::from(dir))
}

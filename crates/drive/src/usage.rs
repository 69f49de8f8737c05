//! Uses of a block device or file that rule out overwriting it.
//!
//! Mounts, swap, dm, md and bcache holders, and loop devices on it. ZFS and mounts in other
//! namespaces are not visible here; for those, the kernel refuses an O_EXCL open.

use std::path::{Path, PathBuf};

use crate::machine::Machine;
use crate::mounts::{Mounts, swaps};
use crate::node::Node;
use crate::stack::{Walk, mounted_nodes};

/// All uses of a device and its partitions, in words; for a partition, also those of the whole
/// disk. Empty if unused.
pub(crate) fn uses_of(machine: &Machine, node: &Node) -> Vec<String> {
    let mounts = Mounts::of(machine);
    let mut family = vec![node.clone()];
    match node.partition() {
        Some(_) => family.push(node.disk()),
        None => family.extend(node.partitions()),
    }
    let mut uses: Vec<String> =
        family.iter().flat_map(|member| direct_uses(machine, &mounts, member)).collect();
    let root = Walk::new(machine, &mounts).under_path(Path::new("/"));
    let reported = uses.iter().any(|use_| use_.ends_with(" is mounted at /"));
    if root.passed.contains(node) && !reported {
        uses.insert(0, format!("{} contains the root file system", node.path()));
    }
    uses
}

/// Uses of this device only.
fn direct_uses(machine: &Machine, mounts: &Mounts, node: &Node) -> Vec<String> {
    let path = node.path();
    let on_it = mounts.0.iter().filter(|mount| mounted_nodes(machine, mount).contains(node));
    let mut uses: Vec<String> =
        on_it.map(|m| format!("{path} is mounted at {}", m.point)).collect();
    if swaps(machine).iter().any(|swap| Node::at_path(machine, swap).as_ref() == Some(node)) {
        uses.push(format!("{path} is swap"));
    }
    uses.extend(
        holders(machine, node).into_iter().map(|holder| format!("{path} is held by {holder}")),
    );
    uses
}

/// Devices built on this one, with their names if any: `dm-0 (vg-home)`.
pub(crate) fn holders(machine: &Machine, node: &Node) -> Vec<String> {
    let named = |name: String| {
        let own = Node::named(machine, &name).and_then(|holder| holder.text("dm/name"));
        own.map_or(name.clone(), |own| format!("{name} ({own})"))
    };
    let mut all: Vec<String> = node.names("holders").into_iter().map(named).collect();
    let on_it = |file: &Path| Node::at_path(machine, file).as_ref() == Some(node);
    all.extend(loops(machine).into_iter().filter(|(_, file)| on_it(file)).map(|(name, _)| name));
    all
}

/// Uses of a file as swap or as the backing file of a loop device.
pub(crate) fn uses_of_file(machine: &Machine, path: &Path) -> Vec<String> {
    use std::os::unix::fs::MetadataExt;
    let identity = |path: &Path| std::fs::metadata(path).ok().map(|m| (m.dev(), m.ino()));
    let wanted = identity(path);
    let same = |other: &Path| wanted.is_some() && identity(other) == wanted;
    let mut uses = Vec::new();
    if swaps(machine).iter().any(|swap| same(swap)) {
        uses.push("it is swap".to_string());
    }
    let held = loops(machine).into_iter().filter(|(_, file)| same(file));
    uses.extend(held.map(|(name, _)| format!("{name} is backed by it")));
    uses
}

/// Loop devices and their backing files or devices.
fn loops(machine: &Machine) -> Vec<(String, PathBuf)> {
    let names = machine.names("/sys/block").into_iter().filter(|name| name.starts_with("loop"));
    let pair = |name: String| {
        let file = Node::named(machine, &name)?.backing_file()?;
        Some((name, file))
    };
    names.filter_map(pair).collect()
}

//! Reads the graph from the kernel: layers from sysfs and ioctls, users from the mounts of every
//! namespace, the active file systems, swap, and the devices that hold others.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::Path;

use super::loops::{self, Backing};
use super::region::{Container, FileNumber, Piece, Region};
use super::spaces::Space;
use super::{Graph, Layer, Use, User, mapper};
use crate::machine::{DevNumber, Machine};
use crate::mounts::{Mounts, Swap, swaps};
use crate::node::Node;
use crate::stack::{Walk, mounted_nodes};
use crate::sys::stacked::dm_table;

impl Graph {
    /// Reads the graph of a machine.
    pub fn read(machine: &Machine) -> Graph {
        let spaces = Space::all(machine);
        let names = machine.names("/sys/class/block").into_iter();
        let nodes = names.filter_map(|name| Node::named(machine, &name));
        let nodes = nodes.filter_map(|node| Some((node.number()?, node))).collect();
        let mut graph = Graph {
            machine: machine.clone(),
            nodes,
            layers: HashMap::new(),
            uses: Vec::new(),
            root: Vec::new(),
            spaces,
        };
        graph.add_mounts();
        graph.add_active_file_systems();
        swaps(machine).iter().for_each(|swap| graph.add_swap(swap));
        graph.add_layers();
        let mounts = Mounts::of(machine);
        let root = Walk::new(machine, &mounts).under_path(Path::new("/")).passed;
        graph.root = root;
        graph
    }

    fn add_mounts(&mut self) {
        let mut nodes_of = HashMap::new();
        let mut seen = HashSet::new();
        let mut uses = Vec::new();
        for space in &self.spaces {
            for mount in &space.mounts.0 {
                let key = (mount.dev, mount.source.clone());
                let nodes =
                    nodes_of.entry(key).or_insert_with(|| mounted_nodes(&self.machine, mount));
                for node in nodes {
                    // A copy of the own namespace has the same mounts.
                    if seen.insert((node.name.clone(), mount.point.clone())) {
                        let (point, is_own) = (mount.point.clone(), space.is_own);
                        uses.extend(self.use_of_node(node, User::Mount { point, is_own }));
                    }
                }
            }
        }
        self.uses.extend(uses);
    }

    /// File systems that the kernel has open, whoever mounted them: `/sys/fs/ext4/sda1`,
    /// `/sys/fs/btrfs/ID/devices/sda1`.
    fn add_active_file_systems(&mut self) {
        let machine = self.machine.clone();
        for kind in machine.names("/sys/fs") {
            let names = machine.names(format!("/sys/fs/{kind}"));
            let members = names.iter().flat_map(|id| {
                let members = machine.names(format!("/sys/fs/{kind}/{id}/devices"));
                if kind == "btrfs" { members } else { Vec::new() }
            });
            for name in names.iter().cloned().chain(members) {
                let Some(node) = Node::named(&machine, &name) else { continue };
                self.add_hidden(&node, User::FileSystem { kind: kind.clone() });
            }
        }
    }

    /// Adds a use by a file system, unless a mount shows it.
    fn add_hidden(&mut self, node: &Node, user: User) {
        let Some(hidden) = self.use_of_node(node, user) else { return };
        let is_mount =
            |other: &Use| matches!(other.user, User::Mount { .. }) && other.region == hidden.region;
        if !self.uses.iter().any(is_mount) {
            self.uses.push(hidden);
        }
    }

    fn add_swap(&mut self, swap: &Swap) {
        if !swap.is_file
            && let Some(node) = Node::at_path(&self.machine, &swap.path)
        {
            self.uses.extend(self.use_of_node(&node, User::Swap));
            return;
        }
        let page = rustix::param::page_size() as u64;
        let bytes = swap.bytes + page;
        let files = self.spaces.iter().filter_map(|space| {
            let meta = space.path(&self.machine, &swap.path).metadata().ok()?;
            let is_same_size = meta.len() / page * page == bytes;
            (meta.is_file() && is_same_size).then(|| FileNumber::from_metadata(&meta))
        });
        let mut files: Vec<Container> = files.map(Container::File).collect();
        files.dedup();
        if files.is_empty() {
            files.push(if swap.is_file { Container::UnknownFile } else { Container::Unknown });
        }
        let on = swap.path.display().to_string();
        let region = |container| Region::whole(container, bytes);
        let uses = files.into_iter().map(|container| Use {
            region: region(container),
            on: on.clone(),
            user: User::Swap,
        });
        self.uses.extend(uses);
    }

    fn add_layers(&mut self) {
        let nodes: Vec<(DevNumber, Node)> =
            self.nodes.iter().map(|(number, node)| (*number, node.clone())).collect();
        for (number, node) in nodes.iter().filter(|(_, node)| node.partition().is_none()) {
            let backing = Backing::read(&self.machine, &self.spaces, node);
            let pieces = match &backing {
                Some(backing) => self.loop_pieces(node, backing),
                None => self.volume_pieces(*number, node),
            };
            if pieces.is_empty() {
                continue;
            }
            let backing = backing.map(|backing| backing.name);
            for piece in &pieces {
                let device = self.node_at(&piece.lower).map(|node| node.path());
                let on = device.or_else(|| backing.clone()).unwrap_or_default();
                let user = User::Device { number: *number, is_loop: backing.is_some() };
                self.uses.push(Use { region: piece.lower, on, user });
                self.add_file_system_below(node, &piece.lower);
            }
            self.layers.insert(*number, Layer { pieces, backing });
        }
    }

    /// A file system that contains the backing file of a loop device is in use, even if no mount
    /// shows it.
    fn add_file_system_below(&mut self, user: &Node, lower: &Region) {
        let Container::File(file) = lower.container else { return };
        let number = DevNumber::of(file.device);
        if let Some(node) = self.nodes.get(&number).cloned() {
            self.add_hidden(&node, User::FileOf { name: user.name.clone() });
        }
    }

    fn loop_pieces(&self, node: &Node, backing: &Backing) -> Vec<Piece> {
        let bytes = node.bytes().unwrap_or(0);
        let pieces = backing.containers.iter().map(|container| {
            let base = match container {
                Container::Device(number) => self.region_of(*number),
                _ => None,
            };
            let base = base.unwrap_or(Region {
                container: *container,
                start: 0,
                end: u64::MAX,
                container_bytes: backing.bytes,
            });
            let start = base.start.saturating_add(backing.offset);
            let lower = Region { start, end: start.saturating_add(bytes), ..base };
            Piece { start: 0, end: bytes, lower, is_linear: true }
        });
        pieces.collect()
    }

    /// The layer below a volume of dm, md or bcache.
    fn volume_pieces(&self, number: DevNumber, node: &Node) -> Vec<Piece> {
        if let Some(segments) = self.dm_segments(number, node) {
            let pieces = segments.into_iter().map(|segment| {
                let base = self.region_of(segment.device).unwrap_or(Region::unknown());
                let start = base.start.saturating_add(segment.offset);
                let end = start.saturating_add(segment.device_bytes);
                let lower = Region { start, end, ..base };
                let (start, is_linear) = (segment.start, segment.is_linear);
                let end = start.saturating_add(segment.bytes);
                Piece { start, end, lower, is_linear }
            });
            return pieces.collect();
        }
        let mut lower: Vec<DevNumber> = self.numbers(&node.names("slaves"));
        // The kernel links both directions; a removal may have deleted one.
        let held = self.nodes.iter().filter(|(_, n)| n.names("holders").contains(&node.name));
        lower.extend(held.map(|(number, _)| *number));
        lower.sort_unstable_by_key(|number| (number.major, number.minor));
        lower.dedup();
        let end = u64::MAX;
        let regions = lower.into_iter().filter_map(|number| self.region_of(number));
        regions.map(|lower| Piece { start: 0, end, lower, is_linear: false }).collect()
    }

    fn dm_segments(&self, number: DevNumber, node: &Node) -> Option<Vec<mapper::Segment>> {
        if !self.machine.is_here() || !node.name.starts_with("dm-") {
            return None;
        }
        let control = File::options().read(true).write(true).open("/dev/mapper/control").ok()?;
        mapper::segments(&dm_table(&control, number).ok()?)
    }

    fn numbers(&self, names: &[String]) -> Vec<DevNumber> {
        let node = |name: &String| Node::named(&self.machine, name)?.number();
        names.iter().filter_map(node).collect()
    }

    /// All bytes of a device, as a range of its disk.
    pub(super) fn region_of(&self, number: DevNumber) -> Option<Region> {
        region(self.nodes.get(&number)?)
    }

    fn use_of_node(&self, node: &Node, user: User) -> Option<Use> {
        Some(Use { region: region(node)?, on: node.path(), user })
    }

    /// The partition that contains a region, or else the disk.
    pub(super) fn node_at(&self, part: &Region) -> Option<Node> {
        let Container::Device(disk) = part.container else { return None };
        let disk = self.nodes.get(&disk)?;
        let is_around = |node: &Node| {
            region(node).is_some_and(|all| all.start <= part.start && part.end <= all.end)
        };
        let partition = disk.partitions().into_iter().find(is_around);
        Some(partition.unwrap_or_else(|| disk.clone()))
    }

    /// A file by its path, whose names are looked up in every namespace; as the file of its layer
    /// too, if it belongs to an overlay.
    pub(super) fn regions_of_file(&self, path: &Path) -> Vec<Region> {
        let real = self.machine.real_path(path).unwrap_or_else(|_| path.to_path_buf());
        let meta = match self.machine.path(path).metadata() {
            Ok(meta) => meta,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
            // It may be any file.
            Err(_) => {
                return vec![Region { container: Container::UnknownFile, ..Region::unknown() }];
            }
        };
        let file = FileNumber::from_metadata(&meta);
        let containers = loops::of_file(&self.machine, &self.spaces, &real, file);
        containers.into_iter().map(|container| Region::whole(container, meta.len())).collect()
    }
}

/// All bytes of a device; a partition is a range of its disk.
fn region(node: &Node) -> Option<Region> {
    let disk = node.disk();
    let container = Container::Device(disk.number()?);
    let start = match node.partition() {
        Some(_) => node.value::<u64>("start")?.saturating_mul(crate::node::SECTOR),
        None => 0,
    };
    let end = start.saturating_add(node.bytes()?);
    Some(Region { container, start, end, container_bytes: disk.bytes() })
}

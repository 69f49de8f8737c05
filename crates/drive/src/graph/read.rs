//! Reads the graph from the kernel: layers from sysfs and ioctls, users from the mounts of every
//! namespace, the active file systems, swap, and the devices that hold others. Asserted: every edge
//! ends at a device of the graph.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::Path;

use super::loops::{self, Backing};
use super::region::{Container, FileNumber, Order, Piece, Region};
use super::spaces::Space;
use super::{Graph, Layer, Use, User, mapper};
use crate::machine::{DevNumber, Machine};
use crate::mounts::{Mounts, Swap, swaps};
use crate::node::{Node, SECTOR};
use crate::stack::{Walk, mounted_nodes};
use crate::sys::stacked::dm_table;

impl Graph {
    /// Reads the graph of a machine: every file of the kernel once, however many devices there are.
    pub fn read(machine: &Machine) -> Graph {
        let spaces = Space::all(machine);
        let names = machine.names("/sys/class/block").into_iter();
        let nodes = names.filter_map(|name| Node::named(machine, &name));
        let nodes: HashMap<DevNumber, Node> =
            nodes.filter_map(|node| Some((node.number()?, node))).collect();
        let regions: HashMap<DevNumber, Region> =
            nodes.iter().filter_map(|(number, node)| Some((*number, region(node)?))).collect();
        let mut partitions: HashMap<DevNumber, Vec<DevNumber>> = HashMap::new();
        for (number, region) in &regions {
            match region.container {
                Container::Device(disk) if disk != *number => {
                    partitions.entry(disk).or_default().push(*number);
                }
                _ => {}
            }
        }
        let mut graph = Graph {
            machine: machine.clone(),
            nodes,
            regions,
            partitions,
            layers: HashMap::new(),
            uses: Vec::new(),
            root: Vec::new(),
            spaces,
        };
        graph.add_mounts();
        graph.add_active_file_systems();
        graph.add_caches();
        swaps(machine).iter().for_each(|swap| graph.add_swap(swap));
        graph.add_layers();
        graph.add_metadata();
        graph.assert_ends();
        let mounts = Mounts::read(machine);
        let root = Walk::new(machine, &mounts).under_path(Path::new("/")).passed;
        graph.root = root;
        graph
    }

    /// Asserts that each layer and each use ends at a device of the graph.
    fn assert_ends(&self) {
        let users = self.uses.iter().filter_map(|use_| match use_.user {
            User::Device { number, .. } | User::Metadata { of: number } => Some(number),
            _ => None,
        });
        for number in self.layers.keys().copied().chain(users) {
            assert!(self.nodes.contains_key(&number), "{number} has an edge, but is no device");
        }
    }

    fn add_mounts(&mut self) {
        let mut nodes_of = HashMap::new();
        let mut mounted = HashSet::new();
        let mut uses = Vec::new();
        for space in &self.spaces {
            for mount in &space.mounts.0 {
                let key = (mount.dev, mount.source.clone());
                let nodes =
                    nodes_of.entry(key).or_insert_with(|| mounted_nodes(&self.machine, mount));
                for node in nodes {
                    // A copy of the own namespace has the same mounts.
                    if mounted.insert((node.name.clone(), mount.point.clone())) {
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

    /// Caches of bcache without a device on them. A device of bcache shows a cache that it has as
    /// what it stands on.
    fn add_caches(&mut self) {
        let caches = self.nodes.values().filter(|node| node.dir.join("bcache/set").exists());
        let unused = caches.filter(|node| node.names("holders").is_empty());
        let uses: Vec<Use> =
            unused.filter_map(|node| self.use_of_node(node, User::Cache)).collect();
        self.uses.extend(uses);
    }

    /// Adds a use by a file system, unless a mount shows it.
    fn add_hidden(&mut self, node: &Node, user: User) {
        let Some(hidden) = self.use_of_node(node, user) else { return };
        let mut same_region = self.uses.iter().filter(|other| other.region == hidden.region);
        if !same_region.any(|other| matches!(other.user, User::Mount { .. })) {
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
        let path = swap.path.display().to_string();
        let regions = self.swap_files(swap);
        let uses =
            regions.into_iter().map(|region| Use { region, on: path.clone(), user: User::Swap });
        self.uses.extend(uses);
    }

    /// The files that a path of swap names, whole: of a file in pieces, or with a smaller header,
    /// swap has fewer pages than the file. An unknown one if the path names none of them.
    fn swap_files(&self, swap: &Swap) -> Vec<Region> {
        let mut files: Vec<Region> = Vec::new();
        for space in &self.spaces {
            let meta = space.path(&self.machine, &swap.path).metadata().ok();
            let Some(meta) = meta.filter(|meta| meta.is_file() && meta.len() >= swap.bytes) else {
                continue;
            };
            let container = Container::File(FileNumber::from_metadata(&meta));
            if files.iter().all(|file| file.container != container) {
                files.push(Region::whole(container, meta.len()));
            }
        }
        if files.is_empty() {
            let unknown = if swap.is_file { Container::UnknownFile } else { Container::Unknown };
            files.push(Region::whole(unknown, swap.bytes + rustix::param::page_size() as u64));
        }
        files
    }

    fn add_layers(&mut self) {
        let members = self.members_of_holders();
        let nodes: Vec<(DevNumber, Node)> =
            self.nodes.iter().map(|(number, node)| (*number, node.clone())).collect();
        let control = mapper_control(&self.machine);
        for (number, node) in nodes.iter().filter(|(_, node)| node.partition().is_none()) {
            let backing = Backing::read(&self.machine, &self.spaces, node);
            let is_volume = backing.is_none() && node.name.starts_with("dm-");
            let table = control.as_ref().filter(|_| is_volume);
            let table = table.and_then(|control| dm_table(control, *number).ok());
            let is_guess = is_volume && table.is_none() && self.machine.is_here();
            let segments = table.and_then(|table| mapper::segments(&table));
            let pieces = match (&backing, segments) {
                (Some(backing), _) => self.loop_pieces(node, backing),
                (None, Some(segments)) => self.segment_pieces(segments),
                (None, None) => self.member_pieces(node, &members),
            };
            if pieces.is_empty() {
                continue;
            }
            let layer = Layer { pieces, backing: backing.map(|backing| backing.name), is_guess };
            self.add_users(*number, node, &layer);
            self.layers.insert(*number, layer);
        }
    }

    /// Adds a device as a user of what it stands on.
    fn add_users(&mut self, number: DevNumber, node: &Node, layer: &Layer) {
        for piece in &layer.pieces {
            let device = self.node_at(&piece.lower).map(|node| node.path());
            let path = device.or_else(|| layer.backing.clone()).unwrap_or_default();
            let thin = match piece.order {
                Order::Thin(number) => Some(number),
                Order::Linear | Order::Spread => None,
            };
            let user = User::Device { number, is_loop: layer.backing.is_some(), thin };
            let region = self.claimed(node, &piece.lower);
            self.uses.push(Use { region, on: path, user });
            self.add_file_system_below(node, &piece.lower);
        }
    }

    /// What a device uses of the layer below: an array also its superblock beside the data.
    fn claimed(&self, node: &Node, lower: &Region) -> Region {
        let member = self.node_at(lower).filter(|_| node.dir.join("md").exists());
        member.and_then(|member| self.region_of(member.number()?)).unwrap_or(*lower)
    }

    /// The devices that each device holds, by the name of the holder.
    fn members_of_holders(&self) -> HashMap<String, Vec<DevNumber>> {
        let mut members: HashMap<String, Vec<DevNumber>> = HashMap::new();
        for (number, node) in &self.nodes {
            for holder in node.names("holders") {
                members.entry(holder).or_default().push(*number);
            }
        }
        members
    }

    /// A file system that contains the backing file of a loop device is in use, even if no mount
    /// shows it.
    fn add_file_system_below(&mut self, user: &Node, lower: &Region) {
        let Container::File(file) = lower.container else { return };
        let number = DevNumber::from_dev(file.device);
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
            let region = Region { start, end: start.saturating_add(bytes), ..base };
            Piece { start: 0, end: bytes, lower: region, order: Order::Linear }
        });
        pieces.collect()
    }

    /// The layer below a volume of the device mapper.
    fn segment_pieces(&self, segments: Vec<mapper::Segment>) -> Vec<Piece> {
        let pieces = segments.into_iter().map(|segment| {
            let base = self.region_of(segment.device).unwrap_or(Region::unknown());
            let start = base.start.saturating_add(segment.offset);
            let end = start.saturating_add(segment.device_bytes).min(base.end);
            let region = Region { start, end, ..base };
            let start = segment.start;
            let end = start.saturating_add(segment.bytes);
            Piece { start, end, lower: region, order: segment.order }
        });
        pieces.collect()
    }

    /// The layer below an array of md, a device of bcache, or a volume whose table is unknown.
    fn member_pieces(&self, node: &Node, held: &HashMap<String, Vec<DevNumber>>) -> Vec<Piece> {
        let mut members: Vec<DevNumber> = self.numbers(&node.names("slaves"));
        // The kernel links both directions; a removal may have deleted one.
        members.extend(held.get(&node.name).into_iter().flatten());
        members.sort_unstable_by_key(|number| (number.major, number.minor));
        members.dedup();
        let end = u64::MAX;
        let pieces = members.into_iter().filter_map(|number| {
            let whole_device = self.region_of(number)?;
            let data = self.array_data(node, number, whole_device);
            let spread = Piece { start: 0, end, lower: whole_device, order: Order::Spread };
            Some(data.map_or(spread, |lower| Piece { lower, order: Order::Linear, ..spread }))
        });
        pieces.collect()
    }

    /// The data on a member of a mirror of md, which are in order.
    fn array_data(&self, node: &Node, member: DevNumber, all: Region) -> Option<Region> {
        if node.text("md/level").as_deref() != Some("raid1") {
            return None;
        }
        let dir = format!("md/dev-{}", self.nodes.get(&member)?.name.replace('/', "!"));
        let start = node.value::<u64>(&format!("{dir}/offset"))?.checked_mul(SECTOR)?;
        let start = all.start.checked_add(start)?;
        let end = start.checked_add(node.bytes()?)?;
        (end <= all.end).then_some(Region { start, end, ..all })
    }

    fn numbers(&self, names: &[String]) -> Vec<DevNumber> {
        let nodes = names.iter().filter_map(|name| Node::named(&self.machine, name));
        nodes.filter_map(|node| node.number()).collect()
    }

    /// All bytes of a device, as a range of its disk.
    pub(super) fn region_of(&self, number: DevNumber) -> Option<Region> {
        self.regions.get(&number).copied()
    }

    fn use_of_node(&self, node: &Node, user: User) -> Option<Use> {
        Some(Use { region: region(node)?, on: node.path(), user })
    }

    /// The partition that contains a region, or else the disk.
    pub(super) fn node_at(&self, part: &Region) -> Option<Node> {
        let Container::Device(disk) = part.container else { return None };
        let partitions = self.partitions.get(&disk).map_or(&[][..], Vec::as_slice);
        let partition = partitions.iter().find(|number| {
            let region = self.regions.get(number);
            region.is_some_and(|all| all.start <= part.start && part.end <= all.end)
        });
        self.nodes.get(partition.unwrap_or(&disk)).cloned()
    }

    /// The partitions that have bytes of a region, or else the disk: each has a holder of its own, and
    /// a holder of the disk excludes those of its partitions.
    pub(super) fn nodes_at(&self, part: &Region) -> Vec<Node> {
        let Container::Device(disk) = part.container else { return Vec::new() };
        let partitions = self.partitions.get(&disk).map_or(&[][..], Vec::as_slice);
        let nodes = partitions.iter().filter_map(|number| {
            let region = self.regions.get(number).filter(|region| region.overlaps(part));
            region.and_then(|_| self.nodes.get(number))
        });
        let nodes: Vec<Node> = nodes.cloned().collect();
        if nodes.is_empty() { self.nodes.get(&disk).cloned().into_iter().collect() } else { nodes }
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

/// The device mapper, if this user may ask it.
fn mapper_control(machine: &Machine) -> Option<File> {
    if !machine.is_here() {
        return None;
    }
    File::options().read(true).write(true).open("/dev/mapper/control").ok()
}

/// All bytes of a device; a partition is a range of its disk.
fn region(node: &Node) -> Option<Region> {
    let disk = node.disk();
    let container = Container::Device(disk.number()?);
    let start = match node.partition() {
        Some(_) => node.value::<u64>("start")?.saturating_mul(SECTOR),
        None => 0,
    };
    let end = start.saturating_add(node.bytes()?);
    Some(Region { container, start, end, container_bytes: disk.bytes() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph_with(user: User) -> Graph {
        let root = tempfile::tempdir().expect("a directory");
        let mut graph = Graph::read(&Machine::at(root.path()));
        graph.uses.push(Use { region: Region::unknown(), on: "sda".into(), user });
        graph
    }

    #[test]
    #[should_panic(expected = "8:0 has an edge, but is no device")]
    fn a_user_that_is_no_device_is_our_own_error() {
        let number = DevNumber { major: 8, minor: 0 };
        graph_with(User::Device { number, is_loop: false, thin: None }).assert_ends();
    }

    #[test]
    #[should_panic(expected = "8:0 has an edge, but is no device")]
    fn a_layer_of_no_device_is_our_own_error() {
        let mut graph = graph_with(User::Swap);
        let layer = Layer { pieces: Vec::new(), backing: None, is_guess: false };
        graph.layers.insert(DevNumber { major: 8, minor: 0 }, layer);
        graph.assert_ends();
    }
}

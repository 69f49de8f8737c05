//! Who uses what: one graph of the machine's block devices, the files under loop devices, and
//! everything that uses them, from the kernel's own numbers.
//!
//! A place is a range of a container: a whole device or a file. Layers lead down from a device to
//! the places that hold its bytes; a use is on a place. A target is free if no byte of it, however
//! far down, belongs to a use: neighbours in other ranges do not count, nor do the layers on which
//! the target itself stands. A loop device beside the target that nobody uses is no use, but the
//! target's user must hold it. Not visible here are namespaces of other users without an active file
//! system that the kernel lists, and ZFS: for those, O_EXCL remains.

mod contacts;
mod loops;
mod mapper;
mod metadata;
mod overlay;
mod read;
mod region;
mod spaces;

use std::collections::HashMap;

use crate::machine::{DevNumber, Machine};
use crate::node::Node;
pub(crate) use contacts::{Attached, Contacts};
use region::{Container, Order, Piece, Region};
use serde::Serialize;
use spaces::Space;

/// Maximum number of places below a target.
const PLACES_MAX: usize = 4096;

/// The devices of a machine, their layers and users.
#[derive(Debug)]
pub(crate) struct Graph {
    machine: Machine,
    nodes: HashMap<DevNumber, Node>,
    /// The bytes of each device.
    regions: HashMap<DevNumber, Region>,
    /// The partitions of each disk.
    partitions: HashMap<DevNumber, Vec<DevNumber>>,
    layers: HashMap<DevNumber, Layer>,
    uses: Vec<Use>,
    /// The devices under the root directory.
    root: Vec<Node>,
    spaces: Vec<Space>,
}

/// What a device stands on.
#[derive(Debug)]
struct Layer {
    pieces: Vec<Piece>,
    /// Name of the backing file of a loop device.
    backing: Option<String>,
    /// Whether the kernel did not tell this user the table of a volume.
    is_guess: bool,
}

/// A place in use.
#[derive(Clone, Debug, PartialEq)]
struct Use {
    region: Region,
    /// Name of the used device or file.
    on: String,
    user: User,
}

#[derive(Clone, Debug, PartialEq)]
enum User {
    Mount {
        point: String,
        is_own: bool,
    },
    /// A file system that no visible mount shows.
    FileSystem {
        kind: String,
    },
    /// A file system that contains the backing file of this loop device.
    FileOf {
        name: String,
    },
    Swap,
    /// A part of a cache of bcache.
    Cache,
    /// What a volume or partition in use needs to be found again: a label, a partition table.
    Metadata {
        of: DevNumber,
    },
    /// A device that stands on the place.
    Device {
        number: DevNumber,
        is_loop: bool,
        /// Its number in the pool, if it is a thin volume.
        thin: Option<u64>,
    },
}

/// A place below a device that holds its bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Below {
    /// The device or file.
    pub name: String,
    /// First byte of it.
    pub start: u64,
    /// Size of the place, bytes.
    pub bytes: u64,
}

/// The places of a target, from the top, and the devices passed on the way down.
#[derive(Debug, Default)]
struct Descent {
    places: Vec<Place>,
    passed: Vec<DevNumber>,
}

/// A place that holds bytes of a target.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    region: Region,
    /// The number of the target's blocks, if the place is a thin pool.
    thin: Option<u64>,
}

impl Graph {
    /// The places below a device that hold its bytes, from the top.
    pub fn below(&self, node: &Node) -> Vec<Below> {
        let start = node.number().and_then(|number| self.region_of(number));
        let descent = self.descend(start.into_iter().collect());
        let places = descent.places.iter().skip(1);
        places.filter_map(|place| self.place_below(&place.region)).collect()
    }

    fn place_below(&self, place: &Region) -> Option<Below> {
        let number = match place.container {
            Container::Device(number) => Some(number),
            Container::File(_) | Container::UnknownFile | Container::Unknown => None,
        };
        let file = self.layers.values().find(|layer| {
            layer.pieces.iter().any(|piece| piece.lower.container == place.container)
        });
        let device = number.and_then(|number| self.nodes.get(&number)).map(Node::path);
        let name = device.or_else(|| file.and_then(|layer| layer.backing.clone()))?;
        let bytes = place.end.saturating_sub(place.start);
        Some(Below { name, start: place.start, bytes })
    }

    /// Devices directly on this one, with their names if any: `dm-0 (vg-home)`, `loop3`.
    pub fn holders(&self, node: &Node) -> Vec<String> {
        let Some(place) = node.number().and_then(|number| self.region_of(number)) else {
            return Vec::new();
        };
        let on_it = self.uses.iter().filter(|use_| use_.region.overlaps(&place));
        let holders = on_it.filter_map(|use_| match &use_.user {
            User::Device { number, .. } if use_.on == node.path() => Some(self.title(*number)),
            _ => None,
        });
        let mut holders: Vec<String> = holders.collect();
        holders.sort_unstable();
        holders.dedup();
        holders
    }

    /// Whether the device is swap.
    pub fn is_swap(&self, node: &Node) -> bool {
        let path = node.path();
        self.uses.iter().any(|use_| use_.user == User::Swap && use_.on == path)
    }

    /// The devices below a device by way of loop devices, which hold them without excluding others.
    pub fn below_loops(&self, node: &Node) -> Vec<Node> {
        let start = node.number().and_then(|number| self.region_of(number));
        let descent = self.descend(start.into_iter().collect());
        let loops = descent.passed.iter().filter_map(|number| self.layers.get(number));
        let loops = loops.filter(|layer| layer.backing.is_some());
        let pieces = loops.flat_map(|layer| &layer.pieces);
        let mut nodes: Vec<Node> = pieces.flat_map(|piece| self.nodes_at(&piece.lower)).collect();
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        nodes.dedup();
        without_disks_of_partitions(&mut nodes);
        nodes
    }

    fn descend(&self, from: Vec<Region>) -> Descent {
        let mut descent = Descent::default();
        let place_of = |region| Place { region, thin: None };
        let mut places: Vec<Place> = from.into_iter().map(place_of).collect();
        while let Some(place) = places.pop() {
            if descent.places.contains(&place) {
                continue;
            }
            if descent.places.len() >= PLACES_MAX {
                // What is not followed may be anywhere.
                descent.places.push(place_of(Region::unknown()));
                break;
            }
            descent.places.push(place);
            let Container::Device(number) = place.region.container else { continue };
            descent.passed.push(number);
            let pieces = self.layers.get(&number).map_or(&[][..], |layer| &layer.pieces);
            places.extend(pieces.iter().filter_map(|piece| {
                let thin = match piece.order {
                    Order::Thin(number) => Some(number),
                    Order::Linear | Order::Spread => None,
                };
                Some(Place { region: piece.below(&place.region)?, thin })
            }));
        }
        descent
    }

    /// Name of a device: `dm-0 (vg-home)`.
    fn title(&self, number: DevNumber) -> String {
        let Some(node) = self.nodes.get(&number) else { return number.to_string() };
        let volume = node.text("dm/name").map(|name| format!(" ({name})"));
        format!("{}{}", node.name, volume.unwrap_or_default())
    }
}

/// Removes disks whose partitions are in the list: holding one would refuse the other.
fn without_disks_of_partitions(nodes: &mut Vec<Node>) {
    let partitions = nodes.iter().filter(|node| node.partition().is_some());
    let disks: Vec<Node> = partitions.map(Node::disk).collect();
    nodes.retain(|node| !disks.contains(node));
}

//! Who uses what: one graph of the machine's block devices, the files under loop devices, and
//! everything that uses them, from the kernel's own numbers.
//!
//! A place is a range of a container: a whole device or a file. Layers lead down from a device to
//! the places that hold its bytes; a use is on a place. A target is free if no byte of it, however
//! far down, belongs to a use: neighbours in other ranges do not count, nor do the layers on which
//! the target itself stands. Not visible here are namespaces of other users without an active file
//! system that the kernel lists, and ZFS: for those, O_EXCL remains.

mod loops;
mod mapper;
mod overlay;
mod read;
mod region;
mod spaces;

use std::collections::HashMap;
use std::path::Path;

use crate::machine::{DevNumber, Machine};
use crate::node::Node;
use region::{Container, Piece, Region};
use serde::Serialize;
use spaces::Space;

/// Maximum number of places below a target.
const PLACES_MAX: usize = 4096;

/// The devices of a machine, their layers and users.
#[derive(Debug)]
pub(crate) struct Graph {
    machine: Machine,
    nodes: HashMap<DevNumber, Node>,
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
    /// A device that stands on the place.
    Device {
        number: DevNumber,
        is_loop: bool,
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
    places: Vec<Region>,
    passed: Vec<DevNumber>,
}

impl Graph {
    /// All uses of a device, in words; empty if it is free.
    pub fn uses_of(&self, node: &Node) -> Vec<String> {
        let Some(number) = node.number() else { return vec!["it is unknown".into()] };
        let descent = self.descend(self.region_of(number).into_iter().collect());
        let mut uses = self.words(&descent, "");
        let is_reported = uses.first().is_some_and(|use_| use_.ends_with(" is mounted at /"));
        if self.root.contains(node) && !is_reported {
            uses.insert(0, format!("{} contains the root file system", node.path()));
        }
        if descent.places.iter().any(|place| place.container.is_unknown()) {
            uses.push(format!("the kernel does not tell what {} stands on", node.path()));
        }
        uses
    }

    /// The places below a device that hold its bytes, from the top.
    pub fn below(&self, node: &Node) -> Vec<Below> {
        let start = node.number().and_then(|number| self.region_of(number));
        let descent = self.descend(start.into_iter().collect());
        descent.places.iter().skip(1).filter_map(|place| self.place_below(place)).collect()
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

    /// All uses of a file, in words; empty if it is free. Its file system is no use, and neither
    /// are processes that have it open.
    pub fn uses_of_file(&self, path: &Path) -> Vec<String> {
        let places = self.regions_of_file(path);
        self.words(&self.descend(places), "it")
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
        pieces.filter_map(|piece| self.node_at(&piece.lower)).collect()
    }

    /// Whether anything is known to use a byte of a device or of its partitions, other than `node`
    /// and the devices under it.
    pub fn is_shared(&self, lower: &Node, node: &Node) -> bool {
        let region = |node: &Node| node.number().and_then(|number| self.region_of(number));
        let passed = self.descend(region(node).into_iter().collect()).passed;
        let is_other = |use_: &&Use| match use_.user {
            // A loop device does not claim what it stands on, so it explains no refusal.
            User::Device { number, is_loop } => !is_loop && !passed.contains(&number),
            _ => true,
        };
        let Some(place) = region(lower) else { return false };
        self.uses.iter().filter(is_other).any(|use_| use_.region.overlaps(&place))
    }

    fn descend(&self, from: Vec<Region>) -> Descent {
        let mut descent = Descent::default();
        let mut open = from;
        while let Some(place) = open.pop() {
            if descent.places.contains(&place) {
                continue;
            }
            if descent.places.len() >= PLACES_MAX {
                // What is not followed may be anywhere.
                descent.places.push(Region::unknown());
                break;
            }
            descent.places.push(place);
            let Container::Device(number) = place.container else { continue };
            descent.passed.push(number);
            let pieces = self.layers.get(&number).map_or(&[][..], |layer| &layer.pieces);
            open.extend(pieces.iter().filter_map(|piece| piece.below(&place)));
        }
        descent
    }

    /// The uses of places in words, those of the target itself first; then what stands on the
    /// devices that use it. `subject` replaces the name of the target, if it is a file.
    fn words(&self, descent: &Descent, subject: &str) -> Vec<String> {
        let is_own = |use_: &Use| match use_.user {
            User::Device { number, .. } => descent.passed.contains(&number),
            _ => false,
        };
        let mut words = Vec::new();
        let mut above = Vec::new();
        let top = descent.places.first().map(|place| place.container);
        for place in &descent.places {
            let is_top = Some(place.container) == top || !subject.is_empty();
            let on_it = self.uses.iter().filter(|use_| use_.region.overlaps(place));
            for use_ in on_it.filter(|use_| !is_own(use_)) {
                let text = if is_top {
                    self.text(use_, subject)
                } else {
                    format!("below it, {}", self.text(use_, ""))
                };
                words.push(text);
                if let User::Device { number, .. } = use_.user {
                    above.push(number);
                }
            }
        }
        words.extend(self.words_above(above, &descent.passed));
        let mut seen = std::collections::HashSet::new();
        words.retain(|text| seen.insert(text.clone()));
        words
    }

    /// The uses of these devices and of those on them.
    fn words_above(&self, mut open: Vec<DevNumber>, passed: &[DevNumber]) -> Vec<String> {
        let mut seen = passed.to_vec();
        let mut words = Vec::new();
        while let Some(number) = open.pop() {
            if seen.contains(&number) {
                continue;
            }
            seen.push(number);
            let container = Container::Device(number);
            for use_ in self.uses.iter().filter(|use_| use_.region.container == container) {
                words.push(self.text(use_, ""));
                if let User::Device { number, .. } = use_.user {
                    open.push(number);
                }
            }
        }
        words
    }

    fn text(&self, use_: &Use, subject: &str) -> String {
        let on = if subject.is_empty() { &use_.on } else { subject };
        match &use_.user {
            User::Mount { point, is_own: true } => format!("{on} is mounted at {point}"),
            User::Mount { point, is_own: false } => {
                format!("{on} is mounted at {point} in another mount namespace")
            }
            User::FileSystem { kind } => format!("{on} has an active {kind} file system"),
            User::FileOf { name } => format!("{on} contains the file under {name}"),
            User::Swap => format!("{on} is swap"),
            User::Device { number, is_loop: true } if !on.starts_with("/dev/") => {
                format!("{} is backed by {on}", self.title(*number))
            }
            User::Device { number, .. } => format!("{on} is held by {}", self.title(*number)),
        }
    }

    /// Name of a device: `dm-0 (vg-home)`.
    fn title(&self, number: DevNumber) -> String {
        let Some(node) = self.nodes.get(&number) else { return number.to_string() };
        let own = node.text("dm/name").map(|own| format!(" ({own})"));
        format!("{}{}", node.name, own.unwrap_or_default())
    }
}

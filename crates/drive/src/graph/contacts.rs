//! Who else has bytes of a target: those that use it, and loop devices that nobody uses.
//!
//! A loop device holds what it stands on without excluding others. One that stands on the target is
//! a use of it. One beside it, on the same file further down, is a use only if something stands or
//! is mounted on it in the same bytes; otherwise it must be held like the target.

use std::collections::HashSet;
use std::path::Path;

use super::region::{Container, Region};
use super::{Descent, Graph, Place, Use, User};
use crate::machine::DevNumber;
use crate::node::Node;

/// Uses of a target, in words, and unused loop devices on its bytes.
#[derive(Debug, Default)]
pub(crate) struct Contacts {
    /// Empty if the target is free.
    pub uses: Vec<String>,
    pub attached: Vec<Attached>,
}

/// A loop device that has bytes of a target and is not used there.
#[derive(Debug, PartialEq)]
pub(crate) struct Attached {
    /// The device, or a partition of it that has some of those bytes.
    pub node: Node,
    /// Why it has them.
    pub words: String,
    /// Whether other bytes of it are in use, so that the kernel may refuse exclusive access.
    pub is_used_elsewhere: bool,
}

impl Graph {
    /// All uses of a device, in words; empty if it is free or only has unused loop devices beside
    /// it.
    pub fn uses_of(&self, node: &Node) -> Vec<String> {
        self.contacts_of(node).uses
    }

    /// Who else has bytes of a device.
    pub fn contacts_of(&self, node: &Node) -> Contacts {
        let Some(number) = node.number() else {
            let uses = vec!["it is unknown".into()];
            return Contacts { uses, ..Contacts::default() };
        };
        let descent = self.descend(self.region_of(number).into_iter().collect());
        let mut contacts = self.contacts(&descent, "");
        let uses = &mut contacts.uses;
        let is_reported = uses.first().is_some_and(|use_| use_.ends_with(" is mounted at /"));
        if self.root.contains(node) && !is_reported {
            uses.insert(0, format!("{} contains the root file system", node.path()));
        }
        if descent.places.iter().any(|place| place.region.container.is_unknown()) {
            uses.push(format!("the kernel does not tell what {} stands on", node.path()));
        }
        contacts
    }

    /// All uses of a file, in words; empty if it is free. Its file system is no use, and neither
    /// are processes that have it open.
    pub fn uses_of_file(&self, path: &Path) -> Vec<String> {
        let places = self.regions_of_file(path);
        self.contacts(&self.descend(places), "it").uses
    }

    /// Whether anything is known to use a byte of a device or of its partitions, other than `node`
    /// and the devices under it.
    pub fn is_shared(&self, lower: &Node, node: &Node) -> bool {
        let [lower, region] =
            [lower, node].map(|node| node.number().and_then(|number| self.region_of(number)));
        let devices = self.descend(region.into_iter().collect()).passed;
        lower.is_some_and(|place| self.has_claim(&place, &devices))
    }

    /// Whether anything but loop devices, which claim nothing, uses a byte of a place.
    fn has_claim(&self, place: &Region, passed: &[DevNumber]) -> bool {
        let mut claims = self.uses.iter().filter(|use_| match use_.user {
            User::Device { number, is_loop, .. } => !is_loop && !passed.contains(&number),
            _ => true,
        });
        claims.any(|use_| use_.region.overlaps(place))
    }

    /// The contacts of places; the uses of the target itself first, then what stands on the devices
    /// that use it. `subject` replaces the name of the target, if it is a file.
    fn contacts(&self, descent: &Descent, subject: &str) -> Contacts {
        let (mut words, mut above, mut beside) = (Vec::new(), Vec::new(), Vec::new());
        let (mut users_beside, mut metadata) = (Vec::new(), Vec::new());
        let top = descent.places.first().map(|place| place.region.container);
        for place in &descent.places {
            let is_top = Some(place.region.container) == top || !subject.is_empty();
            for use_ in self.uses_on(place, &descent.passed) {
                let text = if is_top {
                    self.text(use_, subject)
                } else {
                    format!("below it, {}", self.text(use_, ""))
                };
                if let User::Device { number, .. } = use_.user {
                    let mut climb = Climb::new(self, &descent.passed);
                    if !is_top && !climb.is_real(use_, place) {
                        beside.extend(climb.parts.into_iter().map(|part| (part, text.clone())));
                        continue;
                    }
                    above.push(number);
                    users_beside.extend((!is_top).then_some(number));
                }
                match use_.user {
                    User::Metadata { .. } => metadata.push(text),
                    _ => words.push(text),
                }
            }
        }
        if words.is_empty() {
            // Otherwise what is found by it is named already.
            words = metadata;
        }
        words.extend(self.words_above(&above, &descent.passed));
        words.extend(self.words_of_guesses(&users_beside, &descent.passed));
        let mut texts = HashSet::new();
        words.retain(|text| texts.insert(text.clone()));
        Contacts { uses: words, attached: self.attached(beside, &descent.passed) }
    }

    /// The uses of a place by others than the devices of the descent, and than volumes that have
    /// other blocks of the same pool.
    pub(super) fn uses_on<'a>(
        &'a self,
        place: &'a Place,
        passed: &'a [DevNumber],
    ) -> impl Iterator<Item = &'a Use> {
        let uses = self.uses.iter().filter(|use_| use_.region.overlaps(&place.region));
        uses.filter(move |use_| match use_.user {
            User::Device { number, thin, .. } => {
                let is_neighbour = place.thin.is_some() && thin.is_some() && place.thin != thin;
                !passed.contains(&number) && !is_neighbour
            }
            _ => true,
        })
    }

    /// Unused devices, each with the reason for it, once each.
    fn attached(&self, parts: Vec<(Region, String)>, passed: &[DevNumber]) -> Vec<Attached> {
        let mut attached: Vec<Attached> = Vec::new();
        for (part, words) in parts {
            for node in self.nodes_at(&part) {
                if attached.iter().any(|other| other.node == node) {
                    continue;
                }
                let region = node.number().and_then(|number| self.region_of(number));
                let is_used_elsewhere = region.is_some_and(|all| self.has_claim(&all, passed));
                attached.push(Attached { node, words: words.clone(), is_used_elsewhere });
            }
        }
        let disks: Vec<Node> = attached.iter().map(|other| other.node.disk()).collect();
        // A whole disk goes if one of its partitions is attached, too.
        attached.retain(|other| {
            let node = &other.node;
            node.partition().is_some() || disks.iter().filter(|disk| *disk == node).count() <= 1
        });
        attached
    }

    /// The uses of these devices and of those on them.
    fn words_above(&self, devices: &[DevNumber], passed: &[DevNumber]) -> Vec<String> {
        let mut numbers = devices.to_vec();
        let mut visited = passed.to_vec();
        let mut words = Vec::new();
        while let Some(number) = numbers.pop() {
            if visited.contains(&number) {
                continue;
            }
            visited.push(number);
            let container = Container::Device(number);
            for use_ in self.uses.iter().filter(|use_| use_.region.container == container) {
                words.push(self.text(use_, ""));
                if let User::Device { number, .. } = use_.user {
                    numbers.push(number);
                }
            }
        }
        words
    }

    /// What a user without root should know of volumes that may only seem to share bytes.
    fn words_of_guesses(&self, users: &[DevNumber], passed: &[DevNumber]) -> Option<String> {
        let mut volumes = users.iter().chain(passed).filter(|_| !users.is_empty());
        let volume = volumes.find(|number| self.layers.get(number).is_some_and(|l| l.is_guess))?;
        Some(format!(
            "only root may ask the kernel where {} lies, so all of what it stands on counts",
            self.title(*volume)
        ))
    }

    fn text(&self, use_: &Use, subject: &str) -> String {
        let name = if subject.is_empty() { &use_.on } else { subject };
        match &use_.user {
            User::Mount { point, is_own: true } => format!("{name} is mounted at {point}"),
            User::Mount { point, is_own: false } => {
                format!("{name} is mounted at {point} in another mount namespace")
            }
            User::FileSystem { kind } => format!("{name} has an active {kind} file system"),
            User::FileOf { name } => format!("{name} contains the file under {name}"),
            User::Swap => format!("{name} is swap"),
            User::Cache => format!("{name} is a cache of bcache"),
            User::Metadata { of } => {
                format!("{name} contains the table or label of {}", self.title(*of))
            }
            User::Device { number, is_loop: true, .. } if !name.starts_with("/dev/") => {
                format!("{} is backed by {name}", self.title(*number))
            }
            User::Device { number, .. } => format!("{name} is held by {}", self.title(*number)),
        }
    }
}

/// Whether a device that stands on a place claims nothing there: a loop device whose file the kernel
/// tells, or a volume over a whole thin pool, which LVM makes for each pool.
fn is_attachment(use_: &Use, place: &Place) -> bool {
    match use_.user {
        User::Device { is_loop: true, .. } => {
            !use_.region.container.is_unknown() && !place.region.container.is_unknown()
        }
        User::Device { thin: None, .. } => place.thin.is_some(),
        _ => false,
    }
}

/// A way up from a place through devices that claim nothing.
pub(super) struct Climb<'a> {
    graph: &'a Graph,
    passed: &'a [DevNumber],
    /// The parts of devices that have bytes of the place.
    parts: Vec<Region>,
}

impl<'a> Climb<'a> {
    pub(super) fn new(graph: &'a Graph, passed: &'a [DevNumber]) -> Climb<'a> {
        Climb { graph, passed, parts: Vec::new() }
    }

    /// Whether a use of a place is more than a device attached to it.
    pub(super) fn is_real(&mut self, use_: &Use, place: &Place) -> bool {
        match use_.user {
            User::Device { number, .. } if is_attachment(use_, place) => {
                self.is_busy(number, place)
            }
            _ => true,
        }
    }

    /// Whether something uses bytes of a place by way of this device.
    fn is_busy(&mut self, number: DevNumber, place: &Place) -> bool {
        let graph = self.graph;
        let Some(layer) = graph.layers.get(&number) else { return true };
        let container = Container::Device(number);
        let container_bytes = graph.region_of(number).map(|all| all.end);
        let parts = layer.pieces.iter().filter_map(|piece| piece.above(&place.region));
        let parts: Vec<Region> =
            parts.map(|(start, end)| Region { container, start, end, container_bytes }).collect();
        parts.into_iter().any(|region| {
            if self.parts.contains(&region) {
                return false;
            }
            self.parts.push(region);
            let part = Place { region, thin: None };
            graph.uses_on(&part, self.passed).any(|use_| self.is_real(use_, &part))
        })
    }
}

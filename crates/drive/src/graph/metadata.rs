//! Bytes without which something in use would be lost, although they belong to none of its devices:
//! the partition table of a disk, the label of an LVM volume group, the header of a LUKS volume.

use std::collections::HashMap;

use super::contacts::Climb;
use super::region::{Container, Region};
use super::{Graph, Place, Use, User};
use crate::machine::DevNumber;

/// Beginnings of the identifiers of volumes whose label is before their first byte.
const LABELLED: [&str; 2] = ["LVM-", "CRYPT-LUKS"];

impl Graph {
    /// Adds the metadata of the partitions and volumes in use; all other uses must be known.
    pub(super) fn add_metadata(&mut self) {
        let uses: Vec<Use> = self.labels().into_iter().chain(self.tables()).collect();
        self.uses.extend(uses);
    }

    /// What is before the first byte of all labelled volumes on a device.
    fn labels(&self) -> Vec<Use> {
        let mut labels: HashMap<DevNumber, (Region, DevNumber)> = HashMap::new();
        let volumes = self.layers.iter().filter(|(number, _)| self.is_labelled(**number));
        for (volume, layer) in volumes {
            for piece in &layer.pieces {
                let Some(device) = self.node_at(&piece.lower).and_then(|node| node.number()) else {
                    continue;
                };
                let Some(region) = self.region_of(device) else { continue };
                let label = Region { end: piece.lower.start, ..region };
                let labelled = labels.entry(device).or_insert((label, *volume));
                if label.end < labelled.0.end {
                    *labelled = (label, *volume);
                }
            }
        }
        let labels = labels.into_values().filter(|(label, _)| label.start < label.end);
        labels.filter_map(|(label, of)| self.metadata(label, of)).collect()
    }

    fn is_labelled(&self, volume: DevNumber) -> bool {
        let uuid = self.nodes.get(&volume).and_then(|node| node.text("dm/uuid"));
        uuid.is_some_and(|uuid| LABELLED.iter().any(|begin| uuid.starts_with(begin)))
    }

    /// What is between the partitions of a disk, if one of them is in use.
    fn tables(&self) -> Vec<Use> {
        let mut tables = Vec::new();
        for (disk, partitions) in &self.partitions {
            let Some(region) = self.region_of(*disk) else { continue };
            let Some(used_number) = partitions.iter().find(|number| self.is_used(**number)) else {
                continue;
            };
            let regions = partitions.iter().filter_map(|number| self.region_of(*number));
            let mut parts: Vec<Region> = regions.collect();
            parts.sort_unstable_by_key(|part| part.start);
            let mut start = 0;
            let ends = parts.iter().map(|part| (part.start, part.end));
            for (next, end) in ends.chain([(region.end, region.end)]) {
                if start < next {
                    tables
                        .extend(self.metadata(Region { start, end: next, ..region }, *used_number));
                }
                start = start.max(end);
            }
        }
        tables
    }

    fn is_used(&self, device: DevNumber) -> bool {
        let Some(region) = self.region_of(device) else { return false };
        let place = Place { region, thin: None };
        let mut uses = self.uses_on(&place, &[]);
        uses.any(|use_| Climb::new(self, &[]).is_real(use_, &place))
    }

    fn metadata(&self, region: Region, of: DevNumber) -> Option<Use> {
        let Container::Device(device) = region.container else { return None };
        let path = self.node_at(&region).or_else(|| self.nodes.get(&device).cloned())?.path();
        Some(Use { region, on: path, user: User::Metadata { of } })
    }
}

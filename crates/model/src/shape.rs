//! Values derived from a description: pages, superblocks, units and translation rules.

use crate::ftl::page::Rules;
use crate::ftl::slc::Slc;
use crate::ftl::superblock::{FlashLayout, Wear};
use crate::spec::{DriveSpec, MapKind};

/// Minimum number of spare superblocks for any drive size: frontiers and the collector's reserve
/// take six, which must be a small part.
const SPARE_MIN: u64 = 64;

/// Derived sizes of a drive.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Pages and superblocks.
    pub layout: FlashLayout,
    /// Size of a program unit at full density and as SLC, in bytes.
    pub unit_bytes: [u32; 2],
    /// Mapping units sensed at once by one die.
    pub row_pages: u32,
}

impl Shape {
    /// Derives the shape from a description.
    pub fn new(spec: &DriveSpec) -> Shape {
        let page = u64::from(*spec.map.unit_bytes);
        let row = u64::from(*spec.nand.planes) * u64::from(*spec.nand.page_bytes);
        let row_pages = (row / page).max(1) as u32;
        let bits = (*spec.nand.bits).max(1);
        let unit = row_pages * bits;
        let capacity = spec.capacity.0;
        let flash = capacity as f64 * (1.0 + *spec.op);
        // At least an eighth of the spare flash remains: without any, a drive is dead.
        let bad = (flash * *spec.wear.bad).min(0.875 * capacity as f64 * *spec.op);
        let spare = (capacity as f64 * *spec.op - bad) as u64;
        let most = (spare / SPARE_MIN).min(spec.collect.superblock.0) / page;
        let superblock_pages = match *spec.map.kind {
            MapKind::Page => (most as u32 / unit).max(1) * unit,
            MapKind::Au => (spec.map.au.0 / page).max(1) as u32,
        };
        let total = (capacity + spare) / page;
        let superblocks = total.div_ceil(u64::from(superblock_pages));
        let superblocks = u32::try_from(superblocks).unwrap_or(u32::MAX);
        let spares = (f64::from(superblocks) * *spec.wear.spares).ceil() as u32;
        let layout = FlashLayout {
            logical_pages: capacity.div_ceil(page) as u32,
            superblocks,
            spares,
            superblock_pages,
            unit_pages: [unit, row_pages],
        };
        let unit_bytes = [unit, row_pages].map(|pages| pages * *spec.map.unit_bytes);
        Shape { layout, unit_bytes, row_pages }
    }

    /// Derives the rules of a page-mapped translation.
    pub fn rules(&self, spec: &DriveSpec) -> Rules {
        let superblock = u64::from(self.layout.superblock_pages) * u64::from(*spec.map.unit_bytes);
        let bits = (*spec.nand.bits).max(1);
        let [fixed, dynamic, keep] = [spec.slc.fixed.0, spec.slc.dynamic.0, spec.slc.keep.0]
            .map(|bytes| (bytes * u64::from(bits)).div_ceil(superblock) as u32);
        let drain = spec.slc.drain.clamp(0.0, 0.9);
        let spare = spec.capacity.0 as f64 * *spec.op / superblock as f64;
        // The fixed part is spare flash, of which collection needs some, too; the rest of it is dynamic.
        let total = fixed.saturating_add(dynamic);
        let fixed = fixed.min((spare / 2.0) as u32);
        let dynamic = total - fixed;
        let slc = Slc::new(fixed, dynamic, drain, *spec.slc.first, *spec.slc.reenter, bits);
        Rules {
            policy: *spec.collect.policy,
            shared_frontier: *spec.collect.shared,
            slc: slc.keeping(keep),
            wear: Wear { endurance: *spec.wear.endurance, seed: *spec.seed },
            level_lead: *spec.wear.level_lead,
            idle_free: (spare * *spec.collect.idle_free) as u32,
            idle_fold: *spec.slc.idle_fold,
            seed: *spec.seed,
        }
    }
}

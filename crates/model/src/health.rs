//! What a drive tells of itself: traffic, wear, spares, temperature.

use serde::{Deserialize, Serialize};

use crate::drive::{Drive, Translation};

/// What the drive counts over its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Bytes the host read.
    pub read_bytes: u64,
    /// Bytes the host wrote.
    pub written_bytes: u64,
    /// Bytes the host discarded.
    pub discarded_bytes: u64,
    /// Commands of each kind, by `OpKind as usize`.
    pub commands: [u64; 4],
    /// Power cuts.
    pub power_cuts: u64,
    /// Logical blocks that fell back to older content in power cuts.
    pub lost_blocks: u64,
}

/// What a drive tells of itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// Host traffic and events.
    pub counters: Counters,
    /// Share of rated life used, percent; may exceed 100.
    pub wear_percent: f64,
    /// Mean erases of a superblock.
    pub mean_erases: f64,
    /// Spare superblocks left, percent.
    pub spare_percent: f64,
    /// Bytes programmed into flash for whatever reason.
    pub programmed_bytes: u64,
    /// Bytes sensed from flash for whatever reason.
    pub sensed_bytes: u64,
    /// Takes no more writes.
    pub read_only: bool,
    /// Degrees Celsius when the last command came.
    pub temperature_c: f64,
    /// Time for which commands were held back by heat.
    pub throttled_ns: u64,
}

impl Drive {
    /// Wear, errors and temperature as the drive tells them.
    pub fn health(&self) -> Health {
        let traffic = self.media.traffic();
        let (mean_erases, spare_percent) = match &self.translation {
            Translation::Page(page) => {
                let blocks = page.blocks();
                let spares = page.spares();
                let left =
                    if spares == 0 { 1.0 } else { f64::from(blocks.spare()) / f64::from(spares) };
                (blocks.total_erases() as f64 / f64::from(blocks.count() - spares), left * 100.0)
            }
            Translation::Au(au) => (au.mean_erases(), 100.0),
        };
        Health {
            counters: self.counters,
            wear_percent: mean_erases / f64::from(self.endurance.max(1)) * 100.0,
            mean_erases,
            spare_percent,
            programmed_bytes: traffic.programmed,
            sensed_bytes: traffic.sensed,
            read_only: self.worn_out(),
            temperature_c: self.heat.celsius(),
            throttled_ns: self.heat.throttled_ns(),
        }
    }
}

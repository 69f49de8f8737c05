//! Flash effects of the test drive: a finite cache, mapped blocks, fragmentation by random writes,
//! misaligned pages, heat. All are off by default.

use rig::Released;
use workload::{Op, OpKind, Pattern, Region, Workload};

/// Unit of mapping in bytes.
const CHUNK: u64 = 1 << 20;

/// Page size; misaligned blocks cross page boundaries.
const PAGE: u64 = 4096;

/// Ambient temperature, degrees Celsius.
const ROOM_C: f64 = 30.0;

/// Properties of the flash.
#[derive(Clone, Debug)]
pub struct FlashTraits {
    /// Writes are `cache_gain` times as fast until this many bytes are written.
    pub cache_bytes: u64,
    pub cache_gain: f64,
    /// Slowdown of writes after the cache of a discarded drive, until everything is mapped.
    pub folding: f64,
    /// Bytes of cache recovered per second of idle time.
    pub cache_back_per_s: f64,
    /// Slowdown of random writes on a fully mapped drive.
    pub full_cost: f64,
    /// Slowdown of sequential accesses in randomly written regions.
    pub ragged_cost: f64,
    /// Slowdown of operations that cross a page boundary.
    pub crossing_cost: f64,
    /// Slowdown of all operations if the drive's blocks are smaller than a page.
    pub small_block_cost: f64,
    /// Speedup of reads of unmapped blocks.
    pub unmapped_gain: f64,
    /// Discards are accepted without effect.
    pub ignores_discard: bool,
    /// Final temperature rise under sustained load, kelvin, and the time constant, seconds.
    pub rise_k: f64,
    pub inertia_s: f64,
    /// Temperature at which all operations start to take twice as long, degrees Celsius.
    pub throttle_c: f64,
}

impl Default for FlashTraits {
    fn default() -> Self {
        FlashTraits {
            cache_bytes: 0,
            cache_gain: 1.0,
            folding: 1.0,
            cache_back_per_s: 0.0,
            full_cost: 1.0,
            ragged_cost: 1.0,
            crossing_cost: 1.0,
            small_block_cost: 1.0,
            unmapped_gain: 1.0,
            ignores_discard: false,
            rise_k: 0.0,
            inertia_s: 60.0,
            throttle_c: f64::INFINITY,
        }
    }
}

/// State of the flash.
pub struct Flash {
    pub traits: FlashTraits,
    mapped: Vec<bool>,
    ragged: Vec<bool>,
    /// Free cache, bytes.
    room: u64,
    celsius: f64,
}

impl Flash {
    /// A discarded, cold drive.
    pub fn new(traits: FlashTraits, bytes: u64) -> Flash {
        let chunks = bytes.div_ceil(CHUNK) as usize;
        let room = traits.cache_bytes;
        let nothing = || vec![false; chunks];
        let (mapped, ragged) = (nothing(), nothing());
        Flash { traits, mapped, ragged, room, celsius: ROOM_C }
    }

    /// Slowdown of an operation relative to an ideal drive; also applies its effects.
    pub fn cost(&mut self, w: &Workload, op: &Op, block: u32) -> f64 {
        let t = &self.traits;
        let chunk = (op.offset / CHUNK) as usize;
        let random = w.pattern != Pattern::Sequential;
        let mut cost = if self.celsius >= t.throttle_c { 2.0 } else { 1.0 };
        if u64::from(block) < PAGE {
            cost *= t.small_block_cost;
        }
        if !op.offset.is_multiple_of(PAGE) {
            cost *= t.crossing_cost;
        }
        if !random && self.ragged[chunk] {
            cost *= t.ragged_cost;
        }
        match op.kind {
            OpKind::Read if !self.mapped[chunk] => cost /= t.unmapped_gain,
            OpKind::Write => {
                cost *= self.write(chunk, u64::from(op.bytes), random);
            }
            _ => {}
        }
        cost
    }

    fn write(&mut self, chunk: usize, bytes: u64, random: bool) -> f64 {
        let t = &self.traits;
        let mut cost = 1.0;
        if random {
            let full = self.mapped.iter().filter(|m| **m).count() as f64 / self.mapped.len() as f64;
            cost *= 1.0 + (t.full_cost - 1.0) * full;
        }
        if self.room >= bytes {
            self.room -= bytes;
            cost /= t.cache_gain;
        } else if t.cache_bytes > 0 && !self.mapped[chunk] {
            cost *= t.folding;
        }
        // A random write covers only a small part of its chunk, so it does not map the chunk.
        self.ragged[chunk] = random;
        self.mapped[chunk] |= !random;
        cost
    }

    /// Simulates writing the first range sequentially, then the second at random.
    pub fn wear(&mut self, filled: std::ops::Range<u64>, used: std::ops::Range<u64>) {
        let chunks = |r: std::ops::Range<u64>| (r.start / CHUNK) as usize..(r.end / CHUNK) as usize;
        self.mapped[chunks(filled)].fill(true);
        self.ragged[chunks(used)].fill(true);
    }

    /// Discards a region and reports its content afterwards.
    pub fn release(&mut self, region: Region) -> Released {
        self.discard(region);
        let chunk = (region.start / CHUNK) as usize;
        let looked_bytes = region.bytes;
        let kept_bytes = if self.mapped[chunk] { looked_bytes } else { 0 };
        Released {
            looked_bytes,
            kept_bytes,
            zero_bytes: looked_bytes - kept_bytes,
            trimmed_bytes: None,
        }
    }

    /// Discards a region.
    pub fn discard(&mut self, region: Region) {
        if self.traits.ignores_discard {
            return;
        }
        let chunks =
            (region.start.div_ceil(CHUNK) as usize)..(region.end().div_ceil(CHUNK) as usize);
        self.mapped[chunks.clone()].fill(false);
        self.ragged[chunks].fill(false);
        if !self.mapped.contains(&true) {
            self.room = self.traits.cache_bytes;
        }
    }

    /// Records a fill of a region.
    pub fn fill(&mut self, region: Region) {
        let chunks = (region.start / CHUNK) as usize..(region.end().div_ceil(CHUNK) as usize);
        self.mapped[chunks.clone()].fill(true);
        self.ragged[chunks].fill(false);
        self.room = self.room.saturating_sub(region.bytes);
    }

    /// Returns whether any chunk of a region is mapped.
    pub fn holds(&self, region: Region) -> bool {
        let chunks = (region.start / CHUNK) as usize..(region.end().div_ceil(CHUNK) as usize);
        self.mapped[chunks].contains(&true)
    }

    /// Lets time pass, with or without work.
    pub fn pass(&mut self, ns: u64, busy: bool) {
        let seconds = ns as f64 / 1e9;
        let aim = if busy { ROOM_C + self.traits.rise_k } else { ROOM_C };
        self.celsius += (aim - self.celsius) * (1.0 - libm::exp(-seconds / self.traits.inertia_s));
        if !busy {
            let back = (seconds * self.traits.cache_back_per_s) as u64;
            self.room = (self.room + back).min(self.traits.cache_bytes);
        }
    }

    /// Temperature, degrees Celsius; `None` without a sensor.
    pub fn celsius(&self) -> Option<f64> {
        (self.traits.rise_k > 0.0).then_some(self.celsius)
    }
}

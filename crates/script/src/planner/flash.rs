//! The flash below a drive's caches in a plan: how much of a write the cache absorbs, and how much
//! the flash programs.
//!
//! The cache holds one bit per cell, so it shrinks as the drive fills. New data enter it until it is
//! full; what is overwritten in it takes no more room. From then on the drive writes directly, until a
//! rest has moved the data out. On a full drive, random writes also wait for the flash to move older
//! data: by the share of spare flash s, (1 + s) / (2 s) times the writes (Desnoyers, "Analytic models of SSD
//! write performance", 2014, for a greedy choice and uniform writes). What moves is first read, block
//! by block, because what is left of an erase block is scattered in it.

use rig::Flash;
use workload::Region;

use super::loss::{bytes, join, remove};

/// Share of the drive from which it counts as full.
const FULL: f64 = 0.9;

/// What is on the flash at a point of a plan.
#[derive(Clone, Debug)]
pub(super) struct FlashState {
    flash: Flash,
    capacity_bytes: f64,
    /// Regions with data: disjoint, ascending.
    written: Vec<Region>,
    cached_bytes: f64,
    /// Random writes since the drive was full, as far as they had room in its spare flash.
    scattered_bytes: f64,
    /// Whether new data go into the cache.
    is_filling: bool,
}

impl FlashState {
    /// A drive of this capacity, all of which has data, or none.
    pub fn new(flash: Flash, capacity_bytes: u64, is_full: bool) -> FlashState {
        let whole = Region::first(if is_full { capacity_bytes } else { 0 });
        FlashState {
            flash,
            capacity_bytes: capacity_bytes as f64,
            written: [whole].into_iter().filter(|region| region.bytes > 0).collect(),
            cached_bytes: 0.0,
            scattered_bytes: 0.0,
            is_filling: true,
        }
    }

    /// Writes so many bytes to a region, in order or at random; returns the time that the flash takes,
    /// seconds: 0 if the cache absorbs them.
    pub fn write(&mut self, region: Region, written_bytes: f64, is_random: bool) -> f64 {
        let earlier_bytes = bytes(&self.written) as f64;
        join(&mut self.written, region);
        let grown_bytes = (bytes(&self.written) as f64 - earlier_bytes).min(written_bytes);
        let overwritten_bytes = written_bytes - grown_bytes;
        let cached_share = self.cached_bytes / earlier_bytes.max(1.0);
        let direct_bytes = if self.is_filling {
            let entering_bytes = grown_bytes + overwritten_bytes * (1.0 - cached_share).max(0.0);
            let room_bytes = (self.cache_bytes() - self.cached_bytes).max(0.0);
            let absorbed_bytes = entering_bytes.min(room_bytes);
            self.cached_bytes += absorbed_bytes;
            self.is_filling = entering_bytes < room_bytes;
            entering_bytes - absorbed_bytes
        } else {
            self.cached_bytes -= (overwritten_bytes * cached_share).min(self.cached_bytes);
            written_bytes
        };
        let programmed_bytes = direct_bytes * self.amplification(direct_bytes, is_random);
        let moved_bytes = programmed_bytes - direct_bytes;
        programmed_bytes / self.flash.bytes_per_s + moved_bytes / self.flash.gathered_bytes_per_s
    }

    /// Discards a region.
    pub fn discard(&mut self, region: Region) {
        let earlier_bytes = bytes(&self.written) as f64;
        remove(&mut self.written, region);
        let kept_share = bytes(&self.written) as f64 / earlier_bytes.max(1.0);
        self.cached_bytes *= kept_share;
        self.scattered_bytes *= kept_share;
        self.is_filling |= self.written.is_empty();
    }

    /// Rests for so long, in which the flash moves data out of the cache.
    pub fn rest(&mut self, seconds: f64) {
        self.cached_bytes = (self.cached_bytes - seconds * self.flash.bytes_per_s).max(0.0);
        self.is_filling |= self.cached_bytes < self.cache_bytes();
    }

    /// Bytes that the cache holds beside the data that are not in it.
    fn cache_bytes(&self) -> f64 {
        let settled_bytes = bytes(&self.written) as f64 - self.cached_bytes;
        let unfilled_bytes = (self.capacity_bytes - settled_bytes).max(0.0);
        let spare_bytes = (self.flash.spare_share * self.capacity_bytes).min(unfilled_bytes);
        let room_bytes = (unfilled_bytes + spare_bytes) / f64::from(self.flash.bits.max(1));
        self.flash.fixed_bytes as f64 + room_bytes.min(self.flash.dynamic_bytes as f64)
    }

    /// Bytes programmed for each byte written.
    fn amplification(&mut self, written_bytes: f64, is_random: bool) -> f64 {
        let is_full = bytes(&self.written) as f64 >= FULL * self.capacity_bytes;
        let spare_share = self.flash.spare_share;
        if !is_random || !is_full || spare_share <= 0.0 || written_bytes <= 0.0 {
            return 1.0;
        }
        let spare_bytes = spare_share * self.capacity_bytes;
        let free_bytes = (spare_bytes - self.scattered_bytes).clamp(0.0, written_bytes);
        self.scattered_bytes += free_bytes;
        let settled = (1.0 + spare_share) / (2.0 * spare_share);
        (free_bytes + (written_bytes - free_bytes) * settled.max(1.0)) / written_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    /// A drive of 100 GiB whose cells hold 4 bits, that programs 1 GiB/s.
    fn fresh() -> FlashState {
        let flash = Flash {
            fixed_bytes: GIB,
            dynamic_bytes: 20 * GIB,
            bits: 4,
            bytes_per_s: GIB as f64,
            gathered_bytes_per_s: GIB as f64 / 2.0,
            spare_share: 0.1,
        };
        FlashState::new(flash, 100 * GIB, false)
    }

    fn region(start: u64, gib: u64) -> Region {
        Region { start: start * GIB, bytes: gib * GIB }
    }

    fn write(state: &mut FlashState, region: Region, gib: u64) -> f64 {
        state.write(region, (gib * GIB) as f64, false)
    }

    #[test]
    fn new_data_enter_the_cache_until_it_is_full() {
        let mut state = fresh();
        assert_eq!(write(&mut state, region(0, 10), 10), 0.0);
        // Overwriting takes no room, new data do.
        assert_eq!(write(&mut state, region(0, 10), 500), 0.0);
        let seconds = write(&mut state, region(10, 30), 30);
        assert!((seconds - 19.0).abs() < 1e-6, "{seconds}");
        // Direct from here on, until it rests.
        assert_eq!(write(&mut state, region(40, 1), 1), 1.0);
        state.rest(30.0);
        assert_eq!(write(&mut state, region(41, 10), 10), 0.0);
    }

    #[test]
    fn a_full_drive_has_its_fixed_cache_until_it_is_discarded() {
        let mut state = fresh();
        write(&mut state, region(0, 100), 100);
        state.rest(1e6);
        let seconds = write(&mut state, region(0, 10), 10);
        assert!((seconds - 9.0).abs() < 0.01, "{seconds}");
        state.discard(region(0, 100));
        assert_eq!(write(&mut state, region(0, 20), 20), 0.0);
    }

    #[test]
    fn random_writes_to_a_full_drive_wait_for_older_data_to_move() {
        let mut state = fresh();
        write(&mut state, region(0, 100), 100);
        let all = (100 * GIB) as f64;
        let seconds = state.write(region(0, 100), all, true);
        // A tenth finds spare flash; the rest is written 5.5 times, after 4.5 times are read at
        // half the rate.
        assert!((seconds - (10.0 + 90.0 * (5.5 + 2.0 * 4.5))).abs() < 0.1, "{seconds}");
        assert!((state.write(region(0, 100), all, true) - 100.0 * (5.5 + 9.0)).abs() < 0.1);
        assert_eq!(state.write(region(0, 100), all, false), 100.0);
    }
}

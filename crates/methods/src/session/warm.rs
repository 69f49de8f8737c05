//! A measurement after its warm-up.
//!
//! The warm-up lets the drive, its buffers and its queue settle. It also shows how many operations
//! fit in the measurement. On a slow card those are a few dozen, and a mix that ends anywhere
//! among them can be off its shares by a tenth; so a slow mix ends after whole cycles.

use rig::{Measurement, StopReason};
use workload::Workload;

use super::{Session, complete};
use crate::MethodError;

/// A mix of at least this many cycles may end inside one: its shares are then within 1%.
const CYCLES_MANY: f64 = 50.0;

/// Share of the expected operations that a slow mix issues, so that its last cycle completes in
/// time.
const ISSUED_SHARE: f64 = 0.9;

impl Session<'_> {
    /// [`Session::measure`] after an unreported warm-up, which takes a quarter of the workload's
    /// time and bytes.
    pub(crate) fn measure_warm(
        &mut self,
        w: &Workload,
        replicate: u32,
    ) -> Result<Measurement, MethodError> {
        let (warm, mut kept) = warmed(w);
        let warm = self.limited(&warm)?;
        self.step(&w.name, replicate);
        let m = self.rig().measure(&warm)?;
        self.spend(&warm, &m);
        if m.stop == StopReason::Errors {
            self.out.issued(&warm);
            self.out.keep_doubts(&warm.name, &m);
        }
        let m = complete(self.rig(), m)?;
        let ops = whole_cycles(&kept, m.iops(None));
        kept.stop.ops = self.assume(ops, None).or(kept.stop.ops);
        let measurement = self.execute(&kept, None)?;
        self.report(&kept, replicate, measurement)
    }
}

/// Splits a workload into its warm-up and the rest. The warm-up has its own addresses.
fn warmed(w: &Workload) -> (Workload, Workload) {
    let mut warm = w.clone();
    warm.name = format!("{}-warm-up", w.name);
    warm.seed = w.seed.wrapping_add(1 << 31);
    let mut kept = w.clone();
    let block = u64::from(w.blocks.max()) * u64::from(w.jobs);
    warm.stop.time_ns = w.stop.time_ns.map(|ns| ns / 4);
    warm.stop.bytes = w.stop.bytes.map(|bytes| (bytes / 4 / block).max(1) * block);
    kept.stop.time_ns = w.stop.time_ns.zip(warm.stop.time_ns).map(|(all, warm)| all - warm);
    let bytes = w.stop.bytes.zip(warm.stop.bytes);
    kept.stop.bytes = bytes.map(|(all, warm)| all.saturating_sub(warm).max(block));
    (warm, kept)
}

/// The operations after which a slow mix ends: those of whole cycles. `None` for a fast mix and
/// for a single kind of operation.
fn whole_cycles(w: &Workload, ops_per_s: Option<f64>) -> Option<u64> {
    let seconds = w.stop.time_ns? as f64 / 1e9;
    let cycle = w.mix.cycle() * u64::from(w.jobs);
    // A full queue is issued at once, no matter how long it takes.
    let queued = u64::from(w.depth) * u64::from(w.jobs);
    let expected = (ops_per_s? * seconds).max(queued as f64);
    if cycle == u64::from(w.jobs) || expected >= CYCLES_MANY * cycle as f64 {
        return None;
    }
    let cycles = (queued / cycle).max((ISSUED_SHARE * expected) as u64 / cycle).max(1);
    Some(cycles * cycle)
}

#[cfg(test)]
mod tests {
    use workload::{Mix, Pattern, Region, Stop};

    use super::*;

    fn mixed(read: u32, depth: u32) -> Workload {
        let region = Region { start: 0, bytes: 1 << 20 };
        let mix = Mix::read_percent(read);
        let mut w = Workload::new("mixed", Pattern::UniformOnce, mix, 4096, region);
        (w.depth, w.stop) = (depth, Stop::after_ns(500_000_000));
        w
    }

    #[test]
    fn a_slow_mix_ends_after_whole_cycles_and_before_its_time() {
        // The full queue of 32 is issued at once: three cycles of ten.
        assert_eq!(whole_cycles(&mixed(70, 32), Some(10.0)), Some(30));
        // 100 expected in the time: nine cycles, with a margin of one.
        assert_eq!(whole_cycles(&mixed(70, 32), Some(200.0)), Some(90));
        assert_eq!(whole_cycles(&mixed(75, 1), Some(1.0)), Some(4), "at least one cycle");
    }

    #[test]
    fn a_fast_mix_and_a_single_kind_end_by_time() {
        assert_eq!(whole_cycles(&mixed(70, 32), Some(1000.0)), None);
        assert_eq!(whole_cycles(&mixed(100, 32), Some(10.0)), None);
        assert_eq!(whole_cycles(&mixed(70, 32), None), None);
    }
}

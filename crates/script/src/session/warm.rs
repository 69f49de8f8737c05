//! A measurement after its warm-up.
//!
//! The warm-up lets the drive, its buffers and its queue settle. It also shows how many operations
//! fit in the measurement. On a slow card those are few, so the point at which two workloads end
//! matters:
//!
//! - A mix that ended anywhere could be off its shares by a tenth. A slow mix therefore ends after
//!   whole cycles.
//! - A card opens an erase block for each stretch of sequential writes and copies the rest of an
//!   older one, which takes longer than the few writes themselves. Slow sequential writes therefore
//!   continue where the warm-up ended, up to a boundary of several erase blocks.

use rig::{Measurement, Stage, StopReason, bound};
use workload::{OpKind, Pattern, Region, Workload};

use super::{Door, Session, complete};
use crate::Result;

/// A mix of at least this many cycles may end inside one: its shares are then within 1%.
const CYCLES_MANY: f64 = 50.0;

/// Share of the expected operations that a slow mix issues, so that its last cycle completes in
/// time.
const ISSUED_SHARE: f64 = 0.9;

/// Sequential writes end at this boundary, in bytes from the start of their region, if their time
/// would end earlier: four erase blocks of 4 MiB, as in SDHC cards, or more smaller ones.
const STRETCH_BYTES: u64 = 16 << 20;

/// Maximum duration of slow sequential writes, as a multiple of their time. At a default of half a
/// second, a card of 2 MB/s reaches the boundary.
const STRETCH_TIMES: u64 = 15;

impl Session<'_> {
    /// [`Session::measure`] after an unreported warm-up, which takes a quarter of the workload's
    /// time and bytes.
    pub fn measure_warm(&mut self, w: &Workload, replicate: u32) -> Result<Measurement> {
        let (warm, mut reported) = warmed(w);
        let warm = self.limited(&warm)?;
        self.step(&w.name, replicate);
        let m = self.rig().measure(&warm)?;
        self.spend(&warm, &m);
        if m.stop == StopReason::Errors {
            self.out.issued(&warm);
            self.out.keep_doubts(&warm.name, &m);
        }
        let m = complete(self.rig(), m)?;
        let ops = whole_cycles(&reported, m.iops(None));
        reported.stop.ops = self.assume(ops, None).or(reported.stop.ops);
        let written_bytes = m.kind(OpKind::Write).map_or(0, |kind| kind.bytes);
        self.expect_stretch(&reported);
        let fits = reported.stop.time_ns.map(|ns| {
            if self.plans() {
                bound::timed(&reported, self.target(), ns)
            } else {
                (m.throughput(None).unwrap_or(0.0) * ns as f64 / 1e9) as u64
            }
        });
        let reported =
            fits.and_then(|bytes| stretched(&reported, written_bytes, bytes)).unwrap_or(reported);
        let measurement = self.execute(&reported, None, Stage::default())?.whole;
        self.report(&reported, replicate, measurement)
    }
}

impl Session<'_> {
    /// While planning: expects slow sequential writes to continue, where the bound has the fast ones.
    fn expect_stretch(&mut self, w: &Workload) {
        let Door::Plan(planner) = &mut self.door else { return };
        let fits = w.stop.time_ns.map(|ns| planner.bytes_within(w, ns as f64 / 1e9));
        // The warm-up takes a third of the time of the rest.
        let stretched = fits.and_then(|bytes| stretched(w, bytes / 3, bytes));
        planner.expect_instead(stretched);
    }
}

/// Splits a workload into its warm-up and the rest. The warm-up has its own addresses.
fn warmed(w: &Workload) -> (Workload, Workload) {
    let mut warm = w.clone();
    warm.name = format!("{}-warm-up", w.name);
    warm.seed = w.seed.wrapping_add(1 << 31);
    let mut reported = w.clone();
    let block = u64::from(w.blocks.max()) * u64::from(w.jobs);
    warm.stop.time_ns = w.stop.time_ns.map(|ns| ns / 4);
    warm.stop.bytes = w.stop.bytes.map(|bytes| (bytes / 4 / block).max(1) * block);
    reported.stop.time_ns = w.stop.time_ns.zip(warm.stop.time_ns).map(|(all, warm)| all - warm);
    let bytes = w.stop.bytes.zip(warm.stop.bytes);
    reported.stop.bytes = bytes.map(|(all, warm)| all.saturating_sub(warm).max(block));
    (warm, reported)
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

/// Slow sequential writes that continue at `written` up to the boundary. `None` for other
/// workloads, and if the bytes that fit in the time reach the boundary anyway.
fn stretched(w: &Workload, written: u64, fits: u64) -> Option<Workload> {
    let sequential = matches!(w.pattern, Pattern::Sequential) && w.jobs == 1;
    let end = STRETCH_BYTES.min(w.region.bytes);
    let bytes = end.saturating_sub(written);
    if !sequential || w.mix.only() != Some(OpKind::Write) || fits >= bytes {
        return None;
    }
    let mut w = w.clone();
    w.region = Region { start: w.region.start + written, bytes: w.region.bytes - written };
    w.stop.bytes = Some(w.stop.bytes.map_or(bytes, |most| most.min(bytes)));
    w.stop.time_ns = w.stop.time_ns.map(|ns| STRETCH_TIMES * ns);
    Some(w)
}

#[cfg(test)]
mod tests {
    use workload::{Mix, Stop};

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
    fn a_warm_up_is_a_quarter_in_whole_blocks_of_every_job() {
        let mut w = mixed(100, 1);
        (w.jobs, w.stop.bytes) = (4, Some(40 * 4096));
        let (warm, kept) = warmed(&w);
        assert_eq!((warm.stop.bytes, kept.stop.bytes), (Some(8 * 4096), Some(32 * 4096)));
        assert_eq!((warm.stop.time_ns, kept.stop.time_ns), (Some(125_000_000), Some(375_000_000)));
        assert_ne!(warm.seed, kept.seed);
    }

    #[test]
    fn slow_sequential_writes_continue_up_to_a_boundary() {
        let region = Region { start: 1 << 20, bytes: 64 << 20 };
        let mut w = Workload::new("seq", Pattern::Sequential, Mix::WRITE, 1 << 20, region);
        w.stop = Stop { bytes: Some(100 << 20), ..Stop::after_ns(500_000_000) };
        let slow = stretched(&w, 3 << 20, 4 << 20).expect("it is slow");
        assert_eq!(slow.region, Region { start: 4 << 20, bytes: 61 << 20 });
        assert_eq!(slow.stop.bytes, Some(13 << 20), "16 MiB less those of the warm-up");
        assert_eq!(slow.stop.time_ns, Some(7_500_000_000));
        assert_eq!(stretched(&w, 3 << 20, 13 << 20), None, "it fits in the time");
        let reads = Workload { mix: Mix::READ, ..w.clone() };
        assert_eq!(stretched(&reads, 1 << 20, 1 << 20), None);
        let random = Workload { pattern: Pattern::UniformOnce, ..w.clone() };
        assert_eq!(stretched(&random, 1 << 20, 1 << 20), None);
        w.region.bytes = 8 << 20;
        let small = stretched(&w, 3 << 20, 1 << 20).expect("it is slow");
        assert_eq!(small.stop.bytes, Some(5 << 20), "a region of 8 MiB, once");
    }

    #[test]
    fn a_fast_mix_and_a_single_kind_end_by_time() {
        assert_eq!(whole_cycles(&mixed(70, 32), Some(1000.0)), None);
        assert_eq!(whole_cycles(&mixed(100, 32), Some(10.0)), None);
        assert_eq!(whole_cycles(&mixed(70, 32), None), None);
    }
}

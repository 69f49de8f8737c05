//! Expected durations and writes, from the rates of the drive or, if they are unknown, from the
//! share of the link rate that drives usually reach.
//!
//! These are estimates for the user; the byte bound does not depend on them. Two sizes of block, each
//! one at a time and in a queue, give the time of any other: an operation takes a fixed time and a
//! time per byte.

use rig::{DirectionRates, DurableRates, Rates, TargetInfo};
use workload::{Calls, Pacing, Workload};

/// Assumed rate of an unknown link, bytes per second: SATA 6 Gb/s.
const USUAL_LINK: f64 = 550e6;

/// Share of the link rate that drives reach with large blocks at high queue depth, with large
/// blocks at depth 1, and with small random blocks.
const DEEP_SHARE: f64 = 0.6;
const SINGLE_SHARE: f64 = 0.4;
const RANDOM_SHARE: f64 = 0.1;

/// Sizes of the blocks of [`DirectionRates`], bytes.
const SMALL: f64 = 4096.0;
const LARGE: f64 = 1_048_576.0;

/// Assumed duration of a durable write of an unknown drive, seconds.
const COMMIT_SECONDS: f64 = 1e-3;

/// Minimum time of an operation, seconds; one that moves nothing has no rate.
const OP_SECONDS_MIN: f64 = 1e-9;

/// What an operation of a plan is expected to cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Expectation {
    /// Seconds.
    pub seconds: f64,
    /// Bytes written.
    pub written_bytes: f64,
}

impl Expectation {
    /// An operation that takes this time and writes nothing.
    pub(super) fn lasting(seconds: f64) -> Expectation {
        Expectation { seconds, written_bytes: 0.0 }
    }

    /// The same where the flash takes so long, within the time that a workload may take, seconds.
    pub(super) fn at_least(self, flash_seconds: f64, time_max: f64) -> Expectation {
        if flash_seconds <= self.seconds {
            return self;
        }
        let seconds = flash_seconds.min(time_max).max(self.seconds);
        Expectation { seconds, written_bytes: self.written_bytes * seconds / flash_seconds }
    }
}

/// A fill.
pub(super) fn fill(bytes: u64, target: &TargetInfo) -> Expectation {
    let bytes = bytes as f64;
    let seconds = bytes / rates(target).write.large_deep;
    Expectation { seconds: seconds.max(programming(bytes, target)), written_bytes: bytes }
}

/// Expected duration of reading as much, seconds.
pub(super) fn read(bytes: u64, target: &TargetInfo) -> f64 {
    bytes as f64 / rates(target).read.large_deep
}

/// Time the media take at least to program a write, after the part absorbed as a burst, seconds. The
/// time that a known flash takes depends on what is on it (`flash.rs`).
fn programming(bytes: f64, target: &TargetInfo) -> f64 {
    let (burst, native) = (target.limits.burst_bytes, target.limits.native_bytes_per_s);
    native.map_or(0.0, |native| (bytes - burst.unwrap_or(0) as f64).max(0.0) / native)
}

/// A workload.
pub(super) fn workload(w: &Workload, target: &TargetInfo) -> Expectation {
    let block = f64::from(w.blocks.max().max(1));
    let moves = f64::from(w.mix.read + w.mix.write).max(1.0);
    let write_bytes_per_op = block * f64::from(w.mix.write) / moves;
    let amount = w.stop.bytes_bound(w.region.bytes).map(|bytes| bytes as f64 / block);
    let amount = [amount, w.stop.ops.map(|ops| ops as f64)].into_iter().flatten();
    let ops = amount.fold(f64::INFINITY, f64::min);
    let seconds_per_op = op_seconds(w, target);
    let by_amount = (ops * seconds_per_op).max(programming(ops * write_bytes_per_op, target));
    let by_time = w.stop.time_ns.map_or(f64::INFINITY, |ns| ns as f64 / 1e9);
    // What is in flight at the end of the time is waited for.
    let flying = f64::from(w.depth * w.jobs);
    let late = if seconds_per_op.is_finite() { flying * seconds_per_op } else { 0.0 };
    let seconds = by_amount.min(by_time + late);
    if !seconds.is_finite() {
        return Expectation::default();
    }
    let done = ops.min(by_time / seconds_per_op + flying);
    let written_bytes = if w.mix.write > 0 { done * write_bytes_per_op } else { 0.0 };
    Expectation { seconds, written_bytes }
}

/// Bytes that a workload without another limit moves within a time.
pub(super) fn within(w: &Workload, seconds: f64, target: &TargetInfo) -> u64 {
    (seconds / op_seconds(w, target) * f64::from(w.blocks.max())) as u64
}

/// Expected time from one operation to the next, seconds.
fn op_seconds(w: &Workload, target: &TargetInfo) -> f64 {
    let block = f64::from(w.blocks.max().max(1));
    let rates = rates(target);
    let sides = [(w.mix.read, &rates.read), (w.mix.write, &rates.write)];
    let least = target.limits.least_command_ns.unwrap_or(0) as f64 / 1e9;
    let shares = f64::from(w.mix.read + w.mix.write).max(1.0);
    let usual: f64 = sides
        .into_iter()
        .map(|(share, side)| f64::from(share) / shares * side_seconds(w, block, side, least))
        .sum();
    let usual = usual + f64::from(w.mix.write) / shares * misaligned(w, &rates.read);
    let writes_per_commit = match w.flush_every {
        _ if w.mix.write == 0 => None,
        _ if w.sync_writes => Some(1),
        writes => writes.map(|writes| writes.max(1)),
    };
    let workers = f64::from(w.jobs.max(1));
    // A known duration includes the write itself, but for what exceeds a small block.
    let (usual, commits) = match (writes_per_commit, rates.durable) {
        (Some(1), Some(durable)) if w.mix.read == 0 => {
            let larger = (block - SMALL).max(0.0) / rates.write.large_single;
            (block / rates.write.large_deep, (of_durable(&durable, w) + larger) / workers)
        }
        (Some(writes), durable) => {
            let commit = durable.map_or(COMMIT_SECONDS, |durable| of_durable(&durable, w));
            (usual, commit / workers / f64::from(writes))
        }
        (None, _) => (usual, 0.0),
    };
    let calls = match w.calls {
        Calls::Bytes { host_ns } => block * f64::from(host_ns) / 1e9,
        _ => 0.0,
    };
    let paced = match w.pacing {
        Pacing::Fixed { rate } | Pacing::Poisson { rate } => 1.0 / rate,
        Pacing::OnOff { on_ns, off_ns, rate } => {
            let share_on = on_ns as f64 / (on_ns + off_ns).max(1) as f64;
            rate.map_or(usual, |rate| 1.0 / rate) / share_on
        }
        _ => 0.0,
    };
    usual.max(commits).max(calls).max(paced).max(OP_SECONDS_MIN)
}

/// Time that a write at an odd offset takes longer, seconds: the drive first reads the blocks at
/// both its ends.
fn misaligned(w: &Workload, read: &DirectionRates) -> f64 {
    let is_odd = !w.shift_bytes.is_multiple_of(SMALL as u64);
    let flying = f64::from((w.depth * w.jobs).max(1));
    let single = SMALL / read.small_single / flying;
    if is_odd { 2.0 * single.max(SMALL / read.small_deep) } else { 0.0 }
}

/// Duration of a small durable write in the order of this workload, seconds.
fn of_durable(durable: &DurableRates, w: &Workload) -> f64 {
    SMALL / if w.pattern.is_random() { durable.random } else { durable.sequential }
}

/// Expected duration of so many small durable writes to few places, seconds.
pub(super) fn commits(count: u64, target: &TargetInfo) -> f64 {
    let durable = rates(target).durable;
    count as f64 * durable.map_or(COMMIT_SECONDS, |durable| SMALL / durable.sequential)
}

/// The same in one direction, where a command takes at least `least` seconds.
fn side_seconds(w: &Workload, block: f64, rates: &DirectionRates, least: f64) -> f64 {
    let flying = f64::from((w.depth * w.jobs).max(1));
    let single = between(rates.small_single, rates.large_single, block);
    let deep = between(rates.small_deep, rates.large_deep, block);
    let random = if flying > 1.0 { (single / flying).max(deep) } else { single };
    if w.pattern.is_random() {
        return random;
    }
    // In order, a small block costs what a large one costs beyond its transfer.
    let transfer = block / rates.large_deep;
    let fixed = (LARGE / rates.large_single - LARGE / rates.large_deep).max(least);
    random.min((fixed + transfer) / flying).max(transfer)
}

/// Time of an operation, from the rates of small and of large blocks, seconds.
fn between(small_rate: f64, large_rate: f64, block: f64) -> f64 {
    let (small, large) = (SMALL / small_rate, LARGE / large_rate);
    let per_byte = (large - small).max(0.0) / (LARGE - SMALL);
    (small + per_byte * (block - SMALL).max(0.0)).max(block / large_rate)
}

/// The rates of the drive, or those usual for its link.
fn rates(target: &TargetInfo) -> Rates {
    let link = target.limits.link_bytes_per_s.unwrap_or(USUAL_LINK);
    let usual = DirectionRates {
        large_single: SINGLE_SHARE * link,
        large_deep: DEEP_SHARE * link,
        small_single: RANDOM_SHARE * link,
        small_deep: RANDOM_SHARE * link,
    };
    target.rates.unwrap_or(Rates { read: usual, write: usual, durable: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::testing::{target, with_link};
    use workload::{Mix, Pattern, Region, Stop};

    const GIB: u64 = 1 << 30;

    fn amount(pattern: Pattern, mix: Mix, block_bytes: u32, bytes: u64) -> Workload {
        let w = Workload::new("a", pattern, mix, block_bytes, Region::first(GIB));
        Workload { stop: Stop { bytes: Some(bytes), ..Stop::default() }, ..w }
    }

    fn near(seconds: f64, by_hand: f64) {
        assert!((seconds / by_hand - 1.0).abs() < 1e-6, "{seconds}, by hand {by_hand}");
    }

    fn seconds(w: &Workload, target: &TargetInfo) -> f64 {
        workload(w, target).seconds
    }

    /// A drive that writes half as fast as it reads: a small block takes 1 ms, in a queue .1 ms, and
    /// a large one 20 ms, in a queue 10 ms.
    fn known() -> TargetInfo {
        let read = DirectionRates {
            large_single: LARGE / 20e-3,
            large_deep: LARGE / 10e-3,
            small_single: SMALL / 1e-3,
            small_deep: SMALL / 0.1e-3,
        };
        let write = DirectionRates {
            large_single: read.large_single / 2.0,
            large_deep: read.large_deep / 2.0,
            small_single: read.small_single / 2.0,
            small_deep: read.small_deep / 2.0,
        };
        TargetInfo { rates: Some(Rates { read, write, durable: None }), ..target() }
    }

    #[test]
    fn an_unknown_drive_reaches_a_share_of_its_link() {
        let link = with_link(100e6);
        let seq = amount(Pattern::Sequential, Mix::READ, 1 << 20, 120_000_000);
        near(seconds(&seq, &link), 3.0);
        near(seconds(&Workload { depth: 8, ..seq.clone() }, &link), 2.0);
        near(seconds(&Workload { jobs: 2, ..seq.clone() }, &link), 2.0);
        near(seconds(&seq, &target()), 120e6 / (0.4 * 550e6));
        near(seconds(&amount(Pattern::Uniform, Mix::READ, 4096, 120_000_000), &link), 12.0);
        near(fill(120_000_000, &link).seconds, 2.0);
    }

    #[test]
    fn two_sizes_of_block_give_the_time_of_the_others() {
        let known = known();
        let of_block = |mix, block: u32, depth| {
            let w = amount(Pattern::Uniform, mix, block, 1000 * u64::from(block));
            seconds(&Workload { depth, ..w }, &known) / 1000.0
        };
        near(of_block(Mix::READ, 4096, 1), 1e-3);
        near(of_block(Mix::READ, 512, 1), 1e-3);
        near(of_block(Mix::READ, 1 << 20, 1), 20e-3);
        let half = f64::from((512 << 10) - 4096) / (LARGE - SMALL);
        near(of_block(Mix::READ, 512 << 10, 1), 1e-3 + 19e-3 * half);
        near(of_block(Mix::READ, 2 << 20, 1), 40e-3);
        near(of_block(Mix::READ, 4096, 4), 0.25e-3);
        near(of_block(Mix::READ, 4096, 32), 0.1e-3);
        near(of_block(Mix::WRITE, 4096, 32), 0.2e-3);
        near(of_block(Mix::read_percent(50), 4096, 1), 1.5e-3);
    }

    #[test]
    fn writes_at_an_odd_offset_first_read_both_ends() {
        let of_shift = |shift_bytes, mix| {
            let w = amount(Pattern::UniformOnce, mix, 4096, 1000 * 4096);
            seconds(&Workload { depth: 3, shift_bytes, ..w }, &known()) / 1000.0
        };
        near(of_shift(4096, Mix::WRITE), 2e-3 / 3.0);
        near(of_shift(512, Mix::WRITE), 2e-3 / 3.0 + 2.0 * 1e-3 / 3.0);
        near(of_shift(512, Mix::READ), 1e-3 / 3.0);
    }

    #[test]
    fn small_blocks_in_order_cost_what_large_ones_cost_beyond_their_transfer() {
        let known = known();
        let w = amount(Pattern::Sequential, Mix::READ, 256 << 10, 256 << 20);
        // A quarter of the transfer of 10 ms, and 10 ms; at random, 5.7 ms.
        let random = 1e-3 + 19e-3 * f64::from((256 << 10) - 4096) / (LARGE - SMALL);
        near(seconds(&w, &known) / 1024.0, random.min(12.5e-3));
        let deep = Workload { depth: 8, ..w };
        near(seconds(&deep, &known) / 1024.0, 2.5e-3);
    }

    #[test]
    fn writes_end_with_their_time_and_what_is_in_flight() {
        let w = amount(Pattern::Uniform, Mix::WRITE, 4096, GIB);
        let timed = Workload { stop: Stop::after_ns(1_000_000_000), depth: 32, ..w };
        let done = workload(&timed, &known());
        near(done.seconds, 1.0 + 32.0 * 0.2e-3);
        near(done.written_bytes, (1.0 / 0.2e-3 + 32.0) * 4096.0);
        let discards = Workload { mix: Mix::DISCARD, ..timed };
        near(workload(&discards, &known()).seconds, 1.0);
        assert_eq!(workload(&discards, &known()).written_bytes, 0.0);
    }

    #[test]
    fn known_durable_writes_take_their_time() {
        let drive = drive_with_durable_writes();
        let hundred = |pattern, block| Workload {
            sync_writes: true,
            ..amount(pattern, Mix::WRITE, block, 100 * u64::from(block))
        };
        near(seconds(&hundred(Pattern::Sequential, 4096), &drive), 0.2);
        near(seconds(&hundred(Pattern::Uniform, 4096), &drive), 0.5);
        // What exceeds a small block is transferred at the rate of large ones, 40 ms a MiB.
        let larger = f64::from((512 << 10) - 4096) / LARGE * 40e-3;
        near(seconds(&hundred(Pattern::Uniform, 512 << 10), &drive), 100.0 * (5e-3 + larger));
        near(commits(3, &drive), 6e-3);
        near(commits(3, &target()), 3e-3);
    }

    /// A durable write takes 2 ms in order and 5 ms at random.
    fn drive_with_durable_writes() -> TargetInfo {
        let durable = DurableRates { sequential: SMALL / 2e-3, random: SMALL / 5e-3 };
        let drive = known();
        let rates = drive.rates.map(|rates| Rates { durable: Some(durable), ..rates });
        TargetInfo { rates, ..drive }
    }

    #[test]
    fn durable_writes_byte_calls_and_a_schedule_are_slower_than_the_link() {
        let link = with_link(1e9);
        let writes = amount(Pattern::Uniform, Mix::WRITE, 4096, 4096 * 500);
        let durable = Workload { flush_every: Some(1), ..writes.clone() };
        near(seconds(&durable, &link), 0.5);
        near(seconds(&Workload { jobs: 5, ..durable }, &link), 0.1);
        near(seconds(&Workload { sync_writes: true, ..writes.clone() }, &link), 0.5);
        let calls = Workload { calls: Calls::Bytes { host_ns: 200 }, ..writes.clone() };
        near(seconds(&calls, &link), 4096.0 * 500.0 * 200e-9);
        let paced = Workload { pacing: Pacing::Fixed { rate: 50.0 }, ..writes.clone() };
        near(seconds(&paced, &link), 10.0);
        let pacing = Pacing::OnOff { on_ns: 1_000, off_ns: 3_000, rate: Some(50.0) };
        near(seconds(&Workload { pacing, ..writes }, &link), 40.0);
    }

    #[test]
    fn the_stop_condition_that_comes_first_decides() {
        let link = with_link(100e6);
        let seq = amount(Pattern::Sequential, Mix::READ, 1 << 20, 40_000_000);
        let stopped = |stop| seconds(&Workload { stop, ..seq.clone() }, &link);
        let both = Stop { bytes: Some(40_000_000), ..Stop::after_ns(250_000_000) };
        near(stopped(both), 0.25 + 1048576.0 / 40e6);
        near(stopped(Stop { ops: Some(2), ..both }), 2.0 * 1048576.0 / 40e6);
    }

    #[test]
    fn the_media_decide_where_a_burst_does_not_hold_the_writes() {
        let mut slow = with_link(1e9);
        (slow.limits.burst_bytes, slow.limits.native_bytes_per_s) = (Some(10_000_000), Some(1e6));
        near(fill(12_000_000, &slow).seconds, 2.0);
        near(fill(9_000_000, &slow).seconds, 9e6 / 600e6);
        near(read(12_000_000, &slow), 12e6 / 600e6);
        let half = amount(Pattern::Uniform, Mix::read_percent(50), 4096, 40_000_000);
        near(seconds(&half, &slow), 10.0);
    }
}

//! Expected durations, based on the share of the link rate that drives usually reach.
//!
//! These are estimates for the remaining time on screen; the byte bound does not depend on them.
//! The shares are rough and come from the virtual drives in `model/drives/`.

use rig::TargetInfo;
use workload::{Calls, Pacing, Workload};

/// Assumed rate of an unknown link, bytes per second: SATA 6 Gb/s.
const USUAL_LINK: f64 = 550e6;

/// Share of the link rate that drives reach with large blocks at high queue depth, with large
/// blocks at depth 1, and with small random blocks.
const DEEP_SHARE: f64 = 0.6;
const SINGLE_SHARE: f64 = 0.4;
const RANDOM_SHARE: f64 = 0.1;

/// Minimum size of a large block, bytes.
const LARGE_BLOCK: u32 = 64 << 10;

/// Duration of a durable write, seconds.
const COMMIT_SECONDS: f64 = 1e-3;

/// Expected duration of a fill, seconds.
pub(super) fn fill(bytes: u64, target: &TargetInfo) -> f64 {
    read(bytes, target).max(programming(bytes as f64, target))
}

/// Expected duration of reading as much, seconds.
pub(super) fn read(bytes: u64, target: &TargetInfo) -> f64 {
    bytes as f64 / (DEEP_SHARE * link(target))
}

/// Time the media take to program a write, after the part absorbed as a burst, seconds.
fn programming(bytes: f64, target: &TargetInfo) -> f64 {
    let (burst, native) = (target.limits.burst_bytes, target.limits.native_bytes_per_s);
    native.map_or(0.0, |native| (bytes - burst.unwrap_or(0) as f64).max(0.0) / native)
}

/// Expected duration of a workload, seconds.
pub(super) fn workload(w: &Workload, target: &TargetInfo) -> f64 {
    let block = f64::from(w.blocks.max().max(1));
    let amount = w.stop.bytes_bound(w.region.bytes).map(|bytes| bytes as f64);
    let amount = [amount, w.stop.ops.map(|ops| ops as f64 * block)].into_iter().flatten();
    let amount = amount.fold(f64::INFINITY, f64::min);
    let written_bytes = amount * f64::from(w.mix.write) / w.mix.total().max(1) as f64;
    let by_amount = (amount / rate(w, target)).max(programming(written_bytes, target));
    let by_time = w.stop.time_ns.map_or(f64::INFINITY, |ns| ns as f64 / 1e9);
    let seconds = by_amount.min(by_time);
    if seconds.is_finite() { seconds } else { 0.0 }
}

/// Expected bytes per second, reads and writes together.
fn rate(w: &Workload, target: &TargetInfo) -> f64 {
    let block = f64::from(w.blocks.max());
    let share = match (w.pattern.is_random() && w.blocks.max() < LARGE_BLOCK, w.depth * w.jobs) {
        (true, _) => RANDOM_SHARE,
        (false, 1) => SINGLE_SHARE,
        (false, _) => DEEP_SHARE,
    };
    let usual = share * link(target);
    let commits = if w.mix.write > 0 && (w.sync_writes || w.flush_every == Some(1)) {
        block * f64::from(w.jobs) / COMMIT_SECONDS
    } else {
        f64::INFINITY
    };
    let calls = match w.calls {
        Calls::Bytes { host_ns } => 1e9 / f64::from(host_ns.max(1)),
        _ => f64::INFINITY,
    };
    let paced = match w.pacing {
        Pacing::Fixed { rate } | Pacing::Poisson { rate } => rate * block,
        Pacing::OnOff { on_ns, off_ns, rate } => {
            let share_on = on_ns as f64 / (on_ns + off_ns).max(1) as f64;
            share_on * rate.map_or(usual, |rate| rate * block)
        }
        _ => f64::INFINITY,
    };
    usual.min(commits).min(calls).min(paced)
}

/// Rate of the link, bytes per second.
fn link(target: &TargetInfo) -> f64 {
    target.limits.link_bytes_per_s.unwrap_or(USUAL_LINK)
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

    #[test]
    fn a_drive_reaches_a_share_of_its_link_that_depends_on_depth_and_block() {
        let link = with_link(100e6);
        let seq = amount(Pattern::Sequential, Mix::READ, 1 << 20, 120_000_000);
        near(workload(&seq, &link), 3.0);
        near(workload(&Workload { depth: 8, ..seq.clone() }, &link), 2.0);
        near(workload(&Workload { jobs: 2, ..seq.clone() }, &link), 2.0);
        near(workload(&seq, &target()), 120e6 / (0.4 * 550e6));
        near(workload(&amount(Pattern::Uniform, Mix::READ, 4096, 120_000_000), &link), 12.0);
        near(workload(&amount(Pattern::Uniform, Mix::READ, 64 << 10, 120_000_000), &link), 3.0);
        near(fill(120_000_000, &link), 2.0);
    }

    #[test]
    fn durable_writes_byte_calls_and_a_schedule_are_slower_than_the_link() {
        let link = with_link(1e9);
        let writes = amount(Pattern::Uniform, Mix::WRITE, 4096, 4096 * 500);
        let durable = Workload { flush_every: Some(1), ..writes.clone() };
        near(workload(&durable, &link), 0.5);
        near(workload(&Workload { jobs: 5, ..durable }, &link), 0.1);
        near(workload(&Workload { sync_writes: true, ..writes.clone() }, &link), 0.5);
        let calls = Workload { calls: Calls::Bytes { host_ns: 200 }, ..writes.clone() };
        near(workload(&calls, &link), 4096.0 * 500.0 * 200e-9);
        let paced = Workload { pacing: Pacing::Fixed { rate: 50.0 }, ..writes.clone() };
        near(workload(&paced, &link), 10.0);
        let pacing = Pacing::OnOff { on_ns: 1_000, off_ns: 3_000, rate: Some(50.0) };
        near(workload(&Workload { pacing, ..writes }, &link), 40.0);
    }

    #[test]
    fn the_stop_condition_that_comes_first_decides() {
        let link = with_link(100e6);
        let seq = amount(Pattern::Sequential, Mix::READ, 1 << 20, 40_000_000);
        let stopped = |stop| workload(&Workload { stop, ..seq.clone() }, &link);
        let both = Stop { bytes: Some(40_000_000), ..Stop::after_ns(250_000_000) };
        near(stopped(both), 0.25);
        near(stopped(Stop { ops: Some(10), ..both }), 0.25);
        near(stopped(Stop { ops: Some(2), ..both }), 2.0 * 1048576.0 / 40e6);
    }

    #[test]
    fn the_media_decide_where_a_burst_does_not_hold_the_writes() {
        let mut slow = with_link(1e9);
        (slow.limits.burst_bytes, slow.limits.native_bytes_per_s) = (Some(10_000_000), Some(1e6));
        near(fill(12_000_000, &slow), 2.0);
        near(fill(9_000_000, &slow), 9e6 / 600e6);
        near(read(12_000_000, &slow), 12e6 / 600e6);
        let half = amount(Pattern::Uniform, Mix::read_percent(50), 4096, 40_000_000);
        near(workload(&half, &slow), 10.0);
    }
}

//! Expected durations, based on the usual share of the link that drives reach.
//!
//! These are estimates for the remaining time on screen; the byte bound does not depend on them.
//! All shares are rough, from the virtual drives in `drives/`.

use rig::TargetInfo;
use workload::{Calls, Pacing, Workload};

/// Assumed rate of an unknown link, bytes per second: SATA 6 Gb/s.
const USUAL_LINK: f64 = 550e6;

/// Share of a link that drives reach: large blocks at high depth, at depth 1, and small random
/// blocks.
const DEEP_SHARE: f64 = 0.6;
const SINGLE_SHARE: f64 = 0.4;
const RANDOM_SHARE: f64 = 0.1;

/// Smaller blocks count as small, bytes.
const LARGE_BLOCK: u32 = 64 << 10;

/// Duration of a durable write, seconds.
const COMMIT_SECONDS: f64 = 1e-3;

/// Expected seconds of a fill.
pub(super) fn fill(bytes: u64, target: &TargetInfo) -> f64 {
    (bytes as f64 / (DEEP_SHARE * link(target))).max(programming(bytes as f64, target))
}

/// Seconds that the media need for a write, beyond the part absorbed as a burst.
fn programming(bytes: f64, target: &TargetInfo) -> f64 {
    let (burst, native) = (target.limits.burst_bytes, target.limits.native_bytes_per_s);
    native.map_or(0.0, |native| (bytes - burst.unwrap_or(0) as f64).max(0.0) / native)
}

/// Expected seconds of a workload.
pub(super) fn workload(w: &Workload, target: &TargetInfo) -> f64 {
    let block = f64::from(w.blocks.max().max(1));
    let amount = w.stop.bytes_bound(w.region.bytes).map(|bytes| bytes as f64);
    let amount = [amount, w.stop.ops.map(|ops| ops as f64 * block)].into_iter().flatten();
    let amount = amount.fold(f64::INFINITY, f64::min);
    let written = amount * f64::from(w.mix.write) / f64::from(w.mix.total().max(1));
    let by_amount = (amount / rate(w, target)).max(programming(written, target));
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
    let commits = match w.mix.write > 0 && (w.sync_writes || w.flush_every == Some(1)) {
        true => block * f64::from(w.jobs) / COMMIT_SECONDS,
        false => f64::INFINITY,
    };
    let calls = match w.calls {
        Calls::Bytes { host_ns } => 1e9 / f64::from(host_ns.max(1)),
        _ => f64::INFINITY,
    };
    let paced = match w.pacing {
        Pacing::Fixed { rate } | Pacing::Poisson { rate } => rate * block,
        Pacing::OnOff { on_ns, off_ns, rate } => {
            let on = on_ns as f64 / (on_ns + off_ns).max(1) as f64;
            on * rate.map_or(usual, |rate| rate * block)
        }
        _ => f64::INFINITY,
    };
    usual.min(commits).min(calls).min(paced)
}

/// Rate of the link, bytes per second.
fn link(target: &TargetInfo) -> f64 {
    target.limits.link_bytes_per_s.unwrap_or(USUAL_LINK)
}

//! Upper bounds on the bytes a workload issues and writes, for plans.
//!
//! A byte limit is itself a bound. A time limit becomes one through the maximum rate: slightly
//! above the link's rate, capped by the operations the bus can carry and by pacing. The medium's
//! rate would be tighter but wrong, because a cache in the drive exceeds it. The split of a mix is
//! random; its bound is the mean plus six standard deviations.

use record::TargetKind;
use workload::{Caching, Calls, Mix, Pacing, Workload};

use crate::TargetInfo;

/// Maximum rate of an unknown link, bytes per second: PCIe 5.0 x4.
const FASTEST: f64 = 16e9;

/// Margin over the link's ceiling, which is calculated, not measured.
const OVER_CEILING: f64 = 1.2;

/// Standard deviations of margin for a mix: at six, the bound is exceeded once in 10^9.
const DEVIATIONS: f64 = 6.0;

/// Maximum transfer rate, bytes per second.
pub fn ceiling(target: &TargetInfo) -> f64 {
    let link = target.limits.link_bytes_per_s.filter(|_| !target.ram);
    link.map_or(FASTEST, |link| OVER_CEILING * link)
}

/// Maximum bytes written.
pub fn written_max(w: &Workload, target: &TargetInfo) -> u64 {
    if w.mix.write == 0 {
        return 0;
    }
    written_of(w, issued_max(w, target))
}

/// Maximum bytes written when `issued` bytes are issued.
fn written_of(w: &Workload, issued: u64) -> u64 {
    let share = write_share(&w.mix);
    let block = f64::from(w.blocks.max().max(1));
    let ops = (issued as f64 / block).ceil();
    let spread = DEVIATIONS * (share * (1.0 - share) * ops).sqrt();
    let written_bytes = ((share * ops + spread) * block).min(issued as f64);
    if share < 1.0 { written_bytes as u64 } else { issued }
}

/// Bytes to issue so that at most `most` bytes are written.
pub fn issued_for(w: &Workload, most: u64) -> u64 {
    let share = write_share(&w.mix);
    if share <= 0.0 || share >= 1.0 {
        return most;
    }
    let block = f64::from(w.blocks.max().max(1));
    let (spread, ops) = (DEVIATIONS * (share * (1.0 - share)).sqrt(), most as f64 / block);
    // share * x^2 + spread * x = ops, where x^2 is the number of operations.
    let x = ((spread * spread + 4.0 * share * ops).sqrt() - spread) / (2.0 * share);
    ((x * x).floor() * block) as u64
}

/// Maximum bytes issued, reads and writes together.
pub fn issued_max(w: &Workload, target: &TargetInfo) -> u64 {
    let block = u64::from(w.blocks.max().max(1));
    let jobs = u64::from(w.jobs);
    let amount = w.stop.bytes_bound(w.region.bytes);
    // A job completes the block that reaches its share.
    let grid = u64::from(w.blocks.min().max(1)) * jobs;
    let amount = amount.map(|bytes| {
        let is_single = jobs == 1 && w.blocks.min() == w.blocks.max();
        let is_even = is_single && bytes.is_multiple_of(grid);
        if is_even { bytes } else { bytes.saturating_add(block * jobs) }
    });
    let counted = w.stop.ops.map(|ops| ops.saturating_mul(block));
    let timed = w.stop.time_ns.map(|ns| timed(w, target, ns));
    [amount, counted, timed].into_iter().flatten().min().unwrap_or(u64::MAX)
}

/// Maximum bytes issued within a time, rounded down to whole blocks of all jobs.
pub fn timed(w: &Workload, target: &TargetInfo, ns: u64) -> u64 {
    let block = f64::from(w.blocks.max());
    let flight = f64::from(w.depth) * f64::from(w.jobs) * block;
    let (seconds, rate) = (ns as f64 / 1e9, rate(w, target));
    let paced = paced(w, seconds).map_or(f64::INFINITY, |ops| ops * block);
    let absorbed = absorbed(w, target, seconds);
    let most = ((rate * seconds).min(paced).min(absorbed) + flight).min(u64::MAX as f64) as u64;
    let unit = u64::from(w.blocks.max().max(1)) * u64::from(w.jobs);
    most / unit * unit
}

/// Minimum duration of a workload, nanoseconds.
pub fn least_ns(w: &Workload, target: &TargetInfo) -> u64 {
    let untimed = Workload { stop: workload::Stop { time_ns: None, ..w.stop }, ..w.clone() };
    let amount = issued_max(&untimed, target);
    let by_amount = match amount {
        u64::MAX => u64::MAX,
        bytes => (bytes as f64 / rate(w, target) * 1e9) as u64,
    };
    by_amount.min(w.stop.time_ns.unwrap_or(u64::MAX))
}

/// Maximum bytes per second, reads and writes together.
fn rate(w: &Workload, target: &TargetInfo) -> f64 {
    // Buffered I/O is limited by memory, not by the link; virtual drives have no buffer.
    let buffered = w.caching == Caching::Buffered && target.target.kind != TargetKind::Virtual;
    let ceiling = if buffered { FASTEST } else { ceiling(target) };
    // A link can carry both directions at once.
    let share = write_share(&w.mix);
    let both_ways = ceiling / share.max(1.0 - share);
    let calls = match w.calls {
        Calls::Bytes { host_ns } if target.target.kind == TargetKind::Virtual => {
            1e9 / f64::from(host_ns.max(1))
        }
        _ => f64::INFINITY,
    };
    both_ways.min(calls).min(by_commands(w, target))
}

/// Bytes per second if every command takes its minimum time.
fn by_commands(w: &Workload, target: &TargetInfo) -> f64 {
    let flight = f64::from(w.depth) * f64::from(w.jobs) * f64::from(w.blocks.max());
    let least_ns = target.limits.least_command_ns.filter(|ns| *ns > 0);
    least_ns.map_or(f64::INFINITY, |ns| flight * 1e9 / ns as f64)
}

/// Maximum bytes that the drive can absorb within a time, reads and writes together: one burst plus
/// the writes of its media.
fn absorbed(w: &Workload, target: &TargetInfo, seconds: f64) -> f64 {
    let limits = &target.limits;
    match (limits.burst_bytes, limits.native_bytes_per_s, write_share(&w.mix)) {
        (Some(burst), Some(native), share) if share > 0.0 => {
            (burst as f64 + OVER_CEILING * native * seconds) / share
        }
        _ => f64::INFINITY,
    }
}

/// Operations due within a time, if there is a schedule.
fn paced(w: &Workload, seconds: f64) -> Option<f64> {
    match w.pacing {
        Pacing::Closed | Pacing::Source | Pacing::OnOff { rate: None, .. } => None,
        Pacing::Fixed { rate } => Some(rate * seconds + 1.0),
        Pacing::Poisson { rate } => {
            let mean = rate * seconds;
            Some(mean + DEVIATIONS * mean.sqrt() + 1.0)
        }
        Pacing::OnOff { on_ns, off_ns, rate: Some(rate) } => {
            let (on_s, off_s) = (on_ns as f64 / 1e9, off_ns as f64 / 1e9);
            let bursts = (seconds / (on_s + off_s)).floor();
            let last = (seconds - bursts * (on_s + off_s)).min(on_s);
            Some(rate * (bursts * on_s + last) + bursts + 1.0)
        }
        Pacing::Pauses { every, pause_ns } => {
            let pause = pause_ns as f64 / 1e9;
            let most = f64::from(every) * f64::from(w.jobs);
            (pause > 0.0).then(|| ((seconds / pause).floor() + 1.0) * most)
        }
    }
}

fn write_share(mix: &Mix) -> f64 {
    // Flushes and discards move no data and are excluded.
    f64::from(mix.write) / f64::from((mix.read + mix.write).max(1))
}

#[cfg(test)]
mod tests {
    use workload::{Pattern, Region, Stop};

    use super::*;
    use crate::Limits;

    fn unknown_link() -> TargetInfo {
        TargetInfo::null(1 << 30)
    }

    fn with_link(bytes_per_s: f64) -> TargetInfo {
        let limits = Limits { link_bytes_per_s: Some(bytes_per_s), ..Limits::default() };
        TargetInfo { limits, ..unknown_link() }
    }

    fn writes(stop: Stop) -> Workload {
        let region = Region::first(1 << 30);
        let w = Workload::new("a", Pattern::Uniform, Mix::WRITE, 4096, region);
        Workload { stop, ..w }
    }

    #[test]
    fn an_amount_bounds_and_so_does_time_by_way_of_the_link() {
        let link = with_link(1e6);
        let amount = Stop { bytes: Some(1 << 20), ..Stop::default() };
        assert_eq!(written_max(&writes(amount), &link), 1 << 20);
        let time = Stop::after_ns(1_000_000_000);
        assert_eq!(written_max(&writes(time), &link), 1_200_000 / 4096 * 4096 + 4096);
        assert_eq!(
            written_max(&writes(time), &unknown_link()),
            16_000_000_000 / 4096 * 4096 + 4096
        );
        let reads = Workload { mix: Mix::READ, ..writes(time) };
        assert_eq!(written_max(&reads, &link), 0);
    }

    #[test]
    fn pacing_bounds_and_a_mix_gets_its_mean_and_a_margin() {
        let w = Workload {
            pacing: Pacing::Fixed { rate: 100.0 },
            ..writes(Stop::after_ns(3_000_000_000))
        };
        assert_eq!(written_max(&w, &unknown_link()), 301 * 4096 + 4096);
        let mixed = Workload { mix: Mix::read_percent(70), ..w };
        let ops: f64 = 302.0;
        let most = (0.3 * ops + 6.0 * (0.21 * ops).sqrt()) * 4096.0;
        assert_eq!(written_max(&mixed, &unknown_link()), most as u64);
    }

    #[test]
    fn a_schedule_bounds_the_operations_of_a_time() {
        let due = |pacing, seconds| paced(&Workload { pacing, ..writes(Stop::default()) }, seconds);
        let pacing = |rate| Pacing::OnOff { on_ns: 1_000_000_000, off_ns: 3_000_000_000, rate };
        // Two bursts of 100, half of a third, and one more operation at the start of each.
        assert_eq!(due(pacing(Some(100.0)), 8.5), Some(253.0));
        assert_eq!(due(pacing(Some(100.0)), 11.0), Some(303.0));
        assert_eq!(due(pacing(None), 8.5), None);
        let pauses = |pause_ns| Pacing::Pauses { every: 4, pause_ns };
        assert_eq!(due(pauses(500_000_000), 2.2), Some(20.0));
        assert_eq!(due(pauses(0), 2.2), None);
        assert_eq!(due(Pacing::Poisson { rate: 25.0 }, 4.0), Some(100.0 + DEVIATIONS * 10.0 + 1.0));
    }

    #[test]
    fn what_may_be_issued_writes_no_more_than_it_may() {
        for percent in [0, 5, 35, 65, 95] {
            for most in [4096u64, 1 << 20, 1 << 30] {
                let w = Workload { mix: Mix::read_percent(percent), ..writes(Stop::default()) };
                let issued = issued_for(&w, most);
                assert!(written_of(&w, issued) <= most, "{percent} {most}");
                assert!(most < 1 << 20 || 2 * written_of(&w, issued) > most, "{percent} {most}");
            }
        }
    }
}

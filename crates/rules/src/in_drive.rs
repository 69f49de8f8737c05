//! How much of a workload's time the drive may have taken.
//!
//! Without a cause, the drive is blamed only if most of the time may have passed in it. That it was
//! idle is evidence against the drive, not for any other cause.

use rig::{SplitPart, TimeSplit};

use super::percent;
use super::subject::{Subject, listed};

/// Minimum share of the time in the drive and its link at which it can be the limit.
const IN_DRIVE_MIN: f64 = 0.8;

/// Minimum number of operations; for fewer, the kernel's ticks are too coarse.
const OPS_MIN: u64 = 200;

/// Whether a considerable part of a workload's time did not pass in the drive.
pub fn is_elsewhere(subject: &Subject<'_>) -> bool {
    share_in_drive(subject).is_some_and(|share| share < IN_DRIVE_MIN)
}

/// The share of a workload's time in the drive and its link, if it is known.
fn share_in_drive(subject: &Subject<'_>) -> Option<f64> {
    subject.split().map(|split| in_drive(&split)).or_else(|| busy(subject))
}

fn in_drive(split: &TimeSplit) -> f64 {
    split.share(SplitPart::Drive) + split.share(SplitPart::Link)
}

/// The share of the time in which the drive had a request, for one operation at a time.
fn busy(subject: &Subject<'_>) -> Option<f64> {
    let (mut busy_s, mut ops, mut requested, mut transferred) = (0.0, 0, 0, 0);
    for run in subject.runs() {
        let device = run.device.filter(|_| run.direct && run.depth_nominal == Some(1))?;
        busy_s += device.busy * run.seconds;
        ops += run.ops[0] + run.ops[1];
        requested += run.bytes[0] + run.bytes[1];
        transferred += device.read_bytes + device.written_bytes;
    }
    // A device that does not count its time, or did not receive the bytes, proves nothing.
    let counted = busy_s > 0.0 && transferred >= requested / 2 && ops >= OPS_MIN;
    counted.then(|| busy_s / subject.seconds().max(1e-9))
}

/// That no cause was found for these workloads, and how little of their time the drive had.
pub fn elsewhere_in_words(subjects: &[&Subject<'_>]) -> Option<String> {
    let shares: Vec<f64> = subjects.iter().filter_map(|s| share_in_drive(s)).collect();
    let (least, most) = shares
        .iter()
        .fold((1.0, 0.0), |(least, most): (f64, f64), share| (least.min(*share), most.max(*share)));
    let range = if shares.len() > 1 {
        format!("{} to {}", percent(least), percent(most))
    } else {
        percent(least)
    };
    let workloads = listed(subjects.iter().copied());
    let words = format!("no cause was found for {workloads}, of whose time the drive had {range}");
    (!shares.is_empty()).then_some(words)
}

//! How much of a workload's time the drive may have taken.
//!
//! Without a cause, the drive is blamed only if most of the time passed in it and nobody else used
//! it. That it was idle is evidence against the drive, not for any other cause; where nothing shows
//! its time, nothing is blamed.

use rig::{SplitPart, TimeSplit};

use super::percent;
use super::subject::{Subject, listed};
use crate::Digest;

/// Minimum share of the time in the drive and its link at which it can be the limit.
const IN_DRIVE_MIN: f64 = 0.8;

/// Minimum number of operations; for fewer, the kernel's ticks are too coarse.
const OPS_MIN: u64 = 200;

/// Minimum share of the bytes of a drive that others transfer if it may have served them instead.
const OTHERS_MIN: f64 = 0.2;

/// Minimum share of the time of a pause that matters; a shorter one changes no figure by 10%.
const PAUSED_MIN: f64 = 0.1;

/// Who had the time of a workload that no rule explains, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeOwner {
    /// The drive had most of its time, and nobody else used it.
    Drive,
    /// The drive had only this share of its time.
    Elsewhere(f64),
    /// Other programs transferred this share of the drive's bytes.
    Shared(f64),
    /// The process was stopped for this share of the time.
    Paused(f64),
    Unknown,
}

impl TimeOwner {
    pub fn new(subject: &Subject<'_>) -> TimeOwner {
        let paused = subject.share_of_time(Digest::stood_s);
        if paused >= PAUSED_MIN {
            return TimeOwner::Paused(paused);
        }
        match (share_in_drive(subject), share_of_others(subject)) {
            (Some(share), _) if share < IN_DRIVE_MIN => TimeOwner::Elsewhere(share),
            (_, Some(share)) if share >= OTHERS_MIN => TimeOwner::Shared(share),
            (Some(_), _) => TimeOwner::Drive,
            (None, _) => TimeOwner::Unknown,
        }
    }
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

/// The share of the bytes of the drive that this process did not request. Flushes and buffered
/// writes transfer others than those requested.
fn share_of_others(subject: &Subject<'_>) -> Option<f64> {
    let (mut requested, mut transferred) = (0, 0);
    for run in subject.runs() {
        let device = run.device.filter(|_| run.direct && run.flushes * 10 <= run.ops[1])?;
        requested += run.bytes[0] + run.bytes[1];
        transferred += device.read_bytes + device.written_bytes;
    }
    (transferred > 0).then(|| transferred.saturating_sub(requested) as f64 / transferred as f64)
}

/// What is known of workloads without a cause, a statement for each kind of [`TimeOwner`]; that of the
/// drive names its workloads only if `is_named`.
pub fn statements(subjects: &[&Subject<'_>], is_named: bool) -> Vec<String> {
    let owners: Vec<TimeOwner> = subjects.iter().map(|subject| TimeOwner::new(subject)).collect();
    let select = |share: fn(TimeOwner) -> Option<f64>| {
        let pairs = subjects.iter().zip(&owners);
        let selected = pairs.filter_map(|(subject, owner)| Some((*subject, share(*owner)?)));
        let (names, shares): (Vec<_>, Vec<_>) = selected.unzip();
        (!names.is_empty()).then(|| (listed(names), range(&shares)))
    };
    let of_drive = select(|owner| (owner == TimeOwner::Drive).then_some(1.0));
    let elsewhere =
        select(|owner| if let TimeOwner::Elsewhere(share) = owner { Some(share) } else { None });
    let shared =
        select(|owner| if let TimeOwner::Shared(share) = owner { Some(share) } else { None });
    let paused =
        select(|owner| if let TimeOwner::Paused(share) = owner { Some(share) } else { None });
    let without_time = select(|owner| (owner == TimeOwner::Unknown).then_some(1.0));
    let is_alone = [&elsewhere, &shared, &paused, &without_time].into_iter().all(Option::is_none);
    let drive = of_drive.map(|(names, _)| {
        let names = if is_alone && !is_named { String::new() } else { format!(" of {names}") };
        format!("the drive itself seems to be the limit{names}")
    });
    let elsewhere = elsewhere.map(|(names, range)| {
        format!("no cause was found for {names}, of whose time the drive had {range}")
    });
    let shared = shared.map(|(names, range)| {
        format!("no cause was found for {names}; others transferred {range} of the drive's bytes")
    });
    let paused = paused.map(|(names, range)| {
        format!("the process was stopped for {range} of the time of {names}")
    });
    let without_time = without_time.map(|(names, _)| {
        format!("no cause was found for {names}, and how much of the time the drive had is unknown")
    });
    [drive, elsewhere, shared, paused, without_time].into_iter().flatten().collect()
}

/// The range of some shares in words.
fn range(shares: &[f64]) -> String {
    let least = shares.iter().copied().fold(1.0, f64::min);
    let most = shares.iter().copied().fold(0.0, f64::max);
    if shares.len() > 1 {
        format!("{} to {}", percent(least), percent(most))
    } else {
        percent(least)
    }
}

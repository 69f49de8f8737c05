//! SATURATED BY OTHERS: did other programs keep the drive busy?
//!
//! The rule applies if the drive transferred much more than this process requested and was busy all
//! the time. Layers with transfers of their own are excluded: a RAID or a mapped device, what a journal
//! may write with each flush, and readahead of the page cache.

use record::{Unit, VerdictKind};
use rig::TargetInfo;

use super::rule::{Role, Rule};
use super::subject::{Subject, listed};
use super::{Ruling, percent};
use crate::Digest;

/// Minimum share of all bytes at which other programs take a noticeable part of the drive.
const SHARE_MIN: f64 = 0.2;

/// Minimum share of the time with requests at which the drive had no capacity left.
const BUSY_MIN: f64 = 0.9;

/// Minimum bytes transferred; fewer can be metadata.
const BYTES_MIN: u64 = 4 << 20;

pub static RULE: Rule = Rule {
    role: Role::Cause,
    overridden_by: &[&super::ram::RULE],
    judge: |facts| others(facts.target, facts.seen).into_iter().collect(),
};

pub fn others(target: &TargetInfo, seen: &[Digest]) -> Option<Ruling> {
    let subjects = Subject::reported(seen);
    let busy = subjects.iter().filter(|subject| is_busy(subject));
    let shares = busy.filter_map(|subject| Some((subject, noticeable_share(target, subject)?)));
    let disturbed: Vec<_> = shares.collect();
    let (_, worst) = disturbed.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let text = format!(
        "Other programs kept the drive busy: in {}, up to {} of the bytes transferred were theirs.",
        listed(disturbed.iter().map(|(subject, _)| *subject)),
        percent(*worst)
    );
    let ruling = Ruling::yes(VerdictKind::SaturatedByOthers, text)
        .next_test("the same when nothing else uses the drive: ssdyno doctor lists its users")
        .with("share of other programs", *worst, Unit::Number);
    Some(ruling.explaining_each(disturbed))
}

/// The share of other programs in the bytes of the drive, if it is noticeable; `None` also if the bytes
/// are inconclusive.
pub fn noticeable_share(target: &TargetInfo, subject: &Subject<'_>) -> Option<f64> {
    let name = target.target.drive.as_ref().map_or("", |drive| drive.name.as_str());
    if ["md", "dm-"].iter().any(|kind| name.starts_with(kind)) {
        return None;
    }
    let (mut foreign, mut total) = (0, 0);
    for run in subject.runs() {
        let device = run.device.filter(|_| run.direct)?;
        foreign += device.others_bytes(run.bytes[0] + run.bytes[1], run.flushes);
        total += device.read_bytes + device.written_bytes;
    }
    let share = foreign as f64 / total.max(1) as f64;
    (total >= BYTES_MIN && share >= SHARE_MIN).then_some(share)
}

/// Whether the drive had no capacity left.
fn is_busy(subject: &Subject<'_>) -> bool {
    let busy_s = subject.sum(|run| run.device.map_or(0.0, |device| device.busy * run.seconds));
    busy_s >= BUSY_MIN * subject.seconds()
}

#[cfg(test)]
mod tests {
    use rig::DeviceTraffic;

    use super::super::testing::{device, digest, named, target, with_drive};
    use super::*;

    fn run(ours: u64, all: u64, busy: f64) -> Digest {
        let device = Some(DeviceTraffic { busy, ..device(all, 0) });
        named("a", Digest { bytes: [ours, 0], ops: [1000, 0], device, ..digest("x") })
    }

    #[test]
    fn a_busy_drive_that_moves_more_than_was_asked_of_it_serves_others() {
        let mib = 1 << 20;
        let verdict = others(&target(), &[run(60 * mib, 100 * mib, 1.0)]).expect("busy").verdict;
        assert!(verdict.text.contains("in a, up to 40% of the bytes"), "{}", verdict.text);
        assert_eq!(verdict.explains[0].share, Some(0.4));
        for none in [
            run(81 * mib, 100 * mib, 1.0),
            run(60 * mib, 100 * mib, 0.89),
            run(mib, 3 * mib, 1.0),
            Digest { device: None, ..run(60 * mib, 100 * mib, 1.0) },
            Digest { direct: false, ..run(60 * mib, 100 * mib, 1.0) },
            // As much as the journal may write with each flush.
            Digest { ops: [0, 1000], flushes: 1000, ..run(60 * mib, 100 * mib, 1.0) },
            Digest { flushes: 336, ..run(60 * mib, 100 * mib, 1.0) },
        ] {
            assert!(others(&target(), std::slice::from_ref(&none)).is_none(), "{none:?}");
        }
        let flushed = Digest { flushes: 320, ..run(60 * mib, 100 * mib, 1.0) };
        let verdict = others(&target(), &[flushed]).expect("20 MiB of others").verdict;
        assert_eq!(verdict.explains[0].share, Some(0.2));
        let raid = with_drive(|drive| drive.name = "md0".into());
        assert!(others(&raid, &[run(60 * mib, 100 * mib, 1.0)]).is_none());
    }
}

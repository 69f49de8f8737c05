//! FILE SYSTEM: is the time spent in the software above the drive?
//!
//! The kernel counts the time in which the drive had a request. With one direct operation in
//! flight, the rest of the time belongs to the software in between: file system, mapped and
//! encrypted layers, and the kernel's I/O path. If the processor is known to be the limit, that is
//! reported instead.

use record::{Unit, VerdictKind};
use rig::TargetInfo;

use super::rule::{Role, Rule};
use super::subject::{Subject, listed};
use super::{Ruling, percent};
use crate::Digest;

/// Minimum share of the time in which the drive was idle.
const IDLE_MIN: f64 = 0.5;

/// Minimum number of operations; for fewer, the kernel's ticks are too coarse.
const OPS_MIN: u64 = 200;

pub static RULE: Rule = Rule {
    role: Role::Rest,
    overridden_by: &[&super::ram::RULE, &super::group::QUOTA, &super::group::IO, &super::cpu::RULE],
    judge: |facts| file_system(facts.target, facts.seen).into_iter().collect(),
};

pub fn file_system(target: &TargetInfo, seen: &[Digest]) -> Option<Ruling> {
    let system = target.target.filesystem.as_ref()?;
    let subjects = Subject::reported(seen);
    let limited: Vec<_> = subjects.iter().filter_map(|s| Some((s, idle(s)?))).collect();
    let (_, most) = limited.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let text = format!(
        "The drive was idle for {} of the time during {}: the software above it, {} and the \
         kernel, takes that time.",
        percent(*most),
        listed(limited.iter().map(|(subject, _)| *subject)),
        system.kind
    );
    let ruling = Ruling::yes(VerdictKind::FileSystem, text)
        .next_test("the same on the device itself, or on another file system")
        .with("idle share of the drive", *most, Unit::Number);
    Some(ruling.explaining_each(limited))
}

/// The share of the time in which the drive had no request, for one operation at a time.
fn idle(subject: &Subject<'_>) -> Option<f64> {
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
    let share = 1.0 - busy_s / subject.seconds().max(1e-9);
    (counted && share >= IDLE_MIN).then_some(share)
}

#[cfg(test)]
mod tests {
    use record::FileSystem;
    use rig::DeviceTraffic;

    use super::super::testing::{device, digest, named, target};
    use super::*;

    #[test]
    fn a_drive_that_is_idle_most_of_the_time_is_not_what_takes_it() {
        let mut on = target();
        let kind = "ext4".to_string();
        on.target.filesystem = Some(FileSystem { kind, ..FileSystem::default() });
        let run = |busy, moved| {
            let traffic = Some(DeviceTraffic { busy, ..device(moved, 0) });
            let (ops, bytes) = ([1000, 0], [4_096_000, 0]);
            named("a", Digest { ops, bytes, device: traffic, ..digest("x") })
        };
        let seen = run(0.4, 4_096_000);
        let verdict = file_system(&on, std::slice::from_ref(&seen)).expect("idle").verdict;
        assert!(verdict.explains("a") && verdict.text.contains("60%"), "{}", verdict.text);
        for other in [
            run(0.51, 4_096_000),
            run(0.4, 2_000_000),
            run(0.0, 4_096_000),
            Digest { bytes: [4_096_000, 4_200_000], ..seen.clone() },
            Digest { depth_nominal: Some(8), ..seen.clone() },
            Digest { direct: false, ..seen.clone() },
            Digest { ops: [199, 0], ..seen.clone() },
        ] {
            assert!(file_system(&on, std::slice::from_ref(&other)).is_none(), "{other:?}");
        }
        assert!(file_system(&target(), &[seen]).is_none(), "no file system");
    }
}

//! FILE SYSTEM, LAYER, BLOCK QUEUE and COMPLETION: which software above the drive takes the time?
//!
//! The kernel's trace shows when the block layer gets a request, when it issues it to the drive,
//! when the drive completes it, and when the thread sees that. The kernel counts the time of requests
//! of a layer's own device, too, such as that of an encrypted volume; what this takes longer than the
//! drive is the layer's. Each of the four times above the drive is evidence for its own verdict; the largest of a workload names its cause. A limit of a
//! control group holds requests back before the block layer, too; then that is the cause. An idle
//! drive is no evidence.

use record::{Unit, VerdictKind};
use rig::{SplitPart, TargetInfo};

use super::rule::{Role, Rule};
use super::subject::{Subject, listed};
use super::{Ruling, percent};
use crate::Digest;

/// Minimum share of the time; a smaller one changes no figure by 10%.
const SHARE_MIN: f64 = 0.1;

pub static RULE: Rule = Rule {
    role: Role::Rest,
    overridden_by: &[
        &super::ram::RULE,
        &super::group::QUOTA,
        &super::group::IO,
        &super::cpu_shared::RULE,
        &super::cpu::RULE,
    ],
    judge: |facts| above_drive(facts.target, facts.seen),
};

pub fn above_drive(target: &TargetInfo, seen: &[Digest]) -> Vec<Ruling> {
    let subjects = Subject::reported(seen);
    let parts = [SplitPart::Held, SplitPart::Layer, SplitPart::Queue, SplitPart::Completion];
    let rulings = parts.into_iter().filter_map(|part| {
        let limited = subjects.iter().filter_map(|s| Some((s, largest(target, s, &parts)?)));
        let limited = limited.filter(|(_, (largest, _))| *largest == part);
        let shares: Vec<_> = limited.map(|(subject, (_, share))| (subject, share)).collect();
        ruling(target, part, &shares)
    });
    rulings.collect()
}

/// The part that takes the largest share of a workload's time, of those that have a name on this
/// target, and its share, if it matters.
fn largest(
    target: &TargetInfo,
    subject: &Subject<'_>,
    parts: &[SplitPart],
) -> Option<(SplitPart, f64)> {
    let split = subject.split()?;
    let places = parts.iter().filter(|part| place(target, **part).is_some());
    let shares = places.map(|part| (*part, split.share(*part)));
    shares.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, share)| *share >= SHARE_MIN)
}

/// Where the time of a part passes, in words; `None` if the target has no such place.
fn place(target: &TargetInfo, part: SplitPart) -> Option<String> {
    let drive = target.target.drive.as_ref();
    match part {
        SplitPart::Held => {
            let kind = &target.target.filesystem.as_ref()?.kind;
            Some(format!("before the block layer had the request: in {kind} and the kernel"))
        }
        SplitPart::Layer => {
            let layer = target.target.layers.first()?;
            Some(format!("in {layer}, a layer above the drive"))
        }
        SplitPart::Queue => {
            let scheduler = drive?.scheduler.as_ref().filter(|name| *name != "none")?;
            Some(format!("in the queue of the block layer, with the scheduler {scheduler}"))
        }
        _ => Some("after the drive had completed the request, until the thread saw it".into()),
    }
}

fn ruling(target: &TargetInfo, part: SplitPart, shares: &[(&Subject<'_>, f64)]) -> Option<Ruling> {
    let (_, most) = shares.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (kind, test) = match part {
        SplitPart::Held => {
            (VerdictKind::FileSystem, "the same on the device itself, or on another file system")
        }
        SplitPart::Layer => (VerdictKind::Layer, "the same on the drive below it"),
        SplitPart::Queue => (VerdictKind::BlockQueue, "the same with the scheduler none"),
        _ => (VerdictKind::Completion, "the same with a polling driver, or on another processor"),
    };
    let text = format!(
        "During {}, {} of the time passed {}.",
        listed(shares.iter().map(|(subject, _)| *subject)),
        percent(*most),
        place(target, part)?
    );
    let ruling = Ruling::yes(kind, text).next_test(test);
    let ruling = ruling.with("share of the time", *most, Unit::Number);
    Some(ruling.explaining_each(shares.iter().copied()))
}

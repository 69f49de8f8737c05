//! CPU QUOTA and IO LIMIT: does the control group of a container or a service limit the speed, or a
//! queue of the block layer that holds few requests?
//!
//! The rules rely on the kernel's own figures: the time for which the quota kept threads off the
//! processor, the I/O limits of the group, and the requests that a queue holds at a time.

use record::{Unit, VerdictKind};
use rig::{GroupLimits, SplitPart, TargetInfo};
use workload::units::{decimal, throughput};

use super::rule::{Role, Rule};
use super::subject::{Subject, listed};
use super::{Ruling, percent};
use crate::Digest;

/// Minimum share of the time in which a quota stops threads; a smaller one changes no figure by
/// 10%.
const THROTTLED_MIN: f64 = 0.1;

/// A rate from this share of the limit is at the limit: the kernel throttles in time slices.
const AT_LIMIT: f64 = 0.9;

/// A rate this far above the limit is not held back: the bytes went elsewhere (a cache). The
/// throttle grants credit for idle time: cells of half a second after a pause reached 1.6 times a
/// limit of 10 MB/s.
const ABOVE_LIMIT: f64 = 2.0;

/// Operations in flight per request of a full queue: the kernel and the program have a part of the
/// time, too. Four requests kept 5.0 operations in flight.
const QUEUE_ABOVE: f64 = 1.5;

/// Share of the nominal depth from which a queue was no limit, and share of its own requests from
/// which it was full.
const QUEUE_SHARE: f64 = 0.8;

/// The same of a queue before which operations waited for at least this share of their time: on a
/// busy processor, a free place is not taken at once. Four requests kept 2.7 to 3.0 in flight so.
const QUEUE_SHARE_WAITING: f64 = 0.5;
const WAITING_MIN: f64 = 0.5;

pub static QUOTA: Rule = Rule {
    role: Role::Cause,
    overridden_by: &[],
    judge: |facts| quota(facts.target, facts.seen).into_iter().collect(),
};

pub static IO: Rule = Rule {
    role: Role::Cause,
    overridden_by: &[&super::ram::RULE],
    judge: |facts| {
        let of_group = io_limit(&facts.target.limits.group, facts.seen);
        of_group.into_iter().chain(queue_limit(facts.target, facts.seen)).collect()
    },
};

/// The workloads whose threads were kept off the processor.
pub fn quota(target: &TargetInfo, seen: &[Digest]) -> Option<Ruling> {
    let subjects = Subject::reported(seen);
    let shares = subjects.iter().map(|s| (s, s.share_of_time(|run| run.throttled_s)));
    let throttled: Vec<_> = shares.filter(|(_, share)| *share >= THROTTLED_MIN).collect();
    let (worst, share) = throttled.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let processors = target.limits.group.processors;
    let most = processors.map(|n| format!(" to {n} processors")).unwrap_or_default();
    let text = format!(
        "A control group limits this process{most}: it was kept off the processor for {} of the \
         time of {}.",
        percent(*share),
        listed(throttled.iter().map(|(subject, _)| *subject))
    );
    let ruling = Ruling::yes(VerdictKind::CpuQuota, text)
        .next_test("the same outside the container or service, or with a larger quota")
        .with(format!("share of the time, {}", worst.in_words()), *share, Unit::Number);
    let ruling = ruling.explaining_each(throttled);
    Some(processors.map_or(ruling.clone(), |n| ruling.with("processors", n, Unit::Number)))
}

/// A limit of one direction, and the rate that a workload reached.
struct AtLimit<'s, 'a> {
    subject: &'s Subject<'a>,
    limit: f64,
    rate: f64,
    words: String,
}

/// The workloads that reach an I/O limit of the group.
pub fn io_limit(group: &GroupLimits, seen: &[Digest]) -> Option<Ruling> {
    let subjects = Subject::reported(seen);
    let mut limited: Vec<AtLimit<'_, '_>> = Vec::new();
    for subject in &subjects {
        limited.extend(at_limit(group, subject));
    }
    let first = limited.first()?;
    let mut limits: Vec<&str> = limited.iter().map(|h| h.words.as_str()).collect();
    limits.sort_unstable();
    limits.dedup();
    let text = format!(
        "A control group limits I/O {}: it holds back {}.",
        limits.join(" and "),
        listed(limited.iter().map(|h| h.subject))
    );
    let ruling = Ruling::yes(VerdictKind::IoLimit, text)
        .next_test("the same outside the container or service")
        .with("limit per second", first.limit, Unit::Number)
        .with("reached per second", first.rate, Unit::Number);
    Some(ruling.explaining_each(limited.iter().map(|h| (h.subject, h.rate / h.limit))))
}

/// The workloads that ask for more requests in flight than a queue of the block layer holds, and had
/// about as many. Operations that wait for a place in the queue are in flight for the program; where
/// the kernel's trace shows that most did, those in the drive count.
pub fn queue_limit(target: &TargetInfo, seen: &[Digest]) -> Option<Ruling> {
    let most = f64::from(target.limits.queue_requests?);
    let subjects = Subject::reported(seen);
    let shares = subjects.iter().filter_map(|subject| {
        let nominal = f64::from(subject.first().depth_nominal?);
        let (depth, least) = match drive_share_if_waiting(subject) {
            Some(share) => (share * subject.mean(|run| run.depth), QUEUE_SHARE_WAITING),
            None => (subject.mean(|run| run.depth), QUEUE_SHARE),
        };
        let is_full = (least * most..=QUEUE_ABOVE * most).contains(&depth);
        let is_at_limit = is_full && depth < QUEUE_SHARE * nominal;
        is_at_limit.then(|| (subject, depth, 1.0 - depth / nominal))
    });
    let limited: Vec<_> = shares.collect();
    let (_, depth, _) = limited.iter().max_by(|a, b| a.2.total_cmp(&b.2))?;
    let text = format!(
        "A queue of the block layer holds {most} requests at a time: of {}, {depth:.1} operations \
         were in flight.",
        listed(limited.iter().map(|(subject, ..)| *subject))
    );
    let ruling = Ruling::yes(VerdictKind::IoLimit, text)
        .next_test("the same with a higher queue/nr_requests of the device in /sys/block")
        .with("requests in the queue", most, Unit::Number)
        .with("operations in flight", *depth, Unit::Number);
    Some(ruling.explaining_each(limited.iter().map(|(subject, _, share)| (*subject, *share))))
}

/// The share of an operation's time in the drive, if it was before the drive, on its way to the block
/// layer or in it, for most of its time.
fn drive_share_if_waiting(subject: &Subject<'_>) -> Option<f64> {
    let split = subject.split()?;
    let share = |part| split.part_ns(part) as f64 / split.total_ns.max(1) as f64;
    let is_waiting = share(SplitPart::Held) + share(SplitPart::Queue) >= WAITING_MIN;
    is_waiting.then(|| share(SplitPart::Drive))
}

/// The limit that a workload reaches, if there is one.
fn at_limit<'s, 'a>(group: &GroupLimits, subject: &'s Subject<'a>) -> Option<AtLimit<'s, 'a>> {
    for (side, verb) in ["read", "written"].into_iter().enumerate() {
        let bytes = (group.bytes_per_s[side], per_s(subject, |run| run.bytes[side]));
        let ops = (group.iops[side], per_s(subject, |run| run.ops[side]));
        for ((limit, rate), in_bytes) in [(bytes, true), (ops, false)] {
            let Some(limit) = limit.filter(|limit| *limit > 0.0) else { continue };
            if !(AT_LIMIT..ABOVE_LIMIT).contains(&(rate / limit)) {
                continue;
            }
            let words = if in_bytes {
                format!("to {} {verb}", throughput(limit))
            } else {
                format!("to {} operations {verb} per second", decimal_count(limit))
            };
            return Some(AtLimit { subject, limit, rate, words });
        }
    }
    None
}

fn per_s(subject: &Subject<'_>, count: impl Fn(&Digest) -> u64) -> f64 {
    subject.median(|run| count(run) as f64 / run.seconds.max(1e-9))
}

fn decimal_count(count: f64) -> String {
    decimal(count as u64).trim_end_matches(['B', ' ']).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{digest, named};
    use super::*;

    fn group(bytes: Option<f64>, iops: Option<f64>) -> GroupLimits {
        GroupLimits { bytes_per_s: [bytes, None], iops: [iops, None], processors: None }
    }

    #[test]
    fn a_limit_explains_what_reaches_it() {
        let run = |name, bytes, ops| {
            named(name, Digest { bytes: [bytes, 0], ops: [ops, 0], ..digest("x") })
        };
        let seen = [run("seq", 100_000_000, 95), run("rand", 4_096_000, 1000)];
        let explains = |group: &GroupLimits| {
            let ruling = io_limit(group, &seen);
            ruling.map(|r| r.verdict.explains.into_iter().map(|e| e.metric).collect::<Vec<_>>())
        };
        assert_eq!(explains(&group(Some(105e6), None)), Some(vec!["seq".to_string()]));
        assert_eq!(explains(&group(None, Some(1000.0))), Some(vec!["rand".to_string()]));
        assert_eq!(explains(&group(Some(115e6), None)), None, "there was room");
        assert_eq!(explains(&group(Some(48e6), None)), None, "it did not hold");
        assert_eq!(
            explains(&group(Some(64e6), None)),
            Some(vec!["seq".to_string()]),
            "after a pause"
        );
        assert_eq!(explains(&GroupLimits::default()), None);
        let text = io_limit(&group(Some(105e6), None), &seen).expect("held").verdict.text;
        assert_eq!(text, "A control group limits I/O to 105 MB/s read: it holds back seq.");
        let text = io_limit(&group(None, Some(1000.0)), &seen).expect("held").verdict.text;
        assert!(text.contains("operations read per second"), "{text}");
    }
}

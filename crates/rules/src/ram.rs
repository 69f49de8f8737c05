//! RAM or DRIVE: did the bytes read come from the drive?
//!
//! The rule compares the drive's own counter of bytes read with the bytes requested. Without a
//! counter, it compares reads that bypass the page cache with reads from it: reads as fast as
//! memory prove nothing; much slower reads came from elsewhere.

use record::{FindingKind, MetricKey, Unit, VerdictKind, capitalised};
use rig::TargetInfo;
use workload::units::throughput;

use super::rule::{Role, Rule};
use super::subject::Subject;
use super::{Answer, Ruling, percent};
use crate::Digest;

/// If the drive read less than this share of the bytes requested, memory served the rest.
const DEVICE_SHARE_MIN: f64 = 0.5;

/// A rate above this share of the link's ceiling, in either direction, cannot be the drive's. The
/// ceiling is calculated; 5% allows for larger packets than assumed.
const CEILING_SHARE_MAX: f64 = 1.05;

/// Workloads that read or write fewer bytes are not judged: metadata and readahead can be as
/// large.
const BYTES_MIN: u64 = 1 << 20;

/// Minimum ratio of the cached to the direct read rate that shows that direct reads are not cached.
const CACHED_RATIO_MIN: f64 = 2.0;

/// Pairs of read rates of the same bytes, bypassing the page cache and from it, bytes per second.
#[derive(Clone, Debug, Default)]
pub struct PageCache {
    pub direct: Vec<f64>,
    pub cached: Vec<f64>,
}

pub static RULE: Rule = Rule {
    role: Role::Check,
    overridden_by: &[],
    judge: |facts| {
        let ruling = ram(facts.target, facts.seen, facts.checks.get());
        // Tests that only write have no reads to check.
        let reads = facts.seen.iter().any(|digest| digest.bytes[0] > 0);
        let moot = ruling.answer == Answer::Unknown && !facts.seen.is_empty() && !reads;
        (!moot).then_some(ruling).into_iter().collect()
    },
};

pub fn ram(target: &TargetInfo, seen: &[Digest], cache: Option<&PageCache>) -> Ruling {
    if target.ram {
        let text = "The target is in memory: these figures show RAM, not a drive.";
        return with_shares(Ruling::yes(VerdictKind::Ram, text), &shares(seen));
    }
    if let Some((name, rate, ceiling)) = above_ceiling(target, seen) {
        let (fast, most) = (throughput(rate), throughput(ceiling));
        let name = capitalised(&name);
        let text = format!(
            "{name} reached {fast}, but the link carries {most}: that is the speed of memory."
        );
        return Ruling::yes(VerdictKind::Ram, text)
            .with("throughput", rate, Unit::BytesPerSecond)
            .with("ceiling of the link", ceiling, Unit::BytesPerSecond);
    }
    let shares = shares(seen);
    if let Some(ruling) = kept_writes(seen) {
        return ruling;
    }
    let ruling = match worst(&shares) {
        Some(worst) => with_shares(by_shares(&shares, worst), &shares),
        None => unwatched(seen, cache),
    };
    match &target.guest {
        Some(host) if ruling.verdict.kind == VerdictKind::Drive => guest(host, ruling),
        _ => ruling,
    }
}

/// The verdict in a guest: reads did not come from its memory, but the hypervisor provides its
/// drive.
fn guest(host: &str, ruling: Ruling) -> Ruling {
    let text = format!(
        "The reads left this machine, a guest of {host}; whether flash served them is unknown here."
    );
    let mut new =
        Ruling::no(VerdictKind::Guest, text).next_test("the same on the host of this guest");
    new.verdict.evidence = ruling.verdict.evidence;
    new
}

/// Detects writes that stayed in memory: the drive wrote much less than requested. Only reported
/// workloads count, because the checks also write zeros, which a file system need not store.
fn kept_writes(seen: &[Digest]) -> Option<Ruling> {
    let subjects = Subject::reported(seen);
    let shares = subjects.iter().filter_map(|subject| Some((subject, written_share(subject)?)));
    let served: Vec<_> = shares.filter(|(_, share)| *share < DEVICE_SHARE_MIN).collect();
    let (worst, share) = served.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let text = format!(
        "Memory took the writes: only {} of the bytes written in {} reached the drive before the \
         workload ended.",
        percent(*share),
        worst.in_words()
    );
    let ruling = Ruling::yes(VerdictKind::Ram, text)
        .next_test("the same without --buffered, or with --fsync-at-end")
        .with(format!("device bytes / written bytes, {}", worst.in_words()), *share, Unit::Number);
    Some(ruling.explaining_each(served.iter().map(|(subject, share)| (*subject, 1.0 - share))))
}

/// Bytes that the drive wrote over the bytes requested.
fn written_share(subject: &Subject<'_>) -> Option<f64> {
    let (mut requested, mut device) = (0, 0);
    for run in subject.runs() {
        requested += run.bytes[1];
        device += run.device?.written_bytes;
    }
    (requested >= BYTES_MIN).then(|| device as f64 / requested as f64)
}

/// Judges by the drive's counter.
fn by_shares(shares: &[Share], worst: &Share) -> Ruling {
    let low = shares.iter().filter(|s| s.share < DEVICE_SHARE_MIN).count();
    if low == 0 {
        let least = match percent(worst.share) {
            _ if worst.share > 0.995 => "100%".to_string(),
            part => format!("at least {part}"),
        };
        let text =
            format!("Real drive reads, not memory: the drive read {least} of the bytes requested.");
        return Ruling::no(VerdictKind::Drive, text);
    }
    let text = format!(
        "Memory served reads: in {low} of {} workloads the drive read less than half of the bytes \
         requested, in {} only {}.",
        shares.len(),
        worst.name,
        percent(worst.share)
    );
    Ruling::yes(VerdictKind::Ram, text)
}

/// Judges by other evidence, without a counter.
fn unwatched(seen: &[Digest], cache: Option<&PageCache>) -> Ruling {
    let reads: Vec<_> = seen.iter().filter(|d| d.bytes[0] > 0).collect();
    if reads.is_empty() {
        return Ruling::unknown(
            "Whether reads reach the drive is unknown: no workload with reads was measured.",
        );
    }
    if let Some(d) = reads.iter().find(|d| d.found(&FindingKind::ServedFromRam)) {
        return Ruling::yes(
            VerdictKind::Ram,
            format!("Memory served reads, for example in {}.", in_words(&d.name)),
        );
    }
    if reads.iter().any(|d| !d.direct) {
        let text = "Reads used the page cache, and the drive's counters are unavailable: whether \
                    the reads reached the drive is unknown.";
        return Ruling::unknown(text);
    }
    let compared = cache.and_then(|c| {
        let n = c.direct.len().min(c.cached.len());
        analysis::compare(&c.direct[..n], &c.cached[..n])
    });
    let Some(compared) = compared else {
        return Ruling::unknown(
            "The drive's counters are unavailable: whether reads reached it is unknown.",
        );
    };
    let ratio = compared.ratio;
    let ruling = if ratio >= CACHED_RATIO_MIN {
        Ruling::no(
            VerdictKind::Drive,
            format!("Reads did not come from the page cache, which is {ratio:.1} times as fast."),
        )
    } else {
        Ruling::unknown(format!(
            "The drive's counters are unavailable, and the page cache is only {ratio:.1} times as \
             fast as direct reads: these may come from memory."
        ))
    };
    ruling.with("cached / direct throughput", ratio, Unit::Number)
}

/// Share of the bytes requested by a workload's reads that the drive itself read.
struct Share {
    /// The workload in words.
    name: String,
    bytes: f64,
    share: f64,
}

/// The shares by workload, over all replicates.
fn shares(seen: &[Digest]) -> Vec<Share> {
    let mut sums: Vec<(&str, u64, u64)> = Vec::new();
    for d in seen {
        let Some(device) = d.device else {
            continue;
        };
        match sums.iter_mut().find(|s| s.0 == d.name) {
            Some(sum) => *sum = (sum.0, sum.1 + d.bytes[0], sum.2 + device.fetched_bytes()),
            None => sums.push((&d.name, d.bytes[0], device.fetched_bytes())),
        }
    }
    let judged_sums = sums.into_iter().filter(|s| s.1 >= BYTES_MIN);
    judged_sums
        .map(|(name, asked, device)| Share {
            name: in_words(name),
            bytes: asked as f64,
            share: device as f64 / asked as f64,
        })
        .collect()
}

fn in_words(workload: &str) -> String {
    MetricKey::parse(workload).in_words()
}

fn worst(shares: &[Share]) -> Option<&Share> {
    shares.iter().min_by(|a, b| a.share.total_cmp(&b.share))
}

fn overall(shares: &[Share]) -> f64 {
    let device: f64 = shares.iter().map(|s| s.share * s.bytes).sum();
    device / shares.iter().map(|s| s.bytes).sum::<f64>()
}

fn with_shares(ruling: Ruling, shares: &[Share]) -> Ruling {
    let Some(worst) = worst(shares) else {
        return ruling;
    };
    let name = format!("device bytes / application bytes, {}", worst.name);
    ruling.with("device bytes / application bytes", overall(shares), Unit::Number).with(
        name,
        worst.share,
        Unit::Number,
    )
}

/// The fastest workload, its rate and the link's ceiling, if the rate exceeds it.
fn above_ceiling(target: &TargetInfo, seen: &[Digest]) -> Option<(String, f64, f64)> {
    let ceiling = target.target.drive.as_ref()?.link.as_ref()?.ceiling_bytes_per_s?;
    let fastest = seen.iter().max_by(|a, b| a.throughput().total_cmp(&b.throughput()))?;
    let rate = fastest.throughput();
    (ceiling > 0.0 && rate > CEILING_SHARE_MAX * ceiling)
        .then(|| (in_words(&fastest.name), rate, ceiling))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{device, digest, target, with_link};
    use super::*;

    const MIB: u64 = 1 << 20;

    fn reads(name: &str, asked: u64, read: Option<u64>) -> Digest {
        let device = read.map(|bytes| device(bytes, 0));
        Digest { bytes: [asked, 0], ops: [asked / 4096, 0], device, ..digest(name) }
    }

    #[test]
    fn reads_from_memory_are_never_drive_reads() {
        let info = TargetInfo { ram: true, ..target() };
        assert_eq!(ram(&info, &[], None).answer, Answer::Yes);
    }

    #[test]
    fn one_workload_out_of_two_from_memory_is_enough() {
        let seen = [reads("a", 64 * MIB, Some(64 * MIB)), reads("b", 64 * MIB, Some(8 * MIB))];
        let ruling = ram(&target(), &seen, None);
        assert_eq!(ruling.answer, Answer::Yes);
        assert!(ruling.verdict.text.contains("in 1 of 2 workloads"), "{}", ruling.verdict.text);
        assert!(ruling.verdict.text.contains("in b only 12%"), "{}", ruling.verdict.text);
        assert_eq!(ruling.verdict.evidence[0].value, 72.0 / 128.0);
    }

    #[test]
    fn replicates_are_added_up_and_tiny_reads_not_judged() {
        let seen = [
            reads("a", 64 * MIB, Some(20 * MIB)),
            reads("a", 64 * MIB, Some(64 * MIB)),
            reads("tiny", 4096, Some(0)),
        ];
        let ruling = ram(&target(), &seen, None);
        assert_eq!((ruling.answer, ruling.verdict.kind.name()), (Answer::No, "DRIVE"));
    }

    #[test]
    fn faster_than_the_link_cannot_be_the_drive() {
        let fast = Digest { seconds: 0.1, ..reads("a", 100_000_000, None) };
        let ruling = ram(&with_link(900e6), std::slice::from_ref(&fast), None);
        assert_eq!(ruling.answer, Answer::Yes);
        assert_eq!(ram(&with_link(990e6), &[fast], None).answer, Answer::Unknown);
    }

    #[test]
    fn an_unwatched_drive_is_known_by_how_much_faster_the_cache_is() {
        let seen = [reads("a", 64 * MIB, None)];
        let cache = |cached| PageCache { direct: vec![1e9, 1e9], cached: vec![cached, cached] };
        let answer = |c: Option<&PageCache>| ram(&target(), &seen, c).answer;
        assert_eq!(answer(Some(&cache(8e9))), Answer::No);
        assert_eq!(answer(Some(&cache(1.1e9))), Answer::Unknown);
        assert_eq!(answer(None), Answer::Unknown);
        assert_eq!(ram(&target(), &[], None).answer, Answer::Unknown);
        let buffered = [Digest { direct: false, ..reads("a", 64 * MIB, None) }];
        assert_eq!(ram(&target(), &buffered, Some(&cache(8e9))).answer, Answer::Unknown);
    }

    #[test]
    fn writes_that_stay_in_memory_are_memory() {
        let writes = |asked, written| {
            let (direct, device) = (false, Some(device(0, written)));
            Digest { bytes: [0, asked], device, direct, ..digest("w") }
        };
        let ruling = ram(&target(), &[writes(1056 * MIB, 64 * MIB)], None);
        assert_eq!((ruling.answer, ruling.verdict.kind.name()), (Answer::Yes, "RAM"));
        assert!(ruling.verdict.text.contains("only 6% of the bytes written in w"));
        assert!(ruling.verdict.explains("w"));
        assert_ne!(ram(&target(), &[writes(100 * MIB, 51 * MIB)], None).answer, Answer::Yes);
        // A check that writes zeros is no evidence about the figures.
        let zeros = Digest { probe: true, ..writes(64 * MIB, 0) };
        let figures = writes(64 * MIB, 64 * MIB);
        assert_ne!(ram(&target(), &[figures, zeros], None).answer, Answer::Yes);
    }

    #[test]
    fn reads_of_a_guest_left_the_machine_and_nothing_more_is_known() {
        let guest = TargetInfo { guest: Some("KVM".into()), ..target() };
        let ruling = ram(&guest, &[reads("a", 64 * MIB, Some(64 * MIB))], None);
        assert_eq!((ruling.answer, ruling.verdict.kind.name()), (Answer::No, "GUEST"));
        assert!(!ruling.verdict.evidence.is_empty());
        let memory = ram(&guest, &[reads("a", 64 * MIB, Some(MIB))], None);
        assert_eq!(memory.verdict.kind.name(), "RAM");
    }
}

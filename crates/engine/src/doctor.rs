//! Examines whether a measurement can be trusted. Each finding has its evidence.

use record::{Evidence, Finding, FindingKind, Level, State, Unit};
use rig::{BackendKind, Measurement, TargetInfo};
use workload::units::{amount, span};
use workload::{Caching, OpKind, Pacing, Workload};

use crate::sampler::Observations;
use crate::standstill::Standstills;
use crate::traced::{OtherProcess, Traced};

/// Application bytes below which device bytes prove nothing, because read-ahead and other traffic
/// have the same order of magnitude.
const TOO_LITTLE: u64 = 4 << 20;

/// Share of application bytes that the device must have moved.
const DEVICE_SHARE_MIN: f64 = 0.5;

/// Processor share of the issuing threads above which they, not the drive, are the limit.
const CPU_BOUND: f64 = 0.95;

/// Share of processor time above which kernel workers affect latencies. A small share is usual,
/// because a write that also updates a file's timestamp cannot be issued inline.
const PUNTED_SHARE: f64 = 0.1;

/// The largest buffer that the kernel registers with io_uring, bytes.
const REGISTERED_MAX: u64 = 1 << 30;

/// Shortest time for which a processor share is meaningful, nanoseconds.
const TOO_SHORT_NS: u64 = 10_000_000;

/// The shortest stall, as a multiple of the 99th percentile of the service time.
const STALL_TAILS_MIN: u64 = 10;

/// Other users that are named: at most this many, each with at least this percentage of the bytes.
const OTHERS_NAMED: usize = 3;
const OTHER_SHARE_MIN: f64 = 1.0;

/// Operations below which what a file system adds to one is not said, and the least number per
/// operation that is.
const ADDED_OPS_MIN: u64 = 100;
const ADDED_MIN: f64 = 0.05;

/// The data to examine.
pub(crate) struct Case<'a> {
    /// `None` on a virtual drive.
    pub backend: Option<BackendKind>,
    pub workload: &'a Workload,
    pub info: &'a TargetInfo,
    pub measurement: &'a Measurement,
    pub observations: &'a Observations,
    /// Share of the region that was already written, if known.
    pub written_share: Option<f64>,
}

/// Returns all findings that cast doubt on a measurement.
pub(crate) fn examine(case: &Case<'_>) -> Vec<Finding> {
    let rules: [fn(&Case<'_>) -> Option<Finding>; 15] = [
        failed,
        served_from_ram,
        not_direct,
        punted,
        lacking,
        generator_bound,
        unwritten,
        synchronous,
        overloaded,
        too_hot,
        others,
        file_system_adds,
        stood_still,
        stalled,
        thinned,
    ];
    let findings = rules.into_iter().filter_map(|rule| rule(case));
    findings
        .map(|finding| Finding { workload: Some(case.workload.name.clone()), ..finding })
        .collect()
}

fn read_bytes(case: &Case<'_>) -> u64 {
    case.measurement.kind(OpKind::Read).map_or(0, |k| k.bytes)
}

fn served_from_ram(case: &Case<'_>) -> Option<Finding> {
    if case.backend == Some(BackendKind::Null) {
        return None;
    }
    let kind = FindingKind::ServedFromRam;
    if case.info.ram {
        let text = "the target is in memory: these figures show RAM, not a drive";
        return Some(Finding::new(kind, Level::Bad, text));
    }
    let application = read_bytes(case);
    let device = case.measurement.device?.fetched_bytes();
    let share = device as f64 / application.max(1) as f64;
    if application < TOO_LITTLE || share >= DEVICE_SHARE_MIN {
        return None;
    }
    let text = format!(
        "{:.0}% of the bytes read did not come from the drive: they were served from RAM",
        (1.0 - share) * 100.0
    );
    Some(
        Finding::new(kind, Level::Bad, text)
            .advise("omit --buffered, or read more than fits into memory")
            .with(Evidence::new("device bytes read", device as f64, Unit::Bytes))
            .with(Evidence::new("application bytes read", application as f64, Unit::Bytes)),
    )
}

fn failed(case: &Case<'_>) -> Option<Finding> {
    let errors = case.measurement.errors.iter().filter(|e| e.op != "verify");
    let failed: u64 = errors.map(|e| e.count).sum();
    if failed == 0 {
        return None;
    }
    let ops = failed + case.measurement.kinds.iter().flatten().map(|k| k.ops).sum::<u64>();
    let (failed_ops, ops) = (counted(failed), counted(ops));
    let text = format!("{failed_ops} of {ops} operations failed: the figures exclude them");
    let evidence = Evidence::new("failed operations", failed as f64, Unit::Number);
    Some(Finding::new(FindingKind::FailedOperations, Level::Bad, text).with(evidence))
}

/// A count: exact below 10,000, then with three digits.
fn counted(n: u64) -> String {
    if n < 10_000 { n.to_string() } else { amount(n as f64) }
}

fn not_direct(case: &Case<'_>) -> Option<Finding> {
    let refused = case.workload.caching == Caching::Bypass
        && !case.measurement.direct
        && case.backend != Some(BackendKind::Null);
    let text = "the file system refuses O_DIRECT: this I/O went through the page cache";
    refused.then(|| Finding::new(FindingKind::NotDirect, Level::Warn, text))
}

fn punted(case: &Case<'_>) -> Option<Finding> {
    let workers = case.observations.worker_cpu_ns as f64;
    let share = workers / (workers + case.measurement.cpu_ns as f64).max(1.0);
    if share < PUNTED_SHARE {
        return None;
    }
    let text = "io_uring passed requests to kernel worker threads, which adds to their latency";
    let evidence = Evidence::new("processor share of kernel workers", share, Unit::Number);
    let finding = Finding::new(FindingKind::Punted, Level::Warn, text).with(evidence);
    Some(finding.advise("compare with --backend aio"))
}

fn lacking(case: &Case<'_>) -> Option<Finding> {
    let missing =
        case.observations.ends.iter().find(|e| !e.missing.is_empty())?.missing.join(" and ");
    let text = format!("io_uring runs without {missing}: each operation costs more processor time");
    let buffers = u64::from(case.workload.depth) * u64::from(case.workload.blocks.max());
    let advice = if buffers > REGISTERED_MAX {
        "the kernel registers at most 1 GiB per job: smaller blocks, or a smaller queue depth"
    } else {
        "raise the memlock limit (ulimit -l)"
    };
    Some(Finding::new(FindingKind::UringLacks, Level::Note, text).advise(advice))
}

fn generator_bound(case: &Case<'_>) -> Option<Finding> {
    let measurement = case.measurement;
    let jobs = f64::from(case.workload.jobs);
    let share = measurement.cpu_ns as f64 / (measurement.elapsed_ns.max(1) as f64 * jobs);
    // An open loop spins until its next due time, a queue pair is polled, and the null backend uses
    // only processor time.
    let spins = matches!(case.backend, Some(BackendKind::Null | BackendKind::Nvme));
    let meaningful = matches!(case.workload.pacing, Pacing::Closed)
        && !spins
        && measurement.elapsed_ns >= TOO_SHORT_NS;
    if !meaningful || share < CPU_BOUND {
        return None;
    }
    let text = format!(
        "the issuing threads were {:.0}% busy: the processor, not the drive, was the limit",
        share * 100.0
    );
    let finding = Finding::new(FindingKind::GeneratorBound, Level::Warn, text);
    let evidence = Evidence::new("processor share of the issuing threads", share, Unit::Number);
    Some(finding.advise("more jobs, or larger blocks").with(evidence))
}

fn unwritten(case: &Case<'_>) -> Option<Finding> {
    let (mut sampled, mut zero) = (0, 0);
    for end in &case.observations.ends {
        sampled += end.reads_sampled;
        zero += end.reads_zero;
    }
    let kind = FindingKind::UnwrittenBlocksRead;
    if let Some(share) = case.written_share.filter(|s| *s < 0.99 && read_bytes(case) > 0) {
        let text = format!(
            "{:.0}% of the region was never written: it reads as zeros without drive access",
            (1.0 - share) * 100.0
        );
        let evidence = Evidence::new("written share of the region", share, Unit::Number);
        return Some(Finding::new(kind, Level::Bad, text).with(evidence));
    }
    if sampled == 0 || zero * 2 < sampled || case.backend == Some(BackendKind::Null) {
        return None;
    }
    let text = format!(
        "{zero} of {sampled} sampled reads were all zeros: reads of discarded or unwritten blocks \
         do not access flash"
    );
    let evidence =
        Evidence::new("share of zero reads", f64::from(zero) / f64::from(sampled), Unit::Number);
    let finding = Finding::new(kind, Level::Warn, text).with(evidence);
    // A method that aged or trimmed the drive reads unwritten blocks on purpose.
    Some(match case.info.state {
        State::Used | State::Trimmed => finding,
        _ => finding.advise(case.info.target.kind.advice_if_unwritten()),
    })
}

fn synchronous(case: &Case<'_>) -> Option<Finding> {
    let capped = case.observations.ends.iter().find_map(|e| e.depth_capped)?;
    let text = format!(
        "queue depth {} was requested, but {} allows only {capped} per job",
        case.workload.depth,
        rig::backend_name(case.backend)
    );
    let finding = Finding::new(FindingKind::DepthIsAFiction, Level::Note, text);
    Some(if case.backend.is_some_and(BackendKind::is_synchronous) {
        finding.advise("--backend uring or aio keeps more operations in flight")
    } else {
        finding
    })
}

fn overloaded(case: &Case<'_>) -> Option<Finding> {
    let backlog: u64 = case.observations.ends.iter().map(|e| e.backlog).sum();
    let issued: u64 = case.observations.ends.iter().map(|e| e.issued).sum();
    // At the end of any run, one queue of operations can be waiting, but not 1% of all operations.
    let slots = u64::from(case.workload.depth * case.workload.jobs);
    if backlog <= slots.max(issued / 100) {
        return None;
    }
    let backlog_ops = counted(backlog);
    let text = format!(
        "overloaded: {backlog_ops} operations were due but not issued; response times grow without \
         limit"
    );
    let evidence = Evidence::new("operations never issued", backlog as f64, Unit::Number);
    Some(
        Finding::new(FindingKind::Overloaded, Level::Bad, text)
            .advise("a lower rate, or more operations in flight")
            .with(evidence),
    )
}

fn too_hot(case: &Case<'_>) -> Option<Finding> {
    let temperature = case.measurement.temperature?;
    let warn = case.info.target.drive.as_ref()?.health.temperature_warn_c?;
    let evidence = Evidence::new("highest temperature", temperature.max_c, Unit::Celsius);
    if case.observations.too_hot {
        let text = "ended early: the drive came within 5 K of its own warning temperature";
        return Some(Finding::new(FindingKind::TemperatureLimit, Level::Bad, text).with(evidence));
    }
    let rates: Vec<f64> = case.measurement.rates().into_iter().flatten().collect();
    let third = rates.len() / 3;
    let early: f64 = rates[..third].iter().sum();
    let late: f64 = rates[rates.len() - third..].iter().sum();
    // A series with fewer than three rows shows no change.
    if temperature.max_c < warn || late >= early * 0.9 {
        return None;
    }
    let text = "throttled: the drive became slower above its warning temperature";
    Some(Finding::new(FindingKind::Throttled, Level::Warn, text).with(evidence))
}

fn stood_still(case: &Case<'_>) -> Option<Finding> {
    let standstills = &case.observations.standstills;
    let (standing_ns, asleep) = (standstills.total_ns, standstills.suspended_ns());
    if standing_ns.max(asleep) == 0 {
        return delayed(standstills);
    }
    let cause = if asleep > 0 { "the machine was suspended" } else { "the process stood still" };
    let left_out = format!("; {}, and rates exclude this time", without_latency(standstills));
    let left_out = if standing_ns > 0 { left_out } else { String::new() };
    let seconds = standing_ns.max(asleep) as f64 / 1e9;
    let text = format!("{cause} for {seconds:.1} s{left_out}");
    let finding = Finding::new(FindingKind::StoodStill, Level::Warn, text);
    let finding = finding.with(not_the_drive(standing_ns.max(asleep)));
    Some(finding.advise("run it again without a pause"))
}

/// Reports short delays of the sampler if operations have no latency because of them: the drive may
/// have delayed those operations, too.
fn delayed(standstills: &Standstills) -> Option<Finding> {
    if standstills.ops == 0 {
        return None;
    }
    let text = format!(
        "the process or the machine paused for {} in total; {}",
        span(standstills.doubtful_ns as f64 / 1e9),
        without_latency(standstills)
    );
    let finding = Finding::new(FindingKind::StoodStill, Level::Note, text);
    Some(finding.with(not_the_drive(standstills.doubtful_ns)))
}

fn without_latency(standstills: &Standstills) -> String {
    format!("latencies exclude {} operations in flight", standstills.ops)
}

fn not_the_drive(ns: u64) -> Evidence {
    Evidence::new("time not caused by the drive", ns as f64, Unit::Nanoseconds)
}

fn stalled(case: &Case<'_>) -> Option<Finding> {
    let m = case.measurement;
    let stalled_ns = m.stalled_ns(case.workload);
    if stalled_ns == 0 || m.service_ns(1.0) < STALL_TAILS_MIN.saturating_mul(m.service_ns(0.99)) {
        return None;
    }
    let text = format!(
        "nothing completed for {} of {} although operations were in flight",
        span(stalled_ns as f64 / 1e9),
        span(m.seconds())
    );
    let evidence = Evidence::new("time without a completion", stalled_ns as f64, Unit::Nanoseconds);
    Some(Finding::new(FindingKind::Stalled, Level::Note, text).with(evidence))
}

fn thinned(case: &Case<'_>) -> Option<Finding> {
    let Observations { grain, by_job, .. } = case.observations;
    let dropped = by_job.iter().any(|job| job.forgotten > 0);
    if *grain == 1 && !dropped {
        return None;
    }
    let rows = "a row of its time series covers up to";
    let mut text = format!("a long workload: {rows} {grain} intervals");
    if dropped {
        text += ", and bandwidth extremes cover only the latest intervals";
    }
    let evidence = Evidence::new("intervals in a row", *grain as f64, Unit::Number);
    Some(Finding::new(FindingKind::SeriesThinned, Level::Note, text).with(evidence))
}

fn others(case: &Case<'_>) -> Option<Finding> {
    let device = case.measurement.device?;
    let kinds = [OpKind::Read, OpKind::Write].into_iter();
    let job_bytes: u64 =
        kinds.filter_map(|kind| case.measurement.kind(kind)).map(|stats| stats.bytes).sum();
    let device_bytes = device.read_bytes + device.written_bytes;
    // File systems add metadata. More than a quarter above our bytes indicates another user.
    let flushes = case.measurement.kind(OpKind::Flush).map_or(0, |stats| stats.ops);
    if job_bytes < TOO_LITTLE || device.others_bytes(job_bytes, flushes) < job_bytes / 4 {
        return None;
    }
    let text = format!(
        "the drive moved {:.1} times the measured bytes: {}",
        device_bytes as f64 / job_bytes as f64,
        other_users(case.observations.traced.as_ref(), device_bytes)
    );
    let evidence = Evidence::new(
        "device bytes / own bytes",
        device_bytes as f64 / job_bytes as f64,
        Unit::Number,
    );
    let finding = Finding::new(FindingKind::SharedDrive, Level::Warn, text).with(evidence);
    Some(finding.advise("measure again while no other program uses the drive"))
}

/// What the file system adds to the operations of a workload, by the kernel's trace: requests of
/// metadata, flushes, and those of its journal, which has a thread of its own.
fn file_system_adds(case: &Case<'_>) -> Option<Finding> {
    let (traced, file_system) =
        case.observations.traced.as_ref().zip(case.info.target.filesystem.as_ref())?;
    let [reads, writes] = [OpKind::Read, OpKind::Write]
        .map(|kind| case.measurement.kind(kind).map_or(0, |stats| stats.ops));
    let (name, ops) = if writes == 0 { ("read", reads) } else { ("write", writes) };
    if ops < ADDED_OPS_MIN {
        return None;
    }
    let journal = traced.others.iter().filter(|process| process.name.starts_with("jbd2/"));
    let requests = [
        ("metadata", traced.metadata.iter().map(|sums| sums.queued).sum()),
        ("journal", journal.map(|process| process.requests).sum()),
        ("flush", traced.flushes),
    ];
    let shares = requests.map(|(what, count): (_, u64)| (what, count as f64 / ops as f64));
    let shares: Vec<(&str, f64)> =
        shares.into_iter().filter(|(_, share)| *share >= ADDED_MIN).collect();
    let parts: Vec<String> =
        shares.iter().map(|(what, share)| format!("{share:.1} {what}")).collect();
    let finding = Finding::new(
        FindingKind::FileSystemAdds,
        Level::Note,
        format!("requests that {} added to a {name}: {}", file_system.kind, parts.join(", ")),
    );
    let evidence = shares.iter().map(|(what, share)| {
        Evidence::new(format!("{what} requests per {name}"), *share, Unit::Number)
    });
    (!shares.is_empty()).then(|| evidence.fold(finding, Finding::with))
}

/// Who else uses the drive, by name if the kernel's trace knows, with their shares of its bytes.
fn other_users(traced: Option<&Traced>, device_bytes: u64) -> String {
    let mut processes: Vec<&OtherProcess> =
        traced.map_or(Vec::new(), |traced| traced.others.iter().collect());
    processes.sort_by_key(|process| std::cmp::Reverse(process.bytes));
    let users = processes
        .iter()
        .map(|process| (&process.name, 100.0 * process.bytes as f64 / device_bytes.max(1) as f64));
    let users = users
        .filter(|(_, percent)| *percent >= OTHER_SHARE_MIN)
        .take(OTHERS_NAMED)
        .map(|(name, percent)| format!("{name} ({percent:.0}% of its bytes)"));
    let users = users.collect::<Vec<_>>().join(", ");
    if users.is_empty() {
        "something else also uses it".into()
    } else {
        format!("also used by {users}")
    }
}

#[cfg(test)]
mod tests {
    use workload::{Mix, Pattern, Region};

    use super::*;
    use crate::recorder::JobEnd;

    /// The finding of a rule about a job of this backend and end.
    fn found(
        rule: fn(&Case<'_>) -> Option<Finding>,
        backend: BackendKind,
        (depth, block): (u32, u32),
        end: JobEnd,
    ) -> Option<Finding> {
        let region = Region::first(1 << 40);
        let workload =
            Workload { depth, ..Workload::new("w", Pattern::Uniform, Mix::READ, block, region) };
        rule(&Case {
            backend: Some(backend),
            workload: &workload,
            info: &TargetInfo::null(1 << 40),
            measurement: &Measurement::default(),
            observations: &Observations::from_job(end, [const { None }; 4]),
            written_share: None,
        })
    }

    #[test]
    fn other_users_are_named_by_their_bytes() {
        let other = |name: &str, bytes| OtherProcess { name: name.into(), requests: 1, bytes };
        let others = vec![other("cc1", 20), other("jbd2/sda1-8", 300), other("sh", 9)];
        let traced = Traced { others, ..Traced::default() };
        let words = other_users(Some(&traced), 1000);
        assert_eq!(words, "also used by jbd2/sda1-8 (30% of its bytes), cc1 (2% of its bytes)");
        assert_eq!(other_users(None, 1000), "something else also uses it");
    }

    #[test]
    fn a_higher_memlock_limit_is_advised_only_if_it_helps() {
        let advised = |depth, block| {
            let end = JobEnd { missing: vec!["registered buffers"], ..JobEnd::default() };
            let found = found(lacking, BackendKind::Uring, (depth, block), end);
            found.and_then(|f| f.advice).is_some_and(|advice| advice.contains("memlock"))
        };
        assert!(advised(32, 4096) && advised(64, 16 << 20));
        assert!(!advised(128, 16 << 20));
    }

    #[test]
    fn another_backend_is_advised_only_instead_of_a_synchronous_one() {
        let advised = |backend| {
            let end = JobEnd { depth_capped: Some(1), ..JobEnd::default() };
            found(synchronous, backend, (64, 4096), end).expect("capped").advice.is_some()
        };
        assert!(advised(BackendKind::Psync) && advised(BackendKind::Mmap));
        assert!(!advised(BackendKind::Uring) && !advised(BackendKind::Nvme));
    }
}

//! Facts that every form of a report states identically: title, drive, target, host, doubts.
//!
//! Each fact is a short piece of plain text; the forms lay the pieces out. Unknown facts are named,
//! not omitted.

use record::{
    DriveIdentity, Environment, Finding, FindingKind, IoErrors, Level, Limit, MetricKey, Naming,
    OriginKind, Run, Stamp, State, Target, TargetKind, Verdict, VerdictKind,
};
use workload::units::{binary, decimal, duration, latency, span};

use crate::names::distinct;
use crate::quantity::{self, UNKNOWN};

/// `run 192`, or the id of a run outside a store.
pub(crate) fn run_name(run: &Run) -> String {
    match run.number {
        Some(number) => format!("run {number}"),
        None if run.id.is_empty() => "run".to_string(),
        None => format!("run {}", run.id),
    }
}

/// The verdict for a bottleneck: the one that explains the figure, or else one of its kind.
pub(crate) fn limiting<'r>(run: &'r Run, limit: &Limit) -> Option<&'r Verdict> {
    let mut verdicts = run.verdicts.iter().filter(|v| v.kind == limit.by);
    verdicts.clone().find(|v| v.explains(&limit.metric)).or_else(|| verdicts.next())
}

/// `complete in 58 s`, `62 min simulated in 3.9 s`, or how the run was cut short; for a record from
/// elsewhere, its origin.
pub(crate) fn ending(run: &Run) -> String {
    if let Some(origin) = &run.origin {
        return match origin.kind {
            OriginKind::Imported if origin.is_own_fio() => {
                "imported from ssdyno fio's output".to_string()
            }
            OriginKind::Imported => "imported: not measured by ssdyno".to_string(),
            OriginKind::Published => "published: not measured by ssdyno".to_string(),
            OriginKind::Other(kind) => format!("{kind}: not measured by ssdyno"),
        };
    }
    let time = run.seconds.map(span);
    let time = match run.simulated_seconds.map(duration) {
        Some(simulated) => {
            let real = time.map(|time| format!(" in {time}")).unwrap_or_default();
            Some(format!("{simulated} simulated{real}"))
        }
        None => time,
    };
    match (run.complete, time) {
        (true, None) => "complete".to_string(),
        (true, Some(time)) if run.simulated_seconds.is_some() => format!("complete: {time}"),
        (true, Some(time)) => format!("complete in {time}"),
        (false, time) => {
            let delay = time.map(|time| format!(" after {time}")).unwrap_or_default();
            let reason = run.cut_short.as_deref().unwrap_or("killed, or still running");
            format!("cut short{delay}: {reason}")
        }
    }
}

/// The origin of a record from elsewhere; empty for an ssdyno run.
pub(crate) fn origin(run: &Run) -> Vec<String> {
    let Some(origin) = &run.origin else { return Vec::new() };
    let tool = origin.tool_name().unwrap_or_else(|| format!("tool {UNKNOWN}"));
    let mut items = vec![tool, origin.source.clone()];
    items.extend(origin.place.clone());
    items.extend(run.seconds.map(|seconds| format!("took {}", span(seconds))));
    items.extend(origin.command.clone());
    items
}

/// The user's title and tags; empty without any.
pub(crate) fn labels(run: &Run) -> Vec<String> {
    let title = run.labels.as_ref().and_then(|labels| labels.title.clone());
    title.into_iter().chain(run.tags().map(|(name, value)| format!("{name}={value}"))).collect()
}

/// The user's remark.
pub(crate) fn note(run: &Run) -> Option<&str> {
    run.labels.as_ref()?.note.as_deref()
}

/// Start, to the minute: `2026-11-21 20:50`.
pub(crate) fn when(run: &Run) -> String {
    start(run, to_the_minute)
}

/// Day of the start: `2026-11-21`.
pub(crate) fn day(run: &Run) -> String {
    start(run, |time| time.get(..10).unwrap_or_default().to_string())
}

fn start(run: &Run, form: impl Fn(&str) -> String) -> String {
    let unknown = run.origin.as_ref().is_some_and(|origin| !origin.start_known);
    if unknown { format!("start {UNKNOWN}") } else { form(&run.started) }
}

/// The time as of which the drive's state before the run is known.
pub(crate) fn as_of(run: &Run) -> Option<String> {
    run.state_as_of.as_deref().map(to_the_minute)
}

fn to_the_minute(time: &str) -> String {
    match (time.get(..10), time.get(10..11), time.get(11..16)) {
        (Some(date), Some("T"), Some(minute)) => format!("{date} {minute}"),
        _ => time.to_string(),
    }
}

/// Manufacturer and model, without repeating the manufacturer.
pub(crate) fn model(drive: &DriveIdentity) -> Option<String> {
    let model = drive.model.as_deref()?.trim();
    match drive.vendor.as_deref().map(str::trim).filter(|v| !v.is_empty()) {
        Some(vendor) if !model.to_lowercase().starts_with(&vendor.to_lowercase()) => {
            Some(format!("{vendor} {model}"))
        }
        _ => Some(model.to_string()),
    }
}

/// The identity of the drive; with `private`, including its serial number.
pub(crate) fn drive(run: &Run, private: bool) -> Vec<String> {
    let Some(drive) = &run.target.drive else {
        return vec![match run.origin {
            Some(_) => UNKNOWN.to_string(),
            None => format!("{UNKNOWN}: the drive of this target could not be determined"),
        }];
    };
    let mut items = vec![drive.name.clone()];
    items.extend(model(drive));
    if private {
        items.extend(drive.serial.as_ref().map(|s| format!("sn {s}")));
    }
    items.extend(drive.firmware.as_ref().map(|f| format!("fw {f}")));
    let link = drive.link.as_ref().and_then(|l| l.now.clone());
    items.push(link.unwrap_or_else(|| drive.bus.clone()));
    items.extend(drive.bytes.map(|b| format!("{} ({})", decimal(b), binary(b))));
    items.extend(blocks(drive));
    items.extend(drive.health.wear_percent.map(|w| format!("wear {w:.0}%")));
    items.extend(drive.health.temperature_c.map(|c| format!("{c:.0} C")));
    items.extend(drive.health.warnings.iter().map(|w| format!("warning: {w}")));
    if drive.ram {
        items.push("memory, not flash".to_string());
    }
    if run.state_before != State::Unknown {
        let as_of = as_of(run).map(|time| format!(" as of {time}")).unwrap_or_default();
        items.push(format!("state {}{as_of}", run.state_before));
    }
    let missing = missing(run.state_before, drive, private);
    if !missing.is_empty() {
        items.push(format!("{UNKNOWN}: {}", missing.join(", ")));
    }
    items.retain(|item| !item.is_empty());
    items
}

fn blocks(drive: &DriveIdentity) -> Option<String> {
    let logical = binary(u64::from(drive.logical_block_bytes?));
    match drive.physical_block_bytes {
        Some(bytes) if Some(bytes) != drive.logical_block_bytes => {
            Some(format!("{logical} blocks in {}", binary(u64::from(bytes))))
        }
        _ => Some(format!("{logical} blocks")),
    }
}

fn missing(state: State, drive: &DriveIdentity, private: bool) -> Vec<&'static str> {
    let facts = [
        ("state", state == State::Unknown),
        ("model", drive.model.is_none()),
        ("serial", private && drive.serial.is_none()),
        ("firmware", drive.firmware.is_none()),
        ("capacity", drive.bytes.is_none()),
        ("block size", drive.logical_block_bytes.is_none()),
        ("wear", drive.health.wear_percent.is_none()),
        ("temperature", drive.health.temperature_c.is_none()),
    ];
    facts.into_iter().filter(|fact| fact.1).map(|fact| fact.0).collect()
}

/// The target of the I/O; with `private`, including its path.
pub(crate) fn target(run: &Run, private: bool) -> Vec<String> {
    let target = &run.target;
    let place = target.path.as_ref().unwrap_or(&target.spec);
    let words = match target.kind {
        // 0 means that the user's programs ran there.
        TargetKind::Directory => match run.plan.as_ref().map(|plan| plan.region_bytes) {
            Some(bytes) if bytes > 0 => format!("scratch file of {}", binary(bytes)),
            _ => "directory".to_string(),
        },
        TargetKind::File => "file".to_string(),
        TargetKind::Device => "device".to_string(),
        TargetKind::Virtual => "virtual drive".to_string(),
        TargetKind::Null if target.spec == "null:nvme" => {
            "nothing (NVMe driver on a simulated controller)".to_string()
        }
        TargetKind::Null => "nothing (null backend)".to_string(),
        TargetKind::Other(kind) => format!("{kind} target"),
        TargetKind::Unknown if place.is_empty() => return vec![UNKNOWN.to_string()],
        TargetKind::Unknown => return vec![place.clone()],
    };
    let inside = if words.starts_with("scratch") { "in " } else { "" };
    let mut items = if private && target.kind != TargetKind::Null {
        vec![format!("{words} {inside}{place}")]
    } else {
        vec![words]
    };
    items.extend(filesystem(target));
    items
}

fn filesystem(target: &Target) -> Option<String> {
    let filesystem = target.filesystem.as_ref()?;
    let source = filesystem.source.as_ref().map(|s| format!(" on {s}")).unwrap_or_default();
    Some(format!("{}{source}", filesystem.kind))
}

/// The machine, as far as it affects the numbers.
pub(crate) fn host(run: &Run) -> Vec<String> {
    let machine = &run.environment;
    if run.origin.is_some() && *machine == nothing_known(&machine.ssdyno) {
        let caching = run.target.direct.map(|_| caching(run.target.direct).to_string());
        return [UNKNOWN.to_string()].into_iter().chain(caching).collect();
    }
    let unknown = |what: &str| format!("{what} {UNKNOWN}");
    let mut items: Vec<String> = machine.board.iter().cloned().collect();
    items.push(machine.cpu.model.clone().unwrap_or_else(|| unknown("processor")));
    items.push(machine.kernel.as_ref().map_or_else(|| unknown("kernel"), |k| format!("Linux {k}")));
    items.extend(machine.hypervisor.as_ref().map(|h| format!("under {h}")));
    items.push(machine.backend.clone().unwrap_or_else(|| unknown("backend")));
    items.push(caching(run.target.direct).to_string());
    match machine.instrument_ns_per_io {
        Some(ns) => items.push(format!("instrument {} per I/O", latency(ns))),
        None if run.origin.is_some() => {}
        None => items.push(unknown("instrument's cost")),
    }
    items
}

fn nothing_known(ssdyno: &str) -> Environment {
    Environment { ssdyno: ssdyno.to_string(), ..Environment::default() }
}

/// The basis of the intervals for the next run: `next time (from 4 runs)`.
pub(crate) fn next_time(run: &Run) -> Option<String> {
    let grounds = run.metrics.iter().rev().find_map(|metric| quantity::grounds(metric, run));
    grounds.map(|grounds| format!("next time ({grounds})"))
}

/// What a finding says about the run as a whole, in place of the usual words.
fn verdict_of_stamp(kind: &FindingKind) -> Option<&'static str> {
    match kind {
        FindingKind::RunFailed => Some("no result, the run failed"),
        FindingKind::CutShort => Some("part of a result, the run was cut short"),
        FindingKind::NotChecked => Some("another program's figures, not checked"),
        FindingKind::OwnFioOutput => Some("imported from ssdyno fio's output"),
        _ => None,
    }
}

/// How far the numbers of a run can be trusted: the tone in which it is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StampTone {
    /// Of a virtual drive without reservations: it was not measured.
    Predicted,
    Good,
    Warn,
    Bad,
}

/// The stamp of a run's answer, with its tone; `None` without an answer.
pub(crate) fn stamp(run: &Run) -> Option<(StampTone, String)> {
    let stamp = &run.answer.as_ref()?.stamp;
    let simulated = is_virtual(run);
    let tone = match stamp.level() {
        Level::Note if simulated => StampTone::Predicted,
        Level::Note => StampTone::Good,
        Level::Warn => StampTone::Warn,
        Level::Bad | Level::Other(_) => StampTone::Bad,
    };
    let verdict = if simulated { "predicted" } else { "believable" };
    Some((tone, stamp_words(stamp, verdict)))
}

/// Whether the target is a virtual drive.
pub(crate) fn is_virtual(run: &Run) -> bool {
    run.target.kind == TargetKind::Virtual
}

/// The name of a drive, marked if it is virtual.
pub(crate) fn marked(name: String, run: &Run) -> String {
    if is_virtual(run) { format!("{name} (virtual drive)") } else { name }
}

fn stamp_words(stamp: &Stamp, good: &str) -> String {
    match stamp {
        Stamp::Believable => good.into(),
        Stamp::Reservations(kinds) => {
            let verdict = kinds.iter().find_map(verdict_of_stamp).map(String::from);
            let verdict = verdict.unwrap_or_else(|| format!("{good} with reservations"));
            let further = kinds.iter().filter(|kind| verdict_of_stamp(kind).is_none());
            let names: Vec<&str> = further.map(FindingKind::phrase).collect();
            if names.is_empty() { verdict } else { format!("{verdict}: {}", names.join(", ")) }
        }
        Stamp::NotTheDrive(kind) => format!("not the drive: {}", kind.phrase()),
        Stamp::Other(_) if stamp.name().is_empty() => "unknown to this version".into(),
        Stamp::Other(_) => format!("unknown to this version: {}", stamp.name()),
    }
}

/// Whether I/O bypassed the page cache.
pub(crate) fn caching(direct: Option<bool>) -> &'static str {
    match direct {
        Some(true) => "O_DIRECT",
        Some(false) => "through the page cache",
        None => "page cache or not: unknown",
    }
}

/// Warnings, worst first. A finding for several workloads is listed once, and stalls are omitted if
/// a verdict reports them.
pub(crate) fn doubts(run: &Run) -> Vec<Doubt<'_>> {
    let mut doubts: Vec<Doubt<'_>> = Vec::new();
    let stall = run.verdicts.iter().any(|verdict| verdict.kind == VerdictKind::Stall);
    // The verdict says it.
    let findings = run.warnings.iter().filter(|f| !(stall && f.kind == FindingKind::Stalled));
    for finding in findings {
        let workload = finding.workload.as_deref().map(|name| run.naming().workload(name, None));
        match doubts
            .iter_mut()
            .find(|d| d.finding.kind == finding.kind && d.finding.level == finding.level)
        {
            Some(doubt) => doubt.workloads.extend(workload),
            None => {
                let workloads = workload.into_iter().collect();
                doubts.push(Doubt { finding, workloads });
            }
        }
    }
    for doubt in &mut doubts {
        doubt.workloads = distinct(std::mem::take(&mut doubt.workloads));
    }
    doubts.sort_by_key(|d| std::cmp::Reverse(d.finding.level));
    doubts
}

/// One finding, and the workloads that it concerns, in words.
pub(crate) struct Doubt<'a> {
    pub(crate) finding: &'a Finding,
    pub(crate) workloads: Vec<String>,
}

impl Doubt<'_> {
    /// Its severity, for display.
    pub(crate) fn level(&self) -> &str {
        match &self.finding.level {
            Level::Warn => "warning",
            level => level.name(),
        }
    }

    /// The finding's text and its workloads.
    pub(crate) fn text(&self) -> String {
        let text = &self.finding.text;
        match self.workloads.as_slice() {
            [] => text.clone(),
            [one] if text.contains(one.as_str()) => text.clone(),
            [one] => format!("{one}: {text}"),
            [prefix, others @ ..] => {
                let count = others.len();
                let s = if count == 1 { "" } else { "s" };
                let prefix =
                    if text.contains(prefix.as_str()) { "" } else { &format!("{prefix}: ") };
                format!("{prefix}{text} (and in {count} more workload{s})")
            }
        }
    }
}

/// The command line in a form that can be typed again; `None` if unknown.
pub(crate) fn command(run: &Run) -> Option<String> {
    let words = run.plan.iter().flat_map(|plan| &plan.command);
    let words: Vec<_> = words.map(|word| emit::shell_word(word)).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// `3 EIO on read in rand-read-4KiB-q32, first at 4096, 8192`.
pub(crate) fn errors(errors: &IoErrors, naming: Naming) -> String {
    let IoErrors { op, kind, workload, count, first_offsets } = errors;
    let offsets: Vec<String> = first_offsets.iter().take(3).map(u64::to_string).collect();
    let place = if offsets.is_empty() {
        String::new()
    } else {
        format!(", first at byte {}", offsets.join(", "))
    };
    let key = MetricKey::parse(workload);
    let names_op =
        naming == Naming::Ours && key.direction().is_some_and(|names_op| names_op.name() == op);
    let suffix = if names_op { String::new() } else { format!(" on {op}") };
    let words = naming.workload(workload, None);
    let inside = if words.is_empty() { String::new() } else { format!(" in {words}") };
    format!("{count} {kind}{suffix}{inside}{place}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubts_and_errors_keep_the_names_of_jobs() {
        let mut run = Run::new("fio", Target::default());
        let finding = Finding::new(FindingKind::Punted, Level::Warn, "was punted");
        run.warnings = vec![Finding { workload: Some("my-read-job".into()), ..finding }];
        let errors = IoErrors::new("read", "EIO", "my-read-job", 1);
        let said = |run: &Run| [doubts(run)[0].text(), super::errors(&errors, run.naming())];
        let kept = ["my-read-job: was punted", "1 EIO on read in my-read-job"];
        assert_eq!(said(&run), kept);
        run.method = "quick".into();
        assert_eq!(said(&run)[0], "reads (my job): was punted");
    }
}

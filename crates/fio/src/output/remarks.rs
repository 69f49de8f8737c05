//! Remarks on fio's results, for stderr: figures that fio does not print, findings about the
//! numbers, and the files that stay.

use std::fmt::Write;

use record::{Finding, FindingKind, Histogram, IoErrors, Level};
use workload::units;

use super::latency::thin;
use super::shown;
use super::shown::{ReportedSide, Shown};
use crate::VerifyKind;
use crate::run::{JobRun, Ran, depth_is_fiction, mapped};

/// Direct transfers of at least this many bytes run faster from huge pages: at 1 MiB, the kernel
/// splits those from fio's buffers.
const LARGE_BLOCK: u64 = 256 << 10;

/// All remarks on the results of a plan.
pub fn remarks(ran: &Ran<'_>) -> String {
    let results = shown(ran);
    let mut text = String::new();
    for shown in &results {
        figures(&mut text, shown);
    }
    doubts(&mut text, ran, &results);
    text
}

/// Figures of a result that fio does not print.
fn figures(text: &mut String, shown: &Shown<'_>) {
    let job = shown.job;
    let depth: f64 = shown.runs.iter().map(|run| run.did.measurement.effective_depth).sum();
    let depth_max = u64::from(job.queue.depth) * shown.runs.len() as u64;
    let _ = writeln!(text, "\n{}: figures that fio does not print", emit::plain(&job.name));
    let _ =
        writeln!(text, "  effective depth: {depth:.1} in flight on average, {depth_max} requested");
    for side in shown.reported() {
        if let Some(time) = side.stats.split.as_ref().and_then(|split| split.whole.in_words()) {
            let _ = writeln!(text, "  {:<15}: {time}", side.name());
        }
        if job.reporting.gtod_reduce {
            text.push_str(&latency_line(&side, "service time", &side.stats.service));
        }
        if let Some(response) = &side.stats.response {
            let name = "response time, from when it was due:";
            text.push_str(&latency_line(&side, name, response));
        }
    }
}

fn latency_line(side: &ReportedSide<'_>, name: &str, histogram: &Histogram) -> String {
    let percentiles = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)]
        .map(|(name, share)| (name, histogram.percentile(share)));
    let points = percentiles.into_iter().chain([("max", histogram.max())]);
    let words =
        points.filter_map(|(name, ns)| Some(format!("{name} {}", units::latency(ns? as f64))));
    format!("  {:<15}: {name} {}\n", side.name(), words.collect::<Vec<_>>().join(", "))
}

/// Whether percentiles that are printed have too few samples beyond them.
fn has_thin_percentiles(shown: &Shown<'_>) -> bool {
    let reporting = &shown.job.reporting;
    let prints_percentiles = (reporting.clat_percentiles || reporting.lat_percentiles)
        && !reporting.gtod_reduce
        && !(reporting.disable_lat && reporting.disable_clat);
    prints_percentiles
        && shown
            .reported()
            .iter()
            .any(|side| thin(&side.stats.service, &reporting.percentiles).next().is_some())
}

/// Findings about the numbers, and the remaining files.
fn doubts(text: &mut String, ran: &Ran<'_>, results: &[Shown<'_>]) {
    let mut lines: Vec<String> = Vec::new();
    let mut add = |line: String| {
        if !lines.contains(&line) {
            lines.push(line);
        }
    };
    // Reported below in fio's terms.
    let has_fiction = results.iter().any(|shown| depth_is_fiction(shown.job));
    for finding in ran.stages.iter().flat_map(|stage| &stage.findings) {
        if !(has_fiction && finding.kind == FindingKind::DepthIsAFiction) {
            add(line_of(finding));
        }
    }
    for shown in results {
        notes(shown, ran.real).into_iter().for_each(&mut add);
    }
    failures(ran).for_each(|failure| add(format!("!! {failure}")));
    if !lines.is_empty() {
        text.push_str("\nAbout these numbers:\n");
        lines.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    }
    if !ran.left.is_empty() {
        text.push_str("\nFiles kept, as in fio (unlink=1 removes them):\n");
        for (path, bytes) in ran.left.iter().take(8) {
            let path = path.to_string_lossy();
            let _ = writeln!(text, "  {} ({})", emit::plain(&path), units::binary(*bytes));
        }
        if ran.left.len() > 8 {
            let _ = writeln!(text, "  and {} more", ran.left.len() - 8);
        }
    }
}

fn line_of(finding: &Finding) -> String {
    let sign = match finding.level {
        Level::Bad => "!!",
        Level::Warn => "! ",
        _ => "  ",
    };
    format!("{sign} {}", finding.text)
}

/// Remarks on one result, other than findings.
fn notes(shown: &Shown<'_>, real: bool) -> Vec<String> {
    let job = shown.job;
    let mut notes = Vec::new();
    if let Some(reason) = mapped(job).filter(|_| real) {
        notes.push(format!("   ioengine={} is {reason}", job.engine.name()));
    }
    // A virtual drive has no system calls that could block.
    if depth_is_fiction(job) && (real || !job.engine.asynchronous()) {
        let reason = match job.engine {
            crate::Engine::Libaio => "buffered libaio does the I/O in the call that submits it",
            _ => "this engine has one operation in flight",
        };
        notes.push(format!("!  iodepth={} is a fiction: {reason}", job.queue.depth));
    }
    if job.access.rw.reads() && job.access.rw.writes() {
        notes.push(
            "   reads and writes are a fixed mix: their rates are one measurement, not two".into(),
        );
    }
    if real && job.syncing.direct && job.access.blocks.each().iter().any(|b| b.max() >= LARGE_BLOCK)
    {
        notes.push(
            "   buffers are in huge pages: a large direct transfer has fewer segments than fio's"
                .into(),
        );
    }
    if has_thin_percentiles(shown) {
        notes.push("!  some percentiles have fewer than ten samples beyond them: ssdyno.thin in the JSON names them".into());
    }
    let sectors: u64 = shown.runs.iter().map(|r| r.did.measurement.verified_sectors).sum();
    if job.verifies() && sectors > 0 {
        notes.push(format!(
            "   verify: {} checked by {}",
            units::binary(sectors * 512),
            match job.verify.kind {
                VerifyKind::Pattern => "the pattern",
                _ => "ssdyno's own stamps (address, sequence, checksum)",
            }
        ));
    }
    if job.space.fill_device {
        notes.push(
            "   fill_device: part of a file system stays free; fio would fill all of it".into(),
        );
    }
    notes
}

/// The errors of all clones: operations that failed, and blocks that failed verification.
pub fn failures<'r>(ran: &'r Ran<'_>) -> impl Iterator<Item = String> + use<'r> {
    ran.jobs
        .iter()
        .flat_map(|run| run.did.measurement.errors.iter().map(move |error| failed(run, error)))
}

/// Errors of a kind, with the position of the first.
fn failed(run: &JobRun<'_>, error: &IoErrors) -> String {
    let (path, offset) = run.place(error.first_offsets.first().copied().unwrap_or(0));
    let (name, path) = (emit::plain(&run.job.name), emit::plain(&path));
    let (count, op, kind) = (error.count, &error.op, &error.kind);
    format!("{name}: {op}: {count} {kind}, the first at byte {offset} of {path}")
}

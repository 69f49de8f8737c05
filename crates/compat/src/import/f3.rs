//! f3write, f3read and f3probe. Their KB, MB and GB are powers of 1024.

use record::{
    Evidence, Finding, FindingKind, IoErrors, Level, MetricKey, Run, Statistic, TargetKind, Unit,
    Verdict, VerdictKind,
};

use super::found::{put, run};
use super::lines::{ImportError, Lines, after, number, time_ns};

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    let begins = ["F3 write ", "F3 read ", "F3 probe ", "Average writing speed:", "Data OK:"];
    let starts = ["Average reading speed:", "Good news: The device", "Bad news: The device"];
    let line = lines.peek().unwrap_or_default().trim_start();
    begins.iter().chain(&starts).any(|words| line.starts_with(words))
}

/// f3read's categories of lost data, and ssdyno's names for them.
const LOST: [(&str, &str); 3] =
    [("Corrupted:", "flipped"), ("Slightly changed:", "torn"), ("Overwritten:", "misplaced")];

/// Lines that end a result, unless a line that starts with the second words follows.
const LAST: [(&str, Option<&str>); 5] = [
    ("Average writing speed:", None),
    ("Average reading speed:", None),
    ("Probe time:", Some("Operation:")),
    ("Write:", Some("Reset:")),
    ("Reset:", None),
];

/// Lines without a value that is read, among those after the first value.
const OTHER: [&str; 7] = [
    "Module:",
    "I/O average speeds:",
    "Sequential write:",
    "Random write:",
    "Random read:",
    "Probe time:",
    "Operation:",
];

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let begin = lines.number();
    let title = lines.peek().unwrap_or_default().trim();
    let version = ["F3 write ", "F3 read ", "F3 probe "].iter().find_map(|w| title.strip_prefix(w));
    let mut run = run("f3", "f3", version.map(|v| v.trim().to_string()), begin);
    if version.is_some() {
        lines.next();
    }
    while let Some(line) = lines.peek().map(str::trim) {
        if line.starts_with("F3 ") || is_repeated(&run, line) {
            break;
        }
        let is_known = entry(&mut run, line).map_err(|why| lines.wrong_at(lines.number(), why))?;
        if !is_known && !run.metrics.is_empty() {
            break;
        }
        lines.next();
        let next_line = lines.peek().unwrap_or_default().trim_start();
        let is_last = LAST.iter().any(|(words, more)| {
            line.starts_with(words) && !more.is_some_and(|words| next_line.starts_with(words))
        });
        if is_last {
            break;
        }
    }
    if run.metrics.is_empty() {
        return Err(lines.wrong_at(begin, "the output of f3 ends before its results"));
    }
    judge(&mut run);
    Ok(vec![run])
}

/// Whether a line begins another result: f3read's first figure, for the second time.
fn is_repeated(run: &Run, line: &str) -> bool {
    line.starts_with("Data OK:") && run.metric("data-ok").is_some()
}

/// Lines in which f3 says that it did not read or write everything.
fn is_complaint(line: &str) -> bool {
    let words = ["NOT fully read", "Not all data was read", "I/O error", "Write failure"];
    let starts = ["WARNING: Not all", "Read error", "Write error", "Failure", "Can't "];
    words.iter().chain(&starts).any(|words| line.contains(words))
}

/// f3read's verdict: only what was read can be said to be intact.
fn judge(run: &mut Run) {
    let value = |name: &str| run.metric(name).and_then(|metric| metric.value);
    let Some(bytes_lost) = value("data-lost") else { return };
    let is_partial = run.warnings.iter().any(|w| w.kind == FindingKind::CheckLeftOut);
    let text = if bytes_lost > 0.0 {
        "content was lost"
    } else if value("data-ok").is_none_or(|bytes| bytes <= 0.0) {
        "nothing was read back"
    } else if is_partial {
        "some content was not read; what was read is intact"
    } else {
        "all content was read back"
    };
    verdict(run, text.to_string(), "bytes lost", bytes_lost);
}

/// Reads a line. Returns whether it can follow the first value of a result.
fn entry(run: &mut Run, line: &str) -> Result<bool, String> {
    if is_complaint(line) {
        let finding = Finding::new(FindingKind::CheckLeftOut, Level::Warn, format!("f3: {line}"));
        if !run.warnings.contains(&finding) {
            run.warnings.push(finding);
        }
    } else if let Some(rest) = line.strip_prefix("Average writing speed:") {
        put(run, "seq-write", Unit::BytesPerSecond, amount(rest, "/s").ok_or("no rate")?);
    } else if let Some(rest) = line.strip_prefix("Average reading speed:") {
        put(run, "seq-read", Unit::BytesPerSecond, amount(rest, "/s").ok_or("no rate")?);
    } else if let Some(rest) = line.strip_prefix("Data OK:") {
        put(run, "data-ok", Unit::Bytes, sectors(rest).ok_or("no number of sectors")? * 512.0);
    } else if let Some(rest) = line.strip_prefix("Data LOST:") {
        let bytes = sectors(rest).ok_or("no number of sectors")? * 512.0;
        put(run, "data-lost", Unit::Bytes, bytes);
    } else if let Some((kind, rest)) =
        LOST.iter().find_map(|(words, kind)| Some((kind, line.strip_prefix(words)?)))
    {
        let count = sectors(rest).ok_or("no number of sectors")? as u64;
        lost(run, kind, count);
    } else {
        return probe(run, line);
    }
    Ok(true)
}

fn lost(run: &mut Run, kind: &str, count: u64) {
    if count > 0 {
        run.errors.push(IoErrors::new("verify", kind, "f3read", count));
    }
}

fn verdict(run: &mut Run, text: String, name: &str, value: f64) {
    let evidence = [Evidence::new(name, value, Unit::Bytes)];
    run.verdicts.push(Verdict::new(VerdictKind::F3, text).with_evidence(evidence));
}

/// f3probe's verdict on a device, and its measurements. Returns the same as [`entry`].
fn probe(run: &mut Run, line: &str) -> Result<bool, String> {
    for (words, is_real) in [("Good news: The device `", true), ("Bad news: The device `", false)] {
        let Some(rest) = line.strip_prefix(words) else { continue };
        let (path, remark) = rest.split_once('\'').unwrap_or((rest, ""));
        run.target.kind = TargetKind::Device;
        run.target.path = Some(path.to_string());
        run.target.spec = path.to_string();
        let text = if is_real {
            "the device is genuine"
        } else if remark.contains("damaged") {
            "the device is damaged"
        } else {
            "the device is counterfeit"
        };
        run.verdicts.push(Verdict::new(VerdictKind::F3, text));
        return Ok(true);
    }
    for (words, name) in [
        ("*Usable* size:", "usable"),
        ("Announced size:", "announced"),
        ("Approximate cache size:", "cache"),
        ("Physical block size:", "physical-block"),
    ] {
        let Some(rest) = line.strip_prefix(words) else { continue };
        put(run, name, Unit::Bytes, size(rest).ok_or("no size")?);
        return Ok(true);
    }
    for (words, name) in [("Read:", "read"), ("Write:", "write"), ("Reset:", "reset")] {
        let Some(rest) = line.strip_prefix(words) else { continue };
        if let Some(mean) = after(rest, "=").and_then(time_ns) {
            let key = MetricKey::of_words(&[&"probe", &name]).with(Statistic::Mean);
            put(run, key, Unit::Nanoseconds, mean);
        }
        return Ok(true);
    }
    Ok(line.is_empty() || OTHER.iter().any(|words| line.starts_with(words)))
}

/// `30.07 MB/s`, `0.00 Byte`, `0.00 Bytes`.
fn amount(text: &str, suffix: &str) -> Option<f64> {
    let (value, unit) = number(text)?;
    let unit = unit.trim_start().split([' ', '(']).next()?.strip_suffix(suffix)?;
    let unit = unit.trim_end_matches('s');
    let power = ["Byte", "KB", "MB", "GB", "TB", "PB"].iter().position(|u| *u == unit)?;
    Some(value * 1024f64.powi(power as i32))
}

/// `53.00 MB (108544 sectors)`.
fn sectors(text: &str) -> Option<f64> {
    let (count, rest) = number(after(text, "(")?)?;
    rest.trim_start().starts_with("sector").then_some(count)
}

/// `14.91 GB (31264768 blocks)`, `16.00 GB (2^34 Bytes)`: in bytes, exact if the block size is
/// known, otherwise as printed.
fn size(text: &str) -> Option<f64> {
    let printed = amount(text, "");
    let inside = after(text, "(").unwrap_or_default();
    if let Some((power, _)) = inside.strip_prefix("2^").and_then(number) {
        return (power < 63.0).then(|| libm::exp2(power)).or(printed);
    }
    let blocks = number(inside).filter(|(_, unit)| unit.trim_start().starts_with("block"));
    blocks.and_then(|(count, _)| exact(count, printed?)).or(printed)
}

/// The size of a number of blocks. The block size, a power of 2, is printed after the sizes, but
/// follows from the printed size: its two decimals are precise to 0.5%.
fn exact(count: f64, printed: f64) -> Option<f64> {
    let bytes = count * libm::exp2(libm::log2(printed / count).round());
    ((bytes / printed - 1.0).abs() < 0.01).then_some(bytes)
}

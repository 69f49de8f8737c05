//! f3write, f3read and f3probe. Their KB, MB and GB are powers of 1024.

use record::{
    Evidence, IoErrors, MetricKey, Run, Statistic, TargetKind, Unit, Verdict, VerdictKind,
};

use super::found::{put, run};
use super::lines::{ImportError, Lines, after, number};

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    let begins = ["F3 write ", "F3 read ", "F3 probe ", "Average writing speed:", "Data OK:"];
    let more = ["Average reading speed:", "Good news: The device", "Bad news: The device"];
    let line = lines.peek().unwrap_or_default().trim_start();
    begins.iter().chain(&more).any(|words| line.starts_with(words))
}

/// f3read's categories of lost data, and ssdyno's names for them.
const LOST: [(&str, &str); 3] =
    [("Corrupted:", "flipped"), ("Slightly changed:", "torn"), ("Overwritten:", "misplaced")];

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let begin = lines.number();
    let first = lines.peek().unwrap_or_default().trim();
    let version = ["F3 write ", "F3 read ", "F3 probe "].iter().find_map(|w| first.strip_prefix(w));
    let mut run = run("f3", "f3", version.map(|v| v.trim().to_string()), begin);
    if version.is_some() {
        lines.next();
    }
    while let Some(line) = lines.peek().map(str::trim) {
        if line.starts_with("F3 ") {
            break;
        }
        lines.next();
        entry(&mut run, line).map_err(|why| lines.wrong(why))?;
        let last = ["Average writing speed:", "Average reading speed:", "Write:", "Reset:"];
        if last.iter().any(|words| line.starts_with(words)) {
            break;
        }
    }
    match run.metrics.is_empty() && run.verdicts.is_empty() {
        true => Err(lines.wrong_at(begin, "the output of f3 ends before its results")),
        false => Ok(vec![run]),
    }
}

fn entry(run: &mut Run, line: &str) -> Result<(), String> {
    let rate = |rest: &str| amount(rest, "/s").ok_or("no rate");
    if let Some(rest) = line.strip_prefix("Average writing speed:") {
        put(run, "seq-write", Unit::BytesPerSecond, rate(rest)?);
    } else if let Some(rest) = line.strip_prefix("Average reading speed:") {
        put(run, "seq-read", Unit::BytesPerSecond, rate(rest)?);
    } else if let Some(rest) = line.strip_prefix("Data OK:") {
        put(run, "data-ok", Unit::Bytes, sectors(rest).ok_or("no number of sectors")? * 512.0);
    } else if let Some(rest) = line.strip_prefix("Data LOST:") {
        let bytes = sectors(rest).ok_or("no number of sectors")? * 512.0;
        put(run, "data-lost", Unit::Bytes, bytes);
        let text = if bytes > 0.0 { "content was lost" } else { "all content was read back" };
        verdict(run, text.to_string(), "bytes lost", bytes);
    } else if let Some((kind, rest)) =
        LOST.iter().find_map(|(words, kind)| Some((kind, line.strip_prefix(words)?)))
    {
        let count = sectors(rest).ok_or("no number of sectors")? as u64;
        lost(run, kind, count);
    } else {
        probe(run, line)?;
    }
    Ok(())
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

/// f3probe's verdict on a device.
fn probe(run: &mut Run, line: &str) -> Result<(), String> {
    for (words, real) in [("Good news: The device `", true), ("Bad news: The device `", false)] {
        let Some(rest) = line.strip_prefix(words) else { continue };
        let path = rest.split('\'').next().unwrap_or_default().to_string();
        run.target.kind = TargetKind::Device;
        run.target.path = Some(path.clone());
        run.target.spec = path;
        let text = if real { "the device is genuine" } else { "the device is counterfeit" };
        run.verdicts.push(Verdict::new(VerdictKind::F3, text));
    }
    for (words, name) in [
        ("*Usable* size:", "usable"),
        ("Announced size:", "announced"),
        ("Approximate cache size:", "cache"),
        ("Physical block size:", "physical-block"),
    ] {
        let Some(rest) = line.strip_prefix(words) else { continue };
        let bytes = blocks(rest).or_else(|| amount(rest, "")).ok_or("no size")?;
        put(run, name, Unit::Bytes, bytes);
    }
    for (words, name) in [("Read:", "read"), ("Write:", "write"), ("Reset:", "reset")] {
        let Some(rest) = line.strip_prefix(words) else { continue };
        let Some(mean) = after(rest, "=").and_then(time_ns) else { continue };
        let key = MetricKey::of_words(&[&"probe", &name]).with(Statistic::Mean);
        put(run, key, Unit::Nanoseconds, mean);
    }
    Ok(())
}

/// `30.07 MB/s`, `0.00 Byte`.
fn amount(text: &str, suffix: &str) -> Option<f64> {
    let (value, unit) = number(text)?;
    let unit = unit.trim_start().split([' ', '(']).next()?.strip_suffix(suffix)?;
    let power = ["Byte", "KB", "MB", "GB", "TB", "PB"].iter().position(|u| *u == unit)?;
    Some(value * 1024f64.powi(power as i32))
}

/// `53.00 MB (108544 sectors)`.
fn sectors(text: &str) -> Option<f64> {
    let (count, rest) = number(after(text, "(")?)?;
    rest.trim_start().starts_with("sector").then_some(count)
}

/// `14.91 GB (31264768 blocks)`: blocks of 512 bytes, and `(2^34 Bytes)`.
fn blocks(text: &str) -> Option<f64> {
    let inside = after(text, "(")?;
    if let Some(power) = inside.strip_prefix("2^").and_then(number) {
        return (power.0 < 63.0).then(|| 2f64.powf(power.0));
    }
    let (count, rest) = number(inside)?;
    rest.trim_start().starts_with("block").then_some(count * 512.0)
}

/// `112us`, `1.5ms`, `2.1s`.
fn time_ns(text: &str) -> Option<f64> {
    let (value, unit) = number(text)?;
    let scale = match unit.trim() {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(value * scale)
}

//! hdparm -t and -T. MB are 2^20 bytes, in whole numbers; the printed rate is more precise than
//! bytes and seconds. Rates below 1 MB/sec are printed in kB of 1024 bytes.

use record::{Run, TargetKind, Unit};

use super::found::{put, run};
use super::lines::{ImportError, Lines, after, number};

/// Whether a line is about a drive: `/dev/sda:`.
fn device(line: &str) -> Option<&str> {
    line.trim().strip_suffix(':').filter(|path| path.starts_with("/dev/"))
}

/// What a line measured.
struct HdparmTiming<'a> {
    name: String,
    /// Whether the page cache was bypassed; unknown for reads from a cache.
    direct: Option<bool>,
    rest: &'a str,
}

/// `Timing O_DIRECT disk reads (offset 4 GB): 300 MB in  3.00 seconds = 100.00 MB/sec`.
fn timing(line: &str) -> Option<HdparmTiming<'_>> {
    let (label, rest) = line.trim().strip_prefix("Timing ")?.split_once(':')?;
    let (words, offset) = label.split_once(" (offset ").unwrap_or((label, ""));
    let (words, is_direct) =
        words.strip_prefix("O_DIRECT ").map_or((words, false), |words| (words, true));
    let (name, direct) = match words {
        "cached reads" | "buffer-cache reads" => ("cache-read", None),
        "buffered disk reads" | "disk reads" => ("seq-read", Some(is_direct)),
        _ => return None,
    };
    let name = match offset.strip_suffix(" GB)") {
        // Its GB are 10^9 bytes; the name has the number only.
        Some(offset) => format!("{name}-offset-{}GB", offset.trim()),
        None if offset.is_empty() => name.to_string(),
        None => return None,
    };
    Some(HdparmTiming { name, direct, rest })
}

/// Bytes per second after the `=` of a line.
fn rate(rest: &str) -> Option<f64> {
    let (value, unit) = number(after(rest, "=")?)?;
    let scale = match unit.split_whitespace().next()? {
        "GB/sec" => 1_073_741_824.0,
        "MB/sec" => 1_048_576.0,
        "kB/sec" => 1024.0,
        _ => return None,
    };
    Some(value * scale)
}

/// The position of the first timing of a result, and its drive: hdparm prints errors of other
/// commands between them.
fn first<'a>(lines: &Lines<'a>) -> Option<(Option<&'a str>, Lines<'a>)> {
    let mut ahead = lines.clone();
    let path = ahead.peek().and_then(device);
    if path.is_some() {
        ahead.next();
    }
    while path.is_some() && ahead.peek().is_some_and(is_error) {
        ahead.next();
    }
    ahead.peek().and_then(timing).map(|_| (path, ahead))
}

/// `HDIO_DRIVE_CMD(identify) failed: Invalid argument`.
fn is_error(line: &str) -> bool {
    line.contains(" failed: ")
}

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    first(lines).is_some()
}

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let mut run = run("hdparm", "hdparm", None, lines.number());
    let Some((path, start)) = first(lines) else { return Err(lines.wrong("not a timing")) };
    *lines = start;
    if let Some(path) = path {
        run.target.spec = path.to_string();
        run.target.path = Some(path.to_string());
        run.target.kind = TargetKind::Device;
    }
    while let Some(line) = lines.peek() {
        let Some(HdparmTiming { name, direct, rest }) = timing(line) else {
            if !is_error(line) {
                break;
            }
            lines.next();
            continue;
        };
        // The same test again is another result.
        if run.metric(&name).is_some() {
            break;
        }
        lines.next();
        let rate = rate(rest).ok_or_else(|| lines.wrong("no rate in MB/sec or kB/sec"))?;
        put(&mut run, name, Unit::BytesPerSecond, rate);
        run.target.direct = direct.or(run.target.direct);
    }
    Ok(vec![run])
}

//! hdparm -t and -T. MB are 2^20 bytes, in whole numbers; the printed rate is more precise than
//! bytes and seconds. Rates below 1 MB/sec are printed in kB of 1024 bytes.

use record::{Run, TargetKind, Unit};

use super::found::{put, run};
use super::lines::{ImportError, Lines, after, number};

/// Label, metric name, and whether the page cache is bypassed.
const TIMINGS: [(&str, &str, Option<bool>); 5] = [
    ("Timing O_DIRECT cached reads:", "cache-read", None),
    ("Timing cached reads:", "cache-read", None),
    ("Timing buffer-cache reads:", "cache-read", None),
    ("Timing buffered disk reads:", "seq-read", Some(false)),
    ("Timing O_DIRECT disk reads:", "seq-read", Some(true)),
];

fn timing(line: &str) -> Option<(&'static str, Option<bool>, &str)> {
    TIMINGS.iter().find_map(|(words, name, direct)| {
        line.trim().strip_prefix(words).map(|rest| (*name, *direct, rest))
    })
}

fn device(line: &str) -> Option<&str> {
    line.trim().strip_suffix(':').filter(|path| path.starts_with("/dev/"))
}

/// Bytes per second after the `=` of a line.
fn rate(rest: &str) -> Option<f64> {
    let (value, unit) = number(after(rest, "=")?)?;
    let scale = match unit.split_whitespace().next()? {
        "MB/sec" => 1_048_576.0,
        "kB/sec" => 1024.0,
        _ => return None,
    };
    Some(value * scale)
}

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    let timed = |lines: &Lines<'_>| lines.peek().and_then(timing).is_some();
    let mut ahead = lines.clone();
    timed(lines) || ahead.next().and_then(device).is_some() && timed(&ahead)
}

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let mut run = run("hdparm", "hdparm", None, lines.number());
    if let Some(path) = lines.peek().and_then(device) {
        run.target.spec = path.to_string();
        run.target.path = Some(path.to_string());
        run.target.kind = TargetKind::Device;
        lines.next();
    }
    while let Some((name, direct, rest)) = lines.peek().and_then(timing) {
        lines.next();
        let rate = rate(rest).ok_or_else(|| lines.wrong("no rate in MB/sec or kB/sec"))?;
        put(&mut run, name, Unit::BytesPerSecond, rate);
        run.target.direct = direct.or(run.target.direct);
    }
    Ok(vec![run])
}

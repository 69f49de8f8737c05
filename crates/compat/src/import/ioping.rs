//! ioping's statistics. Its rates count only the time of the requests, which are made one at a time.
//! The order of the blocks is not printed, so the names have no shape.

use record::{MetricKey, Run, Statistic, Unit};

use super::found::{SideFigures, WorkloadShape, put, put_side, run};
use super::lines::{ImportError, Lines, number, unit_scale};

/// The target on the heading: `--- . (ext4 /dev/vda 252.0 GiB) ioping statistics ---`.
fn target(line: &str) -> Option<&str> {
    let inside = line.trim().strip_prefix("--- ")?.strip_suffix(" ioping statistics ---")?;
    Some(inside.rsplit_once(" (").map_or(inside, |(target, _)| target))
}

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    lines.peek().is_some_and(|line| target(line).is_some())
}

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let begin = lines.number();
    let mut run = run("ioping", "ioping", None, begin);
    run.target.spec = lines.next().and_then(target).unwrap_or_default().to_string();
    let Some((direction, mut side)) = lines.next().and_then(completed) else {
        return Err(lines.wrong("not the requests of ioping"));
    };
    if lines.peek().is_some_and(|line| line.trim_start().starts_with("generated ")) {
        lines.next();
    }
    let times = lines.next().and_then(times).ok_or_else(|| lines.wrong("no times of ioping"))?;
    (side.min_ns, side.max_ns) = (Some(times[0]), Some(times[2]));
    let name = put_side(&mut run, &WorkloadShape::default(), direction, &side);
    let key = MetricKey::parse(&name).with(Statistic::Mean);
    put(&mut run, key, Unit::Nanoseconds, times[1]);
    Ok(vec![run])
}

/// `2 requests completed in 534.9 us, 8 KiB read, 3.74 k iops, 14.6 MiB/s`.
fn completed(line: &str) -> Option<(&'static str, SideFigures)> {
    let (_, rest) = line.split_once(" requests completed in ")?;
    let parts: Vec<&str> = rest.split(", ").collect();
    // Versions before 0.9 print no amount, and so no direction.
    let (direction, iops, rate) = match parts.as_slice() {
        [_, iops, rate] => ("request", iops, rate),
        [_, amount, iops, rate] => match amount.split_whitespace().nth(2) {
            Some("read") => ("read", iops, rate),
            Some("written") => ("write", iops, rate),
            _ => ("both", iops, rate),
        },
        _ => return None,
    };
    let (iops, unit) = number(iops)?;
    let scale = match unit.trim().strip_suffix("iops")?.trim() {
        "" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return None,
    };
    let (rate, unit) = number(rate)?;
    let rate = rate * unit_scale(unit)?;
    let side =
        SideFigures { iops: Some(iops * scale), bytes_per_s: Some(rate), ..SideFigures::default() };
    Some((direction, side))
}

/// Shortest, mean and longest time in nanoseconds: `min/avg/max/mdev = 260.2 us / 267.4 us / 274.6 us / ..`.
fn times(line: &str) -> Option<[f64; 3]> {
    let rest = line.trim().strip_prefix("min/avg/max/mdev = ")?;
    let times: Option<Vec<f64>> = rest.split(" / ").map(time).collect();
    let times = times?;
    Some([*times.first()?, *times.get(1)?, *times.get(2)?])
}

fn time(text: &str) -> Option<f64> {
    let (value, unit) = number(text)?;
    let scale = match unit.trim() {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        _ => return None,
    };
    Some(value * scale)
}

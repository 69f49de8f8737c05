//! fio's terse output: one line per job, its fields separated by semicolons. Versions 2 to 5 differ
//! in a header (2 has no version of fio), in a third direction (trims, in 2 and 4 of later fio, and
//! in 5), and in the fields per direction (6 more in version 5).
//!
//! Latencies are in whole microseconds, rates in KiB/s. Options are not printed, so the figures have
//! no block size and no depth in their names. A job printed for a second time is another run.

use record::{IoErrors, Run};

use super::fio_json;
use super::fio_names::{DIRECTIONS, MIXED, notes};
use super::found::{self, SideFigures, WorkloadShape, put_side, run};
use super::lines::{ImportError, Lines};

/// Fields of a direction: amount, rate, IOPS and time, submission, completion, percentiles, total,
/// bandwidth.
const FIELDS: usize = 4 + 4 + 4 + PERCENTILES + 4 + 5;

/// Fields that version 5 adds: the number of samples, and the spread of IOPS.
const MORE_FIELDS: usize = 6;

const PERCENTILES: usize = 20;

/// Fields after the directions, at least: processor, depths, and the times of latencies.
const LAST_FIELDS: usize = 5 + 7 + 10 + 12;

/// A line of terse output.
struct TerseJob<'a> {
    version: Option<&'a str>,
    name: &'a str,
    group: &'a str,
    error: u64,
    sides: Vec<(usize, SideFigures, f64)>,
}

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    lines.peek().is_some_and(|line| header(line).is_some())
}

/// The version of the format and its fields, from the version of fio or the job's name on.
fn header(line: &str) -> Option<(u8, Vec<&str>)> {
    let (format, rest) = line.trim_start().split_once(';')?;
    let format: u8 = format.parse().ok().filter(|format| (2..=5).contains(format))?;
    let is_fio = format == 2 || rest.starts_with("fio-");
    let fields: Vec<&str> = rest.split(';').collect();
    (is_fio && fields.len() > FIELDS + LAST_FIELDS).then_some((format, fields))
}

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let mut run = run("fio", "fio", None, lines.number());
    let mut jobs: Vec<(String, String)> = Vec::new();
    while let Some((format, fields)) = lines.peek().and_then(header) {
        let job = job(format, &fields);
        let names = job.as_ref().map(|job| (job.name.to_string(), job.group.to_string()));
        if names.as_ref().is_some_and(|names| jobs.contains(names)) {
            break;
        }
        lines.next();
        let job = job.ok_or_else(|| lines.wrong("not a line of fio's terse output"))?;
        if let Some(origin) = &mut run.origin {
            origin.version = job.version.map(String::from).or(origin.version.take());
        }
        enter(&mut run, &job);
        jobs.extend(names);
    }
    // Version 3 prints no trims; the text that may follow does.
    if run.metrics.is_empty() && is_repeated(lines) {
        return Ok(Vec::new());
    }
    notes(&mut run, jobs.len());
    Ok(vec![run])
}

/// Whether the same results follow as JSON or as text, after blank lines.
fn is_repeated(lines: &Lines<'_>) -> bool {
    let mut ahead = lines.clone();
    while ahead.peek().is_some_and(|line| line.trim().is_empty()) {
        ahead.next();
    }
    fio_json::begins(&ahead) || ahead.peek().is_some_and(|line| line.contains(": (groupid="))
}

fn enter(run: &mut Run, job: &TerseJob<'_>) {
    found::title(run, job.name);
    for (direction, side, seconds) in &job.sides {
        let word = if *direction == MIXED { "both" } else { DIRECTIONS[*direction] };
        put_side(run, &WorkloadShape::default(), word, side);
        run.seconds = Some(run.seconds.unwrap_or(0.0).max(*seconds));
    }
    if job.error > 0 {
        run.errors.push(IoErrors::new("unknown", format!("errno {}", job.error), job.name, 1));
    }
}

fn job<'a>(format: u8, fields: &[&'a str]) -> Option<TerseJob<'a>> {
    let (version, fields) = match fields {
        [version, fields @ ..] if format > 2 => (version.strip_prefix("fio-"), fields),
        fields => (None, fields),
    };
    let [name, group, error, sides @ ..] = fields else { return None };
    let mut sides = sides;
    let width = if format == 5 { FIELDS + MORE_FIELDS } else { FIELDS };
    let mut job = TerseJob { version, name, group, error: error.parse().ok()?, sides: Vec::new() };
    let mut blocks = Vec::new();
    // The field after the directions is the share of the processor's time in user mode.
    while sides.first().is_some_and(|field| !field.ends_with('%')) {
        let (fields, rest) = sides.split_at_checked(width)?;
        blocks.push(side(fields)?);
        sides = rest;
    }
    // One block is the sum of all directions (`--unified_rw_reporting`); a fourth is that sum after
    // its parts.
    let start = if blocks.len() == 1 { MIXED } else { 0 };
    let parts = blocks.into_iter().take(MIXED).enumerate();
    job.sides = parts.filter_map(|(i, side)| side.map(|(s, sec)| (start + i, s, sec))).collect();
    (sides.len() >= LAST_FIELDS).then_some(job)
}

/// The results of a direction and its seconds; `Some(None)` if it did no I/O.
fn side(fields: &[&str]) -> Option<Option<(SideFigures, f64)>> {
    let value = |i: usize| fields.get(i)?.parse::<f64>().ok().filter(|n| *n >= 0.0);
    let (kib, rate_kib, iops, ms) = (value(0)?, value(1)?, value(2)?, value(3)?);
    let min_us = value(8)?;
    let (max_us, total_max_us) = (value(9)?, value(12 + PERCENTILES + 1)?);
    let mut percentiles = Vec::new();
    for field in fields.get(12..12 + PERCENTILES)? {
        let (percent, us) = field.split_once("%=")?;
        let (percent, us): (f64, f64) = (percent.parse().ok()?, us.parse().ok()?);
        if percent > 0.0 {
            percentiles.push((percent / 100.0, us * 1e3));
        }
    }
    if kib <= 0.0 && iops <= 0.0 {
        return Some(None);
    }
    // With --lat_percentiles, fio prints those of the total in the same fields. The last is near the
    // longest time of what it belongs to.
    let last_us = percentiles.last().map_or(max_us, |(_, ns)| ns / 1e3);
    if (last_us - total_max_us).abs() < (last_us - max_us).abs() {
        percentiles.clear();
    }
    let seconds = ms / 1e3;
    let per_s = (ms > 0.0).then(|| kib * 1024.0 / seconds);
    let is_timed = max_us > 0.0;
    let side = SideFigures {
        bytes_per_s: per_s.or(Some(rate_kib * 1024.0)),
        iops: Some(iops),
        min_ns: is_timed.then_some(min_us * 1e3),
        max_ns: is_timed.then_some(max_us * 1e3),
        percentiles: if is_timed { percentiles } else { Vec::new() },
        ..SideFigures::default()
    };
    Some(Some((side, seconds)))
}

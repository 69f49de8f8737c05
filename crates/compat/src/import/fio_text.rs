//! fio's normal output: `read: IOPS=6987, BW=27.3MiB/s (..)` of fio 3, and
//! `read : io=.., bw=.., iops=.., runt=..msec` of fio 2 (where a KB is 1024 bytes).
//!
//! One record per run of fio, from the lines that define its jobs to the disk statistics. If the
//! operation counts are printed, IOPS are computed from counts and runtime, because the printed
//! rates are rounded (`13.3k`).

use std::collections::BTreeMap;

use record::{DriveIdentity, FindingKind, IoErrors, OWN_FIO, Run};
use serde::de::IgnoredAny;

use super::found::{self, Shape, Side, ctime, moment, note, put_side, run};
use super::lines::{ImportError, Lines, after, number, number_after, size, unit_scale};

/// Announcement of a job: `mix: (g=0): rw=randrw, bs=(R) 4096B-4096B, .., iodepth=16`.
struct Defined {
    name: String,
    shape: Shape,
    /// Block sizes of reads and writes, if constant, bytes.
    blocks: [Option<u64>; 2],
}

fn defined(line: &str) -> Option<Defined> {
    let (name, rest) = line.split_once(": (g=")?;
    let word = |key: &str| after(rest, key).and_then(|v| v.split([',', ' ']).next());
    let rw = word("rw=")?;
    let sizes = rest.split_once("bs=").map_or("", |(_, rest)| rest);
    let blocks = blocks(sizes);
    let mixed = rw.ends_with("rw") || rw == "readwrite";
    let shape = Shape {
        random: rw.starts_with("rand"),
        mixed,
        block_bytes: blocks[usize::from(rw.ends_with("write"))],
        depth: word("iodepth=").and_then(|d| d.parse().ok()),
        jobs: 1,
        extra: None,
    };
    Some(Defined { name: name.trim().to_string(), shape, blocks })
}

/// `(R) 4096B-4096B, (W) 64.0KiB-64.0KiB, ..` or `4K-4K/4K-4K/4K-4K`.
fn blocks(text: &str) -> [Option<u64>; 2] {
    let range = |text: &str| {
        let (low, high) = text.split_once('-')?;
        let low = size(low)?;
        (Some(low) == size(high.split([',', '/', ' ']).next()?)).then_some(low)
    };
    if text.starts_with("(R) ") {
        let of = |word: &str| after(text, word).and_then(range);
        return [of("(R) "), of("(W) ")];
    }
    let mut parts = text.split([',', ' ']).next().unwrap_or("").split('/');
    [parts.next().and_then(range), parts.next().and_then(range)]
}

/// First line of a result: `mix: (groupid=0, jobs=1): err= 0: pid=3879: Tue Oct  3 18:09:33 2023`.
fn result(line: &str) -> Option<(&str, u64, u64, Option<&str>)> {
    let (name, rest) = line.split_once(": (groupid=")?;
    let jobs = number_after(rest, "jobs=")? as u64;
    let errors = number_after(rest, "err=").unwrap_or(0.0) as u64;
    let time = after(rest, "pid=").and_then(|rest| after(rest, ": "));
    (!name.starts_with(' ')).then_some((name.trim(), jobs, errors, time))
}

/// The version of `ssdyno fio`, on the line before `Starting 1 thread`.
fn our_version(line: &str) -> Option<&str> {
    line.strip_prefix("ssdyno-").filter(|v| v.starts_with(|c: char| c.is_ascii_digit()))
}

fn version(line: &str) -> Option<&str> {
    let version = line.trim().strip_prefix("fio-").or(line.trim().strip_prefix("fio "))?;
    (version.starts_with(|c: char| c.is_ascii_digit()) && !version.contains(' ')).then_some(version)
}

/// Whether fio's JSON starts at the current line; it may follow text.
pub(crate) fn json_begins(lines: &Lines<'_>) -> bool {
    let Some(object) = lines.peek().filter(|l| l.starts_with('{')).map(|_| lines.rest()) else {
        return false;
    };
    // fio writes its version first; if the keys were sorted, it can be anywhere.
    object[1..].trim_start().starts_with(VERSION) || has_version(object)
}

/// The key of fio's version.
const VERSION: &str = "\"fio version\"";

/// Whether the first object of a text has fio's version among its own keys.
fn has_version(text: &str) -> bool {
    type Keys = BTreeMap<String, IgnoredAny>;
    let keys = serde_json::Deserializer::from_str(text).into_iter::<Keys>().next();
    matches!(keys, Some(Ok(keys)) if keys.contains_key(VERSION.trim_matches('"')))
}

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    lines.peek().is_some_and(|line| defined(line).is_some() || result(line).is_some())
}

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let begin = lines.number();
    let mut run = run("fio", "fio", None, begin);
    let jobs = announced(lines, &mut run)
        .map_err(|()| lines.wrong_at(begin, "the output of fio ends before its results"))?;
    let mut results = 0;
    if json_begins(lines) {
        return Ok(Vec::new());
    }
    while let Some((name, count, errors, time)) = lines.peek().and_then(result) {
        lines.next();
        let job = jobs.iter().find(|job| job.name == name);
        found::title(&mut run, name);
        one(lines, &mut run, job, (name, count, errors), time)?;
        results += 1;
    }
    statistics(lines, &mut run);
    notes(&mut run, results);
    Ok(vec![run])
}

/// Skips text results that repeat preceding JSON.
pub(crate) fn pass_over(lines: &mut Lines<'_>) -> Result<(), ImportError> {
    let mut ahead = lines.clone();
    while ahead.peek().is_some_and(|line| line.trim().is_empty()) {
        ahead.next();
    }
    if ahead.peek().and_then(result).is_some() {
        read(&mut ahead)?;
        *lines = ahead;
    }
    Ok(())
}

/// Text before the first result.
fn announced(lines: &mut Lines<'_>, run: &mut Run) -> Result<Vec<Defined>, ()> {
    let mut jobs: Vec<Defined> = Vec::new();
    while let Some(line) = lines.peek() {
        // If JSON is requested late on the command line, the jobs are announced before it.
        if result(line).is_some() || json_begins(lines) {
            return Ok(jobs);
        }
        lines.next();
        if let (Some(version), Some(origin)) = (version(line), &mut run.origin) {
            origin.version = Some(version.to_string());
        }
        if let (Some(version), Some(origin)) = (our_version(line), &mut run.origin) {
            origin.tool = Some(OWN_FIO.to_string());
            origin.version = Some(version.to_string());
        }
        if line.contains(": Laying out IO file") {
            note(
                run,
                FindingKind::LaidOut,
                "this run laid out its file first; other runs may find an existing file",
            );
        }
        jobs.extend(defined(line));
    }
    Err(())
}

/// The lines of one result, which are indented.
fn one(
    lines: &mut Lines<'_>,
    run: &mut Run,
    job: Option<&Defined>,
    (name, count, errors): (&str, u64, u64),
    time: Option<&str>,
) -> Result<(), ImportError> {
    let mut body = Body::default();
    while let Some(line) = lines.peek().filter(|line| line.starts_with([' ', '\t'])) {
        lines.next();
        body.line(line).map_err(|why| lines.wrong(why))?;
    }
    let mut shape = job.map_or_else(Shape::default, |job| job.shape.clone());
    shape.jobs = count.max(1);
    for (i, direction) in ["read", "write"].into_iter().enumerate() {
        let Some((side, runtime)) = body.side(i) else { continue };
        if shape.mixed
            && let Some(job) = job
        {
            shape.block_bytes = job.blocks[i];
        }
        put_side(run, &shape, direction, &side);
        run.seconds = Some(run.seconds.unwrap_or(0.0).max(runtime));
    }
    if errors > 0 {
        run.errors.push(IoErrors::new("unknown", format!("errno {errors}"), name, 1));
    }
    began(run, time);
    Ok(())
}

/// Sets the start of the run; the time on a result is its end.
fn began(run: &mut Run, time: Option<&str>) {
    let known = run.origin.as_ref().is_some_and(|o| o.start_known);
    let Some(end) = time.and_then(ctime).filter(|_| !known) else { return };
    let seconds = jiff::SignedDuration::try_from_secs_f64(run.seconds.unwrap_or(0.0));
    let begin = seconds.ok().and_then(|seconds| end.checked_sub(seconds).ok());
    found::start(run, begin.map(moment));
}

/// Values from the lines of a result, reads first.
#[derive(Default)]
struct Body {
    /// Rate in bytes and operations per second, and the time in milliseconds.
    rates: [Option<(f64, Option<f64>, f64)>; 2],
    sides: [Side; 2],
    /// Direction of the following latencies.
    at: usize,
    /// Nanoseconds per unit of the percentile table.
    scale: f64,
    issued: Option<[u64; 2]>,
}

impl Body {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let line = line.trim();
        for (i, word) in ["read", "write"].into_iter().enumerate() {
            let rest = line.strip_prefix(word).map(|rest| rest.trim_start());
            if let Some(rest) = rest.and_then(|rest| rest.strip_prefix(':')) {
                self.at = i;
                self.rates[i] = Some(rate(rest.trim()).ok_or("not a line of rates")?);
            }
        }
        if let Some(rest) = line.strip_prefix("clat (") {
            let max = scaled(rest).zip(number_after(rest, "max="));
            let suffix = after(rest, "max=").and_then(number).map_or("", |(_, rest)| rest);
            let thousands = if suffix.starts_with('k') { 1e3 } else { 1.0 };
            self.sides[self.at].max_ns = max.map(|(scale, max)| scale * max * thousands);
        } else if let Some(rest) = line.strip_prefix("clat percentiles (") {
            self.scale = scaled(rest).ok_or("an unknown unit of time")?;
        } else if let Some(rest) = line.strip_prefix('|').filter(|_| self.scale > 0.0) {
            self.percentiles(rest)?;
        } else if line.starts_with("issued") {
            self.issued = issued(line);
        }
        Ok(())
    }

    /// `99.00th=[ 2540], 99.50th=[ 3982]`.
    fn percentiles(&mut self, rest: &str) -> Result<(), String> {
        for part in rest.split("],").filter(|part| part.contains("th=[")) {
            let (percent, value) = part.split_once("th=[").unwrap_or((part, ""));
            let value = value.trim().trim_start_matches('>').trim_start_matches('=');
            let both = number(percent).zip(number(value));
            let ((percent, _), (value, _)) = both.ok_or("not a row of percentiles")?;
            self.sides[self.at].percentiles.push((percent / 100.0, value * self.scale));
        }
        Ok(())
    }

    /// The results of a direction and its runtime in seconds, if it did any I/O.
    fn side(&self, i: usize) -> Option<(Side, f64)> {
        let (bytes_per_s, iops, ms) = self.rates[i]?;
        let seconds = ms / 1e3;
        let operations = self.issued.map(|n| n[i]).filter(|n| *n > 0);
        let counted = operations.filter(|_| ms > 0.0).map(|n| n as f64 / seconds);
        let side = Side {
            bytes_per_s: Some(bytes_per_s),
            iops: counted.or(iops),
            operations,
            ..self.sides[i].clone()
        };
        Some((side, seconds))
    }
}

/// Nanoseconds per unit, from text that begins with the unit: `usec): min=..`.
fn scaled(text: &str) -> Option<f64> {
    let units = [("nsec", 1.0), ("usec", 1e3), ("msec", 1e6), ("sec", 1e9)];
    units.into_iter().find(|(unit, _)| text.starts_with(unit)).map(|(_, scale)| scale)
}

/// Bytes per second, operations per second, milliseconds.
fn rate(text: &str) -> Option<(f64, Option<f64>, f64)> {
    if let Some(rest) = after(text, "BW=") {
        let (value, unit) = number(rest)?;
        let scale = unit_scale(unit.split([' ', ',']).next()?)?;
        let ms = after(rest, ")(").and_then(|rest| after(rest, "/"));
        let ms = number(ms?).filter(|(_, unit)| unit.starts_with("msec"))?.0;
        return Some((value * scale, thousands(after(text, "IOPS=")?), ms));
    }
    let (value, unit) = number(after(text, "bw=")?)?;
    let letter = unit.chars().next()?.to_ascii_lowercase();
    let power = ['b', 'k', 'm', 'g', 't'].iter().position(|l| *l == letter)?;
    let iops = after(text, "iops=").and_then(thousands);
    let ms = number_after(text, "runt=")?;
    Some((value * 1024f64.powi(power as i32), iops, ms))
}

/// `6987`, `13.3k`, `1.2M`.
fn thousands(text: &str) -> Option<f64> {
    let (value, rest) = number(text)?;
    let scale = match rest.chars().next() {
        Some('k' | 'K') => 1e3,
        Some('M' | 'm') => 1e6,
        _ => 1.0,
    };
    Some(value * scale)
}

/// Number of reads and writes.
fn issued(line: &str) -> Option<[u64; 2]> {
    let totals = after(line, "total=")?;
    let count = |text: &str| number(text).map(|(n, _)| n as u64);
    if let Some(reads) = totals.strip_prefix("r=") {
        return Some([count(reads)?, count(after(totals, "w=")?)?]);
    }
    let mut parts = totals.split(',');
    Some([count(parts.next()?)?, count(parts.next()?)?])
}

/// Output after all jobs.
fn statistics(lines: &mut Lines<'_>, run: &mut Run) {
    let mut disks = Vec::new();
    while let Some(line) = lines.peek() {
        let text = line.trim_start();
        let known = ["Run status", "Disk stats", "READ:", "WRITE:", "TRIM:"];
        if let Some((disk, _)) = text.split_once(": ios=") {
            disks.push(disk.to_string());
        } else if !text.is_empty() && !known.iter().any(|word| text.starts_with(word)) {
            break;
        }
        lines.next();
    }
    if let [disk] = disks.as_slice() {
        run.target.drive = Some(drive(disk));
    }
}

/// A drive known only by its kernel name.
pub(crate) fn drive(name: &str) -> DriveIdentity {
    let bus = "bus unknown".to_string();
    DriveIdentity { name: name.to_string(), bus, ..DriveIdentity::default() }
}

/// Notes on fio's numbers.
pub(crate) fn notes(run: &mut Run, jobs: usize) {
    let theirs = run.origin.as_ref().is_none_or(|origin| !origin.is_own_fio());
    let latencies =
        run.metrics.iter().any(|m| m.key().statistic.is_some_and(|s| s.quantile().is_some()));
    if theirs && latencies {
        note(run, FindingKind::FioClat, "latencies are fio's clat: from submission to completion");
    }
    if run.metrics.iter().any(|m| m.key().kind() == "mixed-read") {
        note(
            run,
            FindingKind::FioMix,
            "reads and writes of a fixed mix are one measurement, not two",
        );
    }
    if jobs > 1 {
        note(run, FindingKind::FioJobs, format!("{jobs} results of one fio run, in fio's order"));
    }
}

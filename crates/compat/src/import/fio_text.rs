//! fio's normal output: `read: IOPS=6987, BW=27.3MiB/s (..)` of fio 3, and
//! `read : io=.., bw=.., iops=.., runt=..msec` of fio 2 (where a KB is 1024 bytes).
//!
//! One record per run of fio, from the lines that define its jobs to the disk statistics. With
//! `--status-interval`, fio prints every job several times; the last counts. If the operation counts
//! are printed, IOPS are computed from counts and runtime, because the printed rates are rounded
//! (`13.3k`). The lines of one job are in `fio_body.rs`.

use record::{FindingKind, IoErrors, OWN_FIO, Run};

use super::fio_body::Body;
use super::fio_names::{self, Job, drive, engine_depth, notes};
use super::found::{self, WorkloadShape, ctime, moment, note, put_side, run};
use super::lines::{ImportError, Lines, after, number_after, size};
use super::{fio_json, fio_terse};

/// Announcement of a job: `mix: (g=0): rw=randrw, bs=(R) 4096B-4096B, .., iodepth=16`.
struct Defined {
    name: String,
    job: Job,
}

fn defined(line: &str) -> Option<Defined> {
    let (name, rest) = line.split_once(": (g=")?;
    let word = |key: &str| after(rest, key).and_then(|v| v.split([',', ' ']).next());
    let sizes = rest.split_once("bs=").map_or("", |(_, rest)| rest);
    let job = Job {
        rw: word("rw=")?.to_string(),
        blocks: blocks(sizes.split(", ioengine=").next().unwrap_or(sizes)),
        depth: word("iodepth=").and_then(|d| d.parse().ok()),
        engine: word("ioengine=").map(String::from),
        jobs: 1,
    };
    (!name.starts_with([' ', '\t'])).then(|| Defined { name: name.trim().to_string(), job })
}

/// `(R) 4096B-4096B, (W) 64.0KiB-64.0KiB, ..` (fio 3), `4K-4K/4K-4K/4K-4K` (fio 2), or with commas
/// (fio 2.17 to 2.19): block sizes of reads, writes and trims, if constant, in bytes.
fn blocks(text: &str) -> [Option<u64>; 3] {
    if text.starts_with("(R) ") {
        return ["(R) ", "(W) ", "(T) "].map(|word| after(text, word).and_then(range));
    }
    let mut parts = text.split([',', '/']).map(range);
    [(); 3].map(|()| parts.next().flatten())
}

fn range(text: &str) -> Option<u64> {
    let (low, high) = text.split_once('-')?;
    let low = size(low)?;
    (Some(low) == size(high.split([',', '/', ' ']).next()?)).then_some(low)
}

/// First line of a result: `mix: (groupid=0, jobs=1): err= 0: pid=3879: Tue Oct  3 18:09:33 2023`.
struct JobHeading<'a> {
    name: &'a str,
    jobs: u64,
    errors: u64,
    pid: Option<&'a str>,
    time: Option<&'a str>,
}

fn heading(line: &str) -> Option<JobHeading<'_>> {
    let (name, rest) = line.split_once(": (groupid=")?;
    let (pid, time) = after(rest, "pid=").and_then(|rest| rest.split_once(": ")).unzip();
    let heading = JobHeading {
        name: name.trim(),
        jobs: number_after(rest, "jobs=")? as u64,
        errors: number_after(rest, "err=").unwrap_or(0.0) as u64,
        pid,
        time,
    };
    (!name.starts_with([' ', '\t'])).then_some(heading)
}

/// The version of `ssdyno fio`, on the line before `Starting 1 thread`.
fn our_version(line: &str) -> Option<&str> {
    line.strip_prefix("ssdyno-").filter(|v| v.starts_with(|c: char| c.is_ascii_digit()))
}

fn version(line: &str) -> Option<&str> {
    let version = line.trim().strip_prefix("fio-").or(line.trim().strip_prefix("fio "))?;
    (version.starts_with(|c: char| c.is_ascii_digit()) && !version.contains(' ')).then_some(version)
}

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    lines.peek().is_some_and(|line| defined(line).is_some() || heading(line).is_some())
}

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let begin = lines.number();
    let mut run = run("fio", "fio", None, begin);
    let jobs = announced(lines, &mut run)
        .ok_or_else(|| lines.wrong_at(begin, "the output of fio ends before its results"))?;
    if fio_json::begins(lines) || fio_terse::begins(lines) {
        // The same results, in a format that says more.
        return Ok(Vec::new());
    }
    let (mut state, mut pids) = results(lines, &run, &jobs)?;
    loop {
        // The next state of the same processes (--status-interval).
        let mut ahead = after_blanks(lines);
        let pid = ahead.peek().and_then(heading).and_then(|heading| heading.pid);
        if pid.is_none_or(|pid| !pids.iter().any(|known| known == pid)) {
            return Ok(vec![state]);
        }
        (state, pids) = results(&mut ahead, &run, &jobs)?;
        *lines = ahead;
    }
}

fn after_blanks<'a>(lines: &Lines<'a>) -> Lines<'a> {
    let mut ahead = lines.clone();
    while ahead.peek().is_some_and(|line| line.trim().is_empty()) {
        ahead.next();
    }
    ahead
}

/// The results of all jobs, up to the disk statistics, and the numbers of their processes.
fn results(
    lines: &mut Lines<'_>,
    run: &Run,
    jobs: &[Defined],
) -> Result<(Run, Vec<String>), ImportError> {
    let mut run = run.clone();
    let (mut pids, mut count) = (Vec::new(), 0);
    while let Some(heading) = lines.peek().and_then(heading) {
        let pid = heading.pid.unwrap_or_default().to_string();
        if pids.contains(&pid) && !pid.is_empty() {
            break;
        }
        lines.next();
        let job = jobs.iter().find(|job| job.name == heading.name);
        found::title(&mut run, heading.name);
        one(lines, &mut run, job, &heading)?;
        pids.push(pid);
        count += 1;
    }
    statistics(lines, &mut run);
    notes(&mut run, count);
    Ok((run, pids))
}

/// Text before the first result; `None` if there is none.
fn announced(lines: &mut Lines<'_>, run: &mut Run) -> Option<Vec<Defined>> {
    let mut jobs: Vec<Defined> = Vec::new();
    while let Some(line) = lines.peek() {
        // If JSON is requested late on the command line, the jobs are announced before it.
        if heading(line).is_some() || fio_json::begins(lines) || fio_terse::begins(lines) {
            return Some(jobs);
        }
        let defined = defined(line);
        // The same job again is another run, and this one has no result.
        if defined.as_ref().is_some_and(|job| jobs.iter().any(|other| other.name == job.name))
            && run.origin.as_ref().is_some_and(|origin| origin.version.is_some())
        {
            return None;
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
        jobs.extend(defined);
    }
    None
}

/// The lines of one result, which are indented.
fn one(
    lines: &mut Lines<'_>,
    run: &mut Run,
    defined: Option<&Defined>,
    heading: &JobHeading<'_>,
) -> Result<(), ImportError> {
    let mut body = Body::default();
    while let Some(line) = lines.peek().filter(|line| line.starts_with([' ', '\t'])) {
        lines.next();
        body.line(line).map_err(|why| lines.wrong(why))?;
    }
    let mut job = defined.map(|defined| defined.job.clone());
    if let Some(job) = &mut job {
        job.jobs = heading.jobs.max(1);
        engine_depth(run, job, &body.depths);
    }
    let bare = WorkloadShape { jobs: heading.jobs.max(1), ..WorkloadShape::default() };
    for (direction, side, runtime) in body.sides() {
        let (shape, word) = fio_names::shape(job.as_ref(), direction, &bare);
        put_side(run, &shape, word, &side);
        run.seconds = Some(run.seconds.unwrap_or(0.0).max(runtime));
    }
    fio_names::put_flushes(run, body.flushes());
    if heading.errors > 0 {
        let text = format!("errno {}", heading.errors);
        run.errors.push(IoErrors::new("unknown", text, heading.name, 1));
    }
    began(run, heading.time);
    Ok(())
}

/// Sets the start of the run; the time on a result is its end.
fn began(run: &mut Run, time: Option<&str>) {
    let is_known = run.origin.as_ref().is_some_and(|o| o.start_known);
    let Some(end) = time.and_then(ctime).filter(|_| !is_known) else { return };
    let seconds = jiff::SignedDuration::try_from_secs_f64(run.seconds.unwrap_or(0.0));
    let begin = seconds.ok().and_then(|seconds| end.checked_sub(seconds).ok());
    found::start(run, begin.map(moment));
}

/// Output after all jobs.
fn statistics(lines: &mut Lines<'_>, run: &mut Run) {
    let mut disks = Vec::new();
    while let Some(line) = lines.peek() {
        let text = line.trim_start();
        let titles = ["Run status", "Disk stats", "READ:", "WRITE:", "TRIM:", "MIXED:"];
        if let Some((disk, _)) = text.split_once(": ios=") {
            disks.push(disk.to_string());
        } else if !text.is_empty() && !titles.iter().any(|word| text.starts_with(word)) {
            break;
        }
        lines.next();
    }
    if let [disk] = disks.as_slice() {
        run.target.drive = Some(drive(disk));
    }
}

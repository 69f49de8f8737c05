//! fio's logs over time: bandwidth, IOPS and latency, with one line per operation or per average.
//!
//! Times count from the end of the ramp. Bandwidth is in KiB/s, latency in ns; direction is 0 for
//! reads, 1 for writes, 2 for trims. The names are fio's: `PREFIX_bw.N.log`, with clones counted from
//! 1 over the whole plan.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::histograms;
use super::lines::{LineParts, LogFile, LogLine};
use super::shown::windows;
use crate::Plan;
use crate::job::{DIRECTIONS, Job, direction};
use crate::options::packed;
use crate::run::{JobRun, Ran};

/// The quantity of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogValue {
    Bandwidth,
    Iops,
    /// From issue until the submitting call has returned.
    Submission,
    /// From then to completion.
    Completion,
    /// Both.
    Latency,
    Histogram,
}

/// Time that a line of the combined bandwidth covers, as in fio, nanoseconds.
const COMBINED_NS: u64 = 500_000_000;

/// Writes the logs requested by the jobs to `directory`, and returns their paths.
pub fn write_logs(ran: &Ran<'_>, directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    let mut writers: Vec<LogFile> = Vec::new();
    for run in &ran.jobs {
        let number = run.serial + 1;
        for (name, value, prefix) in wanted(run.job, ran.plan.globals.as_is) {
            let path = directory.join(file_name(run.job, name, prefix, number));
            let position = paths.iter().position(|known| *known == path);
            let position = position.unwrap_or_else(|| {
                paths.push(path);
                paths.len() - 1
            });
            if writers.len() == position {
                writers.push(LogFile::create(&paths[position], run.job.logs.compressed)?);
            }
            write_log(run, value, &mut writers[position])?;
        }
    }
    writers.into_iter().try_for_each(LogFile::finish)?;
    if ran.plan.globals.bandwidth_log {
        paths.extend(write_combined(ran, directory)?);
    }
    Ok(paths)
}

/// Writes the bandwidth of all clones together, by direction, and returns the paths.
fn write_combined(ran: &Ran<'_>, directory: &Path) -> io::Result<[PathBuf; 3]> {
    let first_ns = ran.jobs.iter().map(start_unix_ns).min().unwrap_or(0);
    let mut sums: Vec<[u64; 3]> = Vec::new();
    for run in &ran.jobs {
        let (start, windows) = windows(run, COMBINED_NS);
        let start = (start_unix_ns(run) - first_ns) / COMBINED_NS + start;
        for (number, window) in (start as usize..).zip(windows) {
            if sums.len() <= number {
                sums.resize(number + 1, [0; 3]);
            }
            for (sum, kind) in sums[number].iter_mut().zip(DIRECTIONS) {
                *sum += window[kind as usize].1;
            }
        }
    }
    let paths = combined_paths(directory);
    for (direction, path) in paths.iter().enumerate() {
        let mut log = LogFile::create(path, false)?;
        for (number, bytes) in (1..).zip(&sums) {
            let ms = number * COMBINED_NS / 1_000_000;
            let rate = kib_per_second(bytes[direction]);
            let line = LogLine { ms, values: vec![rate], direction, ..LogLine::default() };
            log.add(&line, LineParts::default())?;
        }
        log.finish()?;
    }
    Ok(paths)
}

fn start_unix_ns(run: &JobRun<'_>) -> u64 {
    run.began_unix_ns + run.did.origin_ns + run.did.begin_ns
}

/// The rate of a combined interval. An engine that moves nothing passes 18 GB in one.
fn kib_per_second(bytes: u64) -> u64 {
    bytes * (1_000_000_000 / COMBINED_NS) / 1024
}

/// The logs of the bandwidth of all clones, by direction.
fn combined_paths(directory: &Path) -> [PathBuf; 3] {
    ["read", "write", "trim"].map(|name| directory.join(format!("agg-{name}_bw.log")))
}

/// The paths of the logs of a plan in `directory`: one of each job's, whose clones write beside it.
pub fn log_paths(plan: &Plan, directory: &Path) -> Vec<PathBuf> {
    let pathses = plan.jobs.iter().flat_map(|job| {
        let logs = wanted(job, plan.globals.as_is).into_iter();
        logs.map(move |(name, _, prefix)| directory.join(file_name(job, name, prefix, 1)))
    });
    let combined = plan.globals.bandwidth_log.then(|| combined_paths(directory));
    pathses.chain(combined.into_iter().flatten()).collect()
}

fn file_name(job: &Job, name: &str, prefix: &str, number: u64) -> String {
    let extension = if job.logs.compressed { "log.fz" } else { "log" };
    if job.logs.shared_file {
        format!("{prefix}_{name}.{extension}")
    } else {
        format!("{prefix}_{name}.{number}.{extension}")
    }
}

/// The logs of a clone: part of the file name, quantity, prefix. Unless the submitting call is timed
/// apart, two of fio's three latency logs have the same content, and the third is not written. As in
/// fio, it is empty if the engine waits in the same call.
fn wanted(job: &Job, as_is: bool) -> Vec<(&'static str, LogValue, &str)> {
    let logs = &job.logs;
    let latency = logs.lat.as_deref();
    let logs = [
        ("bw", LogValue::Bandwidth, logs.bw.as_deref()),
        ("iops", LogValue::Iops, logs.iops.as_deref()),
        ("slat", LogValue::Submission, latency.filter(|_| as_is)),
        ("clat", LogValue::Completion, latency),
        ("lat", LogValue::Latency, latency),
        ("clat_hist", LogValue::Histogram, logs.histogram.as_deref()),
    ];
    let logs = logs.into_iter();
    logs.filter_map(|(name, value, prefix)| Some((name, value, prefix?))).collect()
}

/// Whether a clone's submitting calls were timed.
fn times_submission(run: &JobRun<'_>) -> bool {
    run.did.seen.kinds.iter().flatten().any(|stats| stats.submission.is_some())
}

fn write_log(run: &JobRun<'_>, value: LogValue, out: &mut LogFile) -> io::Result<()> {
    if value == LogValue::Histogram {
        return histograms::write_log(run, out.text());
    }
    let logs = &run.job.logs;
    let epoch_ms = if logs.unix_epoch { start_unix_ns(run) / 1_000_000 } else { 0 };
    let line_parts = LineParts::from_logs(logs);
    let write = |line: LogLine| out.add(&LogLine { ms: line.ms + epoch_ms, ..line }, line_parts);
    let is_part = matches!(value, LogValue::Submission | LogValue::Completion);
    match (is_part, times_submission(run)) {
        (true, false) if value == LogValue::Submission => Ok(()),
        _ if logs.average.is_zero() => each(run, value, write),
        (true, true) => averages_of_parts(run, value)?.into_iter().try_for_each(write),
        _ => averages(run, value).into_iter().try_for_each(write),
    }
}

/// Writes one line per operation.
fn each(
    run: &JobRun<'_>,
    value: LogValue,
    mut write: impl FnMut(LogLine) -> io::Result<()>,
) -> io::Result<()> {
    let place = (1u64 << run.place_bits) - 1;
    let own_priority =
        run.job.io_priority().map_or(0, |(class, level)| packed(class.into(), level.into(), 0));
    run.log.each(|logged| {
        let Some(direction) = direction(logged.op.kind) else { return Ok(()) };
        let bytes = u64::from(logged.op.bytes);
        let amount = match value {
            LogValue::Bandwidth => {
                (bytes as f64 / 1024.0 * 1e9 / logged.service_ns.max(1) as f64) as u64
            }
            LogValue::Iops => 1,
            LogValue::Submission => logged.submission_ns,
            LogValue::Completion => logged.service_ns - logged.submission_ns,
            LogValue::Latency | LogValue::Histogram => logged.service_ns,
        };
        let issued_ns = logged.done_ns.saturating_sub(logged.service_ns + run.did.begin_ns);
        write(LogLine {
            ms: logged.done_ns.saturating_sub(run.did.begin_ns) / 1_000_000,
            values: vec![amount],
            direction,
            bytes,
            offset: logged.op.offset & place,
            priority: if logged.priority == 0 { own_priority } else { logged.priority },
            // As in fio, only these two have it.
            issue_ns: match value {
                LogValue::Submission | LogValue::Completion => issued_ns,
                _ => 0,
            },
        })
    })
}

/// One line per average and direction with operations.
fn averages(run: &JobRun<'_>, value: LogValue) -> Vec<LogLine> {
    let window_ns = run.job.logs.average.as_nanos() as u64;
    let seconds = window_ns as f64 / 1e9;
    let mut lines = Vec::new();
    let (start, windows) = windows(run, window_ns);
    for (i, window) in (start + 1..).zip(windows) {
        for (direction, kind) in DIRECTIONS.into_iter().enumerate() {
            let (ops, bytes, sum_ns, max_ns) = window[kind as usize];
            if ops == 0 {
                continue;
            }
            let mean = match value {
                LogValue::Bandwidth => (bytes as f64 / 1024.0 / seconds) as u64,
                LogValue::Iops => (ops as f64 / seconds) as u64,
                _ => sum_ns / ops,
            };
            let is_rate = matches!(value, LogValue::Bandwidth | LogValue::Iops);
            let largest = if is_rate { mean } else { max_ns };
            lines.push(average_line(run, (i, direction), (mean, largest)));
        }
    }
    lines
}

/// The line of the averages of a window, numbered from 1, in one direction.
fn average_line(
    run: &JobRun<'_>,
    (window, direction): (u64, usize),
    (mean, largest): (u64, u64),
) -> LogLine {
    let logs = &run.job.logs;
    let values = if logs.both_values {
        vec![mean, largest]
    } else {
        vec![if logs.max_value { largest } else { mean }]
    };
    let ms = window * logs.average.as_nanos() as u64 / 1_000_000;
    // In fio, averages have no block size.
    LogLine { ms, values, direction, ..LogLine::default() }
}

/// The same for the parts of the latency, from every operation.
fn averages_of_parts(run: &JobRun<'_>, value: LogValue) -> io::Result<Vec<LogLine>> {
    let window_ns = run.job.logs.average.as_nanos() as u64;
    // Number, sum and maximum, by window and direction.
    let mut sums: BTreeMap<(u64, usize), (u64, u64, u64)> = BTreeMap::new();
    run.log.each(|logged| {
        let Some(direction) = direction(logged.op.kind) else { return Ok(()) };
        let window = logged.done_ns.saturating_sub(run.did.begin_ns) / window_ns + 1;
        let part_ns = if value == LogValue::Submission {
            logged.submission_ns
        } else {
            logged.service_ns - logged.submission_ns
        };
        let sum = sums.entry((window, direction)).or_default();
        *sum = (sum.0 + 1, sum.1 + part_ns, sum.2.max(part_ns));
        Ok(())
    })?;
    let lines =
        sums.into_iter().map(|(place, (ops, sum, max))| average_line(run, place, (sum / ops, max)));
    Ok(lines.collect())
}

#[cfg(test)]
mod tests {
    use rig::Logged;
    use workload::{Op, OpKind};

    use super::*;
    use crate::run::OpLog;
    use crate::testing;

    #[test]
    fn an_engine_that_moves_nothing_has_a_rate() {
        assert_eq!(kib_per_second(1 << 40), (1 << 30) * (1_000_000_000 / COMBINED_NS));
    }

    /// The name and the content of the only log of a clone that logs one operation, completed 2 s
    /// after it began.
    fn log(words: &[&str], change: impl FnOnce(&mut JobRun<'_>)) -> (String, String) {
        let plan =
            testing::plan(&[&["--name=a", "--size=1m", "--write_iops_log=w"], words].concat());
        let directory = tempfile::tempdir().expect("a directory");
        let mut run = testing::job_run(&plan.jobs[0]);
        run.log = OpLog::within(directory.path()).expect("a file");
        let op = Op { kind: OpKind::Read, offset: 0, bytes: 4096 };
        let (done_ns, service_ns, submission_ns) = (2_000_000_000, 1000, 0);
        run.log.add(&[Logged { priority: 0, done_ns, service_ns, submission_ns, op }]);
        change(&mut run);
        let ran = testing::ran(&plan, vec![run]);
        let written = write_logs(&ran, directory.path()).expect("written");
        let [path] = &written[..] else { panic!("{written:?}") };
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, std::fs::read_to_string(path).expect("read"))
    }

    #[test]
    fn operations_count_from_the_end_of_the_ramp() {
        let (_, lines) = log(&["--ramp_time=1500ms"], |run| run.did.begin_ns = 1_500_000_000);
        assert_eq!(lines, "500, 1, 0, 4096, 0\n");
    }

    #[test]
    fn unix_times_include_the_start_within_the_stage() {
        let change = |run: &mut JobRun<'_>| {
            (run.began_unix_ns, run.did.origin_ns) = (1_000_000_000_000, 3_000_000_000);
            run.did.begin_ns = 500_000_000;
        };
        let (_, lines) = log(&["--log_unix_epoch=1"], change);
        assert_eq!(lines, "1005000, 1, 0, 4096, 0\n");
    }

    #[test]
    fn names_count_all_clones_of_the_plan() {
        // The first clone only created its files.
        assert_eq!(log(&[], |run| run.serial = 1).0, "w_iops.2.log");
    }
}

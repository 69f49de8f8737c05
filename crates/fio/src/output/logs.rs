//! fio's logs over time: bandwidth, IOPS and latency, with one line per operation or per average.
//!
//! A line is `time (ms), value, direction, block size, priority`; `log_offset` adds the offset
//! before the priority. Times count from the end of the ramp. Bandwidth is in KiB/s, latency in ns;
//! direction is 0 for reads, 1 for writes, 2 for trims. The names are fio's: `PREFIX_bw.N.log`,
//! with clones counted from 1 over the whole plan.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rig::Logged;

use super::histograms;
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
    Latency,
    Histogram,
}

/// The priority class marked by fio.
const REAL_TIME: u16 = 1;

#[derive(Default)]
struct LogLine {
    ms: u64,
    values: Vec<u64>,
    direction: usize,
    bytes: u64,
    offset: u64,
    priority: u16,
    issue_ns: u64,
}

/// Writes the logs requested by the jobs to `directory`, and returns their paths.
pub fn write_logs(ran: &Ran<'_>, directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    let mut writers: Vec<BufWriter<emit::Replacement>> = Vec::new();
    for run in &ran.jobs {
        let number = run.serial + 1;
        for (name, value, prefix) in wanted(run.job) {
            let path = directory.join(file_name(run.job, name, prefix, number));
            let position = paths.iter().position(|known| *known == path);
            let position = position.unwrap_or_else(|| {
                paths.push(path);
                paths.len() - 1
            });
            if writers.len() == position {
                writers.push(BufWriter::new(emit::Replacement::create(&paths[position])?));
            }
            write_log(run, value, &mut writers[position])?;
        }
    }
    for log in writers {
        log.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
    }
    Ok(paths)
}

/// The paths of the logs of a plan in `directory`: one of each job's, whose clones write beside it.
pub fn log_paths(plan: &Plan, directory: &Path) -> Vec<PathBuf> {
    let pathses = plan.jobs.iter().flat_map(|job| {
        let logs = wanted(job).into_iter();
        logs.map(move |(name, _, prefix)| directory.join(file_name(job, name, prefix, 1)))
    });
    pathses.collect()
}

fn file_name(job: &Job, name: &str, prefix: &str, number: u64) -> String {
    if job.logs.shared_file {
        format!("{prefix}_{name}.log")
    } else {
        format!("{prefix}_{name}.{number}.log")
    }
}

/// The logs of a clone: part of the file name, quantity, prefix. Two of fio's three latency logs
/// have the same content; the third, of submission, is not written, because that call is not timed
/// separately.
fn wanted(job: &Job) -> Vec<(&'static str, LogValue, &str)> {
    let logs = &job.logs;
    let logs = [
        ("bw", LogValue::Bandwidth, &logs.bw),
        ("iops", LogValue::Iops, &logs.iops),
        ("clat", LogValue::Latency, &logs.lat),
        ("lat", LogValue::Latency, &logs.lat),
        ("clat_hist", LogValue::Histogram, &logs.histogram),
    ];
    let logs = logs.into_iter();
    logs.filter_map(|(name, value, prefix)| Some((name, value, prefix.as_deref()?))).collect()
}

fn write_log(run: &JobRun<'_>, value: LogValue, out: &mut impl Write) -> io::Result<()> {
    if value == LogValue::Histogram {
        return histograms::write_log(run, out);
    }
    let logs = &run.job.logs;
    let began_ns = run.began_unix_ns + run.did.origin_ns + run.did.begin_ns;
    let epoch_ms = if logs.unix_epoch { began_ns / 1_000_000 } else { 0 };
    let write = |line: LogLine| {
        let LogLine { ms, values, direction, bytes, offset, priority, issue_ns } = line;
        write!(out, "{}", ms + epoch_ms)?;
        for value in values {
            write!(out, ", {value}")?;
        }
        write!(out, ", {direction}, {bytes}")?;
        if logs.offset {
            write!(out, ", {offset}")?;
        }
        if logs.priority {
            write!(out, ", 0x{priority:04x}")?
        } else {
            write!(out, ", {}", u8::from(priority >> 13 == REAL_TIME))?
        }
        if logs.issue_time {
            write!(out, ", {issue_ns}")?;
        }
        writeln!(out)
    };
    if logs.average.is_zero() {
        each(run, value, write)
    } else {
        averages(run, value).into_iter().try_for_each(write)
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
    let line = |logged: &Logged| {
        let bytes = u64::from(logged.op.bytes);
        let amount = match value {
            LogValue::Bandwidth => {
                (bytes as f64 / 1024.0 * 1e9 / logged.service_ns.max(1) as f64) as u64
            }
            LogValue::Iops => 1,
            LogValue::Latency | LogValue::Histogram => logged.service_ns,
        };
        let issued_ns = logged.done_ns.saturating_sub(logged.service_ns + run.did.begin_ns);
        Some(LogLine {
            ms: logged.done_ns.saturating_sub(run.did.begin_ns) / 1_000_000,
            values: vec![amount],
            direction: direction(logged.op.kind)?,
            bytes,
            offset: logged.op.offset & place,
            priority: if logged.priority == 0 { own_priority } else { logged.priority },
            // As in fio, only the logs of latency have it.
            issue_ns: if value == LogValue::Latency { issued_ns } else { 0 },
        })
    };
    run.log.each(|logged| line(logged).map_or(Ok(()), &mut write))
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
                LogValue::Latency | LogValue::Histogram => sum_ns / ops,
            };
            let logs = &run.job.logs;
            let largest = if value == LogValue::Latency { max_ns } else { mean };
            let values = if logs.both_values {
                vec![mean, largest]
            } else {
                vec![if logs.max_value { largest } else { mean }]
            };
            let ms = i * window_ns / 1_000_000;
            // In fio, averages have no block size.
            let line = LogLine { ms, values, direction, ..LogLine::default() };
            lines.push(line);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use workload::{Op, OpKind};

    use super::*;
    use crate::run::OpLog;
    use crate::testing;

    /// The name and the content of the only log of a clone that logs one operation, completed 2 s
    /// after it began.
    fn log(words: &[&str], change: impl FnOnce(&mut JobRun<'_>)) -> (String, String) {
        let plan =
            testing::plan(&[&["--name=a", "--size=1m", "--write_iops_log=w"], words].concat());
        let directory = tempfile::tempdir().expect("a directory");
        let mut run = testing::job_run(&plan.jobs[0]);
        run.log = OpLog::within(directory.path()).expect("a file");
        let op = Op { kind: OpKind::Read, offset: 0, bytes: 4096 };
        run.log.add(&[Logged { priority: 0, done_ns: 2_000_000_000, service_ns: 1000, op }]);
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

//! `sysbench fileio`, of sysbench 0.4 to 1.1. Its Mb and Kb are powers of 1024.
//!
//! A thread waits for each of its operations, unless the asynchronous mode is chosen. Latencies are
//! those of all operations with the flushes between them, so they are only entered if reads and
//! writes are not mixed.

use record::{MetricKey, Run, Statistic, Unit};

use super::found::{SideFigures, WorkloadShape, put, put_side, run};
use super::lines::{ImportError, Lines, number, number_after, size, unit_scale};

/// Tests, as printed after `Doing`: whether random, whether mixed, and the word for writes.
const TESTS: [(&str, bool, bool, &str); 6] = [
    ("sequential write (creation) test", false, false, "write"),
    ("sequential rewrite test", false, false, "rewrite"),
    ("sequential read test", false, false, "write"),
    ("random read test", true, false, "write"),
    ("random write test", true, false, "write"),
    ("random r/w test", true, true, "write"),
];

/// What is known of a run.
#[derive(Default)]
struct SysbenchBody {
    shape: WorkloadShape,
    is_known: bool,
    is_async: bool,
    write: &'static str,
    /// Operations per second and bytes per second of reads and writes.
    rates: [SideFigures; 2],
    flushes: Option<f64>,
    /// Reads and writes, in sysbench 0.4.
    counts: Option<[f64; 2]>,
    min_ms: Option<f64>,
    mean_ms: Option<f64>,
    max_ms: Option<f64>,
}

fn version(line: &str) -> Option<&str> {
    let version = line.trim().strip_prefix("sysbench ")?.split([' ', ':']).next()?;
    version.starts_with(|c: char| c.is_ascii_digit()).then_some(version)
}

/// The line below that with the version, for outputs that lost it.
fn is_options(line: &str) -> bool {
    line.trim() == "Running the test with following options:"
}

const NO_FIGURE: &str = "not a figure of sysbench";

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    lines.peek().is_some_and(|line| {
        version(line).is_some() && line.contains(['(', ':']) || is_options(line)
    })
}

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let begin = lines.number();
    let version = lines.next().and_then(version).map(String::from);
    let mut run = run("sysbench", "sysbench", version, begin);
    let mut body = SysbenchBody { write: "write", ..SysbenchBody::default() };
    body.shape.jobs = 1;
    while let Some(line) = lines.peek().filter(|line| self::version(line).is_none()) {
        let is_last = line.trim_start().starts_with("execution time (avg/stddev)");
        lines.next();
        body.line(line.trim(), &mut run).map_err(|why| lines.wrong(why))?;
        if is_last {
            break;
        }
    }
    body.enter(&mut run);
    if run.metrics.is_empty() {
        let text = "sysbench's output ends before its figures, or is not of fileio";
        return Err(lines.wrong_at(begin, text));
    }
    Ok(vec![run])
}

impl SysbenchBody {
    fn line(&mut self, line: &str, run: &mut Run) -> Result<(), String> {
        if let Some(test) = line.strip_prefix("Doing ") {
            let test = TESTS.iter().find(|(words, ..)| *words == test);
            let (_, random, mixed, write) = test.ok_or("an unknown test of sysbench")?;
            (self.shape.random, self.shape.mixed, self.write) = (*random, *mixed, write);
            self.is_known = true;
        } else if let Some(rest) = line.strip_prefix("Block size ") {
            self.shape.block_bytes = Some(size(rest).ok_or(NO_FIGURE)?);
        } else if let Some(rest) = line.strip_prefix("Number of threads:") {
            self.shape.jobs = number(rest).map_or(1, |(n, _)| n as u64);
        } else if line == "Using asynchronous I/O mode" {
            self.is_async = true;
        } else if let Some((name, rest)) = line.split_once(':') {
            self.figure(name, rest, run).ok_or(NO_FIGURE)?;
        } else if line.starts_with("Read ") && line.contains("Written ") {
            self.amounts(line).ok_or(NO_FIGURE)?;
        }
        Ok(())
    }

    /// A line with a name and a value. `None` if the value of a known name is not understood.
    fn figure(&mut self, name: &str, rest: &str, run: &mut Run) -> Option<()> {
        let value = || number(rest).map(|(value, _)| value);
        match name {
            "reads/s" => self.rates[0].iops = Some(value()?),
            "writes/s" => self.rates[1].iops = Some(value()?),
            "fsyncs/s" => self.flushes = Some(value()?),
            "read, MiB/s" => self.rates[0].bytes_per_s = Some(value()? * 1_048_576.0),
            "written, MiB/s" => self.rates[1].bytes_per_s = Some(value()? * 1_048_576.0),
            "read" | "write" | "fsync" if rest.contains("IOPS=") => {
                let iops = number_after(rest, "IOPS=")?;
                let (rate, unit) = number(rest.split_whitespace().nth(1).unwrap_or("0"))
                    .map(|(rate, _)| (rate, rest.split_whitespace().nth(2).unwrap_or("")))?;
                match name {
                    "fsync" => self.flushes = Some(iops),
                    name => {
                        let side = &mut self.rates[usize::from(name == "write")];
                        side.iops = Some(iops);
                        side.bytes_per_s = Some(rate * unit_scale(unit)?);
                    }
                }
            }
            "Operations performed" => {
                let count = |word: &str| {
                    let (head, _) = rest.split_once(word)?;
                    number(head.rsplit([' ', ',']).find(|part| !part.is_empty())?).map(|(n, _)| n)
                };
                let reads = count("Read").or_else(|| count("reads"));
                let writes = count("Write").or_else(|| count("writes"));
                self.counts = Some([reads?, writes?]);
            }
            "total time" => run.seconds = Some(value()?),
            "min" => self.min_ms = Some(milliseconds(rest)?),
            "avg" => self.mean_ms = Some(milliseconds(rest)?),
            "max" => self.max_ms = Some(milliseconds(rest)?),
            _ => {}
        }
        Some(())
    }

    /// `Read 93.75Mb  Written 62.5Mb  Total transferred 156.25Mb  (15.6Mb/sec)`.
    fn amounts(&mut self, line: &str) -> Option<()> {
        for (side, word) in ["Read ", "Written "].into_iter().enumerate() {
            let (_, rest) = line.split_once(word)?;
            let amount = rest.split_whitespace().next()?;
            self.rates[side].bytes_per_s = Some(size(amount)? as f64);
        }
        Some(())
    }

    fn enter(mut self, run: &mut Run) {
        // sysbench 0.4 prints counts and amounts instead of rates.
        if let Some((counts, seconds)) = self.counts.zip(run.seconds.filter(|s| *s > 0.0)) {
            for (side, count) in self.rates.iter_mut().zip(counts) {
                side.iops = Some(count / seconds);
                side.bytes_per_s = side.bytes_per_s.map(|bytes| bytes / seconds);
            }
        }
        self.shape.depth = (self.is_known && !self.is_async).then_some(1);
        for (i, side) in self.rates.iter().enumerate() {
            if side.iops.is_none_or(|iops| iops <= 0.0) {
                continue;
            }
            let name = put_side(run, &self.shape, if i == 0 { "read" } else { self.write }, side);
            let times = [
                (Statistic::Min, self.min_ms),
                (Statistic::Mean, self.mean_ms),
                (Statistic::Max, self.max_ms),
            ];
            for (statistic, ms) in times.into_iter().filter(|_| !self.shape.mixed) {
                if let Some(ms) = ms.filter(|ms| *ms > 0.0) {
                    let key = MetricKey::parse(&name).with(statistic);
                    put(run, key, Unit::Nanoseconds, ms * 1e6);
                }
            }
        }
        if let Some(rate) = self.flushes.filter(|rate| *rate > 0.0 && !run.metrics.is_empty()) {
            put(run, "flush", Unit::Iops, rate);
        }
    }
}

/// `0.11` under `Latency (ms):`, `0.51ms` in sysbench 0.4.
fn milliseconds(rest: &str) -> Option<f64> {
    let (value, unit) = number(rest)?;
    matches!(unit.trim(), "" | "ms").then_some(value)
}

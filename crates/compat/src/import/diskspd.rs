//! diskspd's text. Bytes and operations are counted and the test's time is printed, so rates are
//! computed from these, in whatever unit a version prints them. Its XML is in `diskspd_xml.rs`.

use record::{MetricKey, Run, Statistic, Unit};

use super::found::{self, SideFigures, WorkloadShape, put, put_side, run};
use super::lines::{ImportError, Lines, after, number};

/// Rows of the percentiles, and their shares.
const PERCENTILES: [(&str, f64); 4] =
    [("50th", 0.5), ("90th", 0.9), ("99th", 0.99), ("3-nines", 0.999)];

/// What is known of a run.
#[derive(Default)]
pub(super) struct Body {
    /// Of the target; the workload may have several targets of equal settings.
    pub shape: WorkloadShape,
    pub seconds: f64,
    /// Bytes and operations of reads and writes.
    pub totals: [Option<(f64, f64)>; 2],
    pub means_ms: [Option<f64>; 2],
    pub percentiles: [Vec<(f64, f64)>; 2],
    pub min_ms: [Option<f64>; 2],
    pub max_ms: [Option<f64>; 2],
    /// Whether the first column after the rates is the mean latency (-L).
    has_means: bool,
}

impl Body {
    /// Adds the figures to a run.
    pub fn enter(mut self, run: &mut Run) {
        run.seconds = (self.seconds > 0.0).then_some(self.seconds);
        for (i, direction) in ["read", "write"].into_iter().enumerate() {
            let Some((bytes, operations)) = self.totals[i].filter(|(_, n)| *n > 0.0) else {
                continue;
            };
            let side = SideFigures {
                bytes_per_s: Some(bytes / self.seconds),
                iops: Some(operations / self.seconds),
                operations: Some(operations as u64),
                min_ns: self.min_ms[i].map(|ms| ms * 1e6),
                max_ns: self.max_ms[i].map(|ms| ms * 1e6),
                percentiles: std::mem::take(&mut self.percentiles[i]),
                ..SideFigures::default()
            };
            let name = put_side(run, &self.shape, direction, &side);
            if let Some(ms) = self.means_ms[i] {
                let key = MetricKey::parse(&name).with(Statistic::Mean);
                put(run, key, Unit::Nanoseconds, ms * 1e6);
            }
        }
    }
}

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    lines.peek().is_some_and(is_command)
}

fn is_command(line: &str) -> bool {
    line.trim_start()
        .strip_prefix("Command Line:")
        .is_some_and(|rest| rest.to_ascii_lowercase().contains("diskspd"))
}

/// The table whose rows follow.
#[derive(Clone, Copy, PartialEq)]
enum DiskspdTable {
    Direction(usize),
    Percentiles,
    Other,
}

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let begin = lines.number();
    let command = lines.next().and_then(|line| after(line, "Command Line:"));
    let mut run = run("diskspd", "diskspd", None, begin);
    run = found::with_command(run, command.map(|c| c.trim().to_string()));
    let mut body = Body::default();
    let (mut threads, mut table) = (0, DiskspdTable::Other);
    while let Some(line) = lines.peek().filter(|line| !is_command(line)).map(str::trim) {
        if !is_part(line, table) && body.totals.iter().any(Option::is_some) {
            break;
        }
        lines.next();
        if let Some(next) = heading(line) {
            table = next;
        } else if table == DiskspdTable::Percentiles {
            body.percentile(line).ok_or_else(|| lines.wrong("not a row of percentiles"))?;
        } else if let (DiskspdTable::Direction(i), Some(rest)) = (table, totals(line)) {
            body.total(i, rest).ok_or_else(|| lines.wrong("not a row of totals"))?;
        } else {
            body.setting(line, &mut run, &mut threads)
                .ok_or_else(|| lines.wrong("not a setting of diskspd"))?;
        }
    }
    if body.seconds <= 0.0 || body.totals == [None, None] {
        return Err(lines.wrong_at(begin, "diskspd's output ends before its results"));
    }
    body.shape.jobs = threads.max(1);
    body.enter(&mut run);
    Ok(vec![run])
}

/// The cells of a row of totals; the heading of the percentiles has the same word.
fn totals(line: &str) -> Option<&str> {
    line.strip_prefix("total:").filter(|cells| !cells.is_empty())
}

/// The table that begins with a line.
fn heading(line: &str) -> Option<DiskspdTable> {
    match line {
        "Read IO" => Some(DiskspdTable::Direction(0)),
        "Write IO" => Some(DiskspdTable::Direction(1)),
        _ if line.starts_with("%-ile") => Some(DiskspdTable::Percentiles),
        _ if line.starts_with("Total ") || line.starts_with("CPU") => Some(DiskspdTable::Other),
        _ => None,
    }
}

/// Whether a line may follow the first results.
fn is_part(line: &str, table: DiskspdTable) -> bool {
    let is_rule = line.chars().all(|c| matches!(c, '-' | '*' | '='));
    let words = ["thread", "total:", "avg:", "Write IO", "Read IO", "Total ", "%-ile", "CPU"];
    let is_row = line.contains('|') || words.iter().any(|word| line.starts_with(word));
    is_rule || is_row || table == DiskspdTable::Percentiles && line.contains("nines")
}

impl Body {
    /// A line of the settings. `None` if a known one is not understood.
    fn setting(&mut self, line: &str, run: &mut Run, threads: &mut u64) -> Option<()> {
        if let Some(rest) = line.strip_prefix("block size:") {
            let (value, unit) = number(rest)?;
            let scale = match unit.trim().trim_start_matches('(') {
                "" | "B" | "bytes" => 1,
                "KiB" | "K" => 1 << 10,
                "MiB" | "M" => 1 << 20,
                _ => return None,
            };
            self.shape.block_bytes = Some((value as u64).saturating_mul(scale));
        } else if line.starts_with("thread |") {
            self.has_means = line.contains("AvgLat");
        } else if line.starts_with("using random I/O") {
            self.shape.random = true;
        } else if line.starts_with("performing mix test") {
            self.shape.mixed = true;
        } else if let Some(rest) = line.strip_prefix("number of outstanding I/O operations") {
            let (_, count) = rest.split_once(':')?;
            self.shape.depth = Some(number(count)?.0 as u32);
        } else if let Some(rest) = line.strip_prefix("actual test time:") {
            self.seconds = number(rest).filter(|(_, unit)| unit.trim() == "s")?.0;
        } else if let Some(rest) = line.strip_prefix("thread count:") {
            *threads = number(rest)?.0 as u64;
        } else if let Some(path) = line.strip_prefix("path:") {
            run.target.spec = path.trim().trim_matches('\'').to_string();
        } else if line.starts_with("software cache disabled")
            || line.starts_with("caching options: ") && line.contains("disabled")
        {
            run.target.direct = Some(true);
        }
        Some(())
    }

    /// `1234567890 | 301408 | 117.73 | 30139.19 | 1.061 | 0.5`: bytes, operations, rates, and with
    /// -L mean and deviation of the latency.
    fn total(&mut self, direction: usize, rest: &str) -> Option<()> {
        let cells: Vec<&str> = rest.split('|').map(str::trim).collect();
        let [bytes, operations, _, _, cells_after @ ..] = cells.as_slice() else { return None };
        self.totals[direction] = Some((bytes.parse().ok()?, operations.parse().ok()?));
        let mean = cells_after.first().filter(|_| self.has_means);
        self.means_ms[direction] = mean.and_then(|ms| ms.parse().ok());
        Some(())
    }

    /// `50th | 0.927 | 1.040 | 0.960`: milliseconds of reads, writes, and all.
    fn percentile(&mut self, line: &str) -> Option<()> {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [label, sides @ ..] = cells.as_slice() else { return None };
        if line.starts_with('-') || sides.is_empty() {
            return Some(());
        }
        for (i, cell) in sides.iter().take(2).enumerate() {
            if *cell == "N/A" {
                continue;
            }
            let ms: f64 = cell.parse().ok()?;
            if *label == "min" {
                self.min_ms[i] = Some(ms);
            } else if *label == "max" {
                self.max_ms[i] = Some(ms);
            } else if let Some((_, share)) = PERCENTILES.iter().find(|(name, _)| name == label) {
                self.percentiles[i].push((*share, ms * 1e6));
            }
        }
        Some(())
    }
}

//! What elbencho prints on the screen: a block per phase, with the rates until the first and until
//! the last thread finished. The last count, as in its CSV.
//!
//! Options are not printed, so the names have no block size and no depth.

use record::{MetricKey, Run, Statistic, Unit};

use super::found::{SideFigures, WorkloadShape, put, put_side, run};
use super::lines::{ImportError, Lines, number_after};

/// The phases whose figures are rates of I/O.
const PHASES: [(&str, &str); 2] = [("WRITE", "write"), ("READ", "read")];

/// The first line of a block: its phase and its direction, if it has rates of I/O.
fn phase(line: &str) -> Option<Option<&'static str>> {
    let (name, rest) = line.trim_start().split_once(char::is_whitespace)?;
    let is_elapsed = rest.trim_start().starts_with("Elapsed ");
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'-');
    let direction = PHASES.iter().find(|(phase, _)| *phase == name).map(|(_, word)| *word);
    (is_elapsed && is_name).then_some(direction)
}

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    lines.peek().is_some_and(|line| matches!(phase(line), Some(Some(_))))
}

/// What a block says of its writes, or its only direction, and of the reads mixed with them.
#[derive(Default)]
struct Block {
    sides: [SideFigures; 2],
    means_us: [Option<f64>; 2],
}

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let begin = lines.number();
    let mut run = run("elbencho", "elbencho", None, begin);
    let heading = lines.next().unwrap_or_default();
    let direction = phase(heading).flatten().unwrap_or("read");
    run.seconds = heading.split_whitespace().next_back().and_then(seconds);
    let mut block = Block::default();
    while let Some(line) = lines.peek().filter(|line| line.starts_with([' ', '\t'])) {
        lines.next();
        block.line(line.trim()).ok_or_else(|| lines.wrong("not a result of elbencho"))?;
    }
    let is_mixed = block.sides[1].iops.or(block.sides[1].bytes_per_s).is_some();
    let shape = WorkloadShape { mixed: is_mixed, jobs: 1, ..WorkloadShape::default() };
    for (i, word) in [direction, "read"].into_iter().enumerate().take(1 + usize::from(is_mixed)) {
        let side = &block.sides[i];
        if side.iops.or(side.bytes_per_s).is_none() {
            return Err(lines.wrong_at(begin, "elbencho's output ends before its figures"));
        }
        let name = put_side(&mut run, &shape, word, side);
        if let Some(us) = block.means_us[i] {
            let key = MetricKey::parse(&name).with(Statistic::Mean);
            put(&mut run, key, Unit::Nanoseconds, us * 1e3);
        }
    }
    Ok(vec![run])
}

/// `11.559s`, or milliseconds in earlier versions.
fn seconds(word: &str) -> Option<f64> {
    match word.strip_suffix('s') {
        // `1m2.5s` and longer ones are left out.
        Some(seconds) => seconds.parse().ok(),
        None => word.parse::<f64>().ok().map(|ms| ms / 1e3),
    }
}

impl Block {
    /// `IOPS             :         221         221`. `None` if a known figure is not understood.
    fn line(&mut self, line: &str) -> Option<()> {
        let Some((label, rest)) = line.split_once(':') else { return Some(()) };
        let label = label.trim();
        let i = usize::from(label.ends_with(" read") || label.contains(" rd"));
        let second = || rest.split_whitespace().nth(1)?.parse::<f64>().ok();
        match label {
            "IOPS" | "IOPS write" | "IOPS read" => self.sides[i].iops = Some(second()?),
            "Throughput MiB/s" | "MiB/s write" | "MiB/s read" => {
                self.sides[i].bytes_per_s = Some(second()? * 1_048_576.0);
            }
            "IO lat us" | "IO wr lat us" | "IO rd lat us" => {
                self.sides[i].min_ns = Some(number_after(rest, "min=")? * 1e3);
                self.sides[i].max_ns = Some(number_after(rest, "max=")? * 1e3);
                self.means_us[i] = Some(number_after(rest, "avg=")?);
            }
            _ => {}
        }
        Some(())
    }
}

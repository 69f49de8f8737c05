//! The lines of one job in fio's normal output.
//!
//! Each line that is not indented further is a heading: a direction with its rates, or something
//! else (`lat (usec)`, `cpu`, `fsync/fdatasync/sync_file_range:`). What follows belongs to the last
//! heading, and to none if that is not understood.

use super::fio_names::{DIRECTIONS, Flushes, MIXED};
use super::found::SideFigures;
use super::lines::{after, number, number_after, suffixed, unit_scale};

/// Rate in bytes and operations per second, and the time in milliseconds.
#[derive(Clone, Copy)]
struct DirectionRate {
    bytes_per_s: f64,
    iops: Option<f64>,
    ms: f64,
}

/// What the latencies of the following lines belong to.
#[derive(Clone, Copy, Default, PartialEq)]
enum PercentileOwner {
    #[default]
    Nobody,
    Direction(usize),
    Flushes,
}

/// The table of percentiles whose rows follow, with nanoseconds per unit.
#[derive(Clone, Copy)]
enum PercentileTable {
    Completion(f64),
    Submission(f64),
    Flush(f64),
    /// Not imported.
    Other,
}

/// Values from the lines of a result.
#[derive(Default)]
pub(crate) struct Body {
    rates: [Option<DirectionRate>; 4],
    sides: [SideFigures; 4],
    flushes: Option<Flushes>,
    owner: PercentileOwner,
    table: Option<PercentileTable>,
    /// Reads, writes, trims and flushes.
    issued: Option<[u64; 4]>,
    /// Shares of the depths 1, 2, 4, .. in percent.
    pub depths: Vec<f64>,
}

impl Body {
    /// Reads a line; an error says what is wrong with it.
    pub fn line(&mut self, line: &str) -> Result<(), String> {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix('|') {
            return self.percentiles(rest);
        }
        if line.is_empty() {
            return Ok(());
        }
        self.table = None;
        if let Some((words, unit)) = line.split_once(" percentiles (") {
            return self.table(words, unit);
        }
        if let Some(direction) = direction(line) {
            let rest = line.split_once(':').map_or("", |(_, rest)| rest);
            self.owner = PercentileOwner::Direction(direction);
            self.rates[direction] = Some(rate(rest.trim()).ok_or("not a line of rates")?);
        } else if line.contains(": IOPS=") || line.contains(" : io=") || line.contains(": io=") {
            self.owner = PercentileOwner::Nobody;
        } else if line.starts_with("fsync/fdatasync") {
            self.owner = PercentileOwner::Flushes;
            self.flushes = Some(Flushes::default());
        } else if let Some(rest) = line.strip_prefix("clat (") {
            let (min_ns, max_ns) = (latency(rest, "min=")?, latency(rest, "max=")?);
            if let PercentileOwner::Direction(i) = self.owner {
                (self.sides[i].min_ns, self.sides[i].max_ns) = (min_ns, max_ns);
            }
        } else if let Some(rest) = line.strip_prefix("sync (") {
            if let (PercentileOwner::Flushes, Some(flushes)) = (self.owner, &mut self.flushes) {
                flushes.min_ns = latency(rest, "min=")?;
                flushes.mean_ns = latency(rest, "avg=")?;
                flushes.max_ns = latency(rest, "max=")?;
            }
        } else if let Some(rest) = line.strip_prefix("IO depths") {
            self.depths = rest.split('%').filter_map(share).collect();
        } else if line.starts_with("issued") {
            self.issued = issued(line);
        }
        Ok(())
    }

    /// The heading of a table: `clat percentiles (usec):`.
    fn table(&mut self, words: &str, unit: &str) -> Result<(), String> {
        let scale = scaled(unit).ok_or("an unknown unit of time")?;
        self.table = Some(match (words, self.owner) {
            ("clat", PercentileOwner::Direction(_)) => PercentileTable::Completion(scale),
            ("slat", PercentileOwner::Direction(_)) => PercentileTable::Submission(scale),
            ("sync", PercentileOwner::Flushes) => PercentileTable::Flush(scale),
            _ => PercentileTable::Other,
        });
        Ok(())
    }

    /// `99.00th=[ 2540], 99.50th=[ 3982]`.
    fn percentiles(&mut self, rest: &str) -> Result<(), String> {
        let side = if let PercentileOwner::Direction(i) = self.owner { i } else { MIXED };
        let (scale, list) = match self.table {
            Some(PercentileTable::Completion(scale)) => (scale, &mut self.sides[side].percentiles),
            Some(PercentileTable::Submission(scale)) => (scale, &mut self.sides[side].submission),
            Some(PercentileTable::Flush(scale)) => {
                (scale, &mut self.flushes.get_or_insert_default().percentiles)
            }
            Some(PercentileTable::Other) | None => return Ok(()),
        };
        for part in rest.split("],").filter(|part| part.contains("th=[")) {
            let (percent, value) = part.split_once("th=[").unwrap_or((part, ""));
            let value = value.trim().trim_start_matches('>').trim_start_matches('=');
            let pair = number(percent).zip(suffixed(value));
            let ((percent, _), value) = pair.ok_or("not a row of percentiles")?;
            list.push((percent / 100.0, value * scale));
        }
        Ok(())
    }

    /// The results of each direction that did any I/O, with its runtime in seconds.
    pub fn sides(&self) -> Vec<(usize, SideFigures, f64)> {
        let parts: Vec<_> = (0..MIXED).filter_map(|i| self.side(i)).collect();
        // The sum of directions that are listed as well is no further figure.
        if parts.is_empty() { self.side(MIXED).into_iter().collect() } else { parts }
    }

    fn side(&self, i: usize) -> Option<(usize, SideFigures, f64)> {
        let rate = self.rates[i].filter(|rate| rate.bytes_per_s > 0.0 || rate.iops > Some(0.0))?;
        let seconds = rate.ms / 1e3;
        let counts =
            self.issued.map(|issued| if i == MIXED { issued[..3].iter().sum() } else { issued[i] });
        let operations = counts.filter(|n| *n > 0);
        let rate_per_s = operations.filter(|_| rate.ms > 0.0).map(|n| n as f64 / seconds);
        let side = SideFigures {
            bytes_per_s: Some(rate.bytes_per_s),
            iops: rate_per_s.or(rate.iops),
            operations,
            ..self.sides[i].clone()
        };
        Some((i, side, seconds))
    }

    /// Latencies of flushes.
    pub fn flushes(&self) -> Option<Flushes> {
        let operations = self.issued.map(|issued| issued[3]).filter(|n| *n > 0);
        self.flushes.clone().map(|flushes| Flushes { operations, ..flushes })
    }
}

/// The share of a depth: `, >=64=0.1`.
fn share(part: &str) -> Option<f64> {
    part.rsplit_once('=').and_then(|(_, share)| share.parse().ok())
}

/// The direction of a line of rates.
fn direction(line: &str) -> Option<usize> {
    DIRECTIONS.iter().position(|word| {
        let rest = line.strip_prefix(word).map(str::trim_start);
        rest.is_some_and(|rest| rest.starts_with(':'))
    })
}

/// A latency of a line that begins with its unit, in nanoseconds: `usec): min=9, max=2345.6K`.
fn latency(text: &str, word: &str) -> Result<Option<f64>, String> {
    let scale = scaled(text).ok_or("an unknown unit of time")?;
    let Some(value) = after(text, word) else { return Ok(None) };
    let value = suffixed(value.trim_start());
    value.map(|value| Some(scale * value)).ok_or_else(|| "not a line of latencies".into())
}

/// Nanoseconds per unit, from text that begins with the unit: `usec): min=..`.
fn scaled(text: &str) -> Option<f64> {
    let units = [("nsec)", 1.0), ("usec)", 1e3), ("msec)", 1e6), ("sec)", 1e9)];
    units.into_iter().find(|(unit, _)| text.starts_with(unit)).map(|(_, scale)| scale)
}

fn rate(text: &str) -> Option<DirectionRate> {
    let Some(rest) = after(text, "BW=") else { return old_rate(text) };
    let (value, unit) = number(rest)?;
    let unit = unit.split([' ', ',']).next()?;
    // fio prints no unit after 0.
    let scale = if value > 0.0 { unit_scale(unit)? } else { 1.0 };
    let ms = after(rest, ")(").and_then(|rest| after(rest, "/"));
    let ms = number(ms?).filter(|(_, unit)| unit.starts_with("msec"))?.0;
    let iops = suffixed(after(text, "IOPS=")?)?;
    Some(DirectionRate { bytes_per_s: value * scale, iops: Some(iops), ms })
}

/// The rates of fio 2.
fn old_rate(text: &str) -> Option<DirectionRate> {
    let (value, unit) = number(after(text, "bw=")?)?;
    let letter = unit.chars().next()?.to_ascii_lowercase();
    let power = ['b', 'k', 'm', 'g', 't'].iter().position(|l| *l == letter)?;
    let iops = match after(text, "iops=") {
        Some(text) => Some(suffixed(text)?),
        None => None,
    };
    let ms = number_after(text, "runt=")?;
    Some(DirectionRate { bytes_per_s: value * 1024f64.powi(power as i32), iops, ms })
}

/// Number of reads, writes, trims and flushes. `total=r=64/w=0/d=0` (fio 2), `total=132,124,0,0`.
fn issued(line: &str) -> Option<[u64; 4]> {
    let totals = after(line, "total=")?.split_whitespace().next()?;
    let counts = totals.trim_end_matches(',').split([',', '/']).map(|part| {
        let digits = part.trim_start_matches(|c: char| !c.is_ascii_digit());
        number(digits).map(|(count, _)| count as u64)
    });
    let mut counts = counts.collect::<Option<Vec<u64>>>()?.into_iter();
    Some([counts.next()?, counts.next()?, counts.next().unwrap_or(0), counts.next().unwrap_or(0)])
}

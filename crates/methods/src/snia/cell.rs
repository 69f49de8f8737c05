//! A workload of a test, with its value in each round.

use record::{LatencyKind, Metric, MetricKey, Statistic, Unit, size_word};
use rig::{Measurement, bound};
use workload::{BlockSizes, Mix, OpKind, Pattern, Workload};

use super::DEPTH;
use script::whole::Whole;
use script::{Result, Session, TestRegion};

/// Operations submitted in one call at high depth.
const BATCH: u32 = 4;

/// A round of a cell ends after writing this share of the drive: 15 GB of 250 GB, one minute of the
/// small writes that matter. More would only wear a fast drive.
const ROUND_PASSES: f64 = 1.0 / 16.0;

/// The quantity taken from a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CellMetric {
    Iops,
    Throughput,
    /// Mean service time of all operations.
    Latency,
}

/// One workload and its values so far.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub workload: Workload,
    pub figure: CellMetric,
    /// Whether it must be steady.
    pub tracked: bool,
    /// Its values by round; `None` for a round without a completion, such as a short one in which
    /// the process stood still.
    pub samples: Vec<Option<f64>>,
    /// Longest service time so far, nanoseconds; `None` before the first completion.
    longest: Option<u64>,
    /// Mean service time of the last round, nanoseconds; `None` if nothing completed in it.
    response: Option<f64>,
}

impl Cell {
    /// A cell of random blocks with this percentage of reads: `{test}-{size}-r{percent}`. A round
    /// writes at most a sixteenth of the drive.
    pub fn random(whole: &Whole, test: &str, block: u32, read_percent: u32, seconds: f64) -> Cell {
        let size = size_word(u64::from(block));
        let name = MetricKey::of_words(&[&test, &size, &format_args!("r{read_percent}")]);
        let mix = Mix::read_percent(read_percent);
        let index = 100 + read_percent * 16 + block.trailing_zeros();
        let mut w = whole.random(&name.to_string(), mix, block, seconds, index);
        w.depth = DEPTH;
        Cell::from_workload(w, CellMetric::Iops).writing_at_most(whole, ROUND_PASSES)
    }

    /// A cell of sequential blocks.
    pub fn sequential(
        whole: &Whole,
        test: &str,
        block: u32,
        read_percent: u32,
        seconds: f64,
    ) -> Cell {
        let cell = Cell::random(whole, test, block, read_percent, seconds);
        let w = Workload { pattern: Pattern::Sequential, ..cell.workload };
        Cell::from_workload(w, CellMetric::Throughput)
    }

    fn from_workload(workload: Workload, figure: CellMetric) -> Cell {
        let batch = if workload.depth > 8 { BATCH } else { 1 };
        let workload = Workload { batch, ..workload };
        Cell {
            workload,
            figure,
            tracked: false,
            samples: Vec::new(),
            longest: None,
            response: None,
        }
    }

    /// The same cell with a limit on the writes of a round, in passes. Every job issues at least
    /// one block, which can exceed the limit on a small region.
    pub fn writing_at_most(mut self, whole: &Whole, passes: f64) -> Cell {
        let most = (passes * whole.bytes() as f64) as u64;
        let least = u64::from(self.workload.jobs) * u64::from(self.workload.blocks.max());
        let issued = bound::issued_for(&self.workload, most).max(least);
        self.workload.stop.bytes = (self.workload.mix.write > 0).then_some(issued);
        self
    }

    /// The same cell, required to be steady.
    pub fn tracked(self) -> Cell {
        Cell { tracked: true, ..self }
    }

    /// The same cell under another name.
    pub fn named(mut self, name: &MetricKey) -> Cell {
        self.workload.name = name.to_string();
        self
    }

    /// The same cell at depth 1; the figure is the latency.
    pub fn one_at_a_time(mut self) -> Cell {
        (self.workload.depth, self.workload.batch) = (1, 1);
        Cell { figure: CellMetric::Latency, ..self }
    }

    /// The same cell with this many jobs at this depth each.
    pub fn demanding(mut self, jobs: u32, depth: u32) -> Cell {
        (self.workload.jobs, self.workload.depth) = (jobs, depth);
        self.workload.batch = if depth > 8 { BATCH } else { 1 };
        self
    }

    /// Whether the drive's block size allows this cell.
    pub fn fits(&self, whole: &Whole) -> bool {
        let BlockSizes::Fixed(block) = self.workload.blocks else { return true };
        block >= whole.block && block.is_multiple_of(whole.block)
    }

    /// Seconds per round.
    pub fn seconds(&self) -> f64 {
        self.workload.stop.time_ns.unwrap_or(0) as f64 / 1e9
    }

    /// Bytes in flight at once.
    pub fn bytes_in_flight(&self) -> f64 {
        let w = &self.workload;
        f64::from(w.jobs) * f64::from(w.depth) * f64::from(w.blocks.max())
    }

    /// Runs one round; returns the bytes written.
    pub fn run(&mut self, session: &mut Session<'_>, round: u32) -> Result<u64> {
        let m = session.moment(&TestRegion::replicate(&self.workload, round), round)?;
        self.response = mean_service(&m);
        let value = match self.figure {
            CellMetric::Iops => m.iops(None),
            CellMetric::Throughput => m.throughput(None),
            CellMetric::Latency => self.response,
        };
        self.samples.push(value);
        let kinds = m.kinds.iter().flatten();
        self.longest = self.longest.max(kinds.filter_map(|k| k.service.max()).max());
        Ok(m.kind(OpKind::Write).map_or(0, |k| k.bytes))
    }

    /// The key of its metric.
    pub fn key(&self) -> MetricKey {
        MetricKey::from_workload(&self.workload)
    }

    pub fn unit(&self) -> Unit {
        match self.figure {
            CellMetric::Iops => Unit::Iops,
            CellMetric::Throughput => Unit::BytesPerSecond,
            CellMetric::Latency => Unit::Nanoseconds,
        }
    }

    /// Publishes the mean over these rounds, without an interval: consecutive rounds of one run are
    /// not replicates.
    pub fn put(&self, session: &mut Session<'_>, rounds: &[Option<f64>]) {
        if let Some(mean) = self.mean(self.key(), rounds) {
            session.put_metric(mean);
        }
        if self.figure == CellMetric::Latency {
            let key = self.key().with(Statistic::Max);
            session.put_value(key, Unit::Nanoseconds, self.longest.map(|ns| ns as f64));
        }
    }

    /// Publishes the mean response time of the last round, nanoseconds.
    pub fn put_response(&self, session: &mut Session<'_>) {
        let key = self.key().clocked(LatencyKind::Response);
        session.put_value(key, Unit::Nanoseconds, self.response);
    }

    /// The mean of the rounds that have a value, as a metric; `None` if none has.
    pub fn mean(&self, key: MetricKey, rounds: &[Option<f64>]) -> Option<Metric> {
        let samples: Vec<f64> = rounds.iter().copied().flatten().collect();
        if samples.is_empty() {
            return None;
        }
        let value = samples.iter().sum::<f64>() / samples.len() as f64;
        let n = samples.len() as u32;
        Some(Metric { n, samples, ..Metric::single(key, self.unit(), value) })
    }
}

/// Mean service time of reads and writes, nanoseconds.
fn mean_service(m: &Measurement) -> Option<f64> {
    let stats = m.transfers().map(|(_, stats)| stats);
    let (sum, n) = stats.fold((0, 0), |s, k| (s.0 + k.service.sum(), s.1 + k.ops));
    (n > 0).then(|| sum as f64 / n as f64)
}

#[cfg(test)]
mod tests {
    use workload::Region;

    use super::*;

    fn cell_of_depth(depth: u32) -> Cell {
        let region = Region::first(1 << 20);
        let workload = Workload::new("snia", Pattern::Uniform, Mix::READ, 4096, region);
        Cell::from_workload(Workload { depth, ..workload }, CellMetric::Iops)
    }

    #[test]
    fn only_more_than_eight_in_flight_are_submitted_in_batches() {
        assert_eq!([1, 8, 9].map(|depth| cell_of_depth(depth).workload.batch), [1, 1, BATCH]);
    }

    #[test]
    fn a_round_without_a_completion_is_no_rate_of_zero() {
        let cell = cell_of_depth(1);
        let mean = |rounds: &[Option<f64>]| cell.mean(cell.key(), rounds);
        let found = mean(&[None, Some(2.0), Some(4.0)]).expect("two values");
        assert_eq!((found.value, found.n, found.samples), (Some(3.0), 2, vec![2.0, 4.0]));
        assert_eq!(mean(&[None]), None);
    }
}

//! A repeated workload and the metrics of its replicates: a cell of the grid.

use analysis::{Amount, LatencyReplicates};
use record::{CellKey, Evidence, LatencyProfile, Metric, MetricKey, Order, Statistic, Unit};
use rig::{DividedTime, Measurement};
use workload::units::{amount, throughput};
use workload::{Mix, OpKind, Pattern, Stop, Workload};

use crate::{Result, Session, TestRegion};

/// Maximum passes of a write workload over its region per replicate, sequential and random. Limits
/// the wear on a fast drive; most replicates end by time.
const PASSES_MAX: f64 = 2.0;
const RANDOM_PASSES_MAX: f64 = 1.0;

/// Operations submitted in one call at high depth. In a larger batch the first would wait for the
/// last.
const BATCH: u32 = 4;

/// One workload and the results of its replicates.
pub struct Cell {
    pub workload: Workload,
    parts: Vec<Part>,
}

/// The metric of one operation kind.
struct Part {
    kind: OpKind,
    metric: MetricKey,
    unit: Unit,
    /// Bytes or operations, and seconds, of each replicate.
    rounds: Vec<Amount>,
    latencies: LatencyReplicates,
    split: DividedTime,
}

impl Cell {
    /// Throughput of large sequential blocks at this depth.
    pub fn sequential(test_region: &TestRegion, kind: OpKind, depth: u32, index: u32) -> Cell {
        let name = name(Order::Sequential, Some(kind), test_region.large, depth);
        let (pattern, mix) = (Pattern::Sequential, Mix::from_kind(kind));
        let mut w = Workload::new(name, pattern, mix, test_region.large, test_region.region());
        (w.depth, w.seed) = (depth, test_region.seed_of(index));
        Cell::new(w, Unit::BytesPerSecond)
    }

    /// IOPS of small random blocks at this depth.
    pub fn random(test_region: &TestRegion, kind: OpKind, depth: u32, index: u32) -> Cell {
        let name = name(Order::Random, Some(kind), test_region.small, depth);
        Cell::new(random(test_region, name, Mix::from_kind(kind), depth, index), Unit::Iops)
    }

    /// Small random blocks, seven reads to three writes.
    pub fn mixed(test_region: &TestRegion, depth: u32, index: u32) -> Cell {
        let name = name(Order::Mixed, None, test_region.small, depth);
        Cell::new(random(test_region, name, Mix::read_percent(70), depth, index), Unit::Iops)
    }

    /// A separate cell with the same workload in a named state of the drive.
    #[must_use]
    pub fn in_state(mut self, state: &str) -> Cell {
        let with_words = |key: MetricKey| match key.as_cell() {
            Some(cell) => {
                let words = state.split('-').map(String::from).collect();
                CellKey { words, ..cell.clone() }.into()
            }
            None => key,
        };
        self.workload.name = with_words(MetricKey::from_workload(&self.workload)).to_string();
        for part in &mut self.parts {
            part.metric = with_words(part.metric.clone());
        }
        self
    }

    fn new(mut workload: Workload, unit: Unit) -> Cell {
        if workload.depth > 8 {
            workload.batch = BATCH;
        }
        if workload.mix.changes_data() {
            workload.flush_at_end = true;
            let random = workload.pattern.is_random();
            let passes = if random { RANDOM_PASSES_MAX } else { PASSES_MAX };
            workload.stop.bytes = Some((passes * workload.region.bytes as f64) as u64);
        }
        let kinds = [OpKind::Read, OpKind::Write].into_iter();
        let parts = kinds.filter(|&k| workload.mix.weight(k) > 0).map(|kind| Part {
            kind,
            metric: MetricKey::of_direction(&workload, kind),
            unit,
            rounds: Vec::new(),
            latencies: LatencyReplicates::default(),
            split: DividedTime::default(),
        });
        Cell { parts: parts.collect(), workload }
    }

    /// The same cell with this time per replicate, including its warm-up.
    #[must_use]
    pub fn lasting(mut self, seconds: f64) -> Cell {
        self.workload.stop.time_ns = Stop::after_seconds(seconds).time_ns;
        self
    }

    /// Seconds per replicate.
    pub fn seconds(&self) -> f64 {
        self.workload.stop.time_ns.unwrap_or(0) as f64 / 1e9
    }

    /// Describes each rate that drifted over the rounds, and whether it fell.
    pub fn drifts(&self) -> Vec<Drift> {
        self.parts.iter().filter_map(Part::drift).collect()
    }

    /// Runs the replicate of this round and publishes the metrics so far.
    pub fn run(&mut self, session: &mut Session<'_>, round: u32) -> Result<()> {
        let m = session.measure_warm(&TestRegion::replicate(&self.workload, round), round)?;
        for part in &mut self.parts {
            part.add(&m);
            session.put_metrics(&part.metric.to_string(), part.metrics());
            let (name, service) = (self.workload.name.as_str(), part.latencies.merged().clone());
            session.put_latency(LatencyProfile::new(name, part.kind.name(), service));
        }
        session.checkpoint_if_due();
        Ok(())
    }
}

/// A rate that changes over the replicates.
#[derive(Clone, Debug)]
pub struct Drift {
    /// Whose rate, in words.
    of: String,
    /// At first and at last, in the unit.
    early: f64,
    late: f64,
    unit: Unit,
}

impl Drift {
    /// Whether the rate falls.
    pub fn falls(&self) -> bool {
        self.late < self.early
    }

    /// `random 4 KiB reads at depth 1 fell from 12.0k IOPS to 9.0k IOPS`.
    pub fn in_words(&self) -> String {
        let [early, late] = [self.early, self.late].map(|rate| match self.unit {
            Unit::Iops => format!("{} IOPS", amount(rate)),
            _ => throughput(rate),
        });
        let verb = if self.falls() { "fell" } else { "rose" };
        format!("{} {verb} from {early} to {late}", self.of)
    }

    /// Its two rates.
    pub fn evidence(&self) -> [Evidence; 2] {
        [("at first", self.early), ("at last", self.late)]
            .map(|(when, rate)| Evidence::new(format!("{} {when}", self.of), rate, self.unit))
    }
}

impl Part {
    /// Adds one replicate. A kind without completions has a rate of zero.
    fn add(&mut self, m: &Measurement) {
        let kind = m.kind(self.kind);
        let amount = kind.map_or(0, |k| if self.unit == Unit::Iops { k.ops } else { k.bytes });
        self.rounds.push((amount as f64, m.seconds()));
        if let Some(kind) = kind {
            self.latencies.add(&kind.service);
            kind.split.iter().for_each(|split| self.split.add(split));
        }
    }

    fn drift(&self) -> Option<Drift> {
        let rates: Vec<f64> =
            self.rounds.iter().map(|(amount, seconds)| amount / seconds).collect();
        let (early, late) = analysis::drift(&rates)?;
        Some(Drift { of: self.metric.in_words(), early, late, unit: self.unit })
    }

    /// The rate, its best round, the latencies, and where their time went.
    fn metrics(&self) -> Vec<Metric> {
        let rate = analysis::pooled(self.metric.clone(), self.unit, &self.rounds);
        let best = rate.range().map(|(_, best)| {
            Metric::single(self.metric.clone().with(Statistic::Undisturbed), self.unit, best)
        });
        let latencies = self.latencies.metrics(&self.metric);
        let split = self.split.metrics(&self.metric);
        std::iter::once(rate).chain(best).chain(latencies).chain(split).collect()
    }
}

fn random(test_region: &TestRegion, name: String, mix: Mix, depth: u32, index: u32) -> Workload {
    let pattern = Pattern::UniformOnce;
    let mut w = Workload::new(name, pattern, mix, test_region.small, test_region.region());
    (w.depth, w.seed) = (depth, test_region.seed_of(index));
    w
}

fn name(order: Order, op: Option<OpKind>, block_bytes: u32, depth: u32) -> String {
    CellKey::new(order, op, u64::from(block_bytes), depth).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use rules::testing::target;

    /// The drifts of sequential reads whose rounds of half a second moved these megabytes.
    fn drifts(megabytes: [f64; 4]) -> Vec<(String, bool)> {
        let region = TestRegion::new(&target(), &Options::default(), 60.0).expect("room");
        let mut cell = Cell::sequential(&region, OpKind::Read, 8, 0);
        cell.parts[0].rounds = megabytes.map(|megabytes| (megabytes * 1e6, 0.5)).to_vec();
        cell.drifts().iter().map(|drift| (drift.in_words(), drift.falls())).collect()
    }

    #[test]
    fn a_drift_says_whether_the_rate_fell() {
        let words = |verb: &str, from: &str, to: &str| {
            format!("sequential 1 MiB reads at depth 8 {verb} from {from} to {to}")
        };
        assert_eq!(
            drifts([210.0, 190.0, 110.0, 90.0]),
            [(words("fell", "400 MB/s", "200 MB/s"), true)]
        );
        assert_eq!(
            drifts([90.0, 110.0, 190.0, 210.0]),
            [(words("rose", "200 MB/s", "400 MB/s"), false)]
        );
        assert_eq!(drifts([100.0, 101.0, 100.0, 99.0]), []);
    }
}

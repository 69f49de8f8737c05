//! A repeated workload and the metrics of its replicates: a cell of the grid.

use analysis::LatencyReplicates;
use record::{CellKey, LatencyProfile, MetricKey, Order, Unit};
use rig::Measurement;
use workload::{Mix, OpKind, Pattern, Workload};

use crate::MethodError;
use crate::session::Session;
use crate::test_region::TestRegion;

/// Maximum passes of a write workload over its region per replicate, in order and at random, to
/// bound the wear on a fast drive. Most replicates end by time.
const PASSES_MAX: f64 = 2.0;
const RANDOM_PASSES_MAX: f64 = 0.5;

/// Operations submitted in one call at high depth; with more, the first of a batch would wait for
/// the last.
const BATCH: u32 = 4;

/// One workload and the results of its replicates.
pub(crate) struct Cell {
    pub workload: Workload,
    parts: Vec<Part>,
}

/// The metric of one operation kind.
struct Part {
    kind: OpKind,
    metric: MetricKey,
    unit: Unit,
    samples: Vec<f64>,
    latencies: LatencyReplicates,
}

impl Cell {
    /// Large sequential blocks at a depth; throughput.
    pub fn sequential(test_region: &TestRegion, kind: OpKind, depth: u32, index: u32) -> Cell {
        let name = name(Order::Sequential, Some(kind), test_region.large, depth);
        let (pattern, mix) = (Pattern::Sequential, Mix::of(kind));
        let mut w = Workload::new(name, pattern, mix, test_region.large, test_region.region());
        (w.depth, w.seed) = (depth, test_region.seed_of(index));
        Cell::new(w, Unit::BytesPerSecond)
    }

    /// Small random blocks at a depth; operations per second.
    pub fn random(test_region: &TestRegion, kind: OpKind, depth: u32, index: u32) -> Cell {
        let name = name(Order::Random, Some(kind), test_region.small, depth);
        Cell::new(random(test_region, name, Mix::of(kind), depth, index), Unit::Iops)
    }

    /// Small random blocks, seven reads to three writes.
    pub fn mixed(test_region: &TestRegion, depth: u32, index: u32) -> Cell {
        let name = name(Order::Mixed, None, test_region.small, depth);
        Cell::new(random(test_region, name, Mix::read_percent(70), depth, index), Unit::Iops)
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
            samples: Vec::new(),
            latencies: LatencyReplicates::default(),
        });
        Cell { parts: parts.collect(), workload }
    }

    /// The cells that the target allows, with equal shares of `seconds` for their replicates.
    pub fn sharing(cells: Vec<Cell>, test_region: &TestRegion, seconds: f64) -> Vec<Cell> {
        let allowed = |c: &Cell| test_region.writes || !c.workload.mix.changes_data();
        let mut cells: Vec<Cell> = cells.into_iter().filter(allowed).collect();
        let each = seconds / f64::from(test_region.rounds) / cells.len().max(1) as f64;
        for cell in &mut cells {
            cell.workload.stop.time_ns = Some((each * 1e9) as u64);
        }
        cells
    }

    /// Seconds per replicate.
    pub fn seconds(&self) -> f64 {
        self.workload.stop.time_ns.unwrap_or(0) as f64 / 1e9
    }

    /// Runs the replicate of this round and publishes the metrics so far.
    pub fn run(&mut self, session: &mut Session<'_>, round: u32) -> Result<(), MethodError> {
        let m = session.measure(&TestRegion::replicate(&self.workload, round), round)?;
        for part in &mut self.parts {
            part.add(&m);
            let rate = analysis::metric(part.metric.clone(), part.unit, part.samples.clone());
            let mut metrics = vec![rate];
            metrics.extend(part.latencies.metrics(&part.metric));
            session.out.put_metrics(&part.metric.to_string(), metrics);
            session.out.put_latency(LatencyProfile {
                name: self.workload.name.clone(),
                op: part.kind.name().to_string(),
                service: part.latencies.merged().clone(),
                response: None,
            });
        }
        session.checkpoint();
        Ok(())
    }
}

impl Part {
    /// Adds one replicate. A kind without completions has a rate of zero.
    fn add(&mut self, m: &Measurement) {
        let rate = match self.unit {
            Unit::Iops => m.iops(Some(self.kind)),
            _ => m.throughput(Some(self.kind)),
        };
        self.samples.push(rate.unwrap_or(0.0));
        if let Some(kind) = m.kind(self.kind) {
            self.latencies.add(&kind.service);
        }
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

//! The grid familiar from CrystalDiskMark: workloads down, reads and writes across.
//!
//! Built from the keys of metrics and histograms, whatever the method: any method whose metrics are
//! cells gets the grid; metrics with other keys are left for a plain table.

use record::{CellKey, LatencyProfile, Metric, MetricKey, Order, Run, Unit};
use workload::OpKind;

use crate::names::{self, STATISTICS};
use crate::split;

/// Latencies in nanoseconds, in the order of [`STATISTICS`].
pub(crate) type Latency = [Option<f64>; 4];

/// The reads or the writes of one row.
#[derive(Clone, Debug, Default)]
pub(crate) struct GridSide<'a> {
    pub(crate) rate: Option<&'a Metric>,
    pub(crate) latency: Latency,
}

impl GridSide<'_> {
    fn has_latency(&self) -> bool {
        self.latency.iter().any(Option::is_some)
    }
}

/// One workload in both directions.
#[derive(Clone, Debug)]
pub(crate) struct GridRow<'a> {
    pub(crate) key: CellKey,
    /// Both directions together, if they were measured together.
    pub(crate) both: Option<&'a Metric>,
    /// Reads, then writes.
    pub(crate) sides: [GridSide<'a>; 2],
    /// Share of reads, percent, if the row is a mix.
    pub(crate) read_percent: Option<f64>,
}

impl GridRow<'_> {
    pub(crate) fn label(&self) -> String {
        names::label(&self.key, self.shares().as_deref())
    }

    pub(crate) fn has_rate(&self) -> bool {
        self.both.is_some() || self.sides.iter().any(|side| side.rate.is_some())
    }

    pub(crate) fn has_latency(&self) -> bool {
        self.sides.iter().any(GridSide::has_latency)
    }

    pub(crate) fn side(&self, direction: OpKind) -> &GridSide<'_> {
        &self.sides[direction as usize]
    }

    /// `70/30`: shares of reads and writes.
    fn shares(&self) -> Option<String> {
        self.read_percent.map(|read| format!("{read:.0}/{:.0}", 100.0 - read))
    }

    /// Bytes per second of one of its rates.
    pub(crate) fn bytes_per_s(&self, rate: &Metric) -> Option<f64> {
        match rate.unit {
            Unit::BytesPerSecond => rate.value,
            Unit::Iops => rate.value.map(|iops| iops * self.key.block_bytes as f64),
            _ => None,
        }
    }

    /// Operations per second of one of its rates, if operations were counted.
    pub(crate) fn iops(&self, rate: &Metric) -> Option<f64> {
        rate.value.filter(|_| rate.unit == Unit::Iops)
    }
}

/// The grid, and the metrics that do not fit it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid<'a> {
    pub(crate) rows: Vec<GridRow<'a>>,
    pub(crate) others: Vec<&'a Metric>,
}

impl<'a> Grid<'a> {
    pub(crate) fn new(run: &'a Run) -> Grid<'a> {
        let mut grid = Grid::default();
        for metric in run.metrics.iter().filter(|metric| !split::is_of_split(metric)) {
            if !grid.add(metric) {
                grid.others.push(metric);
            }
        }
        run.latencies.iter().for_each(|profile| grid.fill_latency(profile));
        grid.rows.sort_by_cached_key(|row| names::rank(&row.key));
        for row in grid.rows.iter_mut().filter(|row| row.key.order == Order::Mixed) {
            row.read_percent = read_percent(run, row);
        }
        grid
    }

    /// Whether any row has a rate in that direction.
    pub(crate) fn has_rate(&self, direction: OpKind) -> bool {
        self.rows.iter().any(|row| row.side(direction).rate.is_some())
    }

    /// Whether any row has a latency in that direction.
    pub(crate) fn has_latency(&self, direction: OpKind) -> bool {
        self.rows.iter().any(|row| row.side(direction).has_latency())
    }

    /// Adds a metric; returns whether it belongs to the grid.
    fn add(&mut self, metric: &'a Metric) -> bool {
        let key = metric.key();
        let Some(cell) = key.as_cell().filter(|_| key.clock.is_none()) else { return false };
        let rate = matches!(metric.unit, Unit::BytesPerSecond | Unit::Iops);
        let side = key.direction().filter(|op| names::DIRECTIONS.contains(op));
        let column = key.statistic.map(|s| STATISTICS.iter().position(|known| *known == s));
        match (column, side) {
            (None, Some(op)) if rate => self.row(cell).sides[op as usize].rate = Some(metric),
            (None, None) if rate && key.op.is_none() => self.row(cell).both = Some(metric),
            (Some(Some(index)), Some(op)) => {
                self.row(cell).sides[op as usize].latency[index] = metric.value;
            }
            _ => return false,
        }
        true
    }

    /// Fills in the latencies of a side from its histogram, if no metric has any.
    fn fill_latency(&mut self, profile: &LatencyProfile) {
        let key = MetricKey::parse(&profile.name);
        let Some(cell) = key.as_cell().filter(|_| key.statistic.is_none()) else { return };
        let op = names::DIRECTIONS.into_iter().find(|op| op.name() == profile.op);
        let Some(op) = op else { return };
        let latency = &mut self.row(cell).sides[op as usize].latency;
        if latency.iter().all(Option::is_none) {
            *latency = latencies(profile);
        }
    }

    fn row(&mut self, cell: &CellKey) -> &mut GridRow<'a> {
        let key = names::row_of(cell);
        let index = self.rows.iter().position(|row| row.key == key).unwrap_or_else(|| {
            let sides = Default::default();
            self.rows.push(GridRow { key, both: None, sides, read_percent: None });
            self.rows.len() - 1
        });
        &mut self.rows[index]
    }
}

/// The rates of some rows.
pub(crate) fn rates_of<'a>(
    rows: impl Iterator<Item = &'a GridRow<'a>> + Clone,
) -> impl Iterator<Item = &'a Metric> + Clone {
    rows.flat_map(|row| row.sides.iter().map(|side| side.rate).chain([row.both])).flatten()
}

/// The statistics of a histogram; a percentile without ten samples beyond it is omitted.
fn latencies(profile: &LatencyProfile) -> Latency {
    let histogram = &profile.service;
    STATISTICS.map(|statistic| {
        let value = match statistic.quantile() {
            Some(q) => histogram.percentile(q),
            None => histogram.max(),
        };
        value.map(|ns| ns as f64)
    })
}

/// The share of reads in a mix: from the issued workload, otherwise from its name.
fn read_percent(run: &Run, row: &GridRow<'_>) -> Option<f64> {
    let issued = run.known_workloads().find(|w| {
        MetricKey::parse(&w.name).as_cell().is_some_and(|cell| names::row_of(cell) == row.key)
    });
    let from_mix = issued.filter(|w| w.mix.read + w.mix.write > 0).map(|w| {
        let total = f64::from(w.mix.read) + f64::from(w.mix.write);
        100.0 * f64::from(w.mix.read) / total
    });
    from_mix.or_else(|| row.key.words.iter().find_map(|word| word.parse().ok()))
}

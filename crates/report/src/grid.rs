//! The grid that a CrystalDiskMark user reads at a glance: workloads down, reads and writes across.
//!
//! Built from the names of the metrics alone, so that any method that names its metrics this way
//! gets the grid, and what has another name is left over for a plain table.

use record::{LatencyProfile, Metric, Run, Unit};
use workload::Workload;

use crate::names::{Direction, Key, Name, Order, STATISTICS};

/// Latencies in nanoseconds, in the order of [`STATISTICS`].
pub(crate) type Latency = [Option<f64>; 4];

/// Reads or writes of one row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Side<'a> {
    pub(crate) rate: Option<&'a Metric>,
    pub(crate) latency: Latency,
}

impl Side<'_> {
    fn has_latency(&self) -> bool {
        self.latency.iter().any(Option::is_some)
    }
}

/// One workload in both directions.
#[derive(Clone, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) key: Key,
    /// Both directions together, where they were measured together.
    pub(crate) both: Option<&'a Metric>,
    /// Reads, then writes.
    pub(crate) sides: [Side<'a>; 2],
    /// Share of reads, percent, where the row is a mix.
    pub(crate) read_percent: Option<f64>,
}

impl Row<'_> {
    pub(crate) fn label(&self) -> String {
        self.key.label(self.shares().as_deref())
    }

    pub(crate) fn has_rate(&self) -> bool {
        self.both.is_some() || self.sides.iter().any(|side| side.rate.is_some())
    }

    pub(crate) fn has_latency(&self) -> bool {
        self.sides.iter().any(Side::has_latency)
    }

    pub(crate) fn side(&self, direction: Direction) -> &Side<'_> {
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

    /// Operations per second of one of its rates, where that is what was counted.
    pub(crate) fn iops(&self, rate: &Metric) -> Option<f64> {
        rate.value.filter(|_| rate.unit == Unit::Iops)
    }
}

/// The grid, and the metrics that do not fit it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid<'a> {
    pub(crate) rows: Vec<Row<'a>>,
    pub(crate) others: Vec<&'a Metric>,
}

impl<'a> Grid<'a> {
    pub(crate) fn of(run: &'a Run) -> Grid<'a> {
        let mut grid = Grid::default();
        for metric in &run.metrics {
            let rate = matches!(metric.unit, Unit::BytesPerSecond | Unit::Iops);
            match Name::parse(&metric.name) {
                Some(name) if name.statistic.is_none() && rate => grid.add_rate(name, metric),
                Some(Name { key, direction: Some(direction), statistic: Some(index) }) => {
                    grid.row(key).sides[direction as usize].latency[index] = metric.value;
                }
                _ => grid.others.push(metric),
            }
        }
        run.latencies.iter().for_each(|profile| grid.fill_latency(profile));
        grid.rows.sort_by_cached_key(|row| row.key.rank());
        for row in grid.rows.iter_mut().filter(|row| row.key.order == Order::Mixed) {
            row.read_percent = read_percent(run, row);
        }
        grid
    }

    /// Whether any row has a rate in that direction.
    pub(crate) fn has_rate(&self, direction: Direction) -> bool {
        self.rows.iter().any(|row| row.side(direction).rate.is_some())
    }

    /// Whether any row has a latency in that direction.
    pub(crate) fn has_latency(&self, direction: Direction) -> bool {
        self.rows.iter().any(|row| row.side(direction).has_latency())
    }

    fn add_rate(&mut self, name: Name, metric: &'a Metric) {
        let row = self.row(name.key);
        match name.direction {
            Some(direction) => row.sides[direction as usize].rate = Some(metric),
            None => row.both = Some(metric),
        }
    }

    /// Takes percentiles that no metric gave from the histogram they would come from.
    fn fill_latency(&mut self, profile: &LatencyProfile) {
        let Some(name) = Name::parse(&profile.name).filter(|n| n.statistic.is_none()) else {
            return;
        };
        let Some(direction) = Direction::parse(&profile.op) else { return };
        let latency = &mut self.row(name.key).sides[direction as usize].latency;
        if latency.iter().all(Option::is_none) {
            *latency = latencies(profile);
        }
    }

    fn row(&mut self, key: Key) -> &mut Row<'a> {
        let index = self.rows.iter().position(|row| row.key == key).unwrap_or_else(|| {
            let sides = Default::default();
            self.rows.push(Row { key, both: None, sides, read_percent: None });
            self.rows.len() - 1
        });
        &mut self.rows[index]
    }
}

/// The statistics of a histogram; a percentile without ten samples beyond it is left out.
fn latencies(profile: &LatencyProfile) -> Latency {
    let histogram = &profile.service;
    STATISTICS.map(|statistic| {
        let value = match quantile(statistic) {
            Some(q) => histogram.percentile(q),
            None => histogram.max(),
        };
        value.map(|ns| ns as f64)
    })
}

/// The share behind a name such as `p99.9`.
fn quantile(statistic: &str) -> Option<f64> {
    let percent: f64 = statistic.strip_prefix('p')?.parse().ok()?;
    Some(percent / 100.0)
}

/// The share of reads of a mix: from the workload as it was issued, else from its name.
fn read_percent(run: &Run, row: &Row<'_>) -> Option<f64> {
    let issued = workloads(run).find(|w| Name::parse(&w.name).is_some_and(|n| n.key == row.key));
    let from_mix = issued.filter(|w| w.mix.read + w.mix.write > 0).map(|w| {
        let total = f64::from(w.mix.read) + f64::from(w.mix.write);
        100.0 * f64::from(w.mix.read) / total
    });
    from_mix.or_else(|| row.key.extra.iter().find_map(|word| word.parse().ok()))
}

/// The workloads of a run's plan that this version can read.
pub(crate) fn workloads(run: &Run) -> impl Iterator<Item = Workload> + '_ {
    run.plan
        .iter()
        .flat_map(|plan| &plan.workloads)
        .filter_map(|json| serde_json::from_value(json.clone()).ok())
}

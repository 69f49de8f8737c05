//! Values over time, stored by column: compact in JSON, and ready for charts.
//!
//! A series can be thinned to half its rows. Rates become means over time, so their integral is
//! still the bytes moved, and columns `.low` and `.high` keep the extremes.

use serde::{Deserialize, Serialize};

use crate::Unit;

/// One quantity over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Name, such as `read`, `write`, `read.p99`, `device.read`, `temperature`.
    pub name: String,
    /// Unit of the values.
    pub unit: Unit,
    /// One value per time of the series; `null` if unknown.
    pub values: Vec<Option<f64>>,
}

/// The intervals of one execution of one workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The workload.
    pub name: String,
    /// Repeat number, from 0.
    pub replicate: u32,
    /// Start of the workload, in nanoseconds since the run began.
    pub start_ns: u64,
    /// End of each interval, in nanoseconds since the workload began.
    pub t_ns: Vec<u64>,
    /// Values of the intervals.
    pub columns: Vec<Column>,
}

impl Series {
    /// An empty series.
    pub fn new(name: impl Into<String>, replicate: u32, start_ns: u64) -> Series {
        Series { name: name.into(), replicate, start_ns, t_ns: Vec::new(), columns: Vec::new() }
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|c| c.name == name)
    }

    /// Adds an interval that ended at `t_ns`. Columns not named get `null`, and new columns are
    /// filled with `null` for the earlier intervals, so that all columns are as long as `t_ns`.
    pub fn push(&mut self, t_ns: u64, values: &[(&str, Unit, Option<f64>)]) {
        let past = self.t_ns.len();
        self.t_ns.push(t_ns);
        for &(name, unit, value) in values {
            let column = self.columns.iter().position(|c| c.name == name);
            let index = column.unwrap_or_else(|| {
                let values = vec![None; past];
                self.columns.push(Column { name: name.to_string(), unit, values });
                self.columns.len() - 1
            });
            self.columns[index].values.push(value);
        }
        for column in &mut self.columns {
            column.values.resize(past + 1, None);
        }
    }

    /// Merges the rows in pairs; an odd last row is kept.
    ///
    /// Rates become means weighted by time. Columns of bytes per second get companions `NAME.low`
    /// and `NAME.high` with the extremes of the intervals merged so far. All other columns, such as
    /// latencies and temperatures, keep the greater value, so a percentile becomes an upper bound.
    pub fn thin(&mut self) {
        self.add_extremes();
        let starts = std::iter::once(0).chain(self.t_ns.iter().copied());
        let spans: Vec<u64> =
            self.t_ns.iter().zip(starts).map(|(t, s)| t.saturating_sub(s)).collect();
        for column in &mut self.columns {
            let merge = Merge::for_column(column);
            let pairs = column.values.chunks(2).zip(spans.chunks(2));
            column.values = pairs.map(|(values, spans)| merge.row(values, spans)).collect();
        }
        self.t_ns = self.t_ns.chunks(2).filter_map(|pair| pair.last().copied()).collect();
    }

    fn add_extremes(&mut self) {
        let rates = self.columns.iter().filter(|c| c.unit == Unit::BytesPerSecond);
        let rates: Vec<Column> = rates.filter(|c| !c.is_extreme()).cloned().collect();
        for rate in rates {
            for end in [LOW, HIGH] {
                let name = format!("{}{end}", rate.name);
                match self.columns.iter_mut().find(|c| c.name == name) {
                    // Rows without an extreme cover a single interval.
                    Some(known) => known.values.iter_mut().zip(&rate.values).for_each(|(k, r)| {
                        *k = k.or(*r);
                    }),
                    None => self.columns.push(Column { name, ..rate.clone() }),
                }
            }
        }
    }
}

/// Name suffix of a column with the lowest rates of merged intervals.
const LOW: &str = ".low";
/// Name suffix of a column with the highest rates of merged intervals.
const HIGH: &str = ".high";

impl Column {
    /// Whether it contains the extremes of another column.
    pub fn is_extreme(&self) -> bool {
        self.name.ends_with(LOW) || self.name.ends_with(HIGH)
    }
}

/// How the values of two rows are merged.
enum Merge {
    Mean,
    Least,
    Greatest,
}

impl Merge {
    fn for_column(column: &Column) -> Merge {
        match column.unit {
            _ if column.name.ends_with(LOW) => Merge::Least,
            _ if column.name.ends_with(HIGH) => Merge::Greatest,
            Unit::BytesPerSecond | Unit::Iops => Merge::Mean,
            _ => Merge::Greatest,
        }
    }

    /// The value of merged rows, ignoring unknown ones.
    fn row(&self, values: &[Option<f64>], spans: &[u64]) -> Option<f64> {
        let values_known = || values.iter().zip(spans).filter_map(|(v, span)| Some(((*v)?, *span)));
        match self {
            Merge::Least => values_known().map(|(v, _)| v).reduce(f64::min),
            Merge::Greatest => values_known().map(|(v, _)| v).reduce(f64::max),
            Merge::Mean => {
                let time: u64 = values_known().map(|(_, span)| span).sum();
                let sum: f64 = values_known().map(|(v, span)| v * span as f64).sum();
                let mean = if time > 0 { sum / time as f64 } else { values_known().next()?.0 };
                values_known().next().map(|_| mean)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_and_missing_columns_stay_aligned() {
        let mut series = Series::new("x", 0, 0);
        series.push(1, &[("read", Unit::BytesPerSecond, Some(1.0))]);
        series.push(2, &[("temperature", Unit::Celsius, Some(40.0))]);
        let values = |name| series.column(name).map(|c| c.values.clone());
        assert_eq!(values("read"), Some(vec![Some(1.0), None]));
        assert_eq!(values("temperature"), Some(vec![None, Some(40.0)]));
    }

    #[test]
    fn thinning_keeps_the_bytes_and_the_extremes() {
        let mut series = Series::new("x", 0, 0);
        for (t, rate, p99) in
            [(1, 10.0, 5.0), (2, 30.0, 9.0), (3, 0.0, 1.0), (5, 60.0, 2.0), (6, 7.0, 3.0)]
        {
            let row = [
                ("read", Unit::BytesPerSecond, Some(rate)),
                ("read.p99", Unit::Nanoseconds, Some(p99)),
            ];
            series.push(t, &row);
        }
        let values = |s: &Series, name: &str| -> Vec<f64> {
            s.column(name).into_iter().flat_map(|c| c.values.iter().flatten().copied()).collect()
        };
        let bytes = |s: &Series| -> f64 {
            let starts = [0].iter().chain(&s.t_ns);
            let spans = s.t_ns.iter().zip(starts).map(|(t, s)| (t - s) as f64);
            values(s, "read").iter().zip(spans).map(|(rate, span)| rate * span).sum()
        };
        let moved = bytes(&series);
        series.thin();
        assert_eq!(series.t_ns, [2, 5, 6]);
        assert_eq!(values(&series, "read"), [20.0, 40.0, 7.0]);
        assert_eq!(values(&series, "read.p99"), [9.0, 2.0, 3.0]);
        assert_eq!(values(&series, "read.low"), [10.0, 0.0, 7.0]);
        assert_eq!(values(&series, "read.high"), [30.0, 60.0, 7.0]);
        series.thin();
        assert_eq!(series.t_ns, [5, 6]);
        assert_eq!(
            (values(&series, "read.low"), values(&series, "read.high")),
            (vec![0.0, 7.0], vec![60.0, 7.0])
        );
        assert!((bytes(&series) - moved).abs() < 1e-9);
        assert_eq!(series.columns.len(), 4, "extremes have no extremes");
    }
}

//! Values over time, stored column by column: compact in JSON, and ready for charts.

use serde::{Deserialize, Serialize};

use crate::Unit;

/// One quantity over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Such as `read`, `write`, `read.p99`, `device.read`, `temperature`.
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

    /// The column with a name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|c| c.name == name)
    }

    /// Adds an interval that ended at `t_ns`. Unnamed columns get `null`, and new ones are filled
    /// with `null` for the past, so that all columns stay as long as `t_ns`.
    pub fn push(&mut self, t_ns: u64, values: &[(&str, Unit, Option<f64>)]) {
        let past = self.t_ns.len();
        self.t_ns.push(t_ns);
        for &(name, unit, value) in values {
            let known = self.columns.iter().position(|c| c.name == name);
            let index = known.unwrap_or_else(|| {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_come_late_or_go_missing_stay_aligned() {
        let mut series = Series::new("x", 0, 0);
        series.push(1, &[("read", Unit::BytesPerSecond, Some(1.0))]);
        series.push(2, &[("temperature", Unit::Celsius, Some(40.0))]);
        let values = |name| series.column(name).map(|c| c.values.clone());
        assert_eq!(values("read"), Some(vec![Some(1.0), None]));
        assert_eq!(values("temperature"), Some(vec![None, Some(40.0)]));
    }
}

//! The latencies of `ssdyno io`: service time, and with a schedule also response time, with the
//! same statistics for comparison.

use record::{Metric, Statistic, Unit};

use crate::names::distinct;

/// A latency metric of one clock: `read.service.p99` is the p99 in the row `read.service`.
struct Time {
    row: String,
    statistic: Statistic,
}

impl Time {
    fn from_metric(metric: &Metric) -> Option<Time> {
        if metric.unit != Unit::Nanoseconds {
            return None;
        }
        let key = metric.key();
        let (statistic, _) = key.statistic.zip(key.clock)?;
        Some(Time { row: key.without_statistic().to_string(), statistic })
    }
}

/// Statistics across, service and response times down: their difference is time spent waiting.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Times {
    /// Headings, in the order of the metrics.
    pub(crate) statistics: Vec<&'static str>,
    /// `service`, `response`, `read service`, ..., each with nanoseconds per statistic.
    pub(crate) rows: Vec<(String, Vec<Option<f64>>)>,
}

impl Times {
    /// The table, and the remaining metrics.
    pub(crate) fn split<'a>(
        metrics: impl IntoIterator<Item = &'a Metric>,
    ) -> (Times, Vec<&'a Metric>) {
        let (times, remaining): (Vec<_>, Vec<_>) =
            metrics.into_iter().partition(|m| Time::from_metric(m).is_some());
        let times: Vec<_> =
            times.into_iter().filter_map(|m| Some((Time::from_metric(m)?, m.value))).collect();
        let statistics = distinct(times.iter().map(|(time, _)| time.statistic));
        let rows = distinct(times.iter().map(|(time, _)| time.row.as_str())).into_iter();
        let rows = rows.map(|row| {
            let values = statistics.iter().map(|statistic| {
                let mut cells = times.iter();
                cells.find(|(t, _)| t.row == row && t.statistic == *statistic)?.1
            });
            (row.replace('.', " "), values.collect())
        });
        let rows = rows.collect();
        (
            Times { rows, statistics: statistics.into_iter().map(Statistic::name).collect() },
            remaining,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_is_next_to_service() {
        let metric = |name: &str| Metric::single(name, Unit::Nanoseconds, name.len() as f64);
        let names =
            ["service.p50", "service.p99.9", "cpu_ns_per_io", "response.p99.9", "read.service.max"];
        let metrics: Vec<_> = names.map(metric).into();
        let (times, others) = Times::split(&metrics);
        assert_eq!(times.statistics, ["p50", "p99.9", "max"]);
        let expected = [
            ("service".to_string(), vec![Some(11.0), Some(13.0), None]),
            ("response".to_string(), vec![None, Some(14.0), None]),
            ("read service".to_string(), vec![None, None, Some(16.0)]),
        ];
        assert_eq!(times.rows, expected);
        assert_eq!(others, [&metrics[2]]);
    }
}

//! The latencies of `ssdyno io`: service time, and response time where there was a schedule, each
//! with the same statistics, so that one can be read beside the other.

use record::{Metric, Unit};

/// A latency metric taken apart: `read.service.p99` is the p99 of the row `read.service`.
struct Time<'a> {
    row: &'a str,
    statistic: &'a str,
}

impl Time<'_> {
    fn of(metric: &Metric) -> Option<Time<'_>> {
        // The statistic begins after the last dot that a digit does not follow (`p99.9`).
        let mut dots = metric.name.match_indices('.');
        let is_point = |at: usize| metric.name[at + 1..].starts_with(|c: char| c.is_ascii_digit());
        let (at, _) = dots.rfind(|(at, _)| !is_point(*at))?;
        let time = Time { row: &metric.name[..at], statistic: &metric.name[at + 1..] };
        let is_clock = time.row.split('.').any(|word| ["service", "response"].contains(&word));
        Some(time).filter(|_| is_clock && metric.unit == Unit::Nanoseconds)
    }
}

/// Statistics across, service and response times down: their difference is time spent waiting.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Times<'a> {
    /// Headings, in the order of the metrics.
    pub(crate) statistics: Vec<&'a str>,
    /// `service`, `response`, `read service`, ..., and nanoseconds for each statistic.
    pub(crate) rows: Vec<(String, Vec<Option<f64>>)>,
}

impl<'a> Times<'a> {
    /// The table, and the metrics that are not in it.
    pub(crate) fn of(
        metrics: impl IntoIterator<Item = &'a Metric>,
    ) -> (Times<'a>, Vec<&'a Metric>) {
        let (times, others): (Vec<_>, Vec<_>) =
            metrics.into_iter().partition(|m| Time::of(m).is_some());
        let times: Vec<_> =
            times.into_iter().filter_map(|m| Some((Time::of(m)?, m.value))).collect();
        let statistics = distinct(times.iter().map(|(time, _)| time.statistic));
        let value = |row: &str, statistic: &str| {
            let found = times.iter().find(|(t, _)| t.row == row && t.statistic == statistic);
            found.and_then(|(_, value)| *value)
        };
        let rows = distinct(times.iter().map(|(time, _)| time.row))
            .into_iter()
            .map(|row| (row.replace('.', " "), statistics.iter().map(|s| value(row, s)).collect()));
        (Times { rows: rows.collect(), statistics }, others)
    }
}

fn distinct<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    words.for_each(|word| {
        if !seen.contains(&word) {
            seen.push(word);
        }
    });
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_stands_beside_service() {
        let metric = |name: &str| Metric::single(name, Unit::Nanoseconds, name.len() as f64);
        let names =
            ["service.p50", "service.p99.9", "cpu_ns_per_io", "response.p99.9", "read.service.max"];
        let metrics: Vec<_> = names.map(metric).into();
        let (times, others) = Times::of(&metrics);
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

//! Numbers with units, for display: at most four significant digits. Unknown is a word, never 0.

use record::{Covers, HistoryKey, Metric, Run, Unit};
use workload::units::{amount, binary, decimal, latency, significant, throughput};

use crate::style::Style;

/// The word for an unknown value.
pub(crate) const UNKNOWN: &str = "unknown";

/// A value with its unit: `3480 MB/s`, `83.1 us`, `12.3k IOPS`, `41 C`.
pub fn show(unit: Unit, value: f64) -> String {
    match unit {
        Unit::BytesPerSecond => throughput(value),
        Unit::Iops => format!("{} IOPS", amount(value)),
        Unit::Nanoseconds => latency(value),
        Unit::Bytes => bytes(value.max(0.0) as u64),
        Unit::Celsius => format!("{} C", trimmed(value)),
        Unit::Number => trimmed(value),
        Unit::Share => share(value),
        Unit::Other(unit) => format!("{} {unit}", trimmed(value)),
    }
}

/// Maximum size that is shown as a block size.
const BLOCK_MAX: u64 = 64 << 20;

/// A block size in binary units, `4 MiB`; any other amount in decimal units.
fn bytes(bytes: u64) -> String {
    let odd = bytes.checked_shr(bytes.trailing_zeros()).unwrap_or(0);
    let block = (512..=BLOCK_MAX).contains(&bytes) && (odd == 1 || odd == 3);
    if block { binary(bytes) } else { decimal(bytes) }
}

/// [`show`], or the word for unknown.
pub(crate) fn show_known(unit: Unit, value: Option<f64>) -> String {
    value.map_or_else(|| UNKNOWN.to_string(), |v| show(unit, v))
}

/// A rate without its unit, in MB/s or IOPS, for columns with the unit in the heading.
pub(crate) fn bare(unit: Unit, value: f64) -> String {
    match unit {
        Unit::BytesPerSecond => amount(value / 1e6),
        _ => amount(value),
    }
}

/// A fraction in percent, with at most three digits.
pub(crate) fn share(value: f64) -> String {
    format!("{}%", trimmed((value * 1e4).round() / 1e2))
}

/// The ends of a range in the unit of the value beside it, `6932-7100`; with their units if these
/// differ.
pub(crate) fn range(unit: Unit, value: f64, [low, high]: [f64; 2]) -> String {
    match [value, low, high].map(|value| {
        let text = show(unit, value);
        text.split_once(' ').map(|(n, unit)| (n.to_string(), unit.to_string()))
    }) {
        [Some((_, unit)), Some((low, unit_low)), Some((high, unit_high))]
            if unit == unit_low && unit == unit_high =>
        {
            format!("{low}-{high}")
        }
        _ => format!("{}-{}", show(unit, low), show(unit, high)),
    }
}

/// Whole numbers without decimals, others with three significant digits.
fn trimmed(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 9_999.5 {
        format!("{value:.0}")
    } else {
        match value.abs() {
            v if v < 0.0995 => amount(value),
            _ if value.abs() < 9_999.5 => significant(value),
            _ => amount(value),
        }
    }
}

/// The heading of a column of intervals: their meaning, if all have the same.
pub(crate) fn interval_heading<'a>(metrics: impl Iterator<Item = &'a Metric>) -> &'static str {
    let mut claims: Vec<Option<Covers>> =
        metrics.filter(|m| m.low.is_some()).map(|m| m.covers).collect();
    claims.dedup();
    match claims[..] {
        [Some(Covers::NextRun)] => "next time",
        [Some(Covers::Rounds)] => "rounds",
        [Some(Covers::Resolution)] => "resolution",
        [Some(Covers::Mean) | None] => "95% interval",
        _ => "interval",
    }
}

/// The interval in the unit of [`bare`]: `6952-7010`; without one, the number of replicates: `n=1`.
pub(crate) fn interval(metric: &Metric) -> String {
    match ends(metric) {
        Some((low, high)) => format!("{}-{}", bare(metric.unit, low), bare(metric.unit, high)),
        None => no_interval(metric),
    }
}

/// The interval as the larger of its two distances from the value: `±1.2%`.
pub(crate) fn interval_percent(metric: &Metric, style: &Style) -> String {
    match (metric.value, ends(metric)) {
        (Some(value), Some((low, high))) if value > 0.0 => {
            let percent = 100.0 * (high - value).max(value - low) / value;
            if percent < 0.05 {
                return no_interval(metric);
            }
            let digits = usize::from(percent < 9.95);
            format!("{}{percent:.digits$}%", style.either("±", "+-"))
        }
        _ => no_interval(metric),
    }
}

/// The interval with its unit and meaning: `next time 3420 to 3510 MB/s`.
pub(crate) fn interval_words(metric: &Metric) -> String {
    match ends(metric) {
        Some((low, high)) => {
            let claim = interval_heading(std::iter::once(metric));
            format!("{claim} {} to {}", show(metric.unit, low), show(metric.unit, high))
        }
        None if metric.value.is_none() => String::new(),
        None if metric.n > 1 => "no spread".to_string(),
        None => "no interval".to_string(),
    }
}

/// The ends of the interval; none if they would print as one number.
pub(crate) fn ends(metric: &Metric) -> Option<(f64, f64)> {
    let (low, high) = metric.low.zip(metric.high)?;
    (show(metric.unit, low) != show(metric.unit, high)).then_some((low, high))
}

/// The basis of an interval for the next run: `assumed: first run of this drive`, `from 4 runs`.
pub(crate) fn grounds(metric: &Metric, run: &Run) -> Option<String> {
    let runs = metric.runs.filter(|_| metric.covers == Some(Covers::NextRun))?;
    let key = HistoryKey::new(&run.target, run.environment.machine_id.as_deref());
    Some(match (runs, key.is_some_and(|key| !key.weak)) {
        (2.., _) => format!("from {runs} runs"),
        (_, true) => "assumed: first run of this drive".into(),
        (_, false) => "assumed: this drive cannot be recognised".into(),
    })
}

/// A metric's value, or a dash for a percentile with too few samples beyond it.
pub(crate) fn show_or_dash(metric: &Metric, style: &Style) -> String {
    match metric.value {
        None if is_percentile(metric) => style.either("–", "-").to_string(),
        value => show_known(metric.unit, value),
    }
}

/// Whether a metric is a percentile of latencies.
fn is_percentile(metric: &Metric) -> bool {
    let statistic = metric.key().statistic;
    metric.unit == Unit::Nanoseconds && statistic.is_some_and(|s| s.quantile().is_some())
}

fn no_interval(metric: &Metric) -> String {
    if metric.value.is_some() { format!("n={}", metric.n) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_sizes_are_binary_and_amounts_decimal() {
        let table = [
            (4096.0, "4 KiB"),
            (4_194_304.0, "4 MiB"),
            (12_582_912.0, "12 MiB"),
            (5_767_168.0, "5.77 MB"),
            (170e9, "170 GB"),
            (134_217_728.0, "134 MB"),
            (0.0, "0 B"),
        ];
        for (value, words) in table {
            assert_eq!(show(Unit::Bytes, value), words);
        }
    }

    #[test]
    fn every_unit_is_written_as_usual() {
        let table = [
            (Unit::BytesPerSecond, 3.48e9, "3480 MB/s"),
            (Unit::Iops, 12_300.4, "12.3k IOPS"),
            (Unit::Nanoseconds, 83_120.0, "83.1 us"),
            (Unit::Bytes, 1e12, "1.00 TB"),
            (Unit::Celsius, 41.0, "41 C"),
            (Unit::Celsius, 41.25, "41.2 C"),
            (Unit::Number, 0.9961, "1.00"),
            (Unit::Number, 0.0123, "0.0123"),
            (Unit::Number, 0.000_02, "0.0000200"),
            (Unit::Number, 0.0, "0"),
            (Unit::Number, 16.0, "16"),
            (Unit::Share, 1.0, "100%"),
            (Unit::Share, 0.5217, "52.2%"),
            (Unit::Share, 0.0, "0%"),
        ];
        for (unit, value, text) in table {
            assert_eq!(show(unit, value), text);
        }
        assert_eq!(show_known(Unit::Iops, None), "unknown");
    }

    #[test]
    fn an_interval_is_never_invented() {
        let mut metric = Metric::single("x", Unit::BytesPerSecond, 1e9);
        assert_eq!(interval(&metric), "n=1");
        assert_eq!(interval_percent(&metric, &Style::PLAIN), "n=1");
        (metric.low, metric.high, metric.n) = (Some(0.99e9), Some(1.02e9), 3);
        assert_eq!(interval(&metric), "990-1020");
        assert_eq!(interval_percent(&metric, &Style::PLAIN), "+-2.0%");
        metric.value = None;
        (metric.low, metric.high) = (None, None);
        assert_eq!(interval(&metric), "");
    }

    #[test]
    fn an_interval_is_named_by_its_meaning_and_never_has_width_0() {
        let mut metric = Metric::single("x", Unit::BytesPerSecond, 1e9);
        (metric.low, metric.high, metric.n) = (Some(0.99e9), Some(1.02e9), 3);
        let table = [
            (None, "95% interval 990 MB/s to 1020 MB/s"),
            (Some(Covers::Mean), "95% interval 990 MB/s to 1020 MB/s"),
            (Some(Covers::Rounds), "rounds 990 MB/s to 1020 MB/s"),
            (Some(Covers::NextRun), "next time 990 MB/s to 1020 MB/s"),
            (Some(Covers::Resolution), "resolution 990 MB/s to 1020 MB/s"),
        ];
        for (covers, words) in table {
            metric.covers = covers;
            assert_eq!(interval_words(&metric), words);
        }
        let rounds = Metric { covers: Some(Covers::Rounds), ..metric.clone() };
        assert_eq!(interval_heading([&metric, &rounds].into_iter()), "interval");
        let close = Metric { low: Some(0.9998e9), high: Some(1.0004e9), ..metric.clone() };
        assert_eq!(interval_percent(&close, &Style::PLAIN), "n=3", "not +-0.0%");
        metric.high = Some(0.9904e9);
        assert_eq!(
            (interval(&metric), interval_words(&metric)),
            ("n=3".into(), "no spread".into())
        );
    }
}

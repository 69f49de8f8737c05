//! Scales map values to positions on an axis, with round ticks and their labels.

use record::{Axis, Unit};
use workload::units::{amount, binary, decimal, latency, significant};

use crate::quantity::share;

/// Maps values to fractions of an axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    log: bool,
}

impl Scale {
    /// From 0 to slightly above the largest value.
    pub(super) fn from_zero(high: f64) -> Scale {
        Scale { low: 0.0, high: if high > 0.0 { high * 1.08 } else { 1.0 }, log: false }
    }

    /// From exactly the smallest to exactly the largest value.
    pub(super) fn between(low: f64, high: f64) -> Scale {
        let high = if high > low { high } else { low + 1.0 };
        Scale { low, high, log: false }
    }

    /// A logarithmic scale with a margin.
    pub(super) fn log(low: f64, high: f64) -> Scale {
        let low = low.max(f64::MIN_POSITIVE);
        Scale { low: low / 1.3, high: high.max(low) * 1.3, log: true }
    }

    /// The position of a value on the axis, 0 to 1.
    pub(super) fn share(&self, value: f64) -> f64 {
        if self.log {
            libm::log(value.max(self.low) / self.low) / libm::log(self.high / self.low)
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    /// The value at a position.
    pub(super) fn value(&self, share: f64) -> f64 {
        if self.log {
            self.low * libm::pow(self.high / self.low, share)
        } else {
            self.low + share * (self.high - self.low)
        }
    }

    /// Ticks at round values: at most `most`, or one more on a linear scale.
    pub(super) fn ticks(&self, most: usize, base: Base) -> Vec<f64> {
        match (self.log, base) {
            (true, Base::Two) => self.powers(2.0, most),
            (true, Base::Ten) => self.decades(most),
            (false, Base::Two) => self.steps_of_two(most),
            (false, Base::Ten) => self.steps(most),
        }
    }

    fn steps(&self, most: usize) -> Vec<f64> {
        let rough = (self.high - self.low) / most.max(1) as f64;
        let power = 10f64.powi(libm::log10(rough).floor() as i32);
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|s| s * power).into_iter().find(|s| *s >= rough);
        let step = step.unwrap_or(10.0 * power);
        let start = (self.low / step).ceil();
        let ticks = (0..).map(|i| (start + f64::from(i)) * step);
        ticks.take_while(|tick| *tick <= self.high * (1.0 + 1e-9)).collect()
    }

    fn steps_of_two(&self, most: usize) -> Vec<f64> {
        let rough = (self.high - self.low) / most.max(1) as f64;
        let step = 2f64.powi(libm::log2(rough).ceil() as i32);
        let start = (self.low / step).ceil();
        let ticks = (0..).map(|i| (start + f64::from(i)) * step);
        ticks.take_while(|tick| *tick <= self.high * (1.0 + 1e-9)).collect()
    }

    fn powers(&self, base: f64, most: usize) -> Vec<f64> {
        let [low, high] = [self.low, self.high].map(|value| libm::log(value) / libm::log(base));
        let (first, last) = (low.ceil() as i32, high.floor() as i32);
        let period = ((last - first + 1) as f64 / most.max(1) as f64).ceil().max(1.0) as usize;
        (first..=last).step_by(period).map(|power| base.powi(power)).collect()
    }

    fn decades(&self, most: usize) -> Vec<f64> {
        let choices = [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]];
        let mut scales = choices.into_iter().map(|steps: &[f64]| -> Vec<f64> {
            let exponents = [self.low, self.high].map(libm::log10);
            let (first, last) = (exponents[0].floor() as i32, exponents[1].ceil() as i32);
            let ticks = (first..=last).flat_map(|p| steps.iter().map(move |s| s * 10f64.powi(p)));
            ticks.filter(|tick| (self.low..=self.high).contains(tick)).collect()
        });
        let ticks = scales.find(|ticks| ticks.len() <= most);
        ticks.unwrap_or_else(|| self.powers(10.0, most))
    }
}

/// The base whose powers are round values on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Two,
    Ten,
}

/// Divisor and name of the unit in which an axis is labelled.
pub(super) fn unit_of_axis(unit: Unit, most: f64) -> (f64, &'static str) {
    match unit {
        Unit::BytesPerSecond => {
            largest(&[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")], (1.0, "B/s"), most)
        }
        Unit::Iops => (1.0, "IOPS"),
        Unit::Nanoseconds => largest(&[(1e9, "s"), (1e6, "ms"), (1e3, "us")], (1.0, "ns"), most),
        Unit::Bytes => bytes(most),
        Unit::Celsius => (1.0, "°C"),
        Unit::Share => (0.01, "%"),
        Unit::Number | Unit::Other(_) => (1.0, ""),
    }
}

fn bytes(most: f64) -> (f64, &'static str) {
    largest(&[(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")], (1.0, "B"), most)
}

/// The largest unit that `most` reaches, or else the smallest.
fn largest(
    units: &[(f64, &'static str)],
    smallest: (f64, &'static str),
    most: f64,
) -> (f64, &'static str) {
    units.iter().copied().find(|(scale, _)| most >= *scale).unwrap_or(smallest)
}

/// Divisor, unit and title of a horizontal axis.
pub(super) fn horizontal(axis: &Axis, most: f64) -> (f64, String) {
    let titled = |title: &str, (scale, unit): (f64, &str)| (scale, format!("{title}, {unit}"));
    match axis {
        Axis::BytesWritten => titled("written", bytes(most)),
        Axis::Address => titled("address on the drive", bytes(most)),
        Axis::Time | Axis::OwnTime if most >= 7200.0 => (3600.0, "time, hours".into()),
        Axis::Time | Axis::OwnTime if most >= 300.0 => (60.0, "time, minutes".into()),
        Axis::Time | Axis::OwnTime => (1.0, "time, seconds".into()),
        Axis::Round => (1.0, "round".into()),
        Axis::Rest => (1.0, "idle time before the workload, seconds".into()),
        Axis::QueueDepth => (1.0, "queue depth".into()),
        Axis::ReadShare => (1.0, "share of reads".into()),
        Axis::ShareOfBytes => (1.0, "share of bytes, percent".into()),
        Axis::Demand => (1.0, "offered load, operations per second".into()),
        Axis::BlockSize => (1.0, "transfer size".into()),
        Axis::Offset => (1.0, "spacing of the boundaries".into()),
        Axis::WorkingSet => (1.0, "working set size".into()),
        Axis::Workload => (1.0, String::new()),
        Axis::Other(name) => (1.0, name.replace('_', " ")),
    }
}

/// The label of a tick on a horizontal axis.
pub(super) fn tick(axis: &Axis, value: f64) -> String {
    match axis {
        Axis::BlockSize | Axis::WorkingSet | Axis::Offset => binary(value as u64),
        Axis::Demand => count(value),
        _ => plain(value),
    }
}

/// A number without unnecessary decimals: `0.5`, `20`, `1200`. A small one keeps three significant
/// digits: `0.00002`.
pub(super) fn plain(value: f64) -> String {
    let decimals = (2.0 - libm::log10(value.abs()).floor()).clamp(3.0, 12.0) as usize;
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// The label of a count: `640`, `88k`, `1.2M`.
pub(super) fn count(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{}M", plain(round_to_three_digits(v / 1e6))),
        v if v >= 1e4 => format!("{}k", plain(round_to_three_digits(v / 1e3))),
        v => plain(round_to_three_digits(v)),
    }
}

/// Rounds to three significant digits.
fn round_to_three_digits(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let scale = 10f64.powi(2 - libm::log10(value.abs()).floor() as i32);
    (value * scale).round() / scale
}

/// A value with its unit, for a bar or a cell.
pub(super) fn shown(unit: Unit, value: f64) -> String {
    match unit {
        Unit::BytesPerSecond => {
            let (scale, name) = unit_of_axis(unit, value.abs());
            format!("{} {name}", significant(value / scale))
        }
        Unit::Iops => format!("{} IOPS", count(value)),
        Unit::Nanoseconds => latency(value),
        Unit::Bytes => decimal(value.max(0.0) as u64),
        Unit::Celsius => format!("{value:.0} °C"),
        Unit::Number if value.abs() >= 1000.0 => amount(value),
        Unit::Number => plain(round_to_three_digits(value)),
        Unit::Share => share(value),
        Unit::Other(unit) => format!("{} {unit}", plain(round_to_three_digits(value))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(Scale::from_zero(5.0).ticks(6, Base::Ten), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let log = Scale::log(4096.0, 1048576.0);
        let ticks = log.ticks(5, Base::Two);
        assert!(ticks.len() <= 5 && ticks[0] == 4096.0, "{ticks:?}");
        assert!(Scale::log(1.0, 1e6).ticks(5, Base::Ten).len() <= 5);
        assert_eq!((log.share(4096.0 / 1.3), log.share(1048576.0 * 1.3)), (0.0, 1.0));
        assert!((log.value(log.share(65536.0)) - 65536.0).abs() < 1e-6);
    }

    #[test]
    fn values_have_three_digits_and_their_unit() {
        assert_eq!(shown(Unit::BytesPerSecond, 5.0e9), "5.00 GB/s");
        assert_eq!(shown(Unit::Iops, 88_412.0), "88.4k IOPS");
        assert_eq!(shown(Unit::Number, 0.1234), "0.123");
        assert_eq!(shown(Unit::Number, 0.000_02), "0.00002");
        assert_eq!([0.0, 0.025, 20.0, 1200.0].map(plain), ["0", "0.025", "20", "1200"]);
        assert_eq!(unit_of_axis(Unit::BytesPerSecond, 999e6).1, "MB/s");
        assert_eq!(horizontal(&Axis::Time, 3600.0), (60.0, "time, minutes".into()));
    }
}

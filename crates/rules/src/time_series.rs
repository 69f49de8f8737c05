//! The time series of a long workload: its progress over time.
//!
//! A rig reports intervals of time, but a drive's cache ends at a number of bytes. The series is
//! therefore evaluated by bytes: bins of equal size, the slowest window, the position where the
//! rate falls. The intervals limit its resolution, so there are never more bins than intervals.

use analysis::Steps;
use record::{Series, Unit};
use rig::Measurement;
use workload::OpKind;

/// Number of bins of a stored time series: 0.25% each.
pub const BINS: usize = 400;

/// Number of finer bins; their medians form the bins for change points.
const FINE: usize = 2000;

/// Minimum number of bins to locate a change.
const BINS_MIN: usize = 20;

/// Minimum intervals in a window: with fewer, the rate depends on when a block happened to
/// complete.
const WINDOW_INTERVALS_MIN: f64 = 4.0;

/// Time since the start, bytes transferred so far, and temperature.
#[derive(Clone, Copy, Debug)]
struct Point {
    seconds: f64,
    bytes: f64,
    celsius: Option<f64>,
}

/// The progress of a workload over time. The first point is 0, 0.
#[derive(Clone, Debug)]
pub struct TimeSeries {
    points: Vec<Point>,
    /// `read` or `write`, whichever transferred more.
    side: &'static str,
}

/// A bin of a time series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// Bytes transferred until its end.
    pub end_bytes: f64,
    /// Its end, seconds since the start.
    pub end_seconds: f64,
    /// Bytes per second in this bin.
    pub rate: f64,
    /// Degrees Celsius at its end.
    pub celsius: Option<f64>,
}

/// The first position where a rate falls, in bytes since the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fall {
    /// Best estimate.
    pub bytes: f64,
    /// Lower end of the 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Bytes per second before it.
    pub before: f64,
    /// Bytes per second after it, up to the next change.
    pub after: f64,
    /// Temperature at the fall, degrees Celsius.
    pub celsius: Option<f64>,
}

impl TimeSeries {
    /// The time series of a measurement, reads and writes together.
    pub fn from_measurement(m: &Measurement) -> TimeSeries {
        let [read, write, warmth] = ["read", "write", "temperature"]
            .map(|name| m.series.column(name).map(|c| (c.unit, &c.values)));
        let mut points = vec![Point { seconds: 0.0, bytes: 0.0, celsius: None }];
        let (mut seconds, mut bytes) = (0.0, 0.0);
        for (i, t_ns) in m.series.t_ns.iter().enumerate() {
            let end = *t_ns as f64 / 1e9;
            for (unit, values) in [read, write].iter().flatten() {
                let value = values[i].unwrap_or(0.0);
                bytes += if *unit == Unit::Bytes { value } else { value * (end - seconds) };
            }
            seconds = end;
            let celsius = warmth.and_then(|(_, values)| values[i]);
            points.push(Point { seconds, bytes, celsius });
        }
        let [read_bytes, written_bytes] =
            [OpKind::Read, OpKind::Write].map(|kind| m.kind(kind).map_or(0, |k| k.bytes));
        let mut series =
            TimeSeries { points, side: if written_bytes > read_bytes { "write" } else { "read" } };
        series.close(m);
        series
    }

    /// Adds the part after the last whole interval.
    fn close(&mut self, m: &Measurement) {
        let last = self.points[self.points.len() - 1];
        let bytes = m.kinds.iter().flatten().map(|k| k.bytes as f64).sum::<f64>();
        if m.seconds() > last.seconds && bytes > last.bytes {
            let celsius = m.temperature.map(|t| t.end_c);
            self.points.push(Point { seconds: m.seconds(), bytes, celsius });
        }
    }

    /// Total bytes transferred.
    pub fn bytes(&self) -> f64 {
        self.points[self.points.len() - 1].bytes
    }

    /// Total time in seconds.
    pub fn seconds(&self) -> f64 {
        self.points[self.points.len() - 1].seconds
    }

    /// Mean bytes per second; `None` if nothing was transferred.
    pub fn average(&self) -> Option<f64> {
        (self.bytes() > 0.0 && self.seconds() > 0.0).then(|| self.bytes() / self.seconds())
    }

    /// Bytes per second in each of `n` equal times, at least one.
    pub fn rates_over_time(&self, n: usize) -> Vec<f64> {
        let n = n.max(1);
        let seconds = self.seconds() / n as f64;
        let transferred: Vec<f64> = (0..=n).map(|i| self.bytes_at(i as f64 * seconds)).collect();
        transferred.windows(2).map(|pair| (pair[1] - pair[0]) / seconds.max(1e-9)).collect()
    }

    /// Bytes transferred until a time in seconds, by interpolation.
    pub(crate) fn bytes_at(&self, seconds: f64) -> f64 {
        let next = self.points.partition_point(|point| point.seconds < seconds);
        let Some(after) = self.points.get(next) else { return self.bytes() };
        let Some(before) = next.checked_sub(1).map(|last| self.points[last]) else {
            return after.bytes;
        };
        let share = (seconds - before.seconds) / (after.seconds - before.seconds).max(1e-9);
        before.bytes + share * (after.bytes - before.bytes)
    }

    /// Start of the first interval in which anything was transferred, in seconds.
    pub(crate) fn begins(&self) -> f64 {
        let mut pairs = self.points.windows(2);
        pairs.find(|pair| pair[1].bytes > pair[0].bytes).map_or(0.0, |pair| pair[0].seconds)
    }

    /// The points from a time in seconds on at which anything was transferred, each as seconds and
    /// bytes until then.
    pub(crate) fn progress_from(&self, seconds: f64) -> Vec<(f64, f64)> {
        let pairs = self.points.windows(2).filter(|pair| pair[1].bytes > pair[0].bytes);
        let points = pairs.map(|pair| (pair[1].seconds, pair[1].bytes));
        points.filter(|point| point.0 >= seconds).collect()
    }

    /// The highest temperature, degrees Celsius.
    pub fn hottest(&self) -> Option<f64> {
        self.points.iter().filter_map(|p| p.celsius).reduce(f64::max)
    }

    /// The first temperature, degrees Celsius.
    pub fn first_celsius(&self) -> Option<f64> {
        self.points.iter().find_map(|p| p.celsius)
    }

    /// The last temperature, degrees Celsius.
    pub fn last_celsius(&self) -> Option<f64> {
        self.points.iter().rev().find_map(|p| p.celsius)
    }

    /// Bytes per second between two positions; `None` past the end.
    pub fn rate_between(&self, from: f64, to: f64) -> Option<f64> {
        let seconds = self.time_at(to) - self.time_at(from);
        (to <= self.bytes() * (1.0 + 1e-9) && seconds > 0.0).then(|| (to - from) / seconds)
    }

    /// Bytes per second in the slowest window of `share` of the series; `None` if its intervals are
    /// too long.
    pub fn slowest(&self, share: f64) -> Option<f64> {
        let window = share * self.bytes();
        if (self.points.len() as f64) * share < WINDOW_INTERVALS_MIN {
            return None;
        }
        let starts = self.points.iter().map(|p| p.bytes).filter(|b| b + window <= self.bytes());
        let last = self.bytes() - window;
        let rates = starts.chain([last]).filter_map(|from| self.rate_between(from, from + window));
        rates.reduce(f64::min)
    }

    /// First time at which the rate reached `rate`, seconds since the start; `None` if never.
    pub fn reaches(&self, rate: f64) -> Option<f64> {
        let bins = self.bins(BINS);
        let first = bins.iter().position(|bin| bin.rate >= rate)?;
        Some(first.checked_sub(1).map_or(0.0, |before| bins[before].end_seconds))
    }

    /// At most `most` bins of equal size, and no more than there are intervals.
    pub fn bins(&self, most: usize) -> Vec<Bin> {
        let count = most.min(self.points.len() - 1);
        let size = self.bytes() / count.max(1) as f64;
        let count = if size > 0.0 { count } else { 0 };
        let mut start = 0.0;
        let bins = (0..count).map(|i| {
            let end_bytes = size * (i + 1) as f64;
            let end_seconds = self.time_at(end_bytes);
            // A bin without duration is shorter than the clock's resolution.
            let rate = size / (end_seconds - start).max(1e-9);
            start = end_seconds;
            Bin { end_bytes, end_seconds, rate, celsius: self.celsius_at(end_bytes) }
        });
        bins.collect()
    }

    /// The steps of the rate, and the bytes per point; `None` if the series is too short.
    pub fn steps(&self) -> Option<(Steps, f64)> {
        let rates: Vec<f64> = self.bins(FINE).iter().map(|bin| bin.rate).collect();
        let group = rates.len().div_ceil(BINS).max(1);
        let points = analysis::medians(&rates, BINS);
        let size = self.bytes() / rates.len().max(1) as f64 * group as f64;
        (points.len() >= BINS_MIN).then(|| (analysis::steps(&points), size))
    }

    /// The first position where the rate falls; `Some(None)` if it never falls, `None` if the
    /// series is too short.
    pub fn first_fall(&self) -> Option<Option<Fall>> {
        let (steps, size) = self.steps()?;
        let Some(i) = steps.first_fall() else { return Some(None) };
        let (change, pair) = (steps.changes[i], &steps.pieces[i..=i + 1]);
        // The bin of the fall has both rates, and can be counted on either side.
        let low = (change.low as f64 - 1.0).max(0.0) * size;
        let high = ((change.high + 1) as f64 * size).min(self.bytes());
        let [before, after] = [&pair[0], &pair[1]].map(|piece| {
            let (start, end) = (piece.start + 1, piece.end.saturating_sub(1));
            let rate = self.rate_between(start as f64 * size, end as f64 * size);
            rate.filter(|_| end > start).unwrap_or(piece.level)
        });
        // The levels are medians; with stalls, the rates of the same pieces can be the other way round.
        if after >= before {
            return Some(None);
        }
        let bytes = self.crossing(low, high, before, after).unwrap_or(change.at as f64 * size);
        let celsius = self.celsius_at(bytes);
        Some(Some(Fall { bytes, low, high, before, after, celsius }))
    }

    /// The position between `low` and `high` at which the rate changed from `before` to `after`,
    /// computed from the time of the whole range.
    pub fn crossing(&self, low: f64, high: f64, before: f64, after: f64) -> Option<f64> {
        let seconds = self.time_at(high) - self.time_at(low);
        let slow = 1.0 / after - 1.0 / before;
        let fast_bytes = ((high - low) / after - seconds) / slow;
        fast_bytes.is_finite().then(|| low + fast_bytes.clamp(0.0, high - low))
    }

    /// Time at which this many bytes had been transferred, seconds since the start.
    pub fn time_at(&self, bytes: f64) -> f64 {
        let after = self.points.partition_point(|p| p.bytes < bytes);
        let Some(next) = self.points.get(after) else { return self.seconds() };
        let Some(before) = after.checked_sub(1).map(|i| self.points[i]) else { return 0.0 };
        let share = (bytes - before.bytes) / (next.bytes - before.bytes);
        before.seconds + share * (next.seconds - before.seconds)
    }

    fn celsius_at(&self, bytes: f64) -> Option<f64> {
        let after = self.points.partition_point(|p| p.bytes < bytes);
        self.points[..(after + 1).min(self.points.len())].iter().rev().find_map(|p| p.celsius)
    }

    /// The series for the record: at most `most` bins, one row each. `None` if nothing was
    /// transferred.
    pub fn series(&self, name: &str, replicate: u32, start_ns: u64, most: usize) -> Option<Series> {
        let mut series = Series::new(name, replicate, start_ns);
        for bin in self.bins(most) {
            let mut row = vec![
                (self.side, Unit::BytesPerSecond, Some(bin.rate)),
                ("position", Unit::Bytes, Some(bin.end_bytes)),
            ];
            row.extend(bin.celsius.map(|c| ("temperature", Unit::Celsius, Some(c))));
            series.push((bin.end_seconds * 1e9) as u64, &row);
        }
        (!series.t_ns.is_empty()).then_some(series)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rig::KindStats;

    /// Intervals of a second with these rates in MB/s, and a final half interval.
    fn time_series(parts: &[(usize, f64)]) -> TimeSeries {
        let mut m = Measurement::default();
        let mut bytes = 0.0;
        let rates: Vec<f64> = parts.iter().flat_map(|p| vec![p.1 * 1e6; p.0]).collect();
        for (i, rate) in rates.iter().enumerate() {
            let row = [
                ("write", Unit::BytesPerSecond, Some(*rate)),
                ("temperature", Unit::Celsius, Some(30.0 + i as f64)),
            ];
            m.series.push((i as u64 + 1) * 1_000_000_000, &row);
            bytes += rate;
        }
        bytes += rates[rates.len() - 1] / 2.0;
        m.elapsed_ns = rates.len() as u64 * 1_000_000_000 + 500_000_000;
        m.kinds[OpKind::Write as usize] =
            Some(KindStats { bytes: bytes as u64, ops: 1, ..KindStats::default() });
        TimeSeries::from_measurement(&m)
    }

    #[test]
    fn bytes_time_and_average_include_the_last_part() {
        let c = time_series(&[(10, 100.0), (10, 50.0)]);
        assert!((c.bytes() - 1525e6).abs() < 1.0 && (c.seconds() - 20.5).abs() < 1e-9);
        assert!((c.average().expect("moved") - 1525e6 / 20.5).abs() < 1.0);
        assert_eq!(c.hottest(), Some(49.0));
        // 5 s at 100 MB/s and 5 s at 50 MB/s.
        assert!((c.rate_between(500e6, 1250e6).expect("within") - 75e6).abs() < 1.0);
        assert_eq!(c.rate_between(0.0, 2e9), None);
        assert_eq!(c.rate_between(500e6, 500e6), None, "no bytes have no rate");
    }

    #[test]
    fn the_place_of_a_change_follows_from_the_time_of_the_whole_range() {
        let c = time_series(&[(10, 100.0), (10, 50.0)]);
        let place = |low, high| c.crossing(low, high, 100e6, 50e6).expect("two rates");
        assert!((place(500e6, 1250e6) - 1000e6).abs() < 1.0, "{}", place(500e6, 1250e6));
        assert!((place(900e6, 1025e6) - 1000e6).abs() < 1.0, "{}", place(900e6, 1025e6));
        assert_eq!(place(100e6, 200e6), 200e6, "all of it at the first rate");
        assert_eq!(place(1100e6, 1200e6), 1100e6, "all of it at the second");
        assert_eq!(c.crossing(500e6, 1250e6, 75e6, 75e6), None, "one rate has no change");
    }

    #[test]
    fn a_measurement_that_ends_with_its_last_interval_has_no_further_part() {
        let mut m = Measurement::default();
        let row = [("write", Unit::BytesPerSecond, Some(100e6))];
        m.series.push(1_000_000_000, &row);
        m.series.push(2_000_000_000, &row);
        m.elapsed_ns = 2_000_000_000;
        let kind = KindStats { bytes: 200_000_001, ops: 1, ..KindStats::default() };
        m.kinds[OpKind::Write as usize] = Some(kind);
        let c = TimeSeries::from_measurement(&m);
        assert_eq!((c.bytes(), c.seconds()), (200e6, 2.0), "bytes without time are no part");
    }

    #[test]
    fn the_fall_is_found_to_a_fraction_of_a_bin() {
        // 30 s at 5000 MB/s are 150 GB, not a multiple of a bin.
        let c = time_series(&[(30, 5000.0), (300, 1400.0), (100, 5000.0)]);
        let fall = c.first_fall().expect("long enough").expect("falls");
        assert!((fall.bytes / 150e9 - 1.0).abs() < 0.01, "{fall:?}");
        assert!(fall.low <= 150e9 && 150e9 <= fall.high && fall.high - fall.low < 20e9, "{fall:?}");
        assert!(
            (fall.before / 5e9 - 1.0).abs() < 0.01 && (fall.after / 1.4e9 - 1.0).abs() < 0.01,
            "{fall:?}"
        );
        assert_eq!(fall.celsius.map(f64::round), Some(59.0));
    }

    #[test]
    fn a_level_series_never_falls_and_a_short_one_is_inconclusive() {
        assert_eq!(time_series(&[(100, 2500.0)]).first_fall(), Some(None));
        assert_eq!(time_series(&[(5, 2500.0)]).first_fall(), None);
        assert_eq!(TimeSeries::from_measurement(&Measurement::default()).first_fall(), None);
    }

    #[test]
    fn the_slowest_hundredth_is_a_window_of_bytes() {
        let mut parts = vec![(400, 100.0), (6, 40.0), (400, 100.0)];
        let slow = time_series(&parts).slowest(0.01).expect("fine enough");
        assert!(slow > 40e6 * 0.999 && slow < 75e6, "{slow}");
        parts.truncate(1);
        assert!((time_series(&parts).slowest(0.01).expect("fine") - 100e6).abs() < 1.0);
        assert_eq!(time_series(&[(20, 100.0)]).slowest(0.01), None);
    }

    #[test]
    fn a_long_run_is_a_short_series_and_stalls_are_in_it() {
        let c = time_series(&[(5000, 100.0), (100, 0.0), (5000, 100.0)]);
        let series = c.series("a", 0, 7, BINS).expect("moved");
        assert_eq!((series.t_ns.len(), series.start_ns), (BINS, 7));
        let rates = &series.column("write").expect("there").values;
        assert!(rates.iter().flatten().any(|r| *r < 30e6));
        assert!(time_series(&[(1, 0.0)]).series("a", 0, 0, BINS).is_none());
    }
}

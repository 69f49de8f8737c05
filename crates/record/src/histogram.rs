//! Latency histogram: log-linear buckets, 64 per power of two, over the whole range of `u64`.
//!
//! A value below 64 has its own bucket. Above, the width of a bucket is at most 1/64 of its lower
//! edge, so a percentile read from its middle is off by less than 1%. Minimum, maximum and sum are
//! exact, and histograms of threads and intervals can be added. Recording is one shift, one add and
//! one increment, without a branch on the configuration, because it is in the engine's hot loop.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Statistic;

const SUB_BITS: u32 = 6;
const SUB: u64 = 1 << SUB_BITS;
const BUCKETS: usize = ((64 - SUB_BITS + 1) as usize) << SUB_BITS;

/// A percentile with fewer samples beyond it is not printed: the standard error of their number
/// would exceed a third.
const SAMPLES_BEYOND: f64 = 10.0;

/// Counts of values in nanoseconds (or any other unit of whole numbers).
#[derive(Clone, PartialEq)]
pub struct Histogram {
    counts: Box<[u64]>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: vec![0; BUCKETS].into(), count: 0, sum: 0, min: u64::MAX, max: 0 }
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Histogram { count, min, max, .. } = self;
        write!(f, "Histogram {{ count: {count}, min: {min}, max: {max} }}")
    }
}

impl Histogram {
    /// Counts one value.
    #[inline(always)]
    pub fn record(&mut self, value: u64) {
        self.counts[bucket(value)] += 1;
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Counts each of these values: faster than one at a time, because sum, minimum and maximum
    /// stay in registers.
    pub fn record_all(&mut self, values: &[u64]) {
        let (mut sum, mut min, mut max) = (0, self.min, self.max);
        for &value in values {
            self.counts[bucket(value)] += 1;
            sum += u128::from(value);
            min = min.min(value);
            max = max.max(value);
        }
        self.count += values.len() as u64;
        self.sum += sum;
        (self.min, self.max) = (min, max);
    }

    /// Counts a value `times` times, as from a table. The total count is limited to `u64::MAX`.
    pub fn record_many(&mut self, value: u64, times: u64) {
        let times = times.min(u64::MAX - self.count);
        if times > 0 {
            self.counts[bucket(value)] += times;
            self.count += times;
            self.sum += u128::from(value) * u128::from(times);
            self.min = self.min.min(value);
            self.max = self.max.max(value);
        }
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts.iter()) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Clears all counts but keeps the memory.
    pub fn clear(&mut self) {
        if self.count > 0 {
            self.counts.fill(0);
        }
        (self.count, self.sum, self.min, self.max) = (0, 0, u64::MAX, 0);
    }

    /// Removes all values from `limit` on, in whole buckets, and returns their number. Afterwards
    /// the maximum is the upper edge of its bucket, and the sum is computed from the buckets'
    /// middles.
    pub fn remove_from(&mut self, limit: u64) -> u64 {
        let first = bucket(limit);
        let count_removed = self.counts[first..].iter().sum();
        if count_removed == 0 {
            return 0;
        }
        self.counts[first..].fill(0);
        let minimum = self.min;
        let mut full = self.counts.iter().enumerate().filter(|(_, c)| **c > 0);
        let sum = full.clone().map(|(i, c)| u128::from(middle(i)) * u128::from(*c)).sum();
        let last = full.next_back().map(|(i, _)| lower(i) + width(i) - 1);
        (self.count, self.sum) = (self.count - count_removed, sum);
        (self.min, self.max) = last.map_or((u64::MAX, 0), |max| (minimum, max));
        count_removed
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of all values, exact.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Smallest value, exact.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// Largest value, exact.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Arithmetic mean, exact.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The value below which a fraction `q` (0 to 1) of the values lies, within 1%; `q` = 1 gives
    /// the exact maximum. `None` if the histogram is empty.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let rank = (q.clamp(0.0, 1.0) * self.count as f64).ceil().max(1.0) as u64;
        if rank >= self.count {
            return Some(self.max);
        }
        let mut cumulative = 0;
        let index = self.counts.iter().position(|c| {
            cumulative += c;
            cumulative >= rank
        })?;
        Some(middle(index).clamp(self.min, self.max))
    }

    /// [`Histogram::quantile`] if at least ten samples lie beyond it, otherwise `None`: with fewer,
    /// a percentile is not a measurement.
    pub fn percentile(&self, q: f64) -> Option<u64> {
        let samples_beyond = (1.0 - q) * self.count as f64;
        // 0.1% of 10,000 is 9.999...96 in floating point; it counts as ten.
        (samples_beyond + 1e-6 >= SAMPLES_BEYOND).then(|| self.quantile(q)).flatten()
    }

    /// The standard percentiles that have enough samples beyond them, and the maximum.
    pub fn statistics(&self) -> impl Iterator<Item = (Statistic, u64)> + '_ {
        let percentiles = Statistic::PERCENTILES.into_iter();
        let supported = percentiles.filter_map(|s| Some((s, self.percentile(s.quantile()?)?)));
        supported.chain(self.max().map(|max| (Statistic::Max, max)))
    }

    /// The non-empty buckets: lower edge, width and count, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let full = self.counts.iter().enumerate().filter(|(_, c)| **c > 0);
        full.map(|(i, &c)| (lower(i), width(i), c))
    }
}

#[inline]
fn bucket(value: u64) -> usize {
    // Below 64 the value is the bucket's index; `| SUB` makes the shift 0 without a branch.
    let shift = 63 - SUB_BITS - (value | SUB).leading_zeros();
    (u64::from(shift) * SUB + (value >> shift)) as usize
}

fn lower(index: usize) -> u64 {
    let (shift, sub) = shift_and_sub(index);
    sub << shift
}

fn width(index: usize) -> u64 {
    1 << shift_and_sub(index).0
}

fn middle(index: usize) -> u64 {
    lower(index) + (width(index) - 1) / 2
}

fn shift_and_sub(index: usize) -> (u64, u64) {
    let index = index as u64;
    if index < 2 * SUB {
        return (0, index);
    }
    let shift = index / SUB - 1;
    (shift, index - shift * SUB)
}

impl Histogram {
    /// The index of a value's bucket.
    pub fn bucket_of(value: u64) -> usize {
        bucket(value)
    }

    /// The lower edge of a bucket; `None` beyond the last one.
    pub fn lower_edge(index: usize) -> Option<u64> {
        (index < BUCKETS).then(|| lower(index))
    }

    /// Rebuilds a histogram from its stored parts: buckets as lower edge and count, exact sum,
    /// minimum and maximum. Fails with the contradiction if they do not fit together.
    pub fn from_parts(
        buckets: impl IntoIterator<Item = (u64, u64)>,
        sum: u128,
        min: Option<u64>,
        max: Option<u64>,
    ) -> Result<Histogram, &'static str> {
        let mut histogram = Histogram::default();
        for (low, count) in buckets {
            histogram.count =
                histogram.count.checked_add(count).ok_or("the counts exceed 64 bits")?;
            histogram.counts[bucket(low)] += count;
        }
        let mut full = histogram.buckets();
        let first = full.next();
        let last = full.last().or(first);
        let are_held = [(first, min), (last, max)]
            .iter()
            .all(|(edge, value)| edge.map(|(low, ..)| bucket(low)) == value.map(bucket));
        if !are_held || min > max {
            return Err("minimum and maximum are not in its buckets");
        }
        let (least, most) = (min.unwrap_or(0), max.unwrap_or(0));
        let [low, high] = [least, most].map(|value| value as f64 * histogram.count as f64);
        if !(low * 0.999..=high * 1.001).contains(&(sum as f64)) {
            return Err("the sum is not one of its values");
        }
        (histogram.sum, histogram.min, histogram.max) = (sum, min.unwrap_or(u64::MAX), most);
        Ok(histogram)
    }
}

/// The JSON form: exact count, minimum and maximum, the sum as a double (exact up to 2^53), and the
/// non-empty buckets, each as `[lower edge, count]`.
#[derive(Serialize, Deserialize)]
struct Sparse {
    count: u64,
    sum: f64,
    min: Option<u64>,
    max: Option<u64>,
    buckets: Vec<(u64, u64)>,
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let buckets = self.buckets().map(|(low, _, count)| (low, count)).collect();
        let (min, max) = (self.min(), self.max());
        Sparse { count: self.count, sum: self.sum as f64, min, max, buckets }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Sparse { count, sum, min, max, buckets } = Sparse::deserialize(deserializer)?;
        let read = Histogram::from_parts(buckets, sum as u128, min, max);
        let read = read.and_then(|histogram| {
            if histogram.count == count {
                Ok(histogram)
            } else {
                Err("the count is not that of its buckets")
            }
        });
        read.map_err(|why| D::Error::custom(format_args!("histogram: {why}")))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn record_many_equals_repeated_record() {
        let (mut one, mut many) = (Histogram::default(), Histogram::default());
        (0..5).for_each(|_| one.record(777));
        many.record_many(777, 5);
        many.record_many(9, 0);
        assert_eq!(one, many);
        many.record_many(u64::MAX, u64::MAX);
        assert_eq!(many.count(), u64::MAX);
    }

    #[test]
    fn record_all_equals_repeated_record() {
        let (mut one, mut all) = (Histogram::default(), Histogram::default());
        for values in [&[5, 70_000, 3][..], &[], &[u64::MAX, 4, 70_000]] {
            values.iter().for_each(|value| one.record(*value));
            all.record_all(values);
            assert_eq!(one, all);
        }
    }

    proptest! {
        #[test]
        fn a_bucket_represents_its_values_within_one_percent(value: u64) {
            let (low, width) = (lower(bucket(value)), width(bucket(value)));
            prop_assert!(low <= value && value - low < width);
            prop_assert!(middle(bucket(value)).abs_diff(value) as f64 <= value as f64 * 0.01);
        }

        #[test]
        fn quantiles_agree_with_sorting(mut values in prop::collection::vec(0u64..1 << 40, 1..500), q in 0.0f64..=1.0) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&v| histogram.record(v));
            values.sort_unstable();
            let rank = (q * values.len() as f64).ceil().max(1.0) as usize;
            let truth = values[rank - 1];
            let read = histogram.quantile(q).expect("not empty");
            prop_assert!(read.abs_diff(truth) as f64 <= truth as f64 * 0.01 + 0.5);
            prop_assert_eq!(histogram.quantile(1.0), values.last().copied());
        }

        #[test]
        fn survives_json_and_merging(a in prop::collection::vec(any::<u32>(), 0..50), b in prop::collection::vec(any::<u32>(), 0..50)) {
            let recorded = |values: &[u32]| {
                let mut h = Histogram::default();
                values.iter().for_each(|&v| h.record(u64::from(v)));
                h
            };
            let mut merged = recorded(&a);
            merged.merge(&recorded(&b));
            prop_assert_eq!(&merged, &recorded(&[a, b].concat()));
            let text = serde_json::to_string(&merged).expect("plain data");
            prop_assert_eq!(serde_json::from_str::<Histogram>(&text).expect("own text"), merged);
        }
    }

    #[test]
    fn contradictions_are_refused() {
        let read = |json: &str| serde_json::from_str::<Histogram>(json).map_err(|e| e.to_string());
        let text = |count: &str, sum: &str, min: &str, max: &str, buckets: &str| {
            format!(
                r#"{{"count":{count},"sum":{sum},"min":{min},"max":{max},"buckets":{buckets}}}"#
            )
        };
        let good = text("3", "25.0", "5", "10", "[[5,1],[10,2]]");
        assert_eq!(read(&good).map(|h| h.quantile(0.5)), Ok(Some(10)));
        assert_eq!(read(&text("0", "0.0", "null", "null", "[]")), Ok(Histogram::default()));
        let max = u64::MAX.to_string();
        let bad = [
            text("3", "25.0", "10", "5", "[[5,1],[10,2]]"),
            text("3", "25.0", "5", "11", "[[5,1],[10,2]]"),
            text("3", "25.0", "null", "10", "[[5,1],[10,2]]"),
            text("0", "0.0", "5", "10", "[]"),
            text("4", "25.0", "5", "10", "[[5,1],[10,2]]"),
            text("3", "31.0", "5", "10", "[[5,1],[10,2]]"),
            text("3", "-1.0", "5", "10", "[[5,1],[10,2]]"),
            text(&max, "25.0", "5", "10", &format!("[[5,{max}],[10,2]]")),
        ];
        for json in bad {
            let error = read(&json).map(drop).expect_err(&json);
            assert!(error.starts_with("histogram: "), "{error}");
        }
    }

    #[test]
    fn a_percentile_needs_ten_samples_beyond() {
        let mut histogram = Histogram::default();
        (0..999).for_each(|v| histogram.record(v));
        assert_eq!(histogram.percentile(0.99), None);
        histogram.record(999);
        assert!(histogram.percentile(0.99).is_some());
        assert_eq!(histogram.percentile(0.999), None);
    }
}

//! The rows of a time series, initially one per interval.
//!
//! To limit the memory of long runs, a series that has grown to [`ROWS_MAX`] rows is thinned to
//! half, and each row then covers twice as many intervals.

use record::{Series, Unit};
use rig::{Interval, Kinds};

/// Maximum rows of a series: almost an hour of 100 ms intervals.
pub(super) const ROWS_MAX: usize = 32_768;

/// The intervals that are combined into one row.
#[derive(Debug, Default)]
pub(super) struct SeriesRow {
    pub kinds: Kinds,
    /// Least and greatest bytes per interval, for reads and writes.
    pub extremes: [(u64, u64); 2],
    /// Number of intervals with operations.
    busy: u64,
}

impl SeriesRow {
    /// Adds an interval with operations.
    pub fn add(&mut self, kinds: Kinds) {
        for (side, (least, most)) in self.extremes.iter_mut().enumerate() {
            let bytes = kinds[side].as_ref().map_or(0, |kind| kind.bytes);
            *least = if self.busy == 0 { bytes } else { bytes.min(*least) };
            *most = bytes.max(*most);
        }
        if self.busy == 0 {
            self.kinds = kinds;
        } else {
            super::add(&mut self.kinds, &kinds);
        }
        self.busy += 1;
    }

    /// Returns the row of `intervals` intervals and begins the next one.
    pub fn take(&mut self, intervals: u64) -> SeriesRow {
        let mut row = std::mem::take(self);
        if row.busy < intervals {
            row.extremes.iter_mut().for_each(|(least, _)| *least = 0);
        }
        row
    }
}

/// Adds a row to the series. A direction that never occurred gets no columns. `extremes` are the
/// lowest and highest rates of the row's intervals, in bytes per second, if it has several.
pub(super) fn push_row(
    series: &mut Series,
    interval: &Interval,
    totals: &Kinds,
    extremes: Option<[(f64, f64); 2]>,
) {
    let seconds = (interval.end_ns - interval.start_ns) as f64 / 1e9;
    // If the process stood still during the interval, the bytes do not give a rate of the drive.
    let of_drive = |value: f64| (!interval.stood_still).then_some(value);
    let of_drive_ns = |value: Option<u64>| value.and_then(|ns| of_drive(ns as f64));
    let mut row = Vec::with_capacity(12);
    let names = [
        ["read", "read.ops", "read.p50", "read.p99", "read.max", "device.read"],
        ["write", "write.ops", "write.p50", "write.p99", "write.max", "device.write"],
    ];
    let ends = [["read.low", "read.high"], ["write.low", "write.high"]];
    for (side, [bytes, ops, p50, p99, max, device]) in names.into_iter().enumerate() {
        if let Some(seen) = interval.device_bytes {
            row.push((device, Unit::BytesPerSecond, of_drive(seen[side] as f64 / seconds)));
        }
        if totals[side].is_none() {
            continue;
        }
        row.push((bytes, Unit::BytesPerSecond, of_drive(interval.bytes[side] as f64 / seconds)));
        row.push((ops, Unit::Iops, of_drive(interval.ops[side] as f64 / seconds)));
        row.push((p50, Unit::Nanoseconds, of_drive_ns(interval.p50_ns[side])));
        row.push((p99, Unit::Nanoseconds, of_drive_ns(interval.p99_ns[side])));
        row.push((max, Unit::Nanoseconds, of_drive_ns(interval.max_ns[side])));
        if let Some(rates) = extremes {
            row.push((ends[side][0], Unit::BytesPerSecond, of_drive(rates[side].0)));
            row.push((ends[side][1], Unit::BytesPerSecond, of_drive(rates[side].1)));
        }
    }
    if interval.temperature_c.is_some() {
        row.push(("temperature", Unit::Celsius, interval.temperature_c));
    }
    series.push(interval.end_ns, &row);
}

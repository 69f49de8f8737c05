//! One row of a time series for each interval.

use record::{Series, Unit};
use rig::{Interval, Kinds};

/// One row of the series; a direction that never occurred gets no columns.
pub(super) fn push_row(series: &mut Series, interval: &Interval, totals: &Kinds) {
    let seconds = (interval.end_ns - interval.start_ns) as f64 / 1e9;
    let ns = |value: Option<u64>| value.map(|v| v as f64);
    let mut row = Vec::with_capacity(12);
    let names = [
        ["read", "read.ops", "read.p50", "read.p99", "read.max", "device.read"],
        ["write", "write.ops", "write.p50", "write.p99", "write.max", "device.write"],
    ];
    for (side, [bytes, ops, p50, p99, max, device]) in names.into_iter().enumerate() {
        if let Some(seen) = interval.device_bytes {
            row.push((device, Unit::BytesPerSecond, Some(seen[side] as f64 / seconds)));
        }
        if totals[side].is_none() {
            continue;
        }
        row.push((bytes, Unit::BytesPerSecond, Some(interval.bytes[side] as f64 / seconds)));
        row.push((ops, Unit::Iops, Some(interval.ops[side] as f64 / seconds)));
        row.push((p50, Unit::Nanoseconds, ns(interval.p50_ns[side])));
        row.push((p99, Unit::Nanoseconds, ns(interval.p99_ns[side])));
        row.push((max, Unit::Nanoseconds, ns(interval.max_ns[side])));
    }
    if interval.temperature_c.is_some() {
        row.push(("temperature", Unit::Celsius, interval.temperature_c));
    }
    series.push(interval.end_ns, &row);
}

//! Time series: intervals that are needed, bins, rates and temperatures.

use record::Unit;
use rig::{KindStats, Measurement};
use workload::OpKind;

use super::table;
use crate::time_series::{BINS, TimeSeries};

/// Intervals of a second of writes with these rates in MB/s, warming by 1 C each from 30 C.
pub fn seconds(parts: &[(usize, f64)]) -> TimeSeries {
    let mut m = Measurement::default();
    let rates: Vec<f64> = parts.iter().flat_map(|part| vec![part.1 * 1e6; part.0]).collect();
    for (i, rate) in rates.iter().enumerate() {
        let row = [
            ("write", Unit::BytesPerSecond, Some(*rate)),
            ("temperature", Unit::Celsius, Some(30.0 + i as f64)),
        ];
        m.series.push((i as u64 + 1) * 1_000_000_000, &row);
    }
    m.elapsed_ns = rates.len() as u64 * 1_000_000_000;
    let bytes = rates.iter().sum::<f64>() as u64;
    m.kinds[OpKind::Write as usize] = Some(KindStats { bytes, ops: 1, ..KindStats::default() });
    TimeSeries::from_measurement(&m)
}

#[test]
fn twenty_intervals_are_enough_to_find_a_fall() {
    let said = |each: usize| match seconds(&[(each, 100.0), (each, 10.0)]).steps() {
        Some((steps, bytes)) => format!("{} changes, {} MB each", steps.changes.len(), bytes / 1e6),
        None => "too short".to_string(),
    };
    table(said, [(9, "too short"), (10, "1 changes, 55 MB each"), (11, "1 changes, 55 MB each")]);
}

#[test]
fn a_window_has_at_least_four_intervals() {
    // The first point of a series is its start.
    let said = |intervals: usize| match seconds(&[(intervals, 100.0)]).slowest(0.1) {
        Some(rate) => format!("{:.0} MB/s", rate / 1e6),
        None => "unknown".to_string(),
    };
    table(said, [(38, "unknown"), (39, "100 MB/s"), (40, "100 MB/s")]);
}

#[test]
fn a_series_has_no_more_bins_than_intervals_and_no_more_than_asked_for() {
    let said = |intervals: usize| {
        let series = seconds(&[(intervals, 100.0)]);
        let row = series.series("a", 0, 0, BINS).map_or(0, |series| series.t_ns.len());
        format!("{} of {}", row, series.bins(10).len())
    };
    let rows = [(1, "1 of 1"), (9, "9 of 9"), (10, "10 of 10"), (11, "11 of 10")];
    table(said, rows.into_iter().chain([(400, "400 of 10"), (401, "400 of 10")]));
}

#[test]
fn a_bin_has_its_bytes_its_time_its_rate_and_its_temperature() {
    let bins = seconds(&[(2, 100.0), (2, 50.0)]).bins(3);
    let said = bins.iter().map(|bin| {
        let (mb, mb_s) = (bin.end_bytes / 1e6, bin.rate / 1e6);
        format!("{mb:.0} MB {:.2} s {mb_s:.1} MB/s {:?}", bin.end_seconds, bin.celsius)
    });
    let expected = [
        "100 MB 1.00 s 100.0 MB/s Some(30.0)",
        "200 MB 2.00 s 100.0 MB/s Some(31.0)",
        "300 MB 4.00 s 50.0 MB/s Some(33.0)",
    ];
    assert_eq!(said.collect::<Vec<_>>(), expected);
}

#[test]
fn a_rate_is_reached_at_the_start_of_its_first_bin() {
    let series = seconds(&[(4, 50.0), (4, 100.0)]);
    let said = |mb_s: f64| format!("{:.1?}", series.reaches(mb_s * 1e6));
    // Bins of 75 MB: the third ends after the change.
    let rows = [(49.9, "Some(0.0)"), (50.1, "Some(3.0)"), (99.0, "Some(4.2)"), (100.1, "None")];
    table(said, rows);
}

#[test]
fn temperatures_are_the_first_the_last_and_the_highest() {
    let series = seconds(&[(4, 50.0)]);
    let celsius = (series.first_celsius(), series.last_celsius(), series.hottest());
    assert_eq!(celsius, (Some(30.0), Some(33.0), Some(33.0)));
}

#[test]
fn the_side_of_a_series_is_the_one_that_transferred_more() {
    let side = |read: u64, write: u64| {
        let mut m = Measurement::default();
        let row =
            [("read", Unit::Bytes, Some(read as f64)), ("write", Unit::Bytes, Some(write as f64))];
        m.series.push(2_000_000_000, &row);
        m.elapsed_ns = 2_000_000_000;
        let kind = |bytes| Some(KindStats { bytes, ops: 1, ..KindStats::default() });
        m.kinds[OpKind::Read as usize] = kind(read);
        m.kinds[OpKind::Write as usize] = kind(write);
        let series = TimeSeries::from_measurement(&m);
        assert_eq!(series.average(), Some((read + write) as f64 / 2.0), "bytes, not a rate");
        let stored = series.series("a", 3, 0, BINS).expect("moved");
        let side = if stored.column("write").is_some() { "write" } else { "read" };
        (stored.replicate, side)
    };
    assert_eq!(
        [side(200, 100), side(100, 200), side(100, 100)].map(|s| s.1),
        ["read", "write", "read"]
    );
    assert_eq!(side(1, 1).0, 3);
}

#[test]
fn a_fall_is_slower_after_than_before() {
    // Stalls of whole seconds lower the rate of the first part, not the median of its intervals.
    let said = |stalls: usize| {
        let part = [(7 - stalls, 100.0), (stalls, 1.0)];
        let series = seconds(&[&part.repeat(4)[..], &[(40, 65.0)]].concat());
        match series.first_fall().expect("long enough") {
            Some(fall) => format!("{:.0} then {:.0} MB/s", fall.before / 1e6, fall.after / 1e6),
            None => "none".to_string(),
        }
    };
    table(said, [(0, "100 then 65 MB/s"), (2, "75 then 65 MB/s"), (3, "none")]);
}

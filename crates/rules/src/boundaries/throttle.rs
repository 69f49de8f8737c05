//! HEAT under a sustained load: decrease, rise of temperature, recovery.

use record::Unit;
use rig::{KindStats, Measurement};
use workload::OpKind;

use super::{short, table};
use crate::Ruling;
use crate::throttle::{HeatLoad, throttle};
use crate::time_series::TimeSeries;

/// A lap of a minute at this rate and temperature.
fn lap(rate: f64, celsius: Option<f64>) -> TimeSeries {
    let mut m = Measurement::default();
    let mut row = vec![("write", Unit::BytesPerSecond, Some(rate))];
    row.extend(celsius.map(|celsius| ("temperature", Unit::Celsius, Some(celsius))));
    m.series.push(60_000_000_000, &row);
    m.elapsed_ns = 60_000_000_000;
    let bytes = (rate * 60.0) as u64;
    m.kinds[OpKind::Write as usize] = Some(KindStats { bytes, ops: 1, ..KindStats::default() });
    TimeSeries::from_measurement(&m)
}

fn load(laps: &[(f64, Option<f64>)], cooled: Option<f64>) -> HeatLoad {
    let mut load = HeatLoad::default();
    (load.settled, load.cooled) = (true, cooled);
    laps.iter().for_each(|(rate, celsius)| load.add(&lap(*rate, *celsius)));
    load
}

/// A cold lap at 100 MB/s and 40 C, then hot ones; the rate after cooling.
fn hot(rate: f64, celsius: f64, cooled: Option<f64>) -> HeatLoad {
    load(&[(100e6, Some(40.0)), (rate, Some(celsius)), (rate, Some(celsius))], cooled)
}

#[test]
fn below_85_percent_of_the_cold_rate_the_drive_slowed_down() {
    let said = |rate| short([throttle(&hot(rate, 80.0, Some(100e6)))]);
    table(said, [(84.9e6, "HEAT"), (85e6, "no: COOL"), (85.1e6, "no: COOL")]);
}

#[test]
fn less_than_5_kelvins_are_no_cause() {
    let said = |celsius| short([throttle(&hot(50e6, celsius, Some(100e6)))]);
    table(said, [(44.9, "unknown"), (45.0, "HEAT"), (45.1, "HEAT")]);
}

#[test]
fn from_95_percent_of_the_cold_rate_the_drive_recovered() {
    let said = |cooled| short([throttle(&hot(50e6, 80.0, cooled))]);
    let rows = [(94.9e6, "unknown"), (95e6, "HEAT"), (95.1e6, "HEAT"), (120e6, "HEAT")];
    table(said, rows.map(|(rate, words)| (Some(rate), words)));
    table(said, [(None, "unknown")]);
}

#[test]
fn heat_needs_a_sensor() {
    let said = |(rate, celsius)| {
        let laps = [(100e6, celsius), (rate, celsius)];
        short([throttle(&load(&laps, Some(100e6)))])
    };
    let rows = [
        ((50e6, None), "unknown"),
        ((100e6, None), "no: NO SLOWDOWN"),
        ((100e6, Some(90.0)), "no: COOL"),
    ];
    table(said, rows);
    assert_eq!(short([throttle(&HeatLoad::default())]), "unknown");
}

#[test]
fn it_is_throttled_from_the_last_lap_at_the_cold_rate() {
    let after = |rates: &[f64]| {
        let laps: Vec<_> = rates.iter().map(|rate| (rate * 1e6, Some(40.0))).collect();
        load(&laps, None).throttled_after()
    };
    assert_eq!(after(&[100.0, 50.0]), Some(60.0));
    assert_eq!(after(&[100.0, 50.0, 90.0, 50.0]), Some(180.0));
    assert_eq!((after(&[100.0, 50.0, 90.0]), after(&[100.0]), after(&[])), (None, None, None));
}

#[test]
fn rates_and_temperatures_are_of_their_laps() {
    let rates = [100.0, 70.0, 60.0, 50.0, 40.0];
    let laps: Vec<_> =
        rates.iter().zip(40..).map(|(rate, c)| (rate * 1e6, Some(f64::from(c)))).collect();
    let rising = load(&laps, None);
    assert_eq!(
        (rising.cold(), rising.hot(), rising.average()),
        (Some(100e6), Some(50e6), Some(64e6))
    );
    assert_eq!(
        (rising.start_c(), rising.end_c(), rising.hottest()),
        (Some(40.0), Some(44.0), Some(44.0))
    );
    assert_eq!(rising.slope(6), None);
    let slopes = [3, 5].map(|laps| rising.slope(laps).expect("enough laps"));
    assert!(slopes.iter().all(|slope| (slope - 1.0).abs() < 1e-9), "{slopes:?}");
    let short = load(&laps[..2], None);
    // The rate after the fall, without the lap before it.
    assert_eq!((short.hot(), short.slope(3)), (Some(70e6), None));
}

pub fn examples() -> Vec<Ruling> {
    let mut unsettled = hot(100e6, 80.0, None);
    unsettled.settled = false;
    let seen = [
        hot(50e6, 80.0, Some(100e6)),
        hot(50e6, 44.0, Some(100e6)),
        hot(50e6, 80.0, Some(90e6)),
        hot(50e6, 80.0, None),
        hot(100e6, 80.0, None),
        unsettled,
        load(&[(100e6, None), (50e6, None)], None),
        load(&[(100e6, None), (100e6, None)], None),
        HeatLoad::default(),
    ];
    seen.iter().map(throttle).collect()
}

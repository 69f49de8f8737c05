//! CACHE END: temperature at the fall, folding, a pass that is long enough.

use super::{short, table};
use crate::Ruling;
use crate::cache_end::{Sustained, cache_end};
use crate::testing::{target, with_drive};
use crate::time_series::Fall;

/// A pass that fell from 5 to 1 GB/s after 100 GB.
fn pass(celsius: Option<f64>, overwriting: Option<f64>) -> Sustained {
    let fall = Fall { bytes: 100e9, low: 90e9, high: 110e9, before: 5e9, after: 1e9, celsius };
    let average = Some(2e9);
    Sustained {
        cache: Some(fall),
        conclusive: true,
        average,
        overwriting,
        hottest: celsius,
        in_file: false,
    }
}

#[test]
fn a_fall_of_a_drive_that_was_hot_is_unexplained() {
    let said = |(warn_c, celsius): (Option<f64>, Option<f64>)| {
        let target = with_drive(|drive| drive.health.temperature_warn_c = warn_c);
        short([cache_end(&target, &pass(celsius, None))])
    };
    let rows = [
        ((None, None), "CACHE END"),
        ((None, Some(69.9)), "CACHE END"),
        ((None, Some(70.0)), "unknown"),
        ((None, Some(70.1)), "unknown"),
        ((Some(85.0), Some(79.9)), "CACHE END"),
        ((Some(85.0), Some(80.0)), "unknown"),
        ((Some(85.0), Some(80.1)), "unknown"),
        ((Some(60.0), Some(56.0)), "unknown"),
    ];
    table(said, rows);
}

#[test]
fn below_85_percent_of_the_rate_of_overwriting_the_cache_is_folded() {
    let said = |overwriting: f64| {
        let text = cache_end(&target(), &pass(None, Some(overwriting))).verdict.text;
        text.split_once("a cache was full").expect("a fall").1.to_string()
    };
    let folded = ", and is emptied (folded) during further writes, at 84% of the 1190 MB/s of \
                  overwriting a full drive.";
    let rows = [
        (1e9 / 0.84, folded),
        (1e9 / 0.85, "; a full drive is overwritten at 1176 MB/s."),
        (1e9 / 0.86, "; a full drive is overwritten at 1163 MB/s."),
    ];
    table(said, rows);
}

#[test]
fn only_a_pass_that_was_long_enough_is_judged() {
    let said = |seen: Sustained| short([cache_end(&target(), &seen)]);
    let level = Sustained { cache: None, ..pass(None, None) };
    let rows = [
        (level.clone(), "no: NO CACHE END"),
        (Sustained { conclusive: false, ..level.clone() }, "unknown"),
        (Sustained { average: None, ..level }, "unknown"),
        (Sustained { conclusive: false, ..pass(None, None) }, "unknown"),
    ];
    table(said, rows);
}

#[test]
fn the_hottest_of_all_passes_counts() {
    let hottest = |celsius| {
        let mut seen = pass(celsius, None);
        seen.add_heat(&super::time_series::seconds(&[(3, 1.0)]));
        seen.hottest
    };
    assert_eq!([None, Some(31.9), Some(33.0)].map(hottest), [Some(32.0), Some(32.0), Some(33.0)]);
}

/// 8 s at 5 MB/s and 8 s at 1 MB/s: half of the time at either rate.
#[test]
fn a_burst_recovers_what_it_wrote_at_the_rate_of_the_cache() {
    let burst = super::time_series::seconds(&[(8, 5.0), (8, 1.0)]);
    let fall = Fall { before: 5e6, after: 1e6, ..pass(None, None).cache.expect("a fall") };
    let seen = Sustained { cache: Some(fall), ..pass(None, None) };
    let recovered = seen.recovered(&burst).expect("a cache");
    assert!((recovered - 40e6).abs() < 1e3, "{recovered}");
    assert_eq!(Sustained { cache: None, ..seen }.recovered(&burst), None);
}

pub fn examples() -> Vec<Ruling> {
    let level = Sustained { cache: None, ..pass(None, None) };
    let seen = [
        pass(Some(45.0), Some(2e9)),
        pass(Some(45.0), Some(1e9)),
        pass(None, None),
        pass(Some(75.0), Some(2e9)),
        level.clone(),
        Sustained { conclusive: false, ..level },
    ];
    seen.iter().map(|seen| cache_end(&target(), seen)).collect()
}

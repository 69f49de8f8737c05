//! A small version of the example `coverage`: the interval for the next run contains it, on a drive
//! whose run-to-run variation differs from the assumed one.

#[path = "../../examples/coverage/order.rs"]
mod order;
#[path = "../../examples/coverage/sample.rs"]
mod sample;

use std::collections::BTreeMap;

use sample::{
    Count, PRESETS, Width, cells, cover, described, false_claims, outcome, primary, sessions,
    true_claims, widths,
};
use script::Options;

#[test]
fn the_interval_contains_the_next_run_of_a_drive_that_varies() {
    let mut pooled = Count::default();
    for preset in [PRESETS[2], PRESETS[8]] {
        let drive = described(preset);
        let (mut cells, mut sums) = (BTreeMap::new(), BTreeMap::new());
        for specimen in 1..=2 {
            let runs = sessions(preset, specimen, 32 << 20);
            cover(&drive, &runs, &mut cells);
            let [pairs, splits] = false_claims(&drive, &runs);
            assert_eq!((pairs.trials, splits.trials), (15, 10));
            assert!(pairs.hits == 0 && splits.hits <= 1, "{preset}: {pairs:?} {splits:?}");
            let [_, found] = true_claims(&drive, &runs);
            assert!(found.share() >= 0.8, "{preset}: {found:?}");
            for (cell, width) in widths(&drive, &runs) {
                sums.entry(cell).or_insert_with(Width::default).sum(width);
            }
        }
        // Of two specimens, six runs each: an interval that follows the prior would be far wider.
        for (cell, width) in sums {
            let is_narrow = width.half() <= (8.0 * width.deviation()).max(0.0022);
            assert!(is_narrow, "{preset}, {cell}: {width:?}");
        }
        cells.iter().filter(|((_, k), _)| *k > 1).for_each(|(_, count)| pooled.sum(*count));
    }
    assert_eq!(pooled.trials, 2 * 2 * 2 * 10, "presets, specimens, numbers of runs, cells");
    assert!(pooled.share() >= 0.85, "{pooled:?}");
}

/// When cells alternated, sequential reads came out at 7092 or 3235 MB/s, depending on the number
/// of rounds.
#[test]
fn the_value_of_a_cell_does_not_depend_on_the_number_of_rounds() {
    for preset in ["samsung-980-pro-1t", "crucial-mx500-1t", "dramless-hmb-1t"] {
        let with = |rounds| {
            let replicates = Some(rounds);
            let options = Options { replicates, size: Some(256 << 20), ..Options::default() };
            primary(preset, &[("vary", "0")], &options)
        };
        for (few, many) in with(2).into_iter().zip(with(8)) {
            assert_eq!((&few.name, few.n, many.n), (&many.name, 2, 8));
            let ratio = many.value.zip(few.value).map_or(0.0, |(many, few)| many / few);
            assert!((ratio - 1.0).abs() < 0.03, "{preset}: {ratio}, {few:?}, {many:?}");
        }
    }
}

/// A cell that writes only one block pays for the erase block left by the cell before it, and shows
/// 1.6 MB/s on a card that writes 6.6 MB/s.
#[test]
fn sequential_writes_of_a_slow_card_do_not_depend_on_the_cell_before() {
    let options = Options { replicates: Some(4), ..Options::default() };
    let usual = cells(outcome("sd-class2", &[("vary", "0")], &options).metrics);
    let other = cells(order::detoured("sd-class2", &[("vary", "0")], &options).metrics);
    for cell in ["seq-write-1MiB-q8", "seq-write-1MiB-q1"] {
        let (usual, other) = (usual[cell].value(), other[cell].value());
        assert!((other / usual - 1.0).abs() < 0.03, "{cell}: {usual}, {other}");
        assert!((6.5e6..6.7e6).contains(&usual), "{cell}: {usual}");
    }
}

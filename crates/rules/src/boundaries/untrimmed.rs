//! UNTRIMMED and DISCARD RESTORES: shares of the fresh rate.

use super::{short, table};
use crate::untrimmed::{restored, untrimmed};
use crate::{ReachedState, Ruling, States};

/// Rates with a fresh drive at 100, of two full states and three after a discard.
fn states(full: [f64; 2], discarded: [f64; 3]) -> States {
    use ReachedState::{FileDeleted, Filled, Formatted, Fresh, PartitionDeleted, UsedDiscarded};
    let mut states = States::default();
    states.add(Fresh, 100.0);
    [Filled, PartitionDeleted].into_iter().zip(full).for_each(|(s, rate)| states.add(s, rate));
    let after = [FileDeleted, Formatted, UsedDiscarded];
    after.into_iter().zip(discarded).for_each(|(s, rate)| states.add(s, rate));
    states
}

#[test]
fn a_full_drive_below_85_percent_is_slow() {
    let said = |full: [f64; 2]| short([untrimmed(&states(full, [100.0; 3]))]);
    let rows = [
        ([84.9, 84.9], "UNTRIMMED"),
        ([85.1, 85.1], "no: FULL IS FAST"),
        ([120.0, 120.0], "no: FULL IS FAST"),
        // Both replicates must be fast, and the interval of their mean below the fresh rate.
        ([84.9, 90.0], "unknown"),
        ([60.0, 61.0], "UNTRIMMED"),
        ([20.0, 90.0], "unknown"),
    ];
    table(said, rows);
}

#[test]
fn a_discard_restores_nine_tenths_or_a_part_or_nothing() {
    let said = |(full, back): (f64, f64)| short([restored(&states([full; 2], [back; 3]))]);
    let rows = [
        ((20.0, 90.1), "DISCARD RESTORES"),
        ((20.0, 89.9), "DISCARD RESTORES PARTLY"),
        // 15% above the rate of the full drive.
        ((20.0, 23.1), "DISCARD RESTORES PARTLY"),
        ((20.0, 22.9), "no: DISCARD DOES NOT RESTORE"),
        ((20.0, 10.0), "no: DISCARD DOES NOT RESTORE"),
        ((84.9, 90.1), "DISCARD RESTORES"),
        ((85.1, 100.0), "unknown"),
    ];
    table(said, rows);
}

#[test]
fn a_scatter_from_the_full_rate_to_nine_tenths_shows_no_effect() {
    let said = |discarded: [f64; 3]| short([restored(&states([20.0; 2], discarded))]);
    let rows = [
        ([19.0, 60.0, 100.0], "unknown"),
        ([90.0, 91.0, 92.0], "DISCARD RESTORES"),
        ([19.0, 20.0, 21.0], "no: DISCARD DOES NOT RESTORE"),
        ([40.0, 50.0, 60.0], "DISCARD RESTORES PARTLY"),
    ];
    table(said, rows);
}

#[test]
fn without_a_fresh_rate_nothing_is_judged() {
    let mut states = States::default();
    states.add(ReachedState::Filled, 20.0);
    states.add(ReachedState::Formatted, 95.0);
    assert_eq!(short([untrimmed(&states), restored(&states)]), "unknown; unknown");
    states.add(ReachedState::Fresh, 0.0);
    assert_eq!(short([untrimmed(&states), restored(&states)]), "unknown; unknown");
    states.add(ReachedState::Fresh, 100.0);
    assert_eq!(short([untrimmed(&states), restored(&states)]), "UNTRIMMED; DISCARD RESTORES");
}

pub fn examples() -> Vec<Ruling> {
    let seen = [
        states([20.0, 21.0], [99.0, 100.0, 101.0]),
        states([20.0, 21.0], [50.0, 51.0, 52.0]),
        states([20.0, 21.0], [20.0, 21.0, 22.0]),
        states([98.0, 99.0], [100.0; 3]),
        states([84.0, 90.0], [100.0; 3]),
        States::default(),
    ];
    seen.iter().flat_map(|states| [untrimmed(states), restored(states)]).collect()
}

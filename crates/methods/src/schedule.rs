//! The order of workloads within a round, chosen so that drift affects all of them alike.
//!
//! Rounds come in pairs, forwards and backwards. Over a pair every workload has the same mean
//! position, so a steadily slowing drive changes no ratio between them. The start moves on from
//! pair to pair, so that a workload does not always follow the same one.

use record::{Finding, FindingKind, Level};

use crate::cell::Cell;
use crate::session::Session;
use crate::test_region::TestRegion;
use crate::{MethodError, Patience, Round};

/// No round is begun that would end later than this multiple of the planned time ...
const PATIENCE: f64 = 1.5;

/// ... but this many are run for the sake of an interval, however slow the drive.
const ROUNDS_LEAST: u32 = 3;

/// Runs all cells, round after round. A drive much slower than planned gets fewer rounds.
pub(crate) fn run(
    session: &mut Session<'_>,
    test_region: &TestRegion,
    cells: &mut [Cell],
) -> Result<(), MethodError> {
    let each: f64 = cells.iter().map(Cell::seconds).sum();
    let seconds = PATIENCE * each * f64::from(test_region.rounds);
    let patience = Patience { rounds_least: ROUNDS_LEAST, seconds };
    let patience = (!test_region.rounds_given).then_some(patience);
    let run = session.rounds(test_region.rounds, patience, |session, round| {
        for index in order(cells.len(), round) {
            cells[index].run(session, round)?;
        }
        Ok(Round::Again)
    })?;
    if run < test_region.rounds {
        let text = format!("the drive is slow: {run} rounds were run, not {}", test_region.rounds);
        session.out.note(Finding::new(FindingKind::RoundsCut, Level::Note, text));
    }
    Ok(())
}

/// Positions of `count` workloads in round `round`.
pub(crate) fn order(count: usize, round: u32) -> Vec<usize> {
    let shift = (round / 2) as usize * (count / 2 + 1);
    let mut order: Vec<usize> = (0..count).map(|i| (i + shift) % count).collect();
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_pair_of_rounds_gives_every_workload_the_same_mean_position(
            count in 1usize..12,
            pair in 0u32..20,
        ) {
            let (forth, back) = (order(count, 2 * pair), order(count, 2 * pair + 1));
            let at = |order: &[usize], cell| order.iter().position(|c| *c == cell);
            for cell in 0..count {
                let sum = at(&forth, cell).zip(at(&back, cell)).map(|(a, b)| a + b);
                prop_assert_eq!(sum, Some(count - 1));
            }
        }
    }

    #[test]
    fn the_first_round_is_as_written_and_the_third_begins_elsewhere() {
        assert_eq!(order(4, 0), [0, 1, 2, 3]);
        assert_eq!(order(4, 1), [3, 2, 1, 0]);
        assert_eq!(order(4, 2), [3, 0, 1, 2]);
    }
}

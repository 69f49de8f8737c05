//! The order of workloads within a round, chosen so that drift affects all of them alike.
//!
//! For comparisons among workloads that leave the drive in the same state. Workloads that change
//! the state for the next one run as phases in a fixed order instead: see `phase.rs`.
//!
//! Rounds come in pairs, forwards and backwards. Over a pair every workload has the same mean
//! position, so a steadily slowing drive changes no ratio between them. The start shifts from pair
//! to pair, so that no workload is always the first or the last of its round.

/// The indices of `count` workloads, in the order in which round `round` runs them.
pub fn order(count: usize, round: u32) -> Vec<usize> {
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
    fn the_first_round_is_in_list_order_and_the_third_starts_elsewhere() {
        assert_eq!(order(4, 0), [0, 1, 2, 3]);
        assert_eq!(order(4, 1), [3, 2, 1, 0]);
        assert_eq!(order(4, 2), [3, 0, 1, 2]);
    }
}

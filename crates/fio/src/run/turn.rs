//! The file of the next operation: `file_service_type`.
//!
//! A file without room for another operation is done for the rest of the pass, unless files are
//! chosen by popularity.

use rand_xoshiro::Xoshiro256PlusPlus;
use workload::Zipf;

use super::positions::{Ranks, below, normal, pareto};
use crate::{FileService, ServiceOrder};

/// Ranks per file in a choice by popularity, as in fio.
const RANKS: u64 = 1 << 10;

/// The state of a pass over the files.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    service: FileService,
    done: Vec<bool>,
    done_count: usize,
    /// The next file in turn.
    next: usize,
    /// The current file.
    current: Option<usize>,
    /// Operations before another file.
    left: u32,
    ranks: Option<Ranks>,
}

impl Turn {
    pub(super) fn new(service: FileService, files: usize) -> Turn {
        let count = RANKS * files as u64;
        let ranks = match service.order {
            ServiceOrder::Zipf(theta) => Some(Ranks::Zipf(Zipf::new(count, theta))),
            ServiceOrder::Pareto(power) => Some(pareto(count, power)),
            ServiceOrder::Normal(deviation) => Some(normal(count, deviation)),
            ServiceOrder::Random | ServiceOrder::RoundRobin | ServiceOrder::Sequential => None,
        };
        let done = vec![false; files];
        Turn { service, done, done_count: 0, next: 0, current: None, left: 0, ranks }
    }

    /// Starts another pass.
    pub(super) fn restart(&mut self) {
        self.done.fill(false);
        (self.done_count, self.current) = (0, None);
    }

    /// Whether files never end, because they are chosen by popularity.
    pub(super) fn is_by_popularity(&self) -> bool {
        self.ranks.is_some()
    }

    pub(super) fn are_all_done(&self) -> bool {
        self.done_count >= self.done.len()
    }

    /// Ends a file for the rest of the pass.
    pub(super) fn end(&mut self, file: usize) {
        self.done_count += usize::from(!self.done[file]);
        self.done[file] = true;
    }

    /// The next file; `None` if all are done.
    #[inline]
    pub(super) fn next(&mut self, rng: &mut Xoshiro256PlusPlus) -> Option<usize> {
        if self.are_all_done() {
            return None;
        }
        if let Some(current) = self.current.filter(|current| !self.done[*current]) {
            if self.service.order == ServiceOrder::Sequential || self.done.len() == 1 {
                return Some(current);
            }
            if self.left > 0 {
                self.left -= 1;
                return Some(current);
            }
        }
        let file = self.choose(rng);
        (self.current, self.left) = (Some(file), self.service.every - 1);
        Some(file)
    }

    /// Chooses a file that is not done; there is one.
    fn choose(&mut self, rng: &mut Xoshiro256PlusPlus) -> usize {
        let count = self.done.len();
        if let Some(ranks) = &self.ranks {
            return ((ranks.draw(rng) / RANKS) as usize).min(count - 1);
        }
        let is_random = self.service.order == ServiceOrder::Random;
        loop {
            let file = if is_random { below(rng, count as u64) as usize } else { self.next };
            self.next = (file + 1) % count;
            if !self.done[file] {
                return file;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;

    #[test]
    fn the_first_file_is_the_most_popular() {
        let orders =
            [ServiceOrder::Zipf(1.2), ServiceOrder::Pareto(0.2), ServiceOrder::Normal(5.0)];
        for order in orders {
            let mut turn = Turn::new(FileService { order, every: 1 }, 5);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
            let mut counts = [0; 5];
            (0..1000).for_each(|_| counts[turn.next(&mut rng).expect("endless")] += 1);
            // A normal distribution is around the middle.
            let most = if matches!(order, ServiceOrder::Normal(_)) { 2 } else { 0 };
            assert_eq!(counts.iter().max(), Some(&counts[most]), "{order:?}: {counts:?}");
        }
    }

    #[test]
    fn a_file_keeps_its_turn_for_its_operations_and_is_skipped_when_done() {
        let service = FileService { order: ServiceOrder::RoundRobin, every: 2 };
        let mut turn = Turn::new(service, 3);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut next = || turn.next(&mut rng);
        let files: Vec<_> = (0..6).map_while(|_| next()).collect();
        assert_eq!(files, [0, 0, 1, 1, 2, 2]);
        turn.end(0);
        turn.end(2);
        assert_eq!(turn.next(&mut rng), Some(1));
        turn.end(1);
        assert_eq!(turn.next(&mut rng), None);
    }
}

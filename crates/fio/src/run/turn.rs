//! The file of the next operation: `file_service_type`.
//!
//! A file without room for another operation is done for the rest of the pass, unless files are
//! chosen by popularity. Only `openfiles` files are open at once; the others wait until one is done:
//! asserted for each pass.

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
    open: Vec<bool>,
    /// Files that may still be opened.
    openings: usize,
    open_max: usize,
    /// The next file in turn.
    next: usize,
    /// The current file.
    current: Option<usize>,
    /// Operations before another file.
    left: u32,
    ranks: Option<Ranks>,
}

impl Turn {
    /// The first pass over so many files, of which `open_max` are open at once.
    pub(super) fn new(service: FileService, files: usize, open_max: usize) -> Turn {
        let count = RANKS * files as u64;
        let ranks = match service.order {
            ServiceOrder::Zipf(theta) => Some(Ranks::Zipf(Zipf::new(count, theta))),
            ServiceOrder::Pareto(power) => Some(pareto(count, power)),
            ServiceOrder::Normal(deviation) => Some(normal(count, deviation)),
            ServiceOrder::Random | ServiceOrder::RoundRobin | ServiceOrder::Sequential => None,
        };
        let (done, open) = (vec![false; files], vec![false; files]);
        let (openings, done_count, next, current, left) = (open_max, 0, 0, None, 0);
        Turn { service, done, done_count, open, openings, open_max, next, current, left, ranks }
    }

    /// Starts another pass.
    pub(super) fn restart(&mut self) {
        let open = self.open.iter().filter(|is_open| **is_open).count();
        assert_eq!(self.openings + open, self.open_max, "an ended file is closed");
        self.done.fill(false);
        self.open.fill(false);
        (self.done_count, self.openings, self.current) = (0, self.open_max, None);
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
        self.openings += usize::from(self.open[file]);
        self.open[file] = false;
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
        self.openings -= usize::from(!self.open[file]);
        self.open[file] = true;
        (self.current, self.left) = (Some(file), self.service.every - 1);
        Some(file)
    }

    /// Chooses a file that is not done, and open or can be opened; there is one.
    fn choose(&mut self, rng: &mut Xoshiro256PlusPlus) -> usize {
        let count = self.done.len();
        let is_random = self.service.order == ServiceOrder::Random;
        loop {
            let file = match &self.ranks {
                Some(ranks) => ((ranks.draw(rng) / RANKS) as usize).min(count - 1),
                None if is_random => below(rng, count as u64) as usize,
                None => self.next,
            };
            self.next = (file + 1) % count;
            if !self.done[file] && (self.open[file] || self.openings > 0) {
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
            let mut turn = Turn::new(FileService { order, every: 1 }, 5, 5);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
            let mut counts = [0; 5];
            (0..1000).for_each(|_| counts[turn.next(&mut rng).expect("endless")] += 1);
            // A normal distribution is around the middle.
            let most = if matches!(order, ServiceOrder::Normal(_)) { 2 } else { 0 };
            assert_eq!(counts.iter().max(), Some(&counts[most]), "{order:?}: {counts:?}");
        }
    }

    #[test]
    fn a_file_waits_until_another_one_is_done() {
        let service = FileService { order: ServiceOrder::RoundRobin, every: 1 };
        let mut turn = Turn::new(service, 3, 2);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let first: Vec<_> = (0..4).map_while(|_| turn.next(&mut rng)).collect();
        turn.end(0);
        let then: Vec<_> = (0..4).map_while(|_| turn.next(&mut rng)).collect();
        assert_eq!((&first[..], &then[..]), (&[0, 1, 0, 1][..], &[2, 1, 2, 1][..]));
        turn.restart();
        assert_eq!((0..4).map_while(|_| turn.next(&mut rng)).max(), Some(2));
    }

    #[test]
    fn a_file_keeps_its_turn_for_its_operations_and_is_skipped_when_done() {
        let service = FileService { order: ServiceOrder::RoundRobin, every: 2 };
        let mut turn = Turn::new(service, 3, 3);
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

//! Allocation-unit translation, as in SD cards and USB sticks. A few allocation units (AUs) are
//! open at a time, each written in ascending order into an erased one; any other access requires
//! copying.
//!
//! Writing at the end of an open AU costs only the program. Skipping ahead within it copies the gap
//! from the old AU. Going back, or opening one AU too many, copies the rest of the old AU and
//! closes the open one. Cards with `random` keep a small map of each open AU and accept any order
//! until the new AU is full. flashbench shows these limits as "open erase blocks", linear and
//! random. A FAT zone is meant for the tables of that file system: its AUs accept any order, and
//! they do not count towards the open ones.
//!
//! Asserted whenever an AU is opened or closed: placed, open, free and retired AUs add up.
//! [`AuMapped::check`] also asserts that none is in use twice.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::page::{Full, PageCounts};
use super::{Flash, ProgramCause};

/// Sizes and rules of a card.
#[derive(Clone, Debug)]
pub struct AuRules {
    /// Pages visible to the host.
    pub logical_pages: u32,
    pub aus: u32,
    pub au_pages: u32,
    /// Pages programmed at once.
    pub unit_pages: u32,
    /// Maximum number of open AUs, not counting the FAT zone.
    pub open: u32,
    /// Whether any order within an open AU is allowed.
    pub random: bool,
    /// Number of AUs at the start that form the FAT zone.
    pub fat: u32,
    /// Erase cycles that an AU endures.
    pub endurance: u32,
}

impl AuRules {
    /// Whether a logical AU accepts any order while it is open.
    fn any_order(&self, au: u32) -> bool {
        self.random || au < self.fat
    }
}

#[derive(Clone, Copy, Debug)]
struct Open {
    au: u32,
    place: u32,
    /// Number of pages placed in the new AU so far, and number of those programmed.
    next: u32,
    programmed: u32,
    /// The unprogrammed part contains host data, possibly mixed with copied data.
    host: bool,
    used: u64,
}

/// A translation by allocation units.
#[derive(Debug)]
pub struct AuMapped {
    rules: AuRules,
    stride_bits: u32,
    /// Physical AU of each logical one.
    place: Vec<Option<u32>>,
    /// Logical pages that contain data, one bit each.
    filled: Vec<u64>,
    open: Vec<Open>,
    free: BinaryHeap<Reverse<(u32, u32)>>,
    /// Number of logical AUs with a place, and of worn-out AUs.
    placed: u32,
    retired: u32,
    erases: Vec<u32>,
    total_erases: u64,
    clock: u64,
    /// A write found no free AU, because too many have been retired.
    worn_out: bool,
    work: PageCounts,
}

impl AuMapped {
    /// Creates an empty card.
    pub fn new(rules: AuRules) -> AuMapped {
        let logical = rules.logical_pages.div_ceil(rules.au_pages);
        // An open AU occupies both its old and its new place, and one AU is always free.
        let aus = rules.aus.max(logical + rules.open + rules.fat + 2);
        AuMapped {
            stride_bits: rules.au_pages.next_power_of_two().trailing_zeros(),
            place: vec![None; logical as usize],
            filled: vec![0; (rules.logical_pages as usize).div_ceil(64)],
            open: Vec::new(),
            free: (0..aus).map(|au| Reverse((0, au))).collect(),
            placed: 0,
            retired: 0,
            erases: vec![0; aus as usize],
            total_erases: 0,
            clock: 0,
            worn_out: false,
            work: PageCounts::default(),
            rules,
        }
    }

    /// Pages processed so far.
    pub fn work(&self) -> PageCounts {
        self.work
    }

    /// Whether the card is worn out and accepts no more writes.
    pub fn worn_out(&self) -> bool {
        self.worn_out
    }

    /// Mean erases of an AU.
    pub fn mean_erases(&self) -> f64 {
        self.total_erases as f64 / self.erases.len() as f64
    }

    /// Physical page of a logical one, if it contains data.
    pub fn get(&self, lpn: u32) -> Option<u32> {
        let (au, page) = (lpn / self.rules.au_pages, lpn % self.rules.au_pages);
        let place = self.open.iter().find(|o| o.au == au).map(|o| o.place);
        let place = place.or(self.place[au as usize]).filter(|_| self.is_filled(lpn))?;
        Some(place << self.stride_bits | page)
    }

    /// Whether the pages span more than one AU.
    pub fn crosses(&self, lpn: u32, n: u32) -> bool {
        lpn / self.rules.au_pages != (lpn + n - 1) / self.rules.au_pages
    }

    fn is_filled(&self, lpn: u32) -> bool {
        self.filled[lpn as usize / 64] >> (lpn % 64) & 1 == 1
    }

    /// Writes `n` host pages.
    pub fn write(&mut self, at: u64, lpn: u32, n: u32, flash: &mut impl Flash) -> Result<(), Full> {
        for lpn in lpn..lpn + n {
            let (au, page) = (lpn / self.rules.au_pages, lpn % self.rules.au_pages);
            let index = self.ready(at, au, page, flash)?;
            self.put(index, at, ProgramCause::Host, flash);
            self.filled[lpn as usize / 64] |= 1 << (lpn % 64);
        }
        self.work.host += u64::from(n);
        Ok(())
    }

    /// Returns the index of the open AU, prepared so that `page` can be written next.
    fn ready(
        &mut self,
        at: u64,
        au: u32,
        page: u32,
        flash: &mut impl Flash,
    ) -> Result<usize, Full> {
        self.clock += 1;
        let index = self.open.iter().position(|o| o.au == au);
        let mut index = match index {
            Some(index) => index,
            None => self.open_au(at, au, flash)?,
        };
        let full = self.open[index].next == self.rules.au_pages;
        let any_order = self.rules.any_order(au);
        if full || (!any_order && page < self.open[index].next) {
            self.close(index, at, flash);
            index = self.open_au(at, au, flash)?;
        }
        if !any_order {
            self.copy_to(index, page, at, flash);
        }
        self.open[index].used = self.clock;
        Ok(index)
    }

    fn open_au(&mut self, at: u64, au: u32, flash: &mut impl Flash) -> Result<usize, Full> {
        let counted = |open: &Open| open.au >= self.rules.fat;
        let count = self.open.iter().filter(|open| counted(open)).count();
        if au >= self.rules.fat && count >= self.rules.open.max(1) as usize {
            let closable = (0..self.open.len()).filter(|&i| counted(&self.open[i]));
            let oldest = closable.min_by_key(|&i| self.open[i].used);
            self.close(oldest.unwrap_or(0), at, flash);
        }
        let Some(Reverse((erases, place))) = self.free.pop() else {
            self.worn_out = true;
            return Err(Full);
        };
        if erases > 0 {
            flash.erase(at, place);
        }
        self.open.push(Open { au, place, next: 0, programmed: 0, host: false, used: self.clock });
        self.check_counts();
        Ok(self.open.len() - 1)
    }

    /// Copies pages of the old AU into the new one, up to `page`.
    fn copy_to(&mut self, index: usize, page: u32, at: u64, flash: &mut impl Flash) {
        let open = self.open[index];
        let first = open.au * self.rules.au_pages;
        let old = self.place[open.au as usize];
        let mut ready = at;
        for next in open.next..page {
            let lpn = first + next;
            if let Some(place) = old
                && lpn < self.rules.logical_pages
                && self.is_filled(lpn)
            {
                ready = ready.max(flash.read(ready, place << self.stride_bits | next, 1, false));
                self.work.moved += 1;
                self.put(index, ready, ProgramCause::Collect, flash);
            } else {
                // There are no data to keep, so skip the page.
                self.skip(index, ready, flash);
            }
        }
    }

    fn put(&mut self, index: usize, at: u64, cause: ProgramCause, flash: &mut impl Flash) {
        let open = &mut self.open[index];
        open.next += 1;
        open.host |= cause == ProgramCause::Host;
        let full = open.next == self.rules.au_pages;
        if full || open.next - open.programmed >= self.rules.unit_pages {
            self.program_rest(index, at, flash);
        }
    }

    fn skip(&mut self, index: usize, at: u64, flash: &mut impl Flash) {
        self.program_rest(index, at, flash);
        self.open[index].next += 1;
        self.open[index].programmed = self.open[index].next;
    }

    fn program_rest(&mut self, index: usize, at: u64, flash: &mut impl Flash) -> u64 {
        let open = &mut self.open[index];
        if open.programmed == open.next {
            return at;
        }
        let cause = if open.host { ProgramCause::Host } else { ProgramCause::Collect };
        let done_ns =
            flash.program(at, open.place << self.stride_bits | open.programmed, false, cause);
        open.host = false;
        open.programmed = open.next;
        done_ns
    }

    /// Completes an open AU from the old one, then releases the old one.
    fn close(&mut self, index: usize, at: u64, flash: &mut impl Flash) {
        // With any order, too, only the number of pages in the new AU is known, so the positions
        // from it on are copied.
        self.copy_to(index, self.rules.au_pages, at, flash);
        self.program_rest(index, at, flash);
        let open = self.open.swap_remove(index);
        if let Some(old) = self.place[open.au as usize].replace(open.place) {
            self.erases[old as usize] += 1;
            self.total_erases += 1;
            if self.erases[old as usize] < self.rules.endurance {
                self.free.push(Reverse((self.erases[old as usize], old)));
            } else {
                self.retired += 1;
            }
        } else {
            self.placed += 1;
        }
        self.check_counts();
    }

    /// Panics unless placed, open, free and retired AUs add up.
    pub fn check_counts(&self) {
        let in_use = self.placed as usize + self.open.len();
        let sum = in_use + self.free.len() + self.retired as usize;
        assert_eq!(sum, self.erases.len(), "placed, open, free and retired AUs");
    }

    /// Panics unless every AU is in use once, free or retired.
    pub fn check(&self) {
        self.check_counts();
        let mut places: Vec<u32> = self.place.iter().copied().flatten().collect();
        assert_eq!(places.len(), self.placed as usize, "AUs with a place");
        places.extend(self.open.iter().map(|open| open.place));
        places.extend(self.free.iter().map(|Reverse((_, place))| *place));
        let number = places.len();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), number, "AUs in use twice");
    }

    /// Programs all pending data. Returns the time at which they are in flash.
    pub fn flush(&mut self, at: u64, flash: &mut impl Flash) -> u64 {
        (0..self.open.len()).map(|i| self.program_rest(i, at, flash)).max().unwrap_or(at)
    }

    /// Discards `n` pages, which are then no longer copied.
    pub fn discard(&mut self, lpn: u32, n: u32) {
        for lpn in lpn..lpn + n {
            self.filled[lpn as usize / 64] &= !(1 << (lpn % 64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Untimed;
    use super::*;

    fn card(open: u32, random: bool) -> AuMapped {
        let rules = AuRules {
            logical_pages: 64 * 256,
            aus: 70,
            au_pages: 256,
            unit_pages: 2,
            open,
            random,
            fat: 0,
            endurance: 100_000,
        };
        filled(rules)
    }

    fn filled(rules: AuRules) -> AuMapped {
        let mut card = AuMapped::new(rules);
        card.write(0, 0, 64 * 256, &mut Untimed).expect("room");
        card
    }

    #[test]
    fn opening_one_unit_too_many_copies_whole_units() {
        let moved = |streams: u32| {
            let mut card = card(4, false);
            let before = card.work().moved;
            for page in 0..64 {
                for stream in 0..streams {
                    card.write(0, stream * 256 + page, 1, &mut Untimed).expect("room");
                }
            }
            card.work().moved - before
        };
        assert_eq!(moved(4), 0);
        assert!(moved(5) > 64 * 256, "{} pages moved", moved(5));
    }

    #[test]
    fn random_order_costs_what_the_rules_of_the_card_imply() {
        let moved = |random: bool| {
            let mut card = card(2, random);
            let before = card.work().moved;
            (0..100).for_each(|i| card.write(0, i * 37 % 256, 1, &mut Untimed).expect("room"));
            card.work().moved - before
        };
        assert_eq!(moved(true), 0);
        assert!(moved(false) > 10 * 256);
    }

    #[test]
    fn a_fat_zone_takes_any_order_and_stays_open_beside_the_others() {
        let moved = |zone: u32, au: u32| {
            let mut card = filled(AuRules { fat: zone, ..card(1, false).rules });
            let before = card.work().moved;
            for i in 0..60 {
                // A table in random order, and the data of a file in sequential order.
                card.write(0, au * 256 + i * 37 % 256, 1, &mut Untimed).expect("room");
                card.write(0, 20 * 256 + i, 1, &mut Untimed).expect("room");
            }
            card.work().moved - before
        };
        assert_eq!([moved(2, 0), moved(2, 1)], [0, 0]);
        assert!(moved(2, 2) > 10 * 256 && moved(0, 0) > 10 * 256);
    }

    #[test]
    #[should_panic(expected = "placed, open, free and retired AUs")]
    fn a_lost_allocation_unit_is_noticed() {
        let mut card = card(2, false);
        card.check();
        card.free.pop();
        card.write(0, 0, 1, &mut Untimed).expect("room");
    }

    #[test]
    fn worn_allocation_units_are_retired_until_none_is_free() {
        let mut card = filled(AuRules { endurance: 1, ..card(2, false).rules });
        let mut aus = 0..64;
        assert!(aus.any(|au| card.write(0, au * 256, 256, &mut Untimed).is_err()));
        card.check();
        assert!((5..=6).contains(&card.retired), "{} of 6 spare AUs are retired", card.retired);
    }

    #[test]
    #[should_panic(expected = "AUs in use twice")]
    fn an_allocation_unit_in_use_twice_is_noticed() {
        let mut card = card(2, false);
        card.place[0] = card.place[1];
        card.check();
    }
}

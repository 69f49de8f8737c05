//! Superblocks: stripes of erase blocks over all dies, each written, collected and erased as a
//! unit. Tracks the live pages, erases and use of each.
//!
//! A second table contains the smallest live count of every 64 superblocks. The count of a closed
//! superblock only falls, so one comparison per overwritten page keeps the minima exact, and the
//! emptiest of a quarter of a million superblocks is found among 4,000 numbers. Victim selection is
//! in `collect.rs`.
//!
//! Asserted whenever a superblock changes its use: it goes from free to busy to closed and back, and
//! is erased only when it holds no live page. [`Superblocks::check`] compares all counts.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Numbers of pages and superblocks of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashLayout {
    /// Pages visible to the host.
    pub logical_pages: u32,
    pub superblocks: u32,
    /// Spare superblocks, which replace worn-out ones.
    pub spares: u32,
    /// Pages in a superblock at full density.
    pub superblock_pages: u32,
    /// Pages programmed at once, at full density and as SLC.
    pub unit_pages: [u32; 2],
}

impl FlashLayout {
    /// Number of low bits of a page number that give its position in the superblock.
    pub fn stride_bits(&self) -> u32 {
        self.superblock_pages.next_power_of_two().trailing_zeros()
    }

    /// Number of physical page numbers, including those of spare superblocks.
    pub fn page_numbers(&self) -> u64 {
        (u64::from(self.superblocks) + u64::from(self.spares)) << self.stride_bits()
    }
}

/// Flag in the live count of a superblock that cannot be chosen for collection: free, open, being
/// collected or retired.
const PINNED: u32 = 1 << 31;
const GROUP: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Erased, or to be erased before use.
    Free,
    /// Being written or collected.
    Busy,
    /// Full.
    Closed,
    /// Worn out, or a spare not yet in use.
    Out,
}

#[derive(Debug)]
pub struct Superblocks {
    live: Vec<u32>,
    lowest: Vec<u32>,
    uses: Vec<Use>,
    slc: Vec<bool>,
    erases: Vec<u32>,
    closed_at: Vec<u64>,
    closings: u64,
    free: BinaryHeap<Reverse<(u32, u32)>>,
    /// Superblocks of each kind in order of closing; entries can be stale.
    order: [VecDeque<(u32, u64)>; 2],
    emptied: Vec<u32>,
    /// Free superblocks not yet erased; entries can be stale.
    to_erase: Vec<u32>,
    erased: Vec<bool>,
    spare: u32,
    slc_used: u32,
    wear: Wear,
    total_erases: u64,
}

/// Endurance of superblocks.
#[derive(Clone, Copy, Debug)]
pub struct Wear {
    /// Mean endurance of a superblock in erase cycles; each differs by up to a tenth.
    pub endurance: u32,
    /// Seed of the individual endurances.
    pub seed: u64,
}

impl Superblocks {
    /// Creates `count` free superblocks, and `spare` more to replace worn-out ones.
    pub fn new(count: u32, spare: u32, wear: Wear) -> Superblocks {
        let total = (count + spare) as usize;
        let uses = (0..total).map(|i| if i < count as usize { Use::Free } else { Use::Out });
        Superblocks {
            live: vec![PINNED; total],
            lowest: vec![u32::MAX; total.div_ceil(GROUP)],
            uses: uses.collect(),
            slc: vec![false; total],
            erases: vec![0; total],
            closed_at: vec![0; total],
            closings: 0,
            free: (0..count).map(|i| Reverse((0, i))).collect(),
            order: [VecDeque::new(), VecDeque::new()],
            emptied: Vec::new(),
            to_erase: Vec::new(),
            erased: vec![true; total],
            spare,
            slc_used: 0,
            wear,
            total_erases: 0,
        }
    }

    /// Number of superblocks, including spares and retired ones.
    pub fn count(&self) -> u32 {
        self.live.len() as u32
    }

    pub fn free(&self) -> u32 {
        self.free.len() as u32
    }

    /// Number of superblocks in use as SLC, including open ones.
    pub fn slc_used(&self) -> u32 {
        self.slc_used
    }

    pub fn spare(&self) -> u32 {
        self.spare
    }

    /// Erases over all superblocks.
    pub fn total_erases(&self) -> u64 {
        self.total_erases
    }

    pub fn erases(&self, sb: u32) -> u32 {
        self.erases[sb as usize]
    }

    /// Live pages in a superblock.
    #[inline]
    pub fn live(&self, sb: u32) -> u32 {
        self.live[sb as usize] & !PINNED
    }

    /// Whether a superblock is closed and can be collected.
    #[inline]
    pub fn is_candidate(&self, sb: u32) -> bool {
        self.live[sb as usize] & PINNED == 0
    }

    /// Whether a superblock stores one bit per cell.
    #[inline]
    pub fn is_slc(&self, sb: u32) -> bool {
        self.slc[sb as usize]
    }

    /// Number of superblocks closed since this one.
    pub fn age(&self, sb: u32) -> u64 {
        self.closings - self.closed_at[sb as usize]
    }

    /// Opens the least worn free superblock for writing. Also returns whether it must be erased
    /// first.
    pub fn open(&mut self, slc: bool) -> Option<(u32, bool)> {
        let Reverse((_, sb)) = self.free.pop()?;
        let erased = std::mem::replace(&mut self.erased[sb as usize], false);
        self.change_use(sb, Use::Free, Use::Busy);
        self.slc[sb as usize] = slc;
        self.slc_used += u32::from(slc);
        Some((sb, !erased))
    }

    /// Takes a free superblock that is not erased and marks it as erased.
    pub fn erase_ahead(&mut self) -> Option<u32> {
        while let Some(sb) = self.to_erase.pop() {
            let i = sb as usize;
            if self.uses[i] == Use::Free && !std::mem::replace(&mut self.erased[i], true) {
                return Some(sb);
            }
        }
        None
    }

    /// Closes a full superblock.
    pub fn close(&mut self, sb: u32) {
        let i = sb as usize;
        self.change_use(sb, Use::Busy, Use::Closed);
        self.live[i] &= !PINNED;
        self.lowest[i / GROUP] = self.lowest[i / GROUP].min(self.live[i]);
        self.closings += 1;
        self.closed_at[i] = self.closings;
        self.remember_order(sb);
        if self.live[i] == 0 {
            self.emptied.push(sb);
        }
    }

    fn remember_order(&mut self, sb: u32) {
        let (total, slc) = (self.live.len(), self.is_slc(sb));
        let (live, closed_at) = (&self.live, &self.closed_at);
        let order = &mut self.order[usize::from(slc)];
        order.push_back((sb, self.closings));
        // Drop stale entries before they accumulate.
        if order.len() > 2 * total {
            order.retain(|&(sb, at)| live[sb as usize] < PINNED && closed_at[sb as usize] == at);
        }
    }

    /// Takes a closed superblock for collection.
    pub fn pin(&mut self, sb: u32) {
        let i = sb as usize;
        self.change_use(sb, Use::Closed, Use::Busy);
        self.live[i] |= PINNED;
        let group = &self.live[i / GROUP * GROUP..self.live.len().min((i / GROUP + 1) * GROUP)];
        self.lowest[i / GROUP] = group.iter().copied().min().unwrap_or(u32::MAX);
    }

    /// Adds `n` live pages to a superblock.
    #[inline]
    pub fn add(&mut self, sb: u32, n: u32) {
        self.live[sb as usize] += n;
    }

    /// Removes `n` live pages from a superblock.
    #[inline]
    pub fn remove(&mut self, sb: u32, n: u32) {
        let i = sb as usize;
        let left = self.live[i] - n;
        self.live[i] = left;
        let lowest = &mut self.lowest[i / GROUP];
        *lowest = (*lowest).min(left);
        if left == 0 {
            self.emptied.push(sb);
        }
    }

    /// Takes the next closed superblock without live pages.
    #[inline]
    pub fn take_emptied(&mut self) -> Option<u32> {
        while let Some(sb) = self.emptied.pop() {
            if self.uses[sb as usize] == Use::Closed && self.live[sb as usize] == 0 {
                self.pin(sb);
                return Some(sb);
            }
        }
        None
    }

    /// Releases a pinned superblock without live pages. It becomes free, to be erased before use,
    /// or is retired if worn out. Returns false if it was retired and no spare was left to replace
    /// it.
    pub fn erase(&mut self, sb: u32) -> bool {
        let i = sb as usize;
        assert_eq!(self.live[i], PINNED, "an erased superblock holds no live page");
        self.slc_used -= u32::from(self.slc[i]);
        self.slc[i] = false;
        self.erases[i] += 1;
        self.total_erases += 1;
        if self.erases[i] < self.endurance(sb) {
            self.change_use(sb, Use::Busy, Use::Free);
            self.free.push(Reverse((self.erases[i], sb)));
            self.to_erase.push(sb);
            if self.to_erase.len() > 2 * self.uses.len() {
                let (uses, erased) = (&self.uses, &self.erased);
                self.to_erase.sort_unstable();
                self.to_erase.dedup();
                self.to_erase.retain(|&sb| uses[sb as usize] == Use::Free && !erased[sb as usize]);
            }
            return true;
        }
        self.change_use(sb, Use::Busy, Use::Out);
        if self.spare == 0 {
            return false;
        }
        let fresh = self.count() - self.spare;
        self.spare -= 1;
        self.change_use(fresh, Use::Out, Use::Free);
        self.free.push(Reverse((0, fresh)));
        true
    }

    /// Takes a closed superblock for collection in place, which erases it so often. Returns false, and
    /// does not take it, if that would wear it out.
    pub fn renew(&mut self, sb: u32, erases: u32) -> bool {
        let i = sb as usize;
        let lasts = self.erases[i] + erases < self.endurance(sb);
        if lasts {
            self.pin(sb);
            self.erases[i] += erases;
            self.total_erases += u64::from(erases);
        }
        lasts
    }

    /// Endurance of this superblock in erase cycles: the mean, plus or minus up to a tenth.
    fn endurance(&self, sb: u32) -> u32 {
        let draw = mix(self.wear.seed ^ u64::from(sb)) >> 32;
        let spread = u64::from(self.wear.endurance) / 5;
        let low = u64::from(self.wear.endurance) - spread / 2;
        ((low + ((draw * spread) >> 32)).max(1)) as u32
    }

    /// The closed superblock with the fewest live pages.
    pub fn emptiest(&self) -> Option<u32> {
        let (group, &lowest) = self.lowest.iter().enumerate().min_by_key(|(_, v)| **v)?;
        let members = self.live.iter().enumerate().skip(group * GROUP).take(GROUP);
        let emptiest = members.into_iter().find(|(_, v)| **v == lowest);
        emptiest.filter(|_| lowest & PINNED == 0).map(|(sb, _)| sb as u32)
    }

    /// The superblock of a kind that was closed first.
    pub fn oldest(&mut self, slc: bool) -> Option<u32> {
        while let Some(&(sb, closing)) = self.order[usize::from(slc)].front() {
            if self.is_candidate(sb) && self.closed_at[sb as usize] == closing {
                return Some(sb);
            }
            self.order[usize::from(slc)].pop_front();
        }
        None
    }

    /// The least erased closed superblock, if the most erased one has more than `lead` more erases.
    pub fn least_worn(&self, lead: u32) -> Option<u32> {
        let used = (0..self.count()).filter(|&sb| self.uses[sb as usize] != Use::Out);
        let most = used.map(|sb| self.erases(sb)).max()?;
        let closed = (0..self.count()).filter(|&sb| self.is_candidate(sb));
        let least = closed.min_by_key(|&sb| self.erases(sb))?;
        (most - self.erases(least) > lead).then_some(least)
    }

    fn change_use(&mut self, sb: u32, from: Use, to: Use) {
        let current = std::mem::replace(&mut self.uses[sb as usize], to);
        assert_eq!(current, from, "superblock {sb} cannot become {to:?}");
    }

    /// Panics unless the counts agree with each other and with the number of mapped pages.
    pub fn check(&self, mapped: u64) {
        let (mut tally, mut live) = ([0; 4], 0);
        for (sb, &usage) in (0..).zip(&self.uses) {
            let pages = self.live(sb);
            live += u64::from(pages);
            tally[usage as usize] += 1;
            assert_eq!(self.is_candidate(sb), usage == Use::Closed, "superblock {sb}, {usage:?}");
            let holds_data = matches!(usage, Use::Busy | Use::Closed);
            assert!(holds_data || pages == 0 && !self.is_slc(sb), "superblock {sb} is {usage:?}");
        }
        assert_eq!(live, mapped, "live and mapped pages");
        assert_eq!(self.free(), tally[Use::Free as usize], "free superblocks");
        assert!(self.spare <= tally[Use::Out as usize], "{} spares of {tally:?}", self.spare);
        let slc = self.slc.iter().filter(|slc| **slc).count();
        assert_eq!(self.slc_used as usize, slc, "superblocks used as SLC");
    }
}

/// Mixes 64 bits with the finaliser of SplitMix64.
pub fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEAR: Wear = Wear { endurance: 10, seed: 1 };

    #[test]
    fn the_emptiest_has_the_fewest_live_pages() {
        let mut blocks = Superblocks::new(300, 0, WEAR);
        let mut state = 1;
        let mut closed = Vec::new();
        for _ in 0..200 {
            let (sb, _) = blocks.open(false).expect("one is free");
            blocks.add(sb, 500);
            blocks.close(sb);
            closed.push(sb);
        }
        for _ in 0..20_000 {
            state = mix(state);
            let sb = closed[(state % 200) as usize];
            if blocks.live(sb) > 1 {
                blocks.remove(sb, 1);
            }
            if state % 1000 == 7 {
                let best = blocks.emptiest().expect("some are closed");
                let least = closed.iter().filter(|&&sb| blocks.is_candidate(sb));
                let least = least.map(|&sb| blocks.live(sb)).min();
                assert_eq!(Some(blocks.live(best)), least);
            }
        }
    }

    fn written(pages: u32) -> (Superblocks, u32) {
        let mut blocks = Superblocks::new(2, 1, WEAR);
        let (sb, _) = blocks.open(true).expect("one is free");
        blocks.add(sb, pages);
        (blocks, sb)
    }

    #[test]
    #[should_panic(expected = "cannot become Closed")]
    fn a_superblock_is_closed_once() {
        let (mut blocks, sb) = written(5);
        (0..2).for_each(|_| blocks.close(sb));
    }

    #[test]
    #[should_panic(expected = "holds no live page")]
    fn live_pages_are_never_erased() {
        let (mut blocks, sb) = written(5);
        blocks.erase(sb);
    }

    #[test]
    #[should_panic(expected = "live and mapped pages")]
    fn a_lost_live_page_is_noticed() {
        written(5).0.check(6);
    }

    #[test]
    #[should_panic(expected = "free superblocks")]
    fn a_lost_free_superblock_is_noticed() {
        let (mut blocks, _) = written(5);
        blocks.free.pop();
        blocks.check(5);
    }

    #[test]
    #[should_panic(expected = "1 spares of")]
    fn a_spare_used_and_not_counted_is_noticed() {
        let (mut blocks, _) = written(5);
        (blocks.uses[2], blocks.live[2]) = (Use::Busy, PINNED);
        blocks.check(5);
    }

    #[test]
    #[should_panic(expected = "used as SLC")]
    fn a_miscounted_slc_superblock_is_noticed() {
        let (mut blocks, _) = written(5);
        blocks.check(5);
        blocks.slc_used += 1;
        blocks.check(5);
    }

    #[test]
    fn an_erased_superblock_is_no_longer_slc() {
        let (mut blocks, sb) = written(5);
        blocks.close(sb);
        blocks.remove(sb, 5);
        assert_eq!(blocks.take_emptied(), Some(sb));
        assert!(blocks.erase(sb));
        blocks.check(0);
    }

    #[test]
    fn worn_superblocks_are_replaced_until_the_spares_are_gone() {
        let mut blocks = Superblocks::new(2, 1, WEAR);
        let mut erases = 0;
        loop {
            let (sb, _) = blocks.open(false).expect("one is free");
            blocks.close(sb);
            assert_eq!(blocks.take_emptied(), Some(sb));
            erases += 1;
            assert!(erases < 100, "the spares are never gone");
            if !blocks.erase(sb) {
                break;
            }
            blocks.check(0);
        }
        assert_eq!(blocks.spare(), 0);
        assert!((18..=33).contains(&erases), "{erases} erases on three blocks of about ten");
    }
}

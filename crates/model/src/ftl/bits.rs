//! One bit for every page of the flash.

/// Bits of one word.
const WORD: u32 = u64::BITS;

#[derive(Debug)]
pub struct PageBits(Vec<u64>);

impl PageBits {
    /// Creates bits for `pages` pages, none of them set.
    pub fn new(pages: u64) -> PageBits {
        PageBits(vec![0; pages.div_ceil(u64::from(WORD)) as usize])
    }

    #[inline]
    pub fn set(&mut self, page: u32) {
        self.0[(page / WORD) as usize] |= 1 << (page % WORD);
    }

    #[inline]
    pub fn clear(&mut self, page: u32) {
        self.0[(page / WORD) as usize] &= !(1 << (page % WORD));
    }

    /// The bits among which that of this page is.
    #[inline]
    pub fn word(&self, page: u32) -> u64 {
        self.0[(page / WORD) as usize]
    }

    /// Sets `n` bits from `page`.
    #[inline]
    pub fn set_range(&mut self, page: u32, n: u32) {
        self.for_words(page, n, |word, mask| *word |= mask);
    }

    /// Clears `n` bits from `page`.
    #[inline]
    pub fn clear_range(&mut self, page: u32, n: u32) {
        self.for_words(page, n, |word, mask| *word &= !mask);
    }

    #[inline]
    fn for_words(&mut self, page: u32, n: u32, mut f: impl FnMut(&mut u64, u64)) {
        let (mut page, end) = (page, page + n);
        while page < end {
            let (bit, len) = (page % WORD, (end - page).min(WORD - page % WORD));
            f(&mut self.0[(page / WORD) as usize], (u64::MAX >> (WORD - len)) << bit);
            page += len;
        }
    }

    /// The first page from `page`, below `end`, whose bit is clear; `end` if there is none.
    #[inline]
    pub fn first_clear(&self, page: u32, end: u32) -> u32 {
        let mut page = page;
        while page < end {
            let clear = !self.0[(page / WORD) as usize] >> (page % WORD);
            if clear != 0 {
                return end.min(page + clear.trailing_zeros());
            }
            page += WORD - page % WORD;
        }
        end
    }
}

/// Which pages of closed superblocks are live; see `live.rs`.
#[derive(Debug)]
pub struct LivePages {
    pub bits: PageBits,
    /// Pages killed since their bits were last brought up to date.
    pub killed: Vec<u32>,
}

impl LivePages {
    /// Notes that `n` pages from `ppn` are no longer live.
    #[inline]
    pub fn forget(&mut self, ppn: u32, n: u32) {
        self.killed.extend(ppn..ppn + n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_across_words_are_those_of_single_bits() {
        for (from, n) in [(0, 1), (3, 61), (60, 8), (63, 130), (64, 64), (190, 2)] {
            let mut bits = PageBits::new(200);
            bits.set_range(from, n);
            assert_eq!(bits.first_clear(from, 200), from + n);
            assert_eq!(bits.first_clear(0, 200), if from > 0 { 0 } else { n });
            bits.clear(from);
            assert_eq!(bits.first_clear(from, 200), from);
            bits.set(from);
            assert_eq!(bits.first_clear(from, 200), from + n);
            bits.clear_range(from, n);
            assert!((0..200).all(|page| bits.first_clear(page, 200) == page));
        }
    }
}

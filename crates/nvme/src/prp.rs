//! PRP lists: the pages of a transfer (NVMe 1.4, section 4.3).
//!
//! A command contains the address of the first page and, in a transfer of two pages, of the second;
//! for more pages, it points to a list. In a list longer than a page, the last entry of each page
//! but the last points to the next page. A list therefore serves every shorter transfer from the
//! same offset, except one whose last data page would take the place of such a pointer.

use core::sync::atomic::AtomicU32;

use crate::host::{DmaMap, PAGE_BYTES, store64};

/// Entries in one page of a list.
const ENTRIES: usize = PAGE_BYTES / 8;

/// Pages needed for the list of a transfer of `data_pages` pages, at the worst offset.
pub(crate) fn list_pages(data_pages: usize) -> usize {
    if data_pages <= ENTRIES { 1 } else { (data_pages - 1).div_ceil(ENTRIES - 1) }
}

/// Pages touched by a transfer.
#[inline(always)]
pub(crate) fn pages(at: usize, bytes: usize) -> u32 {
    ((at % PAGE_BYTES + bytes).div_ceil(PAGE_BYTES)) as u32
}

/// Whether a list for `listed` pages serves a transfer of `pages` pages from the same offset.
#[inline(always)]
pub(crate) fn serves(listed: u32, pages: u32) -> bool {
    let entries = pages.wrapping_sub(1) as usize;
    pages <= listed
        && (entries < ENTRIES || pages == listed || !(entries - 1).is_multiple_of(ENTRIES - 1))
}

/// Writes the list for a transfer of `pages` pages from `at`: every page but the first.
#[cold]
pub(crate) fn build<D: DmaMap + ?Sized>(
    memory: &D,
    words: &[AtomicU32],
    list: usize,
    at: usize,
    pages: u32,
) {
    let entries = pages as usize - 1;
    let first = at - at % PAGE_BYTES + PAGE_BYTES;
    let mut place = list;
    for entry in 0..entries {
        if place % PAGE_BYTES == PAGE_BYTES - 8 && entry + 1 < entries {
            store64(words, place, memory.bus(place + 8));
            place += 8;
        }
        store64(words, place, memory.bus(first + entry * PAGE_BYTES));
        place += 8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::load;

    /// A region whose pages are in reverse order on the bus.
    struct Reversed([AtomicU32; 4 * 1024]);

    impl DmaMap for Reversed {
        fn words(&self) -> &[AtomicU32] {
            &self.0
        }

        fn bus(&self, offset: usize) -> u64 {
            (1 << 40) - (offset / PAGE_BYTES * PAGE_BYTES) as u64 + (offset % PAGE_BYTES) as u64
        }
    }

    /// Reads a list as a controller does.
    fn walk(memory: &Reversed, list: usize, pages: usize) -> impl Iterator<Item = u64> {
        let mut place = list;
        (1..pages).map(move |page| {
            let entry = |place| {
                u64::from(load(&memory.0, place)) | u64::from(load(&memory.0, place + 4)) << 32
            };
            if place % PAGE_BYTES == PAGE_BYTES - 8 && page + 1 < pages {
                place = (0..4)
                    .map(|p| p * PAGE_BYTES)
                    .find(|p| memory.bus(*p) == entry(place))
                    .expect("a page of the list");
            }
            place += 8;
            entry(place - 8)
        })
    }

    #[test]
    fn a_chained_list_reads_back_page_by_page() {
        for pages in [3usize, 512, 513, 514, 1023, 1024, 1025, 1500] {
            let memory = Reversed([const { AtomicU32::new(0) }; 4096]);
            build(&memory, &memory.0, 0, 8 * PAGE_BYTES + 512, pages as u32);
            let expected = (1..pages).map(|page| memory.bus((8 + page) * PAGE_BYTES));
            assert!(walk(&memory, 0, pages).eq(expected), "{pages} pages");
            assert!(list_pages(pages) <= 3);
        }
    }

    #[test]
    fn a_shorter_transfer_uses_the_same_list_unless_it_ends_on_a_chain_pointer() {
        let memory = Reversed([const { AtomicU32::new(0) }; 4096]);
        build(&memory, &memory.0, 0, 0, 1500);
        for pages in 2..=1500u32 {
            let expected = (1..pages as usize).map(|page| memory.bus(page * PAGE_BYTES));
            let right = walk(&memory, 0, pages as usize).eq(expected);
            assert_eq!(right, serves(1500, pages), "{pages} pages");
        }
        assert!(!serves(512, 513) && serves(513, 513) && !serves(600, 513));
    }

    #[test]
    fn the_offset_in_the_first_page_counts_towards_the_pages() {
        assert_eq!(
            (pages(0, 4096), pages(512, 4096), pages(4095, 1), pages(0, 8193)),
            (1, 2, 1, 3)
        );
    }
}

//! Random writes of single pages that are not timed: collection in place.
//!
//! Collection copies the live pages of a victim to one superblock, and pages of the host fill another.
//! If what is written is random, it is as well to leave the live pages where they are and to put the
//! host's in the places of dead ones: the superblock is then as full as those two are, and the map of
//! no moved page changes. If the host's pages go through the SLC cache, they are put where they are
//! folded to. The flash is still given every read, program and erase. Superblocks that are free, being
//! filled or being collected when this begins, and those of the cache, stay so until writes are timed
//! again.

use super::collect::victim;
use super::page::{Full, LOW, PageMapped, Refill};
use super::{Flash, ProgramCause};

impl PageMapped {
    /// Whether writes can be collected in place: space is short, and the SLC cache is not being emptied.
    pub fn refills(&self) -> bool {
        let is_short = self.blocks.free() <= LOW && self.job.is_some();
        let is_steady = self.frontiers[0].slc || self.slc_owed() == 0.0;
        is_short && is_steady && !self.rules.shared_frontier
    }

    /// Makes the map ready for [`Self::refill`] of these pages.
    pub fn begin_refill(&mut self, lpns: impl Iterator<Item = u32>) {
        self.map.settle_live();
        self.map.fetch_with_bits(lpns);
    }

    /// Writes a page of the host, at a time when [`Self::refills`].
    pub fn refill(&mut self, at: u64, lpn: u32, flash: &mut impl Flash) -> Result<(), Full> {
        let Some(ppn) = self.next_dead(at, flash) else {
            let result = self.write(at, lpn, 1, flash);
            self.map.settle_live();
            return result;
        };
        self.bind(lpn, ppn, 1);
        self.map.clear_killed();
        self.blocks.add(self.refill.sb, 1);
        self.work.host += 1;
        self.program_host_page(at, ppn, flash);
        self.release_emptied();
        Ok(())
    }

    /// The next dead page of the superblock being collected; moves the live ones before it. `None` if
    /// there is no superblock to collect next, or collecting it would wear it out.
    fn next_dead(&mut self, at: u64, flash: &mut impl Flash) -> Option<u32> {
        loop {
            let Refill { sb, next, end, .. } = self.refill;
            let [first, last] = [next, end].map(|page| sb << self.stride_bits | page);
            let dead = self.map.first_dead(first, last);
            for ppn in first..dead {
                flash.read(at, ppn, 1, false);
                let is_complete = add_to_unit(&mut self.refill.moved, self.layout.unit_pages[0]);
                if is_complete {
                    flash.program(at, ppn, false, ProgramCause::Collect);
                }
            }
            self.work.moved += u64::from(dead - first);
            if dead < last {
                self.refill.next = next + (dead - first) + 1;
                return Some(dead);
            }
            if end > 0 {
                self.blocks.close(sb);
            }
            (self.refill.next, self.refill.end) = (0, 0);
            let erases = 1 + std::mem::take(&mut self.refill.erases);
            let sb = self.native_victim().filter(|&sb| self.blocks.renew(sb, erases))?;
            flash.erase(at, sb);
            (self.refill.sb, self.refill.end) = (sb, self.layout.superblock_pages);
        }
    }

    /// The superblock to collect next that is not one of the cache.
    fn native_victim(&mut self) -> Option<u32> {
        let mut cache = Vec::new();
        let native = loop {
            let next = self.levelling_victim();
            let next =
                next.or_else(|| victim(self.rules.policy, &mut self.blocks, &mut self.draws));
            match next {
                Some(sb) if self.blocks.is_slc(sb) => {
                    self.blocks.pin(sb);
                    cache.push(sb);
                }
                next => break next,
            }
        };
        cache.into_iter().for_each(|sb| self.blocks.close(sb));
        native
    }

    #[inline]
    fn program_host_page(&mut self, at: u64, ppn: u32, flash: &mut impl Flash) {
        let (refill, unit_pages) = (&mut self.refill, self.layout.unit_pages);
        let is_complete = add_to_unit(&mut refill.host[0], unit_pages[0]);
        let slc = self.frontiers[0].slc;
        if is_complete && slc {
            for page in 0..unit_pages[0] {
                flash.read(at, page, 1, true);
            }
        }
        if is_complete {
            let cause = if slc { ProgramCause::Fold } else { ProgramCause::Host };
            flash.program(at, ppn, false, cause);
        }
        if slc {
            self.work.folded += 1;
            if add_to_unit(&mut refill.host[1], unit_pages[1]) {
                flash.program(at, ppn, true, ProgramCause::Host);
            }
            if add_to_unit(&mut refill.cached, self.layout.superblock_pages / self.rules.slc.bits) {
                flash.erase(at, ppn >> self.stride_bits);
                refill.erases += 1;
            }
        }
    }
}

/// Adds a page to a unit of this size. Returns whether that completes it.
#[inline]
fn add_to_unit(pages: &mut u32, size: u32) -> bool {
    *pages += 1;
    let is_complete = *pages >= size;
    if is_complete {
        *pages = 0;
    }
    is_complete
}

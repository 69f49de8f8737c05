//! Page-mapped translation: every logical page can be stored anywhere. Superblocks are filled one
//! after another and collected when few are free.
//!
//! Host data and moved data go to separate frontiers (or to a shared one, as the closed forms of
//! write amplification assume). Collection and folding are the same operation, moving live pages
//! out of a superblock, and advance a little with every host page; see `background.rs`.
//!
//! [`PageMapped::check_counts`] asserts, after every run, that the counts of live, free, spare and
//! SLC superblocks add up; [`PageMapped::check`] also reads the whole map.

use super::collect::{Draws, Policy};
use super::map::{LiveRun, Map};
use super::slc::Slc;
use super::superblock::{FlashLayout, Superblocks, Wear};
use super::{Flash, ProgramCause};

/// Behaviour of a translation.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Victim selection policy.
    pub policy: Policy,
    /// Whether host data and moved data fill the same superblock.
    pub shared_frontier: bool,
    pub slc: Slc,
    /// Endurance of superblocks.
    pub wear: Wear,
    /// Difference in erases above which a superblock is moved for wear levelling; 0 disables it.
    pub level_lead: u32,
    /// Target number of free superblocks in idle time.
    pub idle_free: u32,
    /// Whether idle time empties the SLC cache.
    pub idle_fold: bool,
    /// Seed of the random choices.
    pub seed: u64,
}

/// Number of free superblocks at which collection starts: one for the collector, the others for the
/// host to fill until a superblock is freed.
pub(super) const LOW: u32 = 4;
/// Fixed-point one for pages owed per host page.
pub(super) const ONE: u64 = 1 << 16;

/// Work done so far, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageCounts {
    /// Pages written by the host.
    pub host: u64,
    /// Pages moved by collection and wear levelling.
    pub moved: u64,
    /// Pages folded out of the SLC cache.
    pub folded: u64,
    /// Pages of padding to complete a program unit.
    pub padded: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frontier {
    pub(super) sb: u32,
    /// Next page to write, and the first page not yet programmed.
    pub(super) next: u32,
    pub(super) unit: u32,
    pub(super) end: u32,
    pub(super) unit_pages: u32,
    pub(super) slc: bool,
    /// Whether the open unit contains host data, possibly mixed with moved data in a shared
    /// frontier.
    pub(super) host: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) sb: u32,
    pub(super) next: u32,
    pub(super) end: u32,
    pub(super) live: u32,
    pub(super) slc: bool,
}

/// The superblock being collected in place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Refill {
    pub(super) sb: u32,
    /// Next page to look at, and their end; both 0 if no superblock is being collected.
    pub(super) next: u32,
    pub(super) end: u32,
    /// Pages in program units that are not complete: the host's, at full density and as SLC, and moved
    /// ones.
    pub(super) host: [u32; 2],
    pub(super) moved: u32,
    /// Pages in the superblock of the cache that is being filled, and erases of full ones.
    pub(super) cached: u32,
    pub(super) erases: u32,
}

/// The stream that fills a frontier.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Host = 0,
    Moved = 1,
}

/// No space is left, and none can be freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

#[derive(Debug)]
pub struct PageMapped {
    pub(super) layout: FlashLayout,
    pub(super) rules: Rules,
    pub(super) stride_bits: u32,
    pub(super) batch: u32,
    pub(super) map: Map,
    pub(super) blocks: Superblocks,
    pub(super) frontiers: [Frontier; 2],
    pub(super) job: Option<Job>,
    pub(super) refill: Refill,
    pub(super) owed: u64,
    pub(super) rate: u64,
    /// Time at which all data read for the open unit of moved pages have arrived.
    pub(super) ready: u64,
    pub(super) worn_out: bool,
    pub(super) levelled: u64,
    pub(super) draws: Draws,
    pub(super) work: PageCounts,
    pub(super) scratch: Vec<LiveRun>,
}

impl PageMapped {
    /// Creates an empty drive.
    pub fn new(layout: FlashLayout, rules: Rules) -> PageMapped {
        let stride_bits = layout.stride_bits();
        let map = Map::new(u64::from(layout.logical_pages), layout.page_numbers());
        let blocks = Superblocks::new(layout.superblocks, layout.spares, rules.wear);
        let draws = Draws(rules.seed);
        let batch = (4 * layout.unit_pages[0]).min(layout.superblock_pages / 8).max(1);
        PageMapped {
            layout,
            rules,
            stride_bits,
            batch,
            map,
            blocks,
            frontiers: Default::default(),
            job: None,
            refill: Refill::default(),
            owed: 0,
            rate: 0,
            ready: 0,
            worn_out: false,
            levelled: 0,
            draws,
            work: PageCounts::default(),
            scratch: Vec::new(),
        }
    }

    /// Numbers of pages and superblocks.
    pub fn layout(&self) -> &FlashLayout {
        &self.layout
    }

    /// Pages processed so far.
    pub fn work(&self) -> PageCounts {
        self.work
    }

    /// Initial number of spare superblocks.
    pub fn spares(&self) -> u32 {
        self.layout.spares
    }

    pub fn blocks(&self) -> &Superblocks {
        &self.blocks
    }

    pub fn map(&self) -> &Map {
        &self.map
    }

    /// Whether the drive rejects writes because more superblocks wore out than there were spares.
    pub fn worn_out(&self) -> bool {
        self.worn_out
    }

    /// Pages of the host in a program unit that is not yet complete.
    pub fn host_open_pages(&self) -> u32 {
        let frontier = &self.frontiers[Stream::Host as usize];
        frontier.next - frontier.unit
    }

    /// Whether a page is in an SLC superblock.
    pub fn is_slc(&self, ppn: u32) -> bool {
        self.blocks.is_slc(ppn >> self.stride_bits)
    }

    /// Whether a page is still in the controller's memory, in an unprogrammed unit.
    pub fn is_open(&self, ppn: u32) -> bool {
        let (sb, page) = (ppn >> self.stride_bits, ppn & ((1 << self.stride_bits) - 1));
        self.frontiers.iter().any(|f| f.end > 0 && f.sb == sb && (f.unit..f.next).contains(&page))
    }

    /// Writes `n` host pages that the controller received at time `at`.
    #[inline]
    pub fn write(&mut self, at: u64, lpn: u32, n: u32, flash: &mut impl Flash) -> Result<(), Full> {
        let (mut lpn, mut left) = (lpn, n);
        while left > 0 {
            self.ensure_room(Stream::Host, at, flash)?;
            let len = self.append(Stream::Host, ProgramCause::Host, at, lpn, left, flash);
            lpn += len;
            left -= len;
        }
        self.work.host += u64::from(n);
        self.owed += u64::from(n) * self.rate;
        if self.owed >= u64::from(self.batch) * ONE {
            let pages = (self.owed / ONE) as u32;
            self.owed %= ONE;
            self.collect(pages, at, flash)?;
        }
        Ok(())
    }

    /// Writes `n` pages as writes of `write_pages` page do: in one if nothing is collected meanwhile. Returns
    /// whether the drive accepted all.
    pub fn write_run(
        &mut self,
        at: u64,
        lpn: u32,
        n: u32,
        write_pages: u32,
        flash: &mut impl Flash,
    ) -> bool {
        let (mut lpn, end) = (lpn, lpn + n);
        while lpn < end {
            let frontier = &self.frontiers[Stream::Host as usize];
            let room = if self.rate == 0 { frontier.end - frontier.next } else { 0 };
            let whole = room / write_pages * write_pages;
            let len = whole.max(write_pages).min(end - lpn);
            if self.write(at, lpn, len, flash).is_err() {
                return false;
            }
            lpn += len;
        }
        true
    }

    /// Discards `n` pages.
    pub fn discard(&mut self, lpn: u32, n: u32) {
        let (blocks, bits) = (&mut self.blocks, self.stride_bits);
        self.map.unbind(lpn, n, |ppn, len| invalidate(blocks, bits, ppn, len));
        self.release_emptied();
        self.pace();
    }

    /// Pads and programs the open unit of host data. Returns the time at which it is in flash, or
    /// `at` if nothing was open.
    pub fn flush(&mut self, at: u64, flash: &mut impl Flash) -> u64 {
        let frontier = &mut self.frontiers[Stream::Host as usize];
        if frontier.next == frontier.unit {
            return at;
        }
        let ppn = frontier.sb << self.stride_bits | frontier.unit;
        let done_ns = flash.program(at, ppn, frontier.slc, ProgramCause::Host);
        frontier.unit = (frontier.unit + frontier.unit_pages).min(frontier.end);
        frontier.host = false;
        self.work.padded += u64::from(frontier.unit - frontier.next);
        frontier.next = frontier.unit;
        self.close_if_full(Stream::Host);
        done_ns
    }

    #[inline]
    pub(super) fn ensure_room(
        &mut self,
        to: Stream,
        at: u64,
        flash: &mut impl Flash,
    ) -> Result<(), Full> {
        // A shared frontier may already be full of moved pages when it is opened.
        while self.frontiers[to as usize].next == self.frontiers[to as usize].end {
            self.open(to, at, flash)?;
        }
        Ok(())
    }

    /// Opens a free superblock as a frontier. Unless the frontier is shared, the last free one is
    /// reserved for the collector.
    #[cold]
    fn open(&mut self, to: Stream, at: u64, flash: &mut impl Flash) -> Result<(), Full> {
        let shared = self.rules.shared_frontier;
        let keep = u32::from(to == Stream::Host && !shared);
        let mut tries = 2 * self.blocks.count();
        while self.blocks.free() <= keep && to == Stream::Host {
            if tries == 0 || self.worn_out {
                return Err(Full);
            }
            tries -= 1;
            self.collect_one(at, flash)?;
        }
        let slc = to == Stream::Host && self.admit_slc();
        let (sb, erase) = self.blocks.open(slc).ok_or(Full)?;
        if erase {
            flash.erase(at, sb);
        }
        let unit_pages = self.layout.unit_pages[usize::from(slc)];
        let bits = if slc { self.rules.slc.bits } else { 1 };
        let end = self.layout.superblock_pages / bits;
        self.frontiers[to as usize] =
            Frontier { sb, next: 0, unit: 0, end, unit_pages, slc, host: false };
        if shared {
            // As assumed by the closed forms, at most one superblock is free, and the live pages of
            // the next victim go into the superblock just opened.
            let mut room = true;
            while room && self.blocks.free() == 0 {
                self.collect_one(at, flash)?;
                room = self.frontiers[0].next < self.frontiers[0].end;
            }
        }
        self.pace();
        Ok(())
    }

    pub(super) fn slc_limit(&self) -> u32 {
        self.rules.slc.limit(self.blocks.slc_used(), self.map.mapped(), &self.layout)
    }

    fn admit_slc(&mut self) -> bool {
        let limit = self.slc_limit();
        self.rules.slc.admit(self.blocks.slc_used(), limit) && self.blocks.free() > LOW
    }

    /// Appends up to `n` pages to a frontier that has room; returns their number.
    #[inline(always)]
    pub(super) fn append(
        &mut self,
        to: Stream,
        cause: ProgramCause,
        at: u64,
        lpn: u32,
        n: u32,
        flash: &mut impl Flash,
    ) -> u32 {
        let bits = self.stride_bits;
        let frontier = &self.frontiers[to as usize];
        let (sb, ppn) = (frontier.sb, frontier.sb << bits | frontier.next);
        let len = Map::bindable(lpn, ppn, n.min(frontier.end - frontier.next));
        if cause == ProgramCause::Host {
            self.bind(lpn, ppn, len);
        } else {
            self.map.move_pages(lpn, ppn, len);
        }
        self.blocks.add(sb, len);
        let frontier = &mut self.frontiers[to as usize];
        frontier.next += len;
        frontier.host |= cause == ProgramCause::Host;
        let full = frontier.next == frontier.end;
        while frontier.next - frontier.unit >= frontier.unit_pages
            || (full && frontier.unit < frontier.end)
        {
            let cause = if frontier.host { ProgramCause::Host } else { cause };
            flash.program(at, sb << bits | frontier.unit, frontier.slc, cause);
            frontier.unit = (frontier.unit + frontier.unit_pages).min(frontier.end);
            frontier.host =
                to == Stream::Host && cause == ProgramCause::Host && frontier.unit < frontier.next;
        }
        self.close_if_full(to);
        self.release_emptied();
        len
    }

    /// Maps pages of the host, whose previous places are dead then.
    #[inline(always)]
    pub(super) fn bind(&mut self, lpn: u32, ppn: u32, n: u32) {
        let (blocks, bits) = (&mut self.blocks, self.stride_bits);
        self.map.bind(lpn, ppn, n, |old, len| invalidate(blocks, bits, old, len));
    }

    #[inline]
    fn close_if_full(&mut self, to: Stream) {
        let frontier = &mut self.frontiers[to as usize];
        if frontier.next == frontier.end {
            self.blocks.close(frontier.sb);
            *frontier = Frontier::default();
        }
    }

    #[inline]
    pub(super) fn release_emptied(&mut self) {
        while let Some(sb) = self.blocks.take_emptied() {
            self.erase(sb);
        }
    }

    /// Panics unless the counts of live, free, spare and SLC superblocks add up.
    pub fn check_counts(&self) {
        self.blocks.check(self.map.mapped());
    }

    /// Panics unless also every mapped page is valid once and counted in its superblock.
    pub fn check(&self) {
        self.check_counts();
        let mut live = vec![0; self.blocks.count() as usize];
        self.map.check(|ppn, len| {
            by_superblock(self.stride_bits, ppn, len, |sb, len| live[sb as usize] += len);
        });
        for (sb, pages) in (0..).zip(live) {
            assert_eq!(self.blocks.live(sb), pages, "live pages of superblock {sb}");
        }
    }

    pub(super) fn erase(&mut self, sb: u32) {
        self.map.settle_live_if_many();
        self.map.erase(sb << self.stride_bits, self.layout.superblock_pages);
        self.worn_out |= !self.blocks.erase(sb);
    }
}

#[inline]
fn invalidate(blocks: &mut Superblocks, stride_bits: u32, ppn: u32, len: u32) {
    by_superblock(stride_bits, ppn, len, |sb, len| blocks.remove(sb, len));
}

/// Calls `f(superblock, pages)` for the parts of a run, which can extend into the next superblock.
#[inline]
fn by_superblock(stride_bits: u32, ppn: u32, len: u32, mut f: impl FnMut(u32, u32)) {
    let (mut start, end) = (ppn, ppn + len);
    while start < end {
        let sb = start >> stride_bits;
        let stop = end.min((sb + 1) << stride_bits);
        f(sb, stop - start);
        start = stop;
    }
}

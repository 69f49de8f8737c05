//! Page-mapped translation: every logical page lies anywhere, superblocks are filled one after the
//! other and collected when few are free.
//!
//! Host data and moved data go to frontiers of their own (or to a shared one, as the closed forms of
//! write amplification assume). Collection and folding are the same thing, moving what is live out
//! of a superblock, and go on a little with every page the host writes: [`PageMapped::pace`] decides
//! what is collected and how many pages are moved per host page, so that space comes back as fast as
//! it is used up. Only when that fails does the host wait for a whole superblock.

use serde::{Deserialize, Serialize};

use super::collect::{Draws, Policy, victim};
use super::map::{Live, Map};
use super::slc::Slc;
use super::superblock::{Superblocks, Wear};
use super::{Flash, Why};

/// Pages and superblocks of a drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    /// Pages the host sees.
    pub logical_pages: u32,
    /// Superblocks in use.
    pub superblocks: u32,
    /// Superblocks that replace worn-out ones.
    pub spares: u32,
    /// Pages in a superblock at full density.
    pub superblock_pages: u32,
    /// Pages programmed at once, at full density and as SLC.
    pub unit_pages: [u32; 2],
}

impl Layout {
    /// Bits of a page number that tell its place in the superblock.
    pub fn stride_bits(&self) -> u32 {
        self.superblock_pages.next_power_of_two().trailing_zeros()
    }
}

/// How a translation behaves.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rules {
    /// Which superblock is collected.
    pub policy: Policy,
    /// Host data and moved data fill the same superblock.
    pub shared_frontier: bool,
    /// The SLC cache.
    pub slc: Slc,
    /// Wear out.
    pub wear: Wear,
    /// A superblock is moved for wear levelling when others were erased this much more often; 0:
    /// never.
    pub level_lead: u32,
    /// Idle time is used to have this many superblocks free.
    pub idle_free: u32,
    /// Idle time is used to empty the SLC cache.
    pub idle_fold: bool,
    /// Seed of random choices.
    pub seed: u64,
}

/// Collection begins when this few superblocks are free: one for the collector, and some for the
/// host to write on while a superblock comes back.
const LOW: u32 = 4;
/// Fixed point of pages owed per host page.
const ONE: u64 = 1 << 16;
/// Erases between two looks for a superblock to level.
const LEVEL_EVERY: u64 = 64;

/// What was done so far, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Written by the host.
    pub host: u64,
    /// Moved by collection and wear levelling.
    pub moved: u64,
    /// Folded out of the SLC cache.
    pub folded: u64,
    /// Left empty to complete a program unit.
    pub padded: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Frontier {
    sb: u32,
    /// Next page to write, and the first that is not programmed yet.
    next: u32,
    unit: u32,
    end: u32,
    unit_pages: u32,
    slc: bool,
    /// The open unit holds data of the host, in a shared frontier beside moved ones.
    host: bool,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Job {
    sb: u32,
    next: u32,
    end: u32,
    live: u32,
    slc: bool,
}

/// Which frontier.
#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    Host = 0,
    Moved = 1,
}

/// There is no room and none can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// A page-mapped translation.
#[derive(Debug, Serialize, Deserialize)]
pub struct PageMapped {
    layout: Layout,
    rules: Rules,
    stride_bits: u32,
    batch: u32,
    map: Map,
    blocks: Superblocks,
    frontiers: [Frontier; 2],
    job: Option<Job>,
    owed: u64,
    rate: u64,
    /// When everything read for the open unit of moved pages is there.
    ready: u64,
    worn_out: bool,
    levelled: u64,
    draws: Draws,
    work: Work,
    #[serde(skip)]
    scratch: Vec<Live>,
}

impl PageMapped {
    /// A drive with nothing on it.
    pub fn new(layout: Layout, rules: Rules) -> PageMapped {
        let stride_bits = layout.stride_bits();
        let total = u64::from(layout.superblocks + layout.spares);
        let map = Map::new(u64::from(layout.logical_pages), total << stride_bits);
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
            owed: 0,
            rate: 0,
            ready: 0,
            worn_out: false,
            levelled: 0,
            draws,
            work: Work::default(),
            scratch: Vec::new(),
        }
    }

    /// Pages done so far.
    pub fn work(&self) -> Work {
        self.work
    }

    /// Superblocks that replace worn-out ones, as many as there were at first.
    pub fn spares(&self) -> u32 {
        self.layout.spares
    }

    /// The superblocks.
    pub fn blocks(&self) -> &Superblocks {
        &self.blocks
    }

    /// The mapping.
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// Nothing can be written any more: more superblocks wore out than there were spares.
    pub fn worn_out(&self) -> bool {
        self.worn_out
    }

    /// Whether a page lies in an SLC superblock.
    pub fn is_slc(&self, ppn: u32) -> bool {
        self.blocks.is_slc(ppn >> self.stride_bits)
    }

    /// Whether a page is still in the controller's memory, in a unit not yet programmed.
    pub fn is_open(&self, ppn: u32) -> bool {
        let (sb, page) = (ppn >> self.stride_bits, ppn & ((1 << self.stride_bits) - 1));
        self.frontiers.iter().any(|f| f.end > 0 && f.sb == sb && (f.unit..f.next).contains(&page))
    }

    /// The host writes `n` pages, all of which the controller has at time `at`.
    #[inline]
    pub fn write(&mut self, at: u64, lpn: u32, n: u32, flash: &mut impl Flash) -> Result<(), Full> {
        let (mut lpn, mut left) = (lpn, n);
        while left > 0 {
            self.ensure_room(To::Host, at, flash)?;
            let len = self.append(To::Host, Why::Host, at, lpn, left, flash);
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

    /// The host gives `n` pages back.
    pub fn discard(&mut self, lpn: u32, n: u32) {
        let (blocks, bits) = (&mut self.blocks, self.stride_bits);
        self.map.unbind(lpn, n, |ppn, len| invalidate(blocks, bits, ppn, len));
        self.release_emptied();
        self.pace();
    }

    /// Completes the open unit of host data with padding, so that everything is in flash. Returns
    /// when that is so, or `at` if nothing was open.
    pub fn flush(&mut self, at: u64, flash: &mut impl Flash) -> u64 {
        let frontier = &mut self.frontiers[To::Host as usize];
        if frontier.next == frontier.unit {
            return at;
        }
        let ppn = frontier.sb << self.stride_bits | frontier.unit;
        let done = flash.program(at, ppn, frontier.slc, Why::Host);
        frontier.unit = (frontier.unit + frontier.unit_pages).min(frontier.end);
        frontier.host = false;
        self.work.padded += u64::from(frontier.unit - frontier.next);
        frontier.next = frontier.unit;
        self.close_if_full(To::Host);
        done
    }

    /// Uses idle time from `from` to `until`: empties the SLC cache and frees superblocks.
    pub fn idle(&mut self, from: u64, until: u64, flash: &mut impl Flash) {
        let mut at = from;
        while at < until && self.idle_job() {
            self.ready = self.ready.max(at);
            if self.collect(self.batch, at, flash).is_err() {
                return;
            }
            at = self.ready.max(at + 1);
        }
        self.pace();
    }

    fn idle_job(&mut self) -> bool {
        if self.job.is_some() {
            return true;
        }
        let mut found = None;
        if self.rules.idle_fold && self.blocks.slc_used() > 0 {
            found = self.blocks.oldest(true);
        }
        if found.is_none() && self.blocks.free() < self.rules.idle_free {
            // What is nearly full of live pages is left alone: it would cost more than it brings.
            let worth = self.layout.superblock_pages / 16 * 15;
            found = self.blocks.emptiest().filter(|&sb| self.blocks.live(sb) < worth);
        }
        self.begin(found);
        self.job.is_some()
    }

    #[inline]
    fn ensure_room(&mut self, to: To, at: u64, flash: &mut impl Flash) -> Result<(), Full> {
        // A shared frontier can be full again when it is opened, of pages that were moved.
        while self.frontiers[to as usize].next == self.frontiers[to as usize].end {
            self.open(to, at, flash)?;
        }
        Ok(())
    }

    /// Takes a free superblock for a frontier. The last free one is the collector's.
    #[cold]
    fn open(&mut self, to: To, at: u64, flash: &mut impl Flash) -> Result<(), Full> {
        let shared = self.rules.shared_frontier;
        let keep = u32::from(to == To::Host && !shared);
        let mut tries = 2 * self.blocks.len();
        while self.blocks.free() <= keep && to == To::Host {
            if tries == 0 || self.worn_out {
                return Err(Full);
            }
            tries -= 1;
            self.collect_one(at, flash)?;
        }
        let slc = to == To::Host && self.admit_slc();
        let sb = self.blocks.open(slc).ok_or(Full)?;
        if self.blocks.erases(sb) > 0 {
            flash.erase(at, sb);
        }
        let unit_pages = self.layout.unit_pages[usize::from(slc)];
        let bits = if slc { self.rules.slc.bits } else { 1 };
        let end = self.layout.superblock_pages / bits;
        self.frontiers[to as usize] =
            Frontier { sb, next: 0, unit: 0, end, unit_pages, slc, host: false };
        if shared {
            // The closed forms' drive: one superblock is free at most, and what is live in the
            // next victim goes into the superblock that was just opened.
            let mut room = true;
            while room && self.blocks.free() == 0 {
                self.collect_one(at, flash)?;
                room = self.frontiers[0].next < self.frontiers[0].end;
            }
        }
        self.pace();
        Ok(())
    }

    fn slc_limit(&self) -> u32 {
        let logical = u64::from(self.layout.logical_pages);
        let pages = self.layout.superblock_pages;
        self.rules.slc.limit(self.blocks.slc_used(), logical, self.map.mapped(), pages)
    }

    fn admit_slc(&mut self) -> bool {
        let limit = self.slc_limit();
        self.rules.slc.admit(self.blocks.slc_used(), limit) && self.blocks.free() > LOW
    }

    /// Appends up to `n` pages to a frontier that has room; says how many.
    #[inline]
    fn append(
        &mut self,
        to: To,
        why: Why,
        at: u64,
        lpn: u32,
        n: u32,
        flash: &mut impl Flash,
    ) -> u32 {
        let bits = self.stride_bits;
        let frontier = &mut self.frontiers[to as usize];
        let (sb, ppn) = (frontier.sb, frontier.sb << bits | frontier.next);
        let len = Map::bindable(lpn, ppn, n.min(frontier.end - frontier.next));
        let blocks = &mut self.blocks;
        self.map.bind(lpn, ppn, len, |old, len| invalidate(blocks, bits, old, len));
        blocks.add(sb, len);
        frontier.next += len;
        frontier.host |= why == Why::Host;
        let full = frontier.next == frontier.end;
        while frontier.next - frontier.unit >= frontier.unit_pages
            || (full && frontier.unit < frontier.end)
        {
            let why = if frontier.host { Why::Host } else { why };
            flash.program(at, sb << bits | frontier.unit, frontier.slc, why);
            frontier.unit = (frontier.unit + frontier.unit_pages).min(frontier.end);
            frontier.host = to == To::Host && why == Why::Host && frontier.unit < frontier.next;
        }
        self.close_if_full(to);
        self.release_emptied();
        len
    }

    #[inline]
    fn close_if_full(&mut self, to: To) {
        let frontier = &mut self.frontiers[to as usize];
        if frontier.next == frontier.end {
            self.blocks.close(frontier.sb);
            *frontier = Frontier::default();
        }
    }

    #[inline]
    fn release_emptied(&mut self) {
        while let Some(sb) = self.blocks.take_emptied() {
            self.erase(sb);
        }
    }

    fn erase(&mut self, sb: u32) {
        self.map.erase(sb << self.stride_bits, self.layout.superblock_pages);
        self.worn_out |= !self.blocks.erase(sb);
    }

    /// Decides what is collected next and how many pages are moved per page the host writes.
    fn pace(&mut self) {
        self.rate = 0;
        if self.rules.shared_frontier {
            return;
        }
        let host = &self.frontiers[To::Host as usize];
        let raw_per_page = if host.slc { f64::from(self.rules.slc.bits) } else { 1.0 };
        let slc_owed = self.slc_owed();
        let short = self.blocks.free() <= LOW;
        if self.job.is_none() && (short || slc_owed > 0.0) {
            let found = self.levelling_victim().or_else(|| match short {
                true => victim(self.rules.policy, &mut self.blocks, &mut self.draws),
                false => self.blocks.oldest(true),
            });
            self.begin(found);
        }
        let Some(job) = self.job else { return };
        let mut rate = slc_owed;
        if short {
            let gain = self.layout.superblock_pages.saturating_sub(job.live).max(1);
            // A little more than needed at first, and the more the fewer are left.
            let urgency = 1.05 + 0.25 * f64::from(LOW - self.blocks.free());
            rate = rate.max(f64::from(job.live) / f64::from(gain) * raw_per_page * urgency);
        }
        self.rate = (rate * ONE as f64) as u64;
    }

    fn slc_owed(&self) -> f64 {
        if self.blocks.slc_used() == 0 {
            return 0.0;
        }
        let host = &self.frontiers[To::Host as usize];
        self.rules.slc.owed(self.blocks.slc_used(), self.slc_limit(), host.slc)
    }

    fn levelling_victim(&mut self) -> Option<u32> {
        let erases = self.blocks.total_erases();
        if self.rules.level_lead == 0 || erases < self.levelled + LEVEL_EVERY {
            return None;
        }
        self.levelled = erases;
        self.blocks.least_worn(self.rules.level_lead)
    }

    fn begin(&mut self, victim: Option<u32>) {
        let Some(sb) = victim else { return };
        let (slc, live) = (self.blocks.is_slc(sb), self.blocks.live(sb));
        self.blocks.pin(sb);
        let bits = if slc { self.rules.slc.bits } else { 1 };
        let end = self.layout.superblock_pages / bits;
        self.job = Some(Job { sb, next: 0, end, live, slc });
    }

    /// Collects the rest of the superblock in hand, or the policy's next.
    fn collect_one(&mut self, at: u64, flash: &mut impl Flash) -> Result<(), Full> {
        if self.job.is_none() {
            let found = victim(self.rules.policy, &mut self.blocks, &mut self.draws);
            self.begin(found);
        }
        let sb = self.job.ok_or(Full)?.sb;
        while self.job.is_some_and(|job| job.sb == sb) {
            self.collect(self.layout.superblock_pages, at, flash)?;
        }
        Ok(())
    }

    /// Moves about `budget` live pages out of the superblock in hand, and frees it at its end.
    fn collect(&mut self, budget: u32, at: u64, flash: &mut impl Flash) -> Result<(), Full> {
        let mut moved = 0;
        while moved < budget {
            let Some(job) = &mut self.job else { break };
            if job.next == job.end {
                let sb = job.sb;
                self.job = None;
                self.erase(sb);
                self.pace();
                break;
            }
            let span = (budget - moved).clamp(64, 1024).min(job.end - job.next);
            let (ppn, slc) = (job.sb << self.stride_bits | job.next, job.slc);
            job.next += span;
            let mut live = std::mem::take(&mut self.scratch);
            live.clear();
            self.map.live(ppn, span, &mut live);
            for run in &live {
                self.relocate(*run, slc, at, flash)?;
                moved += run.len;
            }
            self.scratch = live;
        }
        Ok(())
    }

    #[inline]
    fn relocate(
        &mut self,
        live: Live,
        slc: bool,
        at: u64,
        flash: &mut impl Flash,
    ) -> Result<(), Full> {
        let to = if self.rules.shared_frontier { To::Host } else { To::Moved };
        let why = if slc { Why::Fold } else { Why::Collect };
        self.ready = self.ready.max(flash.read(at, live.ppn, live.len, slc));
        let (mut lpn, mut left) = (live.lpn, live.len);
        while left > 0 {
            self.ensure_room(to, at, flash)?;
            let len = self.append(to, why, self.ready, lpn, left, flash);
            lpn += len;
            left -= len;
        }
        match why {
            Why::Fold => self.work.folded += u64::from(live.len),
            _ => self.work.moved += u64::from(live.len),
        }
        Ok(())
    }
}

#[inline]
fn invalidate(blocks: &mut Superblocks, stride_bits: u32, ppn: u32, len: u32) {
    // A run may go on from one superblock into the next.
    let (mut at, end) = (ppn, ppn + len);
    while at < end {
        let sb = at >> stride_bits;
        let stop = end.min((sb + 1) << stride_bits);
        blocks.remove(sb, stop - at);
        at = stop;
    }
}

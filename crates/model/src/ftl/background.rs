//! Background work of a page-mapped drive: garbage collection, folding, wear levelling.
//!
//! All three move the live pages out of one superblock, the current job, and free it. [`pace`]
//! chooses the superblock and the number of pages moved per host page, so that space is freed as
//! fast as it is used. Only if that fails does the host wait for a whole superblock. Idle time is
//! used for the same work.
//!
//! [`pace`]: PageMapped::pace

use super::collect::victim;
use super::map::LiveRun;
use super::page::{Full, Job, LOW, ONE, PageMapped, Stream};
use super::{Flash, ProgramCause};

/// Erases between two checks for wear levelling.
const LEVEL_EVERY: u64 = 16;

impl PageMapped {
    /// Uses idle time from `from` to `until` to empty the SLC cache and to free and erase
    /// superblocks. At most one program is queued behind a die's current one, which limits the
    /// delay of the next host command.
    pub fn idle(&mut self, from: u64, until: u64, flash: &mut impl Flash) {
        let mut now = from;
        let cached = self.blocks.slc_used();
        while now < until && self.idle_job() {
            self.ready = self.ready.max(now);
            if self.collect(self.batch, now, flash).is_err() {
                return;
            }
            now = self.ready.max(now + 1).max(flash.backlog());
        }
        while now < until
            && let Some(sb) = self.blocks.erase_ahead()
        {
            now = flash.erase(now, sb);
        }
        let (used, limit) = (self.blocks.slc_used(), self.slc_limit());
        if used < cached {
            self.rules.slc.rested(used, limit);
        }
        self.pace();
    }

    fn idle_job(&mut self) -> bool {
        if let Some(job) = self.job {
            return self.has_room(self.blocks.live(job.sb));
        }
        let mut victim = None;
        let used = self.blocks.slc_used();
        if self.rules.idle_fold && used > self.rules.slc.kept(self.slc_limit()) {
            victim = self.blocks.oldest(true);
        }
        if victim.is_none() && self.blocks.free() < self.rules.idle_free {
            // Collecting a superblock nearly full of live pages would cost more than it gains.
            let worth = self.layout.superblock_pages / 16 * 15;
            victim = self.blocks.emptiest().filter(|&sb| self.blocks.live(sb) < worth);
        }
        self.begin(victim.filter(|&sb| self.has_room(self.blocks.live(sb))));
        self.job.is_some()
    }

    /// Whether idle time can move this many pages. A frontier shared with the host must have room
    /// for all of them: opening the next one collects, and would collect the same superblock again.
    fn has_room(&self, live: u32) -> bool {
        let frontier = &self.frontiers[Stream::Host as usize];
        !self.rules.shared_frontier || live <= frontier.end - frontier.next
    }

    /// Chooses the next collection job and the pages moved per host page.
    pub(super) fn pace(&mut self) {
        self.rate = 0;
        if self.rules.shared_frontier {
            return;
        }
        let host = &self.frontiers[Stream::Host as usize];
        let raw_per_page = if host.slc { f64::from(self.rules.slc.bits) } else { 1.0 };
        let slc_owed = self.slc_owed();
        let short = self.blocks.free() <= LOW;
        if self.job.is_none() && (short || slc_owed > 0.0) {
            let sb = self.levelling_victim().or_else(|| {
                if short {
                    victim(self.rules.policy, &mut self.blocks, &mut self.draws)
                } else {
                    self.blocks.oldest(true)
                }
            });
            self.begin(sb);
        }
        let Some(job) = self.job else { return };
        let mut rate = slc_owed;
        if short {
            let gain = self.layout.superblock_pages.saturating_sub(job.live).max(1);
            // Slightly more than needed at first, and more as the number of free superblocks drops.
            let urgency = 1.05 + 0.25 * f64::from(LOW - self.blocks.free());
            rate = rate.max(f64::from(job.live) / f64::from(gain) * raw_per_page * urgency);
        }
        self.rate = (rate * ONE as f64) as u64;
    }

    pub(super) fn slc_owed(&self) -> f64 {
        if self.blocks.slc_used() == 0 {
            return 0.0;
        }
        let host = &self.frontiers[Stream::Host as usize];
        self.rules.slc.owed(self.blocks.slc_used(), self.slc_limit(), host.slc)
    }

    pub(super) fn levelling_victim(&mut self) -> Option<u32> {
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

    /// Collects the rest of the current job, or the policy's next victim.
    pub(super) fn collect_one(&mut self, at: u64, flash: &mut impl Flash) -> Result<(), Full> {
        if self.job.is_none() {
            let sb = victim(self.rules.policy, &mut self.blocks, &mut self.draws);
            self.begin(sb);
        }
        let sb = self.job.ok_or(Full)?.sb;
        while self.job.is_some_and(|job| job.sb == sb) {
            self.collect(self.layout.superblock_pages, at, flash)?;
        }
        Ok(())
    }

    /// Moves about `budget` live pages out of the current superblock and frees it when empty.
    pub(super) fn collect(
        &mut self,
        budget: u32,
        at: u64,
        flash: &mut impl Flash,
    ) -> Result<(), Full> {
        let mut pages_moved = 0;
        while pages_moved < budget {
            let Some(job) = &mut self.job else { break };
            if job.next == job.end {
                let (sb, slc) = (job.sb, job.slc);
                self.job = None;
                self.erase(sb);
                // Erase a drained cache at once, so the next burst does not wait for it.
                if slc && let Some(sb) = self.blocks.erase_ahead() {
                    flash.erase(at, sb);
                }
                self.pace();
                break;
            }
            let span = (budget - pages_moved).clamp(64, 1024).min(job.end - job.next);
            let (ppn, slc) = (job.sb << self.stride_bits | job.next, job.slc);
            job.next += span;
            let mut live = std::mem::take(&mut self.scratch);
            live.clear();
            self.map.live(ppn, span, &mut live);
            for run in &live {
                self.relocate(*run, slc, at, flash)?;
                pages_moved += run.len;
            }
            self.scratch = live;
        }
        Ok(())
    }

    #[inline]
    fn relocate(
        &mut self,
        live: LiveRun,
        slc: bool,
        at: u64,
        flash: &mut impl Flash,
    ) -> Result<(), Full> {
        let stream = if self.rules.shared_frontier { Stream::Host } else { Stream::Moved };
        let cause = if slc { ProgramCause::Fold } else { ProgramCause::Collect };
        self.ready = self.ready.max(flash.read(at, live.ppn, live.len, slc));
        let mut pages_moved = 0;
        while pages_moved < live.len {
            self.ensure_room(stream, at, flash)?;
            let (lpn, left) = (live.lpn + pages_moved, live.len - pages_moved);
            let len = self.append(stream, cause, self.ready, lpn, left, flash);
            self.blocks.remove(live.ppn >> self.stride_bits, len);
            pages_moved += len;
        }
        match cause {
            ProgramCause::Fold => self.work.folded += u64::from(live.len),
            _ => self.work.moved += u64::from(live.len),
        }
        Ok(())
    }
}

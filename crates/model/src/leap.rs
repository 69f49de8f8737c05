//! Skipping a stretch of time in which a host repeats a load that was found steady.
//!
//! The stretch is not timed, but its writes happen: the translation takes every one of them, on
//! flash that takes no time. Which superblocks are free, live and worn, and with them the write
//! amplification, are therefore those of the whole run; only the times of single operations are not
//! computed. Temperature and throttling follow the traffic. What the drive is doing at the time of
//! the leap (units being programmed, commands in flight) it continues after it.

use crate::drive::{Drive, Translation};
use crate::ftl::map::FETCHED;
use crate::ftl::{Flash, ProgramCause};
use crate::media::{Traffic, WorkTimes};

/// How far ahead of the host the flash works under reads alone, nanoseconds: in flight at a time
/// are some milliseconds of them. Earlier writes leave more work behind.
const READS_NS: u64 = 50_000_000;

/// Share of the work of earlier writes that a leap under reads may leave out.
const LEFT_OUT: f64 = 0.01;

/// Mapping units of writes that continue each other and reach the map as one, at most.
const RUN_PAGES: u32 = 256;

/// A stretch of time to skip.
pub struct Leap {
    /// Its length, nanoseconds.
    pub ns: u64,
    /// Flash traffic of as long a stretch that was timed; heats the drive.
    pub traffic: Traffic,
    /// Bytes that the host reads in it.
    pub read_bytes: u64,
    /// Size of each write, bytes: whole mapping units, or a part of one.
    pub write_bytes: u32,
    /// Whether its writes are in order. Those that continue each other then reach the map as one.
    pub in_order: bool,
}

/// Work of all dies together, for all but the host's reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkOfDies {
    /// That was given to them so far, nanoseconds.
    pub begun_ns: u64,
    /// The part of it that they still have to do, nanoseconds.
    pub left_ns: u64,
}

/// Flash that takes no time and counts its traffic.
struct CountingFlash {
    unit_bytes: [u32; 2],
    page_bytes: u32,
    work: WorkTimes,
    traffic: Traffic,
}

impl Flash for CountingFlash {
    fn read(&mut self, at: u64, ppn: u32, pages: u32, slc: bool) -> u64 {
        self.traffic.worked_ns += self.work.read(ppn, pages, slc).unwrap_or(0);
        self.traffic.sensed += u64::from(pages) * u64::from(self.page_bytes);
        at
    }

    fn program(&mut self, at: u64, _: u32, slc: bool, cause: ProgramCause) -> u64 {
        self.traffic.worked_ns += self.work.program(slc, cause);
        self.traffic.programmed += u64::from(self.unit_bytes[usize::from(slc)]);
        at
    }

    fn erase(&mut self, at: u64, _: u32) -> u64 {
        self.traffic.worked_ns += self.work.erase();
        at
    }
}

/// Writes as first mapping units and numbers of them, with those that continue each other as one of at
/// most so many units and one write more. A unit that one write ends in and the next one begins in is
/// then written once.
struct Runs<I> {
    /// First unit and end of each write.
    pages: I,
    run: Option<(u32, u32)>,
    most: u32,
}

impl<I: Iterator<Item = (u32, u32)>> Iterator for Runs<I> {
    type Item = (u32, u32);

    fn next(&mut self) -> Option<(u32, u32)> {
        for (first, end) in self.pages.by_ref() {
            match &mut self.run {
                Some((start, run_end))
                    if (*run_end - 1..=*run_end).contains(&first)
                        && run_end.saturating_sub(*start) < self.most =>
                {
                    *run_end = end;
                }
                run => {
                    if let Some((start, run_end)) = run.replace((first, end)) {
                        return Some((start, run_end - start));
                    }
                }
            }
        }
        self.run.take().map(|(start, run_end)| (start, run_end - start))
    }
}

impl Drive {
    /// Longest leap that leaves nothing out, nanoseconds: none while somebody looks at the content, an
    /// address is an alias, or something that is written does not reach flash. Under a load that only
    /// reads, earlier writes may still be at work, and a leap leaves them where they are: it may be as
    /// long as the dies, which complete `work` nanoseconds of it in a second, take for a hundredth.
    pub fn longest_leap(&self, writes: bool, work: f64) -> u64 {
        let is_plain = self.content.is_none() && self.alias.is_genuine();
        if !is_plain || !self.media.stores_all() || self.worn_out() {
            return 0;
        }
        if writes || self.media.idle_at() <= self.arrived + READS_NS {
            return u64::MAX;
        }
        let left = self.media.backlog_ns(self.arrived) as f64 * LEFT_OUT;
        (left / work.max(1.0) * 1e9) as u64
    }

    /// Work of the dies for all but the host's reads.
    pub fn work_of_dies(&self) -> WorkOfDies {
        let begun_ns = self.media.traffic().worked_ns;
        WorkOfDies { begun_ns, left_ns: self.media.backlog_ns(self.arrived) }
    }

    /// Flash traffic so far.
    pub fn traffic(&self) -> Traffic {
        self.media.traffic()
    }

    /// Skips a stretch of time, in which the host writes to these offsets. Returns whether the
    /// drive is as before: it does not throttle otherwise and still accepts writes.
    pub fn leap(&mut self, leap: &Leap, offsets: impl Iterator<Item = u64>) -> bool {
        let mut flash = CountingFlash {
            unit_bytes: self.media.unit_bytes(),
            page_bytes: self.page_bytes,
            work: self.media.work_times(),
            traffic: Traffic::default(),
        };
        let arrival_ns = self.arrived;
        let open_pages = self.open_pages();
        let (bits, last_byte) = (self.page_bits, u64::from(leap.write_bytes) - 1);
        let mut count = 0;
        let pages = offsets.map(|offset| {
            count += 1;
            ((offset >> bits) as u32, ((offset + last_byte) >> bits) as u32 + 1)
        });
        let write_pages = (leap.write_bytes >> bits).max(1);
        let merges = leap.in_order && matches!(self.translation, Translation::Page(_));
        let most = if merges { RUN_PAGES } else { 0 };
        let is_single = !leap.in_order && write_pages == 1;
        let mut runs = Runs { pages, run: None, most };
        let (mut group, mut accepts) = (Vec::with_capacity(FETCHED), true);
        while accepts {
            group.clear();
            group.extend(runs.by_ref().take(FETCHED));
            if group.is_empty() {
                break;
            }
            accepts = match &mut self.translation {
                Translation::Page(page) => {
                    let lpns = group.iter().map(|(lpn, _)| *lpn);
                    let in_place = is_single && page.refills();
                    if in_place {
                        page.begin_refill(lpns);
                    } else {
                        page.map().fetch(lpns);
                    }
                    group.iter().all(|&(lpn, n)| {
                        if in_place && n == 1 {
                            return page.refill(arrival_ns, lpn, &mut flash).is_ok();
                        }
                        page.write_run(arrival_ns, lpn, n, write_pages, &mut flash)
                    })
                }
                Translation::Au(au) => {
                    let mut writes = group.iter();
                    writes.all(|(lpn, n)| au.write(arrival_ns, *lpn, *n, &mut flash).is_ok())
                }
            };
        }
        self.counters.written_bytes += count * u64::from(leap.write_bytes);
        let page = u64::from(self.page_bytes);
        let (before, after) = (open_pages * page, self.open_pages() * page);
        self.media.leapt(before, after, flash.traffic);
        self.counters.read_bytes += leap.read_bytes;
        self.skipped_ns += leap.ns;
        let throttles_as_before = self.heat.leap(leap.ns, leap.traffic, self.media.traffic());
        throttles_as_before && accepts && !self.worn_out()
    }

    /// Pages of the host in a unit that is not yet complete.
    fn open_pages(&self) -> u64 {
        match &self.translation {
            Translation::Page(page) => u64::from(page.host_open_pages()),
            Translation::Au(_) => 0,
        }
    }
}

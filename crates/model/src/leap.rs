//! Skipping a stretch of time in which a host repeats a load that was found steady.
//!
//! The stretch is not timed, but its writes happen: the translation takes every one of them, on
//! flash that takes no time. Which superblocks are free, live and worn, and with them the write
//! amplification, are therefore those of the whole run; only the times of single operations are not
//! computed. Temperature and throttling follow the traffic. What the drive is doing at the time of
//! the leap (units being programmed, commands in flight) it continues after it.

use crate::drive::{Drive, Translation};
use crate::ftl::{Flash, ProgramCause};
use crate::media::Traffic;

/// How far ahead of the host the flash works under reads alone, nanoseconds: in flight at a time
/// are some milliseconds of them. Earlier writes leave more work behind.
const READS_NS: u64 = 50_000_000;

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
}

/// Flash that takes no time and counts its traffic.
struct CountingFlash {
    unit_bytes: [u32; 2],
    page_bytes: u32,
    traffic: Traffic,
}

impl Flash for CountingFlash {
    fn read(&mut self, at: u64, _: u32, pages: u32, _: bool) -> u64 {
        self.traffic.sensed += u64::from(pages) * u64::from(self.page_bytes);
        at
    }

    fn program(&mut self, at: u64, _: u32, slc: bool, _: ProgramCause) -> u64 {
        self.traffic.programmed += u64::from(self.unit_bytes[usize::from(slc)]);
        at
    }

    fn erase(&mut self, at: u64, _: u32) -> u64 {
        at
    }
}

impl Drive {
    /// Whether a leap leaves nothing out: nobody looks at the content, no address is an alias, all
    /// that is written reaches flash, and a load that only reads finds no earlier writes at work.
    pub fn can_leap(&self, writes: bool) -> bool {
        let is_plain = self.content.is_none() && self.alias.is_genuine();
        let is_alike = writes || self.media.idle_at() <= self.arrived + READS_NS;
        is_plain && is_alike && self.media.stores_all() && !self.worn_out()
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
            traffic: Traffic::default(),
        };
        let (arrival_ns, pages) = (self.arrived, leap.write_bytes.div_ceil(self.page_bytes));
        let open_pages = self.open_pages();
        let mut accepts = true;
        for offset in offsets {
            let lpn = self.page_of(offset);
            let outcome = match &mut self.translation {
                Translation::Page(page) => page.write(arrival_ns, lpn, pages, &mut flash),
                Translation::Au(au) => au.write(arrival_ns, lpn, pages, &mut flash),
            };
            self.counters.written_bytes += u64::from(leap.write_bytes);
            if outcome.is_err() {
                accepts = false;
                break;
            }
        }
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

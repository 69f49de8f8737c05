//! The drive: takes a command at a virtual time and returns its completion time.
//!
//! A command passes, in order, through a provider's limit, a queue slot, a controller core, the
//! link, the write buffer, the map and flash; heat can delay it. Each stage is represented by the
//! time at which it becomes free, which is exact for a first-come-first-served drive and needs no
//! event queue. When a command arrives, the idle time before it is used for folding and collection.

use workload::{Content, Op, OpKind};

use crate::ahead::ReadAhead;
use crate::alias::Alias;
use crate::content::ContentMap;
use crate::costs::Costs;
use crate::fault::Faults;
use crate::firmware::{Cores, MapCache, Partials};
use crate::ftl::au::{AuMapped, AuRules};
use crate::ftl::page::{Full, PageCounts, PageMapped};
use crate::health::{LifetimeCounters, ReportedHealth};
use crate::heat::Heat;
use crate::limit::Limits;
use crate::link::{Links, Way};
use crate::media::{Media, ns};
use crate::pause::Pauses;
use crate::reduction::{ReadCache, Reduction};
use crate::shape::Shape;
use crate::spec::{DriveSpec, MapKind};

/// Result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandStatus {
    /// Success.
    Ok,
    /// Past the end, or not aligned to logical blocks.
    Invalid,
    /// The drive is worn out and accepts no more writes.
    ReadOnly,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Time at which the host sees it, in nanoseconds of virtual time.
    pub done_ns: u64,
    pub status: CommandStatus,
    /// Part of its time: what the links added after or before the data were in the drive.
    pub link_ns: u64,
    /// Part of its time: that of the host, including copies.
    pub host_ns: u64,
}

#[derive(Debug)]
pub(crate) enum Translation {
    Page(Box<PageMapped>),
    Au(Box<AuMapped>),
}

#[derive(Debug)]
pub struct Drive {
    pub(crate) block_bytes: u32,
    bytes: u64,
    pub(crate) page_bytes: u32,
    pub(crate) page_bits: u32,
    piece_bytes: u64,
    protected: bool,
    discards: bool,
    discard_zeros: bool,
    flush_ignored: bool,
    endurance: u32,
    costs: Costs,
    limits: Limits,
    links: Links,
    cores: Cores,
    map_cache: MapCache,
    read_cache: ReadCache,
    read_ahead: ReadAhead,
    flushes: Cores,
    pauses: Pauses,
    reduction: Reduction,
    /// Percentage of the endurance used before the first command.
    worn_percent: f64,
    partials: Partials,
    pub(crate) media: Media,
    pub(crate) translation: Translation,
    pub(crate) heat: Heat,
    pub(crate) content: Option<ContentMap>,
    pub(crate) alias: Alias,
    pub(crate) faults: Faults,
    /// Do not record the content of the current write.
    pub(crate) forgetful: bool,
    pub(crate) counters: LifetimeCounters,
    /// End of the last command; also the time up to which idle time has been used.
    busy_until: u64,
    /// Time at which the drive goes to sleep unless a command arrives.
    awake_until: u64,
    pub(crate) arrived: u64,
    /// Time skipped so far, nanoseconds: all other times of the drive are those of the host minus this.
    pub(crate) skipped_ns: u64,
}

impl Drive {
    /// Creates a drive from its description, fully discarded and idle at time 0. `seed` selects the
    /// specimen; the description contains the session's seed.
    pub fn new(spec: &DriveSpec, seed: u64) -> Drive {
        let mut spec = spec.clone();
        spec.seed.value = seed;
        let shape = Shape::new(&spec);
        let media = Media::new(&spec, &shape);
        let page_bytes = *spec.map.unit_bytes;
        let piece = spec.buffer.size.0.max(2 * u64::from(shape.unit_bytes[0])) / 2;
        Drive {
            block_bytes: *spec.block_bytes,
            bytes: spec.capacity.0 / u64::from(*spec.block_bytes) * u64::from(*spec.block_bytes),
            page_bytes,
            page_bits: page_bytes.trailing_zeros(),
            piece_bytes: (piece.min(1 << 20) / u64::from(page_bytes)).max(1)
                * u64::from(page_bytes),
            protected: *spec.buffer.protected,
            discards: *spec.discard.honoured,
            discard_zeros: *spec.discard.zeros,
            flush_ignored: *spec.command.flush_ignored,
            endurance: *spec.wear.endurance,
            costs: Costs::new(&spec),
            limits: Limits::new(&spec.limit),
            links: Links::new(&spec.link),
            cores: Cores::new(*spec.command.cores),
            map_cache: MapCache::new(spec.map.cache.0, ns(*spec.map.miss_us)),
            read_cache: ReadCache::new(spec.buffer.read_cache.0, page_bytes),
            read_ahead: ReadAhead::new(spec.buffer.read_ahead.0),
            flushes: Cores::new(*spec.command.flush_depth),
            pauses: Pauses::new(&spec.pause),
            reduction: Reduction::new(&spec.content),
            worn_percent: *spec.wear.used * 100.0,
            partials: Partials::new(*spec.buffer.combine),
            translation: translation(&spec, &shape),
            media,
            heat: Heat::new(&spec.heat),
            content: None,
            alias: Alias::new(&spec.alias, *spec.block_bytes, spec.capacity.0),
            faults: Faults::new(&spec.fault, spec.capacity.0 / u64::from(*spec.block_bytes)),
            forgetful: false,
            counters: LifetimeCounters::default(),
            busy_until: 0,
            awake_until: 0,
            arrived: 0,
            skipped_ns: 0,
        }
    }

    /// Capacity visible to the host, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Time of each I/O on the host's thread that issues it, nanoseconds.
    pub fn thread_ns(&self) -> u64 {
        self.costs.thread
    }

    /// Logical block size, in bytes.
    pub fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    /// Issues a command at `now` and returns its completion. Commands are issued in time order; a
    /// `now` earlier than the previous command's is replaced by it.
    #[inline]
    pub fn submit(&mut self, now: u64, op: &Op) -> Completion {
        self.arrived = self.arrived.max(now - self.skipped_ns.min(now));
        let mut now = self.limits.admit(self.arrived, op);
        if self.media.vary.is_due(now) {
            self.drift(now);
        }
        if now > self.busy_until + self.costs.idle_after {
            self.use_idle_time(now);
        }
        if now > self.awake_until {
            now += self.costs.wake;
        }
        self.heat.pass(now, self.media.traffic());
        if !self.is_valid(op) {
            let done_ns = now + self.costs.latency + self.costs.host + self.skipped_ns;
            let status = CommandStatus::Invalid;
            return Completion { done_ns, status, link_ns: 0, host_ns: self.costs.host };
        }
        let (start, place) = self.links.enter(now);
        let link_before = self.links.added_ns();
        let (done_ns, status) = match op.kind {
            OpKind::Read => (self.read(start, &self.alias.seen_by_memory(op)), CommandStatus::Ok),
            OpKind::Write => self.written(start, op),
            OpKind::Flush => self.flush(start),
            OpKind::Discard if self.alias.is_dropped(op.offset) => {
                (self.cores.take(start, self.costs.discard), CommandStatus::Ok)
            }
            OpKind::Discard => {
                (self.discard(start, &self.alias.seen_by_memory(op)), CommandStatus::Ok)
            }
        };
        // A read knows its own latency.
        let done_ns = done_ns + if op.kind == OpKind::Read { 0 } else { self.costs.latency };
        self.links.leave(place, done_ns);
        self.busy_until = self.busy_until.max(done_ns);
        self.awake_until = done_ns + self.costs.sleep_after;
        let host_ns = self.costs.on_host(op);
        Completion {
            done_ns: self.media.vary.seen_by_host(done_ns + host_ns) + self.skipped_ns,
            status,
            link_ns: self.links.added_ns() - link_before,
            host_ns,
        }
    }

    /// Applies the flash's drift to the controller.
    #[cold]
    fn drift(&mut self, now: u64) {
        let pace = self.media.vary.drift(now);
        let [read, write] = self.costs.usual.map(|usual| (usual as f64 * pace) as u64);
        (self.costs.read, self.costs.write) = (read, write);
    }

    #[inline]
    fn is_valid(&self, op: &Op) -> bool {
        let grid = u64::from(self.block_bytes);
        op.offset.checked_add(u64::from(op.bytes)).is_some_and(|end| end <= self.bytes)
            && (op.offset | u64::from(op.bytes)) & (grid - 1) == 0
            && (op.bytes > 0 || op.kind == OpKind::Flush)
    }

    /// Fraction of this content that reaches flash when written, for [`Self::set_stored_share`].
    pub fn stored_share(&self, content: &Content) -> f64 {
        self.reduction.stored_share(content)
    }

    /// Sets the fraction of subsequently written data that reaches flash, greater than 0 and at
    /// most 1.
    pub fn set_stored_share(&mut self, share: f64) {
        self.media.set_host_share(share);
    }

    /// Lets time pass without commands until `until`.
    pub fn idle(&mut self, until: u64) {
        self.arrived = self.arrived.max(until.saturating_sub(self.skipped_ns));
        self.use_idle_time(self.arrived);
        self.heat.update(self.arrived, self.media.traffic());
    }

    /// Temperature at `now`, degrees Celsius.
    pub fn temperature(&mut self, now: u64) -> f64 {
        let now = now.saturating_sub(self.skipped_ns).max(self.arrived);
        self.heat.update(now, self.media.traffic());
        self.heat.celsius()
    }

    fn use_idle_time(&mut self, now: u64) {
        let idle_from = self.busy_until + self.costs.idle_after;
        if idle_from < now {
            if let Translation::Page(page) = &mut self.translation {
                // Flash finishes the host's data first.
                let idle_from = idle_from.max(self.media.quiet_at());
                page.idle(idle_from, now, &mut self.media);
            }
            self.busy_until = now - self.costs.idle_after.min(now);
        }
    }

    /// The mapping unit that contains a byte.
    #[inline]
    pub(crate) fn page_of(&self, byte: u64) -> u32 {
        (byte >> self.page_bits) as u32
    }

    fn read(&mut self, at: u64, op: &Op) -> u64 {
        let bytes = u64::from(op.bytes);
        self.counters.read_bytes += bytes;
        let start = self.heat.allow(Way::Out, at, bytes);
        let requested = self.read_ahead.follow(op, start);
        let (arrived, latency) = match requested {
            Some(_) => {
                let core_free = self.cores.take(start, self.costs.ahead.min(self.costs.read));
                (core_free.max(start + self.costs.ahead), 0)
            }
            None => (self.cores.take(start, self.costs.read), self.costs.latency),
        };
        let (lpn, end) = (self.page_of(op.offset), self.page_of(op.end() - 1) + 1);
        let looked_up_at = requested.unwrap_or(arrived);
        let mut ready =
            self.map_cache.look_up(looked_up_at, lpn, end - lpn, false, &mut self.media);
        ready = self.find_pieces(ready, op, lpn, end - lpn);
        let (mut first, mut last) = (u64::MAX, ready);
        let (media, cache) = (&mut self.media, &mut self.read_cache);
        let mut fetch = |ppn: u32, n: u32, slc: bool| {
            let (a, b) = media.read_for_host(ready, ppn, n, slc);
            first = first.min(a);
            last = last.max(b);
        };
        match &self.translation {
            Translation::Page(page) => page.map().pieces(lpn, end - lpn, |lpn, n, ppn| {
                if page.is_open(ppn) {
                    return;
                }
                if cache.is_off() {
                    return fetch(ppn, n, page.is_slc(ppn));
                }
                let is_slc = page.is_slc(ppn);
                cache.take_all(lpn, n, |offset, n| fetch(ppn + offset, n, is_slc));
            }),
            Translation::Au(au) => {
                let missing = (lpn..end).filter(|lpn| cache.is_off() || !cache.take(*lpn));
                let places = missing.filter_map(|lpn| au.get(lpn));
                places.for_each(|ppn| fetch(ppn, 1, false));
            }
        }
        let last = last.max(arrived);
        self.links.carry(Way::Out, first.min(last).max(ready).max(arrived), last, bytes) + latency
    }

    /// Adds the core time to look up every piece of a read, before its data transfer starts.
    #[inline]
    fn find_pieces(&mut self, at: u64, op: &Op, lpn: u32, n: u32) -> u64 {
        let page = match &self.translation {
            Translation::Page(page) if self.costs.piece > 0 => page,
            Translation::Au(au) if self.costs.cross > 0 && au.crosses(lpn, n) => {
                return self.cores.hold(at, self.costs.cross);
            }
            Translation::Au(_) if self.costs.page_cross > 0 && n == 1 => {
                return self.cross_pages(at, op);
            }
            _ => return at,
        };
        let mut pieces: u64 = 0;
        page.map().pieces(lpn, n, |_, _, _| pieces += 1);
        self.cores.hold(at, pieces.saturating_sub(1) * self.costs.piece)
    }

    /// Adds the time of a read within a mapping unit that crosses from one page of the flash into
    /// the next. A read of the whole unit takes all pages at once.
    fn cross_pages(&mut self, at: u64, op: &Op) -> u64 {
        let [first, last] = [op.offset, op.end() - 1].map(|byte| byte / self.costs.flash_page);
        let part = op.bytes < self.page_bytes;
        if part && first != last { self.cores.hold(at, self.costs.page_cross) } else { at }
    }

    fn write(&mut self, at: u64, op: &Op) -> (u64, CommandStatus) {
        let bytes = u64::from(op.bytes);
        let start = self.heat.allow(Way::In, at, bytes);
        let mut ready = self.cores.take(start, self.costs.write);
        if self.worn_out() {
            return (ready, CommandStatus::ReadOnly);
        }
        self.counters.written_bytes += bytes;
        let (mut offset, end) = (op.offset, op.end());
        let mut done_ns = ready;
        while offset < end {
            let piece_end = end.min(offset + self.piece_bytes);
            let admitted = self.media.buffer().admit(ready, piece_end - offset);
            let arrived = self.links.carry(Way::In, ready, ready, piece_end - offset);
            done_ns = self.media.buffer().take_in(ready, arrived, piece_end - offset);
            if admitted > ready {
                done_ns = done_ns.max(admitted + self.links.time(piece_end - offset));
            }
            match self.store(done_ns, offset, piece_end) {
                Ok(busy_until) => done_ns = done_ns.max(busy_until),
                Err(Full) => return (done_ns, CommandStatus::ReadOnly),
            }
            ready = ready.max(admitted);
            offset = piece_end;
        }
        done_ns = self.pauses.pass(bytes, done_ns, &mut self.media.vary, &mut self.cores);
        (done_ns, CommandStatus::Ok)
    }

    /// Executes a write, and records its content if enabled.
    fn written(&mut self, at: u64, op: &Op) -> (u64, CommandStatus) {
        let (done_ns, status) = self.write(at, &self.alias.seen_by_memory(op));
        if status == CommandStatus::Ok {
            self.remember_write(op);
        }
        (done_ns, status)
    }

    /// Stores bytes `from..to`, which enter the buffer at `at`. Returns the time until which the
    /// command is delayed.
    #[inline]
    fn store(&mut self, at: u64, from: u64, to: u64) -> Result<u64, Full> {
        let page = u64::from(self.page_bytes);
        let (lpn, end) = (self.page_of(from), self.page_of(to - 1) + 1);
        let mut ready = self.map_cache.look_up(at, lpn, end - lpn, true, &mut self.media);
        if from.is_multiple_of(page) && to.is_multiple_of(page) {
            if !self.partials.is_empty() {
                self.forget_partials(lpn, end - lpn);
            }
            self.put(ready, lpn, end - lpn)?;
            return Ok(ready);
        }
        let mut offset = from;
        while offset < to {
            let lpn = self.page_of(offset);
            let stop = to.min((u64::from(lpn) + 1) * page);
            let range = (offset % page) as u32..(offset % page + (stop - offset)) as u32;
            ready = if range.len() as u64 == page {
                self.forget_partials(lpn, 1);
                self.put(ready, lpn, 1)?;
                ready
            } else {
                self.put_partial(ready, lpn, range)?
            };
            offset = stop;
        }
        Ok(ready)
    }

    #[inline]
    fn put(&mut self, at: u64, lpn: u32, n: u32) -> Result<(), Full> {
        self.read_cache.keep(lpn, n);
        match &mut self.translation {
            Translation::Page(page) => page.write(at, lpn, n, &mut self.media),
            Translation::Au(au) => au.write(at, lpn, n, &mut self.media),
        }
    }

    /// Writes part of a mapping unit, which then waits for the rest. If too many units wait,
    /// completes the oldest by read-modify-write.
    #[cold]
    fn put_partial(&mut self, at: u64, lpn: u32, range: std::ops::Range<u32>) -> Result<u64, Full> {
        let whole = self.page_bytes;
        self.media.buffer().release(self.partials.overlap(lpn, &range));
        if let Some(full) = self.partials.add(lpn, range, whole) {
            let ready = if full.complete { at } else { self.modify(at, full.lpn) };
            self.put(ready, full.lpn, 1)?;
            return Ok(ready);
        }
        Ok(at)
    }

    /// Drops the parts of overwritten or discarded units that wait in the buffer.
    fn forget_partials(&mut self, lpn: u32, n: u32) {
        let dropped = self.partials.forget(lpn, n);
        self.media.buffer().release(dropped);
    }

    /// Reads the old content of a mapping unit and merges it with the new; the core is busy until
    /// the end.
    fn modify(&mut self, at: u64, lpn: u32) -> u64 {
        let page = match &self.translation {
            Translation::Page(page) => {
                page.map().get(lpn).map(|ppn| (ppn, page.is_slc(ppn), page.is_open(ppn)))
            }
            Translation::Au(au) => au.get(lpn).map(|ppn| (ppn, false, false)),
        };
        let mut ready = at;
        if let Some((ppn, slc, false)) = page {
            ready = self.media.read_for_host(at, ppn, 1, slc).1;
        }
        self.cores.hold(ready, self.costs.rmw)
    }

    /// Programs everything in the write buffer when earlier flushes leave room, unless that is
    /// unnecessary or ignored. Returns the time at which it is in flash.
    fn flush(&mut self, at: u64) -> (u64, CommandStatus) {
        let mut ready = self.cores.take(at, self.costs.flush_core);
        if self.protected || self.flush_ignored {
            return (ready, CommandStatus::Ok);
        }
        let begin = self.flushes.take(ready, 0);
        ready = begin;
        while let Some(partial) = self.partials.take() {
            ready = self.modify(ready, partial.lpn);
            if self.put(ready, partial.lpn, 1).is_err() {
                return (ready + self.costs.flush, CommandStatus::ReadOnly);
            }
        }
        let done_ns = match &mut self.translation {
            Translation::Page(page) => page.flush(ready, &mut self.media),
            Translation::Au(au) => au.flush(ready, &mut self.media),
        };
        let done_ns = done_ns.max(self.media.buffer().empty_at()) + self.costs.flush;
        (self.flushes.take(begin, done_ns.saturating_sub(begin)), CommandStatus::Ok)
    }

    fn discard(&mut self, at: u64, op: &Op) -> u64 {
        let bytes = u64::from(op.bytes);
        let time = self.costs.discard
            + ((u128::from(self.costs.discard_gib) * u128::from(bytes)) >> 30) as u64;
        let done_ns = self.cores.take(at, time);
        self.counters.discarded_bytes += bytes;
        if !self.discards {
            return done_ns;
        }
        // Only whole mapping units are released.
        let page = u64::from(self.page_bytes);
        let (lpn, end) = (self.page_of(op.offset + page - 1), self.page_of(op.end()));
        if lpn < end {
            self.forget_partials(lpn, end - lpn);
            match &mut self.translation {
                Translation::Page(map) => map.discard(lpn, end - lpn),
                Translation::Au(au) => au.discard(lpn, end - lpn),
            }
            if let Some(content) = &mut self.content {
                let grid = u64::from(self.block_bytes);
                let blocks = u64::from(lpn) * page / grid..u64::from(end) * page / grid;
                content.discard(blocks, self.discard_zeros);
            }
        }
        done_ns
    }

    /// Returns the wear, traffic and temperature that the drive reports.
    pub fn health(&self) -> ReportedHealth {
        let (mean_erases, spare_percent) = match &self.translation {
            Translation::Page(page) => {
                let blocks = page.blocks();
                let spares = page.spares();
                let left =
                    if spares == 0 { 1.0 } else { f64::from(blocks.spare()) / f64::from(spares) };
                (blocks.total_erases() as f64 / f64::from(blocks.count() - spares), left * 100.0)
            }
            Translation::Au(au) => (au.mean_erases(), if au.worn_out() { 0.0 } else { 100.0 }),
        };
        ReportedHealth {
            counters: self.counters,
            wear_percent: mean_erases / f64::from(self.endurance.max(1)) * 100.0
                + self.worn_percent,
            spare_percent,
            programmed_bytes: self.media.traffic().programmed,
            read_only: self.worn_out(),
            temperature_c: self.heat.celsius(),
        }
    }

    pub(crate) fn worn_out(&self) -> bool {
        match &self.translation {
            Translation::Page(page) => page.worn_out(),
            Translation::Au(au) => au.worn_out(),
        }
    }

    /// Pages processed by the translation so far.
    pub fn work(&self) -> PageCounts {
        match &self.translation {
            Translation::Page(page) => page.work(),
            Translation::Au(au) => au.work(),
        }
    }

    /// Whether the mapping unit of this byte holds data. A read of an unmapped unit does not touch
    /// flash.
    pub fn is_mapped(&self, byte: u64) -> bool {
        let lpn = self.page_of(byte);
        match &self.translation {
            Translation::Page(page) => page.map().get(lpn).is_some(),
            Translation::Au(au) => au.get(lpn).is_some(),
        }
    }

    /// Whether this byte reads as zeros: it is unmapped, and the drive returns zeros for unmapped
    /// blocks.
    pub fn reads_zeros(&self, byte: u64) -> bool {
        self.discard_zeros && !self.is_mapped(byte)
    }

    /// Panics unless the counts of the translation add up. Takes microseconds.
    pub fn check_counts(&self) {
        match &self.translation {
            Translation::Page(page) => page.check_counts(),
            Translation::Au(au) => au.check_counts(),
        }
    }

    /// Panics unless the translation agrees with itself in every page. Takes seconds on a large
    /// drive with random writes.
    pub fn check(&self) {
        match &self.translation {
            Translation::Page(page) => page.check(),
            Translation::Au(au) => au.check(),
        }
    }

    /// Returns the page-mapped translation, if the drive has one; for checks.
    pub fn page_mapped(&self) -> Option<&PageMapped> {
        match &self.translation {
            Translation::Page(page) => Some(page),
            Translation::Au(_) => None,
        }
    }
}

fn translation(spec: &DriveSpec, shape: &Shape) -> Translation {
    let layout = shape.layout.clone();
    match *spec.map.kind {
        MapKind::Page => Translation::Page(Box::new(PageMapped::new(layout, shape.rules(spec)))),
        MapKind::Au => Translation::Au(Box::new(AuMapped::new(AuRules {
            logical_pages: layout.logical_pages,
            aus: layout.superblocks,
            au_pages: layout.superblock_pages,
            unit_pages: layout.unit_pages[0],
            open: *spec.map.open_aus,
            random: *spec.map.random_in_au,
            fat: spec.map.fat.0.div_ceil(spec.map.au.0) as u32,
            endurance: *spec.wear.endurance,
        }))),
    }
}

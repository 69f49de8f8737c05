//! The sampler of a performance: merges the workers' reports interval by interval, samples the
//! device and its temperature, and informs the observers.
//!
//! It runs on the calling thread, so that an observer is never called from two threads.

mod host;
mod series;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use record::Series;
use rig::{
    DeviceTraffic, Event, Interval, IntervalObserver, JobInterval, JobSeen, KindStats, Kinds,
    Observer, Temperature,
};
use workload::OpKind;

use crate::accounting;
use crate::clock::Clock;
use crate::device::{CpuQuota, Device, Requests, Sample};
use crate::halt::Halt;
use crate::patience::{Patience, Pulse};
use crate::recorder::{JobEnd, Report};
use crate::standstill::{SLEEP_NS, Standstills};
use crate::traced::Traced;
use host::{kernel_worker_cpu_ns, traffic};
use series::{ROWS_MAX, SeriesRow, push_row};

/// Number of a job's latest intervals to keep: 3 hours of 100 ms each, 18 MB.
const JOB_INTERVALS: u64 = 1 << 17;

/// The performance that a sampler watches.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// Its name, and the number of its execution under that name, from 0.
    pub name: &'a str,
    pub replicate: u32,
    /// Start within the run, nanoseconds.
    pub start_ns: u64,
    /// Length of an interval, nanoseconds.
    pub interval_ns: u64,
    pub clock: Clock,
    /// Set when the user ends the run.
    pub interrupt: &'a AtomicBool,
    /// Set when the target changes or gets another user.
    pub alarm: Option<&'a AtomicBool>,
    /// Temperature at which the run ends, degrees Celsius.
    pub hot_c: Option<f64>,
    /// How long the drive may stay silent, nanoseconds.
    pub patience_ns: u64,
    /// Whether to report each job separately.
    pub by_job: bool,
}

/// The workers of a performance.
pub(crate) struct Workers<'a> {
    /// The job of each.
    pub jobs: Vec<u32>,
    /// Their stop flags.
    pub halt: &'a Halt,
    /// Their signs of life.
    pub pulse: Pulse,
    /// Whether their operations use the page cache.
    pub cached: bool,
    /// Whether the kernel may start threads for their operations: those of a ring.
    pub rings: bool,
}

impl Workers<'_> {
    /// Stops the workers of a job.
    fn halt_job(&self, job: u32) {
        let workers = (0..).zip(&self.jobs).filter(|(_, other)| **other == job);
        workers.for_each(|(worker, _)| self.halt.end(worker));
    }
}

/// The sampler's data of one performance.
pub(crate) struct Observations {
    pub totals: Kinds,
    /// Counts by job, if requested.
    pub by_job: Vec<JobSeen>,
    pub series: Series,
    /// Intervals per row of the series; more than 1 once it has been thinned.
    pub grain: u64,
    pub ends: Vec<JobEnd>,
    pub device: Option<DeviceTraffic>,
    /// Reads and writes that the device completed.
    pub requests: [Requests; 2],
    /// Those that the target's own device completed, if it is a layer above the drive.
    pub layer: Option<[Requests; 2]>,
    /// What the kernel's trace shows of them, if it is there.
    pub traced: Option<Traced>,
    pub temperature: Option<Temperature>,
    /// Processor time of kernel worker threads for the process's I/O, nanoseconds.
    pub worker_cpu_ns: u64,
    /// Time that a control group's quota kept threads off the processor, nanoseconds.
    pub throttled_ns: u64,
    /// Whether the drive's temperature ended the run.
    pub too_hot: bool,
    /// Whether the run was ended because the drive stayed silent.
    pub silent: bool,
    /// Standstills of the process.
    pub standstills: Standstills,
}

pub(crate) struct Sampler<'a> {
    subject: Subject<'a>,
    workers: Workers<'a>,
    /// Start of the workload on the subject's clock.
    origin: u64,
    observer: &'a mut dyn Observer,
    intervals: Option<&'a mut dyn IntervalObserver>,
    /// The device, if its counters are sampled.
    watch: Option<&'a dyn Device>,
    /// Intervals below this index are closed, per worker.
    closed: Vec<u64>,
    open: BTreeMap<u64, Kinds>,
    /// Intervals in the rows of the series so far.
    emitted: u64,
    /// The current row, which is not full yet.
    row: SeriesRow,
    /// Number of intervals that have ended by the wall clock.
    ticks: u64,
    /// The time on a virtual clock, if there is one.
    virtual_ns: Option<u64>,
    /// The temperature of the latest report, from a backend that knows it.
    reported_c: Option<f64>,
    patience: Patience,
    /// Bytes moved by the device at the last sample.
    moved: u64,
    first: Option<Sample>,
    own_first: Option<u64>,
    /// The processor quota of a real machine, and its counters at the start.
    quota: Option<(&'static CpuQuota, Vec<u64>)>,
    /// Device samples by the index of the interval they end; `u64::MAX` is the start.
    samples: BTreeMap<u64, Sample>,
    seen: Observations,
}

impl<'a> Sampler<'a> {
    /// Takes the first sample of the device. Create it before any worker begins, because a short
    /// workload can be over before this thread runs again.
    pub(crate) fn new(
        subject: Subject<'a>,
        workers: Workers<'a>,
        observer: &'a mut dyn Observer,
        watch: Option<&'a dyn Device>,
    ) -> Sampler<'a> {
        let first = watch.and_then(Device::watch);
        let quota = watch.map(|_| {
            let quota = CpuQuota::of_this_process();
            let throttled_ns = quota.throttled_ns();
            (quota, throttled_ns)
        });
        let jobs = workers.jobs.iter().max().map_or(0, |job| *job as usize + 1);
        let series = Series::new(subject.name, subject.replicate, subject.start_ns);
        let observations = Observations {
            by_job: vec![JobSeen::default(); if subject.by_job { jobs } else { 0 }],
            series,
            ..Observations::nothing()
        };
        let closed = vec![0; workers.jobs.len()];
        let (open, samples) = (BTreeMap::new(), BTreeMap::new());
        // A sign of life is expected once per interval.
        let patience =
            Patience::new(subject.patience_ns.max(subject.interval_ns.saturating_mul(4)));
        Sampler {
            subject,
            workers,
            origin: 0,
            observer,
            intervals: None,
            watch,
            closed,
            open,
            emitted: 0,
            row: SeriesRow::default(),
            ticks: 0,
            virtual_ns: None,
            reported_c: None,
            patience,
            moved: 0,
            first,
            own_first: watch
                .filter(|device| device.is_read_by_kernel())
                .and_then(|_| accounting::traffic())
                .map(|own| own.read_bytes),
            quota,
            samples,
            seen: observations,
        }
    }

    /// Adds an observer of the intervals of all jobs.
    pub(crate) fn observed<'o: 'a>(
        self,
        by: Option<&'a mut (dyn IntervalObserver + 'o)>,
    ) -> Sampler<'a> {
        let intervals = by.map(|by| by as &'a mut dyn IntervalObserver);
        Sampler { intervals, ..self }
    }

    /// Watches a workload that begins at `origin`, until every job has reported its end.
    pub(crate) fn watch(mut self, origin: u64, reports: &Receiver<Report>) -> Observations {
        self.origin = origin;
        let interval = self.subject.interval_ns;
        while self.seen.ends.len() < self.workers.jobs.len() {
            let started = self.now();
            let due = ((self.ticks + 1) * interval).clamp(started, started + SLEEP_NS);
            self.workers.pulse.witness.sleeps(origin + due);
            let report = reports.recv_timeout(Duration::from_nanos(due - started));
            let now = self.now();
            let stood_ns = self.seen.standstills.record(started, due, now, interval);
            self.workers.pulse.witness.woke(stood_ns.map_or(0, |_| now - started));
            self.patience.excuse(stood_ns.unwrap_or(0));
            match report {
                Ok(report) => self.take(report),
                Err(RecvTimeoutError::Timeout) => {
                    self.tick(self.now() / interval);
                    self.check_silence();
                }
                // A worker died without a report; the caller propagates its panic.
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.finish()
    }

    /// Watches jobs in virtual time, without a device or a wall clock.
    pub(crate) fn watch_virtual(mut self, reports: &Receiver<Report>) -> Observations {
        for report in reports {
            self.take(report);
            self.check_interrupt();
        }
        self.finish()
    }

    /// Takes the reports available at this time of a virtual clock, nanoseconds since the common
    /// start.
    pub(crate) fn take_all(&mut self, reports: &Receiver<Report>, now_ns: u64) {
        self.virtual_ns = Some(now_ns);
        for report in reports.try_iter() {
            self.take(report);
        }
        self.check_interrupt();
    }

    fn take(&mut self, report: Report) {
        match report {
            Report::Interval { job, index, whole, mut kinds, temperature_c } => {
                self.seen.standstills.remove_latencies(index, &mut kinds);
                self.closed[job as usize] = index + u64::from(whole);
                self.record_temperature(temperature_c);
                self.reported_c = temperature_c;
                add(&mut self.seen.totals, &kinds);
                if let Some(job_seen) = self.seen_of(job) {
                    add_interval(job_seen, index, &kinds);
                }
                self.close(job);
                match self.open.get_mut(&index) {
                    Some(merged) => add(merged, &kinds),
                    None => drop(self.open.insert(index, *kinds)),
                }
            }
            Report::Reset { job } => {
                if let Some(job_seen) = self.seen_of(job) {
                    *job_seen = JobSeen::default();
                }
                let job = self.workers.jobs[job as usize];
                if let Some(observer) = &mut self.intervals {
                    observer.reset(job);
                }
            }
            Report::Log { job, ops } => {
                let job = self.workers.jobs[job as usize];
                if let Some(observer) = &mut self.intervals {
                    observer.ops(job, &ops);
                }
                return;
            }
            Report::Done { job, end } => {
                self.closed[job as usize] = u64::MAX;
                self.close(job);
                self.seen.ends.push(*end);
            }
        }
        self.observe();
        let upto = self.closed.iter().copied().min().unwrap_or(0);
        if upto < u64::MAX {
            // Reports can arrive before the clock is read.
            self.tick(upto);
            self.emit_until(upto);
        }
    }

    /// Samples the device and checks temperature and interrupt, once `ended` intervals have ended.
    fn tick(&mut self, ended: u64) {
        if ended <= self.ticks {
            return;
        }
        self.ticks = ended;
        self.observe();
        if let Some(sample) = self.watch.and_then(Device::watch) {
            self.samples.insert(ended - 1, sample);
            self.moved = sample.read_bytes + sample.written_bytes + sample.discarded_bytes;
            self.record_temperature(sample.temperature_c);
        }
        self.time_kernel_workers();
        self.check_interrupt();
    }

    fn time_kernel_workers(&mut self) {
        if self.workers.rings {
            self.seen.worker_cpu_ns = self.seen.worker_cpu_ns.max(kernel_worker_cpu_ns());
        }
    }

    /// The counts of the worker's job, if kept separately.
    fn seen_of(&mut self, worker: u32) -> Option<&mut JobSeen> {
        let job = self.workers.jobs[worker as usize];
        self.seen.by_job.get_mut(job as usize)
    }

    /// Updates which intervals of a worker's job are final: those closed for all of its workers.
    fn close(&mut self, worker: u32) {
        let job = self.workers.jobs[worker as usize];
        let workers = self.workers.jobs.iter().zip(&self.closed);
        let of_job = workers.filter(|(other, _)| **other == job);
        let closed = of_job.map(|(_, closed)| *closed).min().unwrap_or(0);
        if let Some(job_seen) = self.seen_of(worker) {
            job_seen.closed = closed;
        }
    }

    fn observe(&mut self) {
        let now = self.virtual_ns.unwrap_or_else(|| self.now());
        let Some(observer) = &mut self.intervals else { return };
        observer.interval(now, &self.seen.by_job, &|job| self.workers.halt_job(job));
    }

    /// Checks for signs of life of the drive.
    fn check_silence(&mut self) {
        let Workers { pulse, cached, .. } = &self.workers;
        let (now, limit_ns) = (self.now(), self.patience.limit_ns());
        let Some(silent_ns) = self.patience.check(now, pulse, *cached, self.moved) else { return };
        if silent_ns >= limit_ns {
            self.seen.silent = true;
            // This ends jobs that are not blocked in the kernel.
            self.workers.halt.end_all();
        }
        let workload = self.subject.name.to_string();
        self.observer.event(&Event::NoAnswer { workload, silent_ns, limit_ns });
    }

    /// Stops all workers after the user's interrupt, at the temperature limit, or if the target is
    /// no longer the user's alone.
    fn check_interrupt(&mut self) {
        let Subject { interrupt, alarm, .. } = self.subject;
        let is_alarmed = alarm.is_some_and(|alarm| alarm.load(Ordering::Acquire));
        if interrupt.load(Ordering::Relaxed) || is_alarmed || self.seen.too_hot {
            self.workers.halt.end_all();
        }
    }

    fn record_temperature(&mut self, temperature_c: Option<f64>) {
        let Some(now_c) = temperature_c else { return };
        let start = Temperature { start_c: now_c, end_c: now_c, max_c: now_c };
        let temperature = self.seen.temperature.get_or_insert(start);
        temperature.end_c = now_c;
        temperature.max_c = temperature.max_c.max(now_c);
        self.seen.too_hot |= self.subject.hot_c.is_some_and(|limit| now_c >= limit);
    }

    /// Emits every row that ends at or before interval `upto`, including silent ones: a stall of
    /// the drive is a row of zeros, and a standstill of the process is a row of unknown values.
    fn emit_until(&mut self, upto: u64) {
        loop {
            let end = self.emitted + self.seen.grain;
            self.gather(end.min(upto));
            if end > upto {
                return;
            }
            self.emit(end, end * self.subject.interval_ns);
            if self.seen.series.t_ns.len() >= ROWS_MAX {
                self.seen.series.thin();
                self.seen.grain *= 2;
            }
        }
    }

    /// Adds the final intervals below `upto` to the row.
    fn gather(&mut self, upto: u64) {
        while let Some(first) = self.open.first_entry().filter(|first| *first.key() < upto) {
            self.row.add(first.remove());
        }
    }

    /// Emits the row of the intervals up to `upto`, which ends at `end_ns`.
    fn emit(&mut self, upto: u64, end_ns: u64) {
        let start_ns = self.emitted * self.subject.interval_ns;
        let SeriesRow { kinds, extremes, .. } = self.row.take(upto - self.emitted);
        let start = match self.emitted {
            0 => self.first,
            from => self.samples.remove(&(from - 1)),
        };
        self.samples = self.samples.split_off(&(upto - 1));
        let sample = self.samples.get(&(upto - 1)).copied();
        let device = start.zip(sample).map(|(start, end)| traffic(&start, &end));
        let sides = [OpKind::Read, OpKind::Write].map(|kind| kinds[kind as usize].as_ref());
        let silent = sides.iter().flatten().all(|k| k.ops == 0);
        let interval = Interval {
            start_ns,
            end_ns,
            bytes: sides.map(|k| k.map_or(0, |k| k.bytes)),
            ops: sides.map(|k| k.map_or(0, |k| k.ops)),
            p50_ns: sides.map(|k| k.and_then(|k| k.service.quantile(0.5))),
            p99_ns: sides.map(|k| k.and_then(|k| k.service.percentile(0.99))),
            max_ns: sides.map(|k| k.and_then(|k| k.service.max())),
            device_bytes: device.map(|d| [d.read_bytes, d.written_bytes]),
            temperature_c: sample.and_then(|s| s.temperature_c).or(self.reported_c),
            stood_still: self.seen.standstills.overlap(start_ns, end_ns, silent),
        };
        let interval_ns = self.subject.interval_ns as f64;
        let rates = extremes.map(|(least, most)| {
            (least as f64 * 1e9 / interval_ns, most as f64 * 1e9 / interval_ns)
        });
        let rates = (self.seen.grain > 1).then_some(rates);
        push_row(&mut self.seen.series, &interval, &self.seen.totals, rates);
        self.emitted = upto;
        self.observer.event(&Event::Interval {
            workload: self.subject.name.to_string(),
            replicate: self.subject.replicate,
            start_ns: self.subject.start_ns,
            interval,
        });
    }

    /// Closes the data when every worker has reported its end.
    pub(crate) fn finish(mut self) -> Observations {
        let interval = self.subject.interval_ns;
        let end = self.seen.ends.iter().map(|e| e.origin_ns + e.end_ns).max().unwrap_or(0);
        self.emit_until(end / interval);
        // A short last interval would give a noisy rate; its counts are in the totals.
        if end.saturating_sub(self.emitted * interval) > interval / 2 {
            self.gather(u64::MAX);
            self.emit(end.div_ceil(interval), end);
        }
        let last = self.watch.and_then(Device::watch);
        self.record_temperature(last.and_then(|s| s.temperature_c));
        self.time_kernel_workers();
        if !self.seen.by_job.is_empty() {
            // A ruling may have reset a job's statistics.
            self.seen.totals = [const { None }; 4];
            self.seen.by_job.iter().for_each(|job| add(&mut self.seen.totals, &job.kinds));
        }
        if let Some((first, last)) = self.first.zip(last) {
            self.seen.requests = since(last.requests, first.requests);
            let layers = last.layer.zip(first.layer);
            self.seen.layer = layers.map(|(last, first)| since(last, first));
        }
        self.seen.device = self.first.zip(last).map(|(first, last)| {
            let mut traffic = traffic(&first, &last);
            // Weighted milliseconds divided by elapsed milliseconds are the mean queue depth of the
            // device.
            let weighted = last.weighted_ms.saturating_sub(first.weighted_ms);
            traffic.own_read_bytes = accounting::traffic()
                .zip(self.own_first)
                .map(|(end, start)| end.read_bytes - start);
            traffic.depth = weighted as f64 * 1e6 / end.max(1) as f64;
            let busy = last.busy_ms.saturating_sub(first.busy_ms);
            traffic.busy = (busy as f64 * 1e6 / end.max(1) as f64).min(1.0);
            traffic
        });
        self.seen.throttled_ns = self.quota.take().map_or(0, |(quota, first)| quota.since(&first));
        self.seen
    }

    fn now(&self) -> u64 {
        self.subject.clock.now().saturating_sub(self.origin)
    }
}

/// Adds the counts of an interval to those of a job.
fn add_interval(seen: &mut JobSeen, index: u64, kinds: &Kinds) {
    add(&mut seen.kinds, kinds);
    let sums = kinds.each_ref().map(|kind| {
        kind.as_ref().map_or((0, 0, 0, 0), |k| {
            (k.ops, k.bytes, k.service.sum() as u64, k.service.max().unwrap_or(0))
        })
    });
    match seen.intervals.iter_mut().rev().find(|interval| interval.index == index) {
        Some(interval) => add_sums(&mut interval.kinds, &sums),
        None => seen.intervals.push(JobInterval { index, kinds: sums }),
    }
    let first = seen.intervals.first().map_or(index, |interval| interval.index);
    if index.saturating_sub(first) >= 2 * JOB_INTERVALS {
        let count = seen.intervals.partition_point(|past| past.index + JOB_INTERVALS < index);
        seen.intervals.drain(..count);
        seen.forgotten += count as u64;
    }
}

/// Adds the counts of another worker of the job in the same interval.
fn add_sums(into: &mut [(u64, u64, u64, u64); 4], from: &[(u64, u64, u64, u64); 4]) {
    for (mine, theirs) in into.iter_mut().zip(from) {
        *mine = (mine.0 + theirs.0, mine.1 + theirs.1, mine.2 + theirs.2, mine.3.max(theirs.3));
    }
}

/// Reads and writes since an earlier reading.
fn since(last: [Requests; 2], first: [Requests; 2]) -> [Requests; 2] {
    [0, 1].map(|side| last[side].since(first[side]))
}

impl Observations {
    /// The state before the first report.
    fn nothing() -> Observations {
        Observations {
            totals: [const { None }; 4],
            by_job: Vec::new(),
            series: Series::default(),
            grain: 1,
            ends: Vec::new(),
            device: None,
            requests: Default::default(),
            layer: None,
            traced: None,
            temperature: None,
            worker_cpu_ns: 0,
            throttled_ns: 0,
            too_hot: false,
            silent: false,
            standstills: Standstills::new(),
        }
    }

    /// The results of one job alone.
    pub(crate) fn from_job(end: JobEnd, totals: Kinds) -> Observations {
        Observations { totals, ends: vec![end], ..Observations::nothing() }
    }
}

fn add(into: &mut Kinds, from: &Kinds) {
    for (mine, theirs) in into.iter_mut().zip(from) {
        if let Some(added) = theirs {
            mine.get_or_insert_with(KindStats::default).merge(added);
        }
    }
}

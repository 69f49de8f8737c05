//! The watching thread of a measurement: merges what the workers report, interval by interval,
//! looks at the device and its temperature meanwhile, and tells the observer.
//!
//! It is the thread that called `measure`, so an observer is never called from two threads.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use drive::{Sample, Watch};
use record::{Series, Unit};
use rig::{DeviceTraffic, Event, Interval, KindStats, Observer, Temperature};
use workload::OpKind;

use crate::clock::Clock;
use crate::halt::Halt;
use crate::patience::{Patience, Pulse};
use crate::recorder::{JobEnd, Kinds, Report};
use crate::referee::Overseer;

/// What the sampler needs to know of the measurement it watches.
pub(crate) struct Subject<'a> {
    pub name: &'a str,
    pub replicate: u32,
    pub start_ns: u64,
    pub jobs: u32,
    pub interval_ns: u64,
    pub clock: Clock,
    /// The user's wish to end the run.
    pub interrupt: &'a AtomicBool,
    /// Tells the workers to end.
    pub halt: &'a Halt,
    /// Temperature at which the run is ended, degrees Celsius.
    pub hot_c: Option<f64>,
    /// Grows as long as the jobs come round.
    pub pulse: Pulse,
    /// Operations go through the page cache.
    pub cached: bool,
    /// How long they may stay away, nanoseconds.
    pub patience_ns: u64,
    /// Keep what each job did apart from the others.
    pub by_job: bool,
}

/// What one job did, where jobs are kept apart.
#[derive(Clone, Debug, Default)]
pub struct JobSeen {
    /// Statistics by `OpKind as usize`; `None` where nothing happened.
    pub kinds: Kinds,
    /// The intervals in which it did something, in order.
    pub intervals: Vec<JobInterval>,
    /// Nothing will come to intervals below this number any more; 0: nothing was heard of it yet.
    pub closed: u64,
}

/// What one job did in one interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct JobInterval {
    /// Number of the interval, counted from the start of all jobs.
    pub index: u64,
    /// By `OpKind as usize`: operations, their bytes, the sum of their service times in
    /// nanoseconds, and the longest.
    pub kinds: [(u64, u64, u64, u64); 4],
}

/// What was seen in one measurement.
pub(crate) struct Seen {
    pub totals: Kinds,
    /// By job, where that was asked for.
    pub by_job: Vec<JobSeen>,
    pub series: Series,
    pub ends: Vec<JobEnd>,
    pub device: Option<DeviceTraffic>,
    pub temperature: Option<Temperature>,
    /// Processor time of kernel worker threads that did I/O for the process, nanoseconds.
    pub worker_cpu_ns: u64,
    /// The run was ended because the drive became too hot.
    pub too_hot: bool,
}

pub(crate) struct Sampler<'a> {
    subject: Subject<'a>,
    /// Start of the workload on the subject's clock.
    origin: u64,
    observer: &'a mut dyn Observer,
    overseer: Option<&'a mut dyn Overseer>,
    watch: Option<&'a mut Watch>,
    /// Intervals below this index are closed, per job.
    closed: Vec<u64>,
    open: BTreeMap<u64, Kinds>,
    emitted: u64,
    /// Intervals whose end on the wall clock was seen.
    ticks: u64,
    /// The temperature that came with the latest report, from a backend that knows it.
    told_c: Option<f64>,
    patience: Patience,
    /// Bytes that the device had moved when it was last looked at.
    moved: u64,
    first: Option<Sample>,
    own_first: Option<u64>,
    /// Device samples by the index of the interval that they end; `u64::MAX` stands for the start.
    samples: BTreeMap<u64, Sample>,
    seen: Seen,
}

impl<'a> Sampler<'a> {
    /// Looks at the device for the first time. To be made before any worker may begin: a short
    /// workload is over before this thread has its turn again.
    pub(crate) fn new(
        subject: Subject<'a>,
        observer: &'a mut dyn Observer,
        mut watch: Option<&'a mut Watch>,
    ) -> Sampler<'a> {
        let first = watch.as_mut().and_then(|w| w.sample());
        let series = Series::new(subject.name, subject.replicate, subject.start_ns);
        let seen = Seen {
            totals: [const { None }; 4],
            by_job: vec![
                JobSeen::default();
                if subject.by_job { subject.jobs as usize } else { 0 }
            ],
            series,
            ends: Vec::new(),
            device: None,
            temperature: None,
            worker_cpu_ns: 0,
            too_hot: false,
        };
        let closed = vec![0; subject.jobs as usize];
        let (open, samples) = (BTreeMap::new(), BTreeMap::new());
        // A sign of life comes once in an interval.
        let patience =
            Patience::new(subject.patience_ns.max(subject.interval_ns.saturating_mul(4)));
        Sampler {
            subject,
            origin: 0,
            observer,
            overseer: None,
            watch,
            closed,
            open,
            emitted: 0,
            ticks: 0,
            told_c: None,
            patience,
            moved: 0,
            first,
            own_first: own_read_bytes(),
            samples,
            seen,
        }
    }

    /// The same, with somebody who looks at the jobs while they run.
    pub(crate) fn overseen(self, overseer: Option<&'a mut dyn Overseer>) -> Sampler<'a> {
        Sampler { overseer, ..self }
    }

    /// Watches a workload that begins at `origin`, until every job has reported its end.
    pub(crate) fn watch(mut self, origin: u64, reports: &Receiver<Report>) -> Seen {
        self.origin = origin;
        let interval = self.subject.interval_ns;
        while self.seen.ends.len() < self.subject.jobs as usize {
            let due = (self.ticks + 1) * interval;
            let wait = Duration::from_nanos(due.saturating_sub(self.now()));
            match reports.recv_timeout(wait) {
                Ok(report) => self.take(report),
                Err(RecvTimeoutError::Timeout) => {
                    self.tick(self.now() / interval);
                    self.listen();
                }
                // A worker died without a last word; its thread's panic is raised by the caller.
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.finish()
    }

    /// Watches a workload in virtual time: there is no device beside it, and no wall clock to keep.
    pub(crate) fn watch_virtual(mut self, reports: &Receiver<Report>) -> Seen {
        for report in reports {
            self.take(report);
            self.look_at_user();
        }
        self.finish()
    }

    fn take(&mut self, report: Report) {
        match report {
            Report::Interval { job, index, whole, kinds, temperature_c } => {
                self.closed[job as usize] = index + u64::from(whole);
                self.feel(temperature_c);
                self.told_c = temperature_c;
                add(&mut self.seen.totals, &kinds);
                if let Some(seen) = self.seen.by_job.get_mut(job as usize) {
                    seen.add(index, &kinds);
                    seen.closed = self.closed[job as usize];
                }
                match self.open.get_mut(&index) {
                    Some(merged) => add(merged, &kinds),
                    None => drop(self.open.insert(index, *kinds)),
                }
            }
            Report::Anew { job } => {
                if let Some(seen) = self.seen.by_job.get_mut(job as usize) {
                    *seen = JobSeen::default();
                }
            }
            Report::Done { job, end } => {
                self.closed[job as usize] = u64::MAX;
                if let Some(seen) = self.seen.by_job.get_mut(job as usize) {
                    seen.closed = u64::MAX;
                }
                self.seen.ends.push(*end);
            }
        }
        self.oversee();
        let upto = self.closed.iter().copied().min().unwrap_or(0);
        if upto < u64::MAX {
            // The workers may be heard of before the clock is looked at.
            self.tick(upto);
            self.emit_until(upto);
        }
    }

    /// So many intervals have ended: look at the device, the heat, the user.
    fn tick(&mut self, ended: u64) {
        if ended <= self.ticks {
            return;
        }
        self.ticks = ended;
        self.oversee();
        if let Some(sample) = self.watch.as_mut().and_then(|w| w.sample()) {
            self.samples.insert(ended - 1, sample);
            self.moved = sample.read_bytes + sample.written_bytes + sample.discarded_bytes;
            self.feel(sample.temperature_c);
        }
        self.seen.worker_cpu_ns = self.seen.worker_cpu_ns.max(kernel_worker_cpu_ns());
        self.look_at_user();
    }

    fn oversee(&mut self) {
        let now = self.now();
        let Some(overseer) = &mut self.overseer else { return };
        let halt = self.subject.halt;
        overseer.look(now, &self.seen.by_job, &|job| halt.end(job));
    }

    /// Whether anything is heard of the drive.
    fn listen(&mut self) {
        let Subject { pulse, cached, .. } = &self.subject;
        let moved = if *cached || pulse.flushes() { self.moved } else { 0 };
        let limit_ns = self.patience.limit_ns();
        let Some(silent_ns) = self.patience.look(self.now(), pulse.beats(), moved) else { return };
        if silent_ns >= limit_ns {
            // For those that wait for nothing but their turn.
            self.subject.halt.end_all();
        }
        let workload = self.subject.name.to_string();
        self.observer.event(&Event::NoAnswer { workload, silent_ns, limit_ns });
    }

    /// What ends a run early: the user's wish, and heat.
    fn look_at_user(&mut self) {
        if self.subject.interrupt.load(Ordering::Relaxed) || self.seen.too_hot {
            self.subject.halt.end_all();
        }
    }

    fn feel(&mut self, temperature: Option<f64>) {
        let Some(now) = temperature else { return };
        let seen = self.seen.temperature.get_or_insert(Temperature {
            start_c: now,
            end_c: now,
            max_c: now,
        });
        seen.end_c = now;
        seen.max_c = seen.max_c.max(now);
        self.seen.too_hot |= self.subject.hot_c.is_some_and(|limit| now >= limit);
    }

    /// Emits every interval below `upto`, silent ones too: a stall is a row of zeros.
    fn emit_until(&mut self, upto: u64) {
        while self.emitted < upto {
            let index = self.emitted;
            let end = (index + 1) * self.subject.interval_ns;
            self.emit(index, end);
            self.emitted += 1;
        }
    }

    fn emit(&mut self, index: u64, end_ns: u64) {
        let start_ns = index * self.subject.interval_ns;
        let kinds = self.open.remove(&index).unwrap_or_default();
        let before = match index {
            0 => self.first,
            _ => self.samples.remove(&(index - 1)),
        };
        let sample = self.samples.get(&index).copied();
        let device = before.zip(sample).map(|(a, b)| traffic(&a, &b));
        let side = |kind: OpKind| kinds[kind as usize].as_ref();
        let both = [side(OpKind::Read), side(OpKind::Write)];
        let interval = Interval {
            start_ns,
            end_ns,
            bytes: both.map(|k| k.map_or(0, |k| k.bytes)),
            ops: both.map(|k| k.map_or(0, |k| k.ops)),
            p50_ns: both.map(|k| k.and_then(|k| k.service.quantile(0.5))),
            p99_ns: both.map(|k| k.and_then(|k| k.service.percentile(0.99))),
            max_ns: both.map(|k| k.and_then(|k| k.service.max())),
            device_bytes: device.map(|d| [d.read_bytes, d.written_bytes]),
            temperature_c: sample.and_then(|s| s.temperature_c).or(self.told_c),
        };
        push_row(&mut self.seen.series, &interval, &self.seen.totals);
        self.observer.event(&Event::Interval {
            workload: self.subject.name.to_string(),
            replicate: self.subject.replicate,
            start_ns: self.subject.start_ns,
            interval,
        });
    }

    fn finish(mut self) -> Seen {
        let interval = self.subject.interval_ns;
        let end = self.seen.ends.iter().map(|e| e.end_ns).max().unwrap_or(0);
        self.emit_until(end / interval);
        // A last part of an interval is a noisy rate when it is short; its counts are in the totals.
        if end.saturating_sub(self.emitted * interval) > interval / 2 {
            self.emit(self.emitted, end);
        }
        let last = self.watch.as_mut().and_then(|w| w.sample());
        self.feel(last.and_then(|s| s.temperature_c));
        self.seen.worker_cpu_ns = self.seen.worker_cpu_ns.max(kernel_worker_cpu_ns());
        if !self.seen.by_job.is_empty() {
            // A job may have begun to count anew.
            self.seen.totals = [const { None }; 4];
            self.seen.by_job.iter().for_each(|job| add(&mut self.seen.totals, &job.kinds));
        }
        self.seen.device = self.first.zip(last).map(|(first, last)| {
            let mut traffic = traffic(&first, &last);
            // Weighted milliseconds over elapsed milliseconds: the mean queue in the device.
            let weighted = last.weighted_ms.saturating_sub(first.weighted_ms);
            traffic.own_read_bytes = own_read_bytes().zip(self.own_first).map(|(b, a)| b - a);
            traffic.depth = weighted as f64 * 1e6 / end.max(1) as f64;
            traffic
        });
        self.seen
    }

    fn now(&self) -> u64 {
        self.subject.clock.now().saturating_sub(self.origin)
    }
}

impl Seen {
    /// What there is to say of one job alone.
    pub(crate) fn of_job(name: &str, end: JobEnd, totals: Kinds) -> Seen {
        Seen {
            totals,
            by_job: Vec::new(),
            series: Series::new(name, 0, 0),
            ends: vec![end],
            device: None,
            temperature: None,
            worker_cpu_ns: 0,
            too_hot: false,
        }
    }
}

impl JobSeen {
    fn add(&mut self, index: u64, kinds: &Kinds) {
        add(&mut self.kinds, kinds);
        let sums = kinds.each_ref().map(|kind| {
            kind.as_ref().map_or((0, 0, 0, 0), |k| {
                (k.ops, k.bytes, k.service.sum() as u64, k.service.max().unwrap_or(0))
            })
        });
        self.intervals.push(JobInterval { index, kinds: sums });
    }
}

fn add(into: &mut Kinds, from: &Kinds) {
    for (mine, theirs) in into.iter_mut().zip(from) {
        if let Some(theirs) = theirs {
            mine.get_or_insert_with(KindStats::default).merge(theirs);
        }
    }
}

fn traffic(before: &Sample, after: &Sample) -> DeviceTraffic {
    DeviceTraffic {
        read_bytes: after.read_bytes.saturating_sub(before.read_bytes),
        written_bytes: after.written_bytes.saturating_sub(before.written_bytes),
        discarded_bytes: after.discarded_bytes.saturating_sub(before.discarded_bytes),
        ..DeviceTraffic::default()
    }
}

/// Bytes read from block devices for this process so far, whatever device it was
/// (Documentation/filesystems/proc.rst); `None` where the kernel keeps no account.
fn own_read_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.parse().ok())
}

/// One row of the series; a direction that the workload never had gets no columns.
fn push_row(series: &mut Series, interval: &Interval, totals: &Kinds) {
    let seconds = (interval.end_ns - interval.start_ns) as f64 / 1e9;
    let ns = |value: Option<u64>| value.map(|v| v as f64);
    let mut row = Vec::with_capacity(12);
    let names = [
        ["read", "read.ops", "read.p50", "read.p99", "read.max", "device.read"],
        ["write", "write.ops", "write.p50", "write.p99", "write.max", "device.write"],
    ];
    for (side, [bytes, ops, p50, p99, max, device]) in names.into_iter().enumerate() {
        if let Some(seen) = interval.device_bytes {
            row.push((device, Unit::BytesPerSecond, Some(seen[side] as f64 / seconds)));
        }
        if totals[side].is_none() {
            continue;
        }
        row.push((bytes, Unit::BytesPerSecond, Some(interval.bytes[side] as f64 / seconds)));
        row.push((ops, Unit::Iops, Some(interval.ops[side] as f64 / seconds)));
        row.push((p50, Unit::Nanoseconds, ns(interval.p50_ns[side])));
        row.push((p99, Unit::Nanoseconds, ns(interval.p99_ns[side])));
        row.push((max, Unit::Nanoseconds, ns(interval.max_ns[side])));
    }
    if interval.temperature_c.is_some() {
        row.push(("temperature", Unit::Celsius, interval.temperature_c));
    }
    series.push(interval.end_ns, &row);
}

/// Processor time of the kernel's own workers of this process (`iou-wrk-*`), which take over requests
/// that could not be issued where they were submitted. The workers go with their ring, so that those
/// of an earlier measurement are not counted.
fn kernel_worker_cpu_ns() -> u64 {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return 0 };
    let cpu = |task: fs::DirEntry| {
        let name = fs::read_to_string(task.path().join("comm")).ok()?;
        let worker = name.starts_with("iou-wrk");
        // Processor time, waiting time, number of runs (Documentation/scheduler/sched-stats.rst).
        let stat = worker.then(|| fs::read_to_string(task.path().join("schedstat")).ok())??;
        stat.split_whitespace().next()?.parse::<u64>().ok()
    };
    tasks.flatten().filter_map(cpu).sum()
}

//! Starts the jobs of a measurement, each on its own thread with its own backend, and lets them go
//! at the same moment.

use std::fs::File;
use std::io;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use workload::{Calls, Closed, Open, Pace, Pacing, Workload};

use crate::backend::{Aio, Backend, ByBytes, Null, Psync, Uring};
use crate::clock::Clock;
use crate::probe::BackendKind;
use crate::recorder::{Recorder, Report};
use crate::sys;
use crate::sys::arena::Arena;
use crate::worker::{Job, Ready};

/// What all jobs of a measurement share.
pub(crate) struct Crew<'a> {
    pub workload: &'a Workload,
    pub backend: BackendKind,
    /// `None` on the null backend.
    pub file: Option<&'a File>,
    pub clock: Clock,
    pub pin: bool,
    pub interval_ns: u64,
    pub halt: &'a AtomicBool,
}

/// Time left for every thread to come out of the barrier before the first operation is due,
/// nanoseconds. Without it an open loop would begin with late operations.
const RUN_UP_NS: u64 = 100_000;

impl Crew<'_> {
    /// Runs all jobs. `watch` is called on this thread, with the moment the workload begins, while
    /// they run. The first error of a job is returned after all have ended.
    pub(crate) fn run<T>(&self, watch: impl FnOnce(u64, &Receiver<Report>) -> T) -> io::Result<T> {
        let (sender, reports) = channel();
        let start = Barrier::new(self.workload.jobs as usize + 1);
        let origin = AtomicU64::new(u64::MAX);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..self.workload.jobs)
                .map(|number| {
                    let (sender, start, origin) = (sender.clone(), &start, &origin);
                    scope.spawn(move || self.job(number, sender, start, origin))
                })
                .collect();
            drop(sender);
            // Once when everybody is ready, once when everybody may know when it begins.
            start.wait();
            let begin = self.clock.now() + RUN_UP_NS;
            origin.store(begin, Ordering::Release);
            start.wait();
            let seen = watch(begin, &reports);
            for thread in threads {
                // A panic in a worker is our own bug and goes on here.
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            }
            Ok(seen)
        })
    }

    fn job(
        &self,
        number: u32,
        sender: Sender<Report>,
        start: &Barrier,
        origin: &AtomicU64,
    ) -> io::Result<()> {
        if self.pin {
            pin(number)?;
        }
        sys::file::exact_timers();
        let result = self.with_backend(number, sender, start, origin);
        if result.is_err() {
            self.halt.store(true, Ordering::Relaxed);
        }
        result
    }

    fn with_backend(
        &self,
        number: u32,
        sender: Sender<Report>,
        start: &Barrier,
        origin: &AtomicU64,
    ) -> io::Result<()> {
        let calls = self.workload.calls;
        let kind = self.backend.making(calls);
        let depth = match kind {
            BackendKind::Psync => 1,
            _ => self.workload.depth,
        };
        let arena = Arena::new(depth as usize, self.workload.blocks.max() as usize);
        let go = Go { crew: self, number, sender, start, origin };
        match (kind, self.file) {
            (BackendKind::Null, _) => go.go(arena.map(|arena| Null::new(self.clock, arena))),
            (_, None) => go.go::<Null>(Err(io::ErrorKind::NotFound.into())),
            (BackendKind::Uring, Some(file)) => {
                let mut ring = sys::ring::make(depth);
                let ring = ring.as_mut().map_err(|e| io::Error::new(e.kind(), e.to_string()));
                go.go(ring.and_then(|r| Ok(Uring::new(r, self.clock, file, arena?))))
            }
            (BackendKind::Aio, Some(file)) => {
                go.go(arena.and_then(|arena| Aio::new(self.clock, file, arena)))
            }
            (BackendKind::Psync, Some(file)) if matches!(calls, Calls::Bytes { .. }) => {
                let block = self.workload.blocks.max();
                let psync = arena.map(|arena| Psync::new(self.clock, file, arena));
                go.go(psync.map(|psync| ByBytes::new(psync, block)))
            }
            (BackendKind::Psync, Some(file)) => {
                go.go(arena.map(|arena| Psync::new(self.clock, file, arena)))
            }
        }
    }
}

/// A job whose backend is about to be made.
struct Go<'a> {
    crew: &'a Crew<'a>,
    number: u32,
    sender: Sender<Report>,
    start: &'a Barrier,
    origin: &'a AtomicU64,
}

impl Go<'_> {
    /// Makes the worker, waits for the common start and runs it. The barriers are passed even
    /// without a backend, because the others wait for everybody.
    fn go<B: Backend>(self, backend: io::Result<B>) -> io::Result<()> {
        let workload = self.crew.workload;
        match workload.pacing {
            Pacing::Closed => self.paced(backend, Closed),
            pacing => {
                let open = Open::new(&pacing, self.number, workload.jobs, workload.seed);
                self.paced(backend, open)
            }
        }
    }

    fn paced<B: Backend, P: Pace>(self, backend: io::Result<B>, pacer: P) -> io::Result<()> {
        let crew = self.crew;
        let open = crew.workload.pacing.is_open();
        let name = &crew.workload.name;
        let recorder = Recorder::new(self.number, open, crew.interval_ns, name, self.sender);
        let job = Job {
            workload: crew.workload,
            number: self.number,
            lanes: 1,
            stop: crew.halt,
            file: crew.file,
        };
        let ready = backend.map(|backend| Ready::new(backend, &job, recorder));
        self.start.wait();
        self.start.wait();
        ready?.run(pacer, self.origin.load(Ordering::Acquire))
    }
}

/// Binds the calling thread to the `number`th processor it may use.
fn pin(number: u32) -> io::Result<()> {
    let allowed = sched_getaffinity(None)?;
    let usable: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    let mut one = CpuSet::new();
    one.set(usable[number as usize % usable.len().max(1)]);
    Ok(sched_setaffinity(None, &one)?)
}

//! Starts the jobs of a measurement, each on its own thread with its own backend, and lets them go
//! at the same moment.

use std::io;
use std::ops::Range;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use rig::StopReason;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use workload::{Calls, Closed, Open, Pace, Pacing, Source, Think, Thinking, Workload};

use crate::backend::{Aio, Apart, Backend, ByBytes, Mmap, Null, Psync, Uring};
use crate::clock::Clock;
use crate::files::Files;
use crate::flow::FlowShare;
use crate::halt::Halt;
use crate::loans::Loans;
use crate::patience::Pulse;
use crate::priority::Priorities;
use crate::probe::BackendKind;
use crate::recorder::{Recorder, Report};
use crate::referee::Referee;
use crate::sys;
use crate::sys::arena::Arena;
use crate::sys::thread::MemoryPolicy;
use crate::worker::{Job, Ready, Terms};

/// One job: what it does, on what, and how.
pub(crate) struct Part<'a> {
    pub workload: &'a Workload,
    /// Which of the workload's jobs it is.
    pub lane: u32,
    pub source: Box<dyn Source>,
    pub backend: BackendKind,
    /// `None` on the null backend.
    pub files: Option<Files<'a>>,
    /// When it begins, nanoseconds since the start of all.
    pub start_ns: u64,
    pub terms: Terms,
    pub referee: Option<Box<dyn Referee>>,
    /// Its part in a flow, which then is its pace.
    pub flow: Option<FlowShare>,
    /// Priorities of single operations.
    pub priorities: Option<Priorities>,
    pub place: Place,
    /// Numbers of the parts that must have ended before it begins.
    pub after: Range<usize>,
    /// Whether its end is the end of all.
    pub ends_all: EndsAll,
}

/// Whether the end of a job is the end of all that run with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EndsAll {
    /// It is not.
    #[default]
    Never,
    /// It is when the job ended in an error.
    OnError,
    /// It is, whatever ended the job.
    Always,
}

/// Where in the machine a job runs, and how urgently.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The processors it may use; none named: all.
    pub cpus: Vec<usize>,
    /// Priority for the processor, -20 (first) to 19.
    pub nice: Option<i32>,
    /// Class (0 to 3) and level (0 to 7) for the drive.
    pub io_priority: Option<(u8, u8)>,
    /// Where its memory is taken.
    pub memory: Option<MemoryPolicy>,
}

/// What all jobs of a measurement share.
pub(crate) struct Crew<'a> {
    pub clock: Clock,
    pub interval_ns: u64,
    pub halt: &'a Halt,
    /// That of its jobs, all together.
    pub pulse: Pulse,
    /// Of the original content, where the workload writes that.
    pub loans: Option<&'a Loans>,
}

/// Time left for every thread to come out of the barrier before the first operation is due,
/// nanoseconds. Without it an open loop would begin with late operations.
const RUN_UP_NS: u64 = 100_000;

/// How often a job that waits for others looks whether they have ended.
const WAITING_STEP: Duration = Duration::from_millis(1);

impl Crew<'_> {
    /// Runs all jobs. `watch` is called on this thread, with the moment the workload begins, while
    /// they run. The first error of a job is returned after all have ended.
    pub(crate) fn run<T>(
        &self,
        parts: Vec<Part<'_>>,
        watch: impl FnOnce(u64, &Receiver<Report>) -> T,
    ) -> io::Result<T> {
        let (sender, reports) = channel();
        let start = Barrier::new(parts.len() + 1);
        let origin = AtomicU64::new(u64::MAX);
        let ended: Vec<_> = parts.iter().map(|_| AtomicBool::new(false)).collect();
        thread::scope(|scope| {
            let threads: Vec<_> = (0..)
                .zip(parts)
                .map(|(number, part)| {
                    let go = Go {
                        ended: &ended,
                        crew: self,
                        number,
                        sender: sender.clone(),
                        start: &start,
                        origin: &origin,
                    };
                    scope.spawn(move || go.job(part))
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
}

/// A job about to be started.
struct Go<'a> {
    crew: &'a Crew<'a>,
    /// Its number among all parts, and which of them have ended.
    number: u32,
    ended: &'a [AtomicBool],
    sender: Sender<Report>,
    start: &'a Barrier,
    origin: &'a AtomicU64,
}

impl Go<'_> {
    fn job(self, part: Part<'_>) -> io::Result<()> {
        let (halt, ends_all) = (self.crew.halt, part.ends_all);
        let (ended, number) = (self.ended, self.number as usize);
        let placed = part.place.take();
        sys::file::exact_timers();
        let result = self.with_backend(part, placed);
        let ends = matches!(
            (&result, ends_all),
            (Err(_), _) | (_, EndsAll::Always) | (Ok(StopReason::Errors), EndsAll::OnError)
        );
        if ends {
            halt.end_all();
        }
        ended[number].store(true, Ordering::Release);
        result.map(drop)
    }

    fn with_backend(self, mut part: Part<'_>, placed: io::Result<()>) -> io::Result<StopReason> {
        let calls = part.workload.calls;
        let kind = part.backend.making(calls);
        let depth = match kind {
            BackendKind::Psync | BackendKind::Mmap => 1,
            _ => part.workload.depth,
        };
        let arena =
            placed.and_then(|()| Arena::new(depth as usize, part.workload.blocks.max() as usize));
        let (clock, priorities) = (self.crew.clock, part.priorities.take());
        part.files.iter().for_each(Files::keep_times);
        match (kind, part.files) {
            (BackendKind::Null, _) => self.go(part, arena.map(|arena| Null::new(clock, arena))),
            (_, None) => self.go::<Null>(part, Err(io::ErrorKind::NotFound.into())),
            (BackendKind::Uring, Some(files)) => {
                let mut ring = sys::ring::make(depth);
                let ring = ring.as_mut().map_err(|e| io::Error::new(e.kind(), e.to_string()));
                let uring = ring.and_then(|r| Ok(Uring::new(r, clock, files, arena?, priorities)));
                match part.terms.apart {
                    true => self.go(part, uring.map(Apart::new)),
                    false => self.go(part, uring),
                }
            }
            (BackendKind::Aio, Some(files)) => {
                let aio = arena.and_then(|arena| Aio::new(clock, files, arena, priorities));
                match part.terms.apart {
                    true => self.go(part, aio.map(Apart::new)),
                    false => self.go(part, aio),
                }
            }
            (BackendKind::Mmap, Some(files)) => {
                let (workload, advised) = (part.workload, part.terms.advised);
                let mmap =
                    arena.and_then(|arena| Mmap::serial(clock, files, workload, advised, arena));
                self.go(part, mmap)
            }
            (BackendKind::Psync, Some(files)) if matches!(calls, Calls::Bytes { .. }) => {
                let block = part.workload.blocks.max();
                let psync = arena.map(|arena| Psync::serial(clock, files, arena));
                self.go(part, psync.map(|psync| ByBytes::new(psync, block)))
            }
            (BackendKind::Psync, Some(files)) => {
                self.go(part, arena.map(|arena| Psync::serial(clock, files, arena)))
            }
        }
    }

    /// Makes the worker, waits for the common start and runs it.
    fn go<B: Backend>(self, mut part: Part<'_>, backend: io::Result<B>) -> io::Result<StopReason> {
        let Workload { pacing, jobs, seed, .. } = *part.workload;
        if let Some(share) = part.flow.take() {
            return self.paced(part, backend, share);
        }
        let think = match pacing {
            Pacing::Pauses { every, pause_ns } => {
                Some(Think { every: Some(every), pause_ns, ..Think::default() })
            }
            _ => part.terms.think,
        };
        let open = |part: &Part<'_>| Open::new(&pacing, part.lane, jobs, seed);
        match (pacing, think) {
            (Pacing::Closed, None) => self.paced(part, backend, Closed),
            (Pacing::Closed | Pacing::Pauses { .. }, Some(think)) => {
                self.paced(part, backend, Thinking::new(think, Closed))
            }
            (_, None) => {
                let open = open(&part);
                self.paced(part, backend, open)
            }
            (_, Some(think)) => {
                let open = Thinking::new(think, open(&part));
                self.paced(part, backend, open)
            }
        }
    }

    /// The barriers are passed even without a backend, because the others wait for everybody.
    fn paced<B: Backend, P: Pace>(
        self,
        part: Part<'_>,
        backend: io::Result<B>,
        pacer: P,
    ) -> io::Result<StopReason> {
        let Part { workload, lane, source, files, start_ns, terms, referee, after, .. } = part;
        let crew = self.crew;
        let recorder = Recorder::new(
            self.number,
            workload.pacing.is_open(),
            crew.interval_ns,
            &workload.name,
            terms.ramp_ns,
            (self.sender.clone(), crew.pulse.clone()),
        );
        let job = Job {
            workload,
            number: lane,
            lanes: 1,
            stop: crew.halt.flag(self.number),
            files,
            loans: crew.loans,
            terms,
        };
        let ready = backend.map(|backend| Ready::new(backend, &job, recorder, referee));
        self.start.wait();
        self.start.wait();
        let origin = self.origin.load(Ordering::Acquire);
        let begin = self.begin_after(after, origin) + start_ns;
        let mut ready = ready?;
        ready.begins_in((begin - origin) / crew.interval_ns);
        ready.run(pacer, vec![source], begin)
    }

    /// Waits for the parts that must have ended before, and gives the moment from which this one's
    /// time runs: that, or the start of all.
    fn begin_after(&self, parts: Range<usize>, origin: u64) -> u64 {
        if parts.is_empty() {
            return origin;
        }
        let all_ended = || self.ended[parts.clone()].iter().all(|e| e.load(Ordering::Acquire));
        let stop = self.crew.halt.flag(self.number);
        while !all_ended() && !stop.load(Ordering::Relaxed) {
            thread::sleep(WAITING_STEP);
        }
        self.crew.clock.now().max(origin)
    }
}

impl Place {
    /// The `number`th processor that this process may use.
    pub(crate) fn pinned(number: u32) -> io::Result<Place> {
        let allowed = sched_getaffinity(None)?;
        let usable: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
        let cpus = vec![usable[number as usize % usable.len().max(1)]];
        Ok(Place { cpus, ..Place::default() })
    }

    /// Puts the calling thread there.
    fn take(&self) -> io::Result<()> {
        if !self.cpus.is_empty() {
            let mut set = CpuSet::new();
            self.cpus.iter().for_each(|&cpu| set.set(cpu));
            sched_setaffinity(None, &set)?;
        }
        self.memory.as_ref().map_or(Ok(()), sys::thread::set_memory_policy)?;
        self.nice.map_or(Ok(()), sys::thread::set_nice)?;
        let io_priority = self.io_priority;
        io_priority.map_or(Ok(()), |(class, level)| sys::thread::set_io_priority(class, level))
    }
}

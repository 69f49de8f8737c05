//! A worker with its pacer, whatever the types of its backend and its pacer.
//!
//! The loop is compiled for each backend with a closed loop and with a schedule. Paces that pause
//! are called through a pointer, so one more loop serves all of them.

use std::io;

use rig::StopReason;
use workload::{Closed, Open, Pace, Pacing, Think, Thinking};

use super::{Worker, WorkerStep};
use crate::backend::Backend;
use crate::flow::ScheduledShare;
use crate::lane::{Lane, LaneContext};

/// A worker of any type.
pub(crate) trait AnyWorker {
    /// Runs the job from `origin` on the backend's clock to its end, on this thread. `after_ns` is
    /// the time since the performance began. Reports the result and returns the reason the job
    /// ended.
    fn run(self: Box<Self>, origin: u64, after_ns: u64) -> io::Result<StopReason>;

    /// Begins the job at `origin` on the backend's clock, `after_ns` after the performance began.
    fn begin(&mut self, origin: u64, after_ns: u64);

    /// Works until the next turn would wait beyond `horizon` on the backend's clock, or to the end.
    fn step(&mut self, horizon: u64) -> io::Result<WorkerStep>;

    /// Reports the end; returns its reason.
    fn close(self: Box<Self>) -> io::Result<StopReason>;

    /// The time on the backend's clock.
    fn time(&self) -> u64;
}

struct PacedWorker<'a, B, P> {
    worker: Worker<'a, B>,
    pacer: P,
}

impl<B: Backend, P: Pace> AnyWorker for PacedWorker<'_, B, P> {
    fn run(self: Box<Self>, origin: u64, after_ns: u64) -> io::Result<StopReason> {
        let PacedWorker { mut worker, mut pacer } = *self;
        worker.wait_for(origin);
        worker.begin(pacer.is_open(), origin, after_ns);
        let outcome = loop {
            match worker.step(&mut pacer, u64::MAX) {
                Ok(WorkerStep::Wake(_)) => {}
                Ok(WorkerStep::Ended) => break Ok(()),
                Err(e) => break Err(e),
            }
        };
        worker.close(&mut pacer, outcome)
    }

    fn begin(&mut self, origin: u64, after_ns: u64) {
        self.worker.begin(self.pacer.is_open(), origin, after_ns);
    }

    fn step(&mut self, horizon: u64) -> io::Result<WorkerStep> {
        self.worker.step(&mut self.pacer, horizon)
    }

    fn close(mut self: Box<Self>) -> io::Result<StopReason> {
        self.worker.close(&mut self.pacer, Ok(()))
    }

    fn time(&self) -> u64 {
        self.worker.backend.now()
    }
}

impl<'a> Lane<'a> {
    /// Creates the worker of the lane. It keeps the job's flow, or otherwise its share of the
    /// workload's schedule with the requested pauses. Sources on one worker share a schedule with
    /// their combined rate.
    pub(crate) fn worker<'w, B: Backend + 'w>(
        mut self,
        backend: B,
        context: &LaneContext<'a>,
    ) -> Box<dyn AnyWorker + 'w>
    where
        'a: 'w,
    {
        let (flow, first, job) = (self.flow.take(), self.first, self.job);
        let jobs = job.workload.jobs / self.sources.len() as u32;
        let worker = Worker::new(backend, self, context);
        let pacing = job.workload.pacing;
        let think = match pacing {
            Pacing::Pauses { every, pause_ns } => {
                Some(Think { every: Some(every), pause_ns, ..Think::default() })
            }
            Pacing::Source => Some(Think::default()),
            _ => job.issue.think,
        };
        let is_closed = matches!(pacing, Pacing::Closed | Pacing::Pauses { .. } | Pacing::Source);
        let schedule = || Open::new(&pacing, first, jobs, job.workload.seed);
        match (flow, think) {
            (Some(share), _) if is_closed => paced(worker, Box::new(share) as Box<dyn Pace>),
            (Some(share), _) => {
                paced(worker, Box::new(ScheduledShare::new(share, schedule())) as Box<dyn Pace>)
            }
            (None, Some(think)) if is_closed => {
                paced(worker, Box::new(Thinking::new(think, Closed)) as Box<dyn Pace>)
            }
            (None, Some(think)) => {
                paced(worker, Box::new(Thinking::new(think, schedule())) as Box<dyn Pace>)
            }
            (None, None) if is_closed => paced(worker, Closed),
            (None, None) => paced(worker, schedule()),
        }
    }
}

pub(super) fn paced<'w, B: Backend + 'w, P: Pace + 'w>(
    worker: Worker<'w, B>,
    pacer: P,
) -> Box<dyn AnyWorker + 'w> {
    Box::new(PacedWorker { worker, pacer })
}

//! Lanes: the way of a job to its workers, on real and on virtual drives.
//!
//! A lane is the part of a job that one worker runs: one source on a real target, where each has its
//! own thread; on a virtual drive usually all of them. It borrows the job. Only sources, control
//! and share of a flow move into it, and with a backend it becomes a worker ([`Lane::worker`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use rig::{Job, JobControl};
use workload::Source;

use crate::borrowed::BorrowedBlocks;
use crate::flow::{Flow, FlowShare};
use crate::halt::Halt;
use crate::patience::Pulse;
use crate::recorder::ReportSender;

/// The part of a job that one worker runs.
pub(crate) struct Lane<'a> {
    pub job: &'a Job,
    /// Index of the job in the performance.
    pub job_index: u32,
    /// Number of the lane, and so of its worker, in the performance.
    pub number: u32,
    /// Number of its first source among those of the job.
    pub first: u32,
    pub sources: Vec<Box<dyn Source>>,
    /// In the first lane of the job, if the job has one.
    pub control: Option<Box<dyn JobControl>>,
    /// In the first lane of the job, if the job is in a flow.
    pub flow: Option<FlowShare>,
}

/// What the lanes of a performance share.
#[derive(Clone)]
pub(crate) struct LaneContext<'a> {
    /// Length of an interval, nanoseconds.
    pub interval_ns: u64,
    /// The stop flag of each lane.
    pub halt: &'a Halt,
    /// The way to the sampler.
    pub sender: ReportSender,
    /// Signs of life.
    pub pulse: Pulse,
    /// Whether steady stretches of virtual time may be skipped.
    pub leaps: bool,
    /// The original content, if writes carry it.
    pub borrowed: Option<&'a BorrowedBlocks>,
}

/// The lanes of all jobs, whose sources and controls move into them. `is_shared`: one lane has all
/// sources of a job.
pub(crate) fn lanes(jobs: &mut [Job], is_shared: impl Fn(&Job) -> bool) -> Vec<Lane<'_>> {
    let mut flows: BTreeMap<u32, Arc<Flow>> = BTreeMap::new();
    let mut lanes = Vec::new();
    for (job_index, job) in (0..).zip(jobs) {
        let (mut sources, mut control) = (std::mem::take(&mut job.sources), job.control.take());
        let job: &Job = job;
        let count = if is_shared(job) { sources.len() } else { 1 };
        let mut flow = job.issue.flow.map(|part| {
            FlowShare::new(flows.entry(part.group).or_default(), part.weight, part.rest_ns)
        });
        let mut first = 0;
        while !sources.is_empty() {
            lanes.push(Lane {
                job,
                job_index,
                number: lanes.len() as u32,
                first,
                sources: sources.drain(..count).collect(),
                control: control.take(),
                flow: flow.take(),
            });
            first += count as u32;
        }
    }
    lanes
}

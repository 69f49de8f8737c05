//! Jobs on files opened by the caller: for fio's runner until it names its files to a rig.

use std::fs::File;
use std::io;
use std::sync::atomic::AtomicBool;

use drive::Watch;
use rig::{BackendKind, IntervalObserver, Job, Observer, Performance, TargetInfo};

use crate::clock::Clock;
use crate::device::{AnyDevice, FdDevice};
use crate::machine::hot_limit;
use crate::patience::PATIENCE;
use crate::perform::{Cast, Performer};

/// A job with its files, opened in their final mode; none on the null backend.
pub struct Member {
    /// The job.
    pub job: Job,
    /// Its files.
    pub files: Vec<File>,
}

/// The surroundings of the jobs.
pub struct Stage<'a> {
    /// Name of the performance.
    pub name: &'a str,
    /// The clock of the run.
    pub clock: Clock,
    /// Start within the run, nanoseconds.
    pub start_ns: u64,
    /// Length of an interval, nanoseconds.
    pub interval_ns: u64,
    /// The drive under the first file.
    pub info: &'a TargetInfo,
    /// Its own counters, if any.
    pub watch: Option<&'a mut Watch>,
    /// The user's interrupt.
    pub interrupt: &'a AtomicBool,
    /// Receives events.
    pub observer: &'a mut dyn Observer,
    /// Receives the intervals of all jobs.
    pub intervals: Option<&'a mut dyn IntervalObserver>,
}

impl Stage<'_> {
    /// Runs the jobs to the end of the last.
    pub fn perform(self, members: Vec<Member>) -> io::Result<Performance> {
        let (jobs, devices): (Vec<_>, Vec<_>) = members.into_iter().map(open).unzip();
        let cast = |(job, device): (Job, _)| {
            let backend = job.issue.backend.unwrap_or(BackendKind::Psync);
            Cast { job, device, backend }
        };
        let casts = jobs.into_iter().zip(&devices).map(cast).collect();
        let performer = Performer {
            name: self.name,
            replicate: 0,
            clock: self.clock,
            start_ns: self.start_ns,
            interval_ns: self.interval_ns,
            info: self.info,
            watch: self.watch,
            interrupt: self.interrupt,
            observer: self.observer,
            intervals: self.intervals,
            by_job: true,
            patience_ns: PATIENCE.as_nanos() as u64,
            hot_c: hot_limit(self.info),
            pin: false,
            borrowed: None,
        };
        Ok(performer.perform(casts)?.0)
    }
}

fn open(member: Member) -> (Job, AnyDevice) {
    let Member { job, files } = member;
    if files.is_empty() {
        return (job, AnyDevice::Null);
    }
    let direct = job.workload.caching == workload::Caching::Bypass;
    let device = FdDevice::of_files(files, direct, rig::place_bits(&job.files));
    (job, AnyDevice::Fd(device))
}

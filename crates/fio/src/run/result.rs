//! The result of one clone: its counts and latencies, its operations, and the error that ended it.

use rig::JobResult;

use super::control::Judgement;
use super::oplog::OpLog;
use super::steady::SteadySeen;
use crate::Job;
use crate::value::errno_of;

/// The result of one clone.
#[derive(Debug)]
pub struct JobRun<'p> {
    pub job: &'p Job,
    /// Number of the clone, from 0.
    pub clone: u32,
    /// Its number among all clones of the plan, from 0.
    pub serial: u64,
    /// Start of its stage, nanoseconds since 1970.
    pub began_unix_ns: u64,
    /// Length of its sampling intervals, nanoseconds.
    pub interval_ns: u64,
    /// Number of address bits for the offset within a file.
    pub place_bits: u32,
    /// Counts and latencies.
    pub did: JobResult,
    /// Its operations, if a log has one line per operation.
    pub log: OpLog,
    /// The decisions of its control: a depth, an exceeded limit, errors after which it continued.
    pub judgement: Judgement,
    /// Its steady state, if requested by the job.
    pub steady: Option<SteadySeen>,
}

impl<'p> JobRun<'p> {
    /// The same result without its log of operations.
    pub(super) fn without_log(&self) -> JobRun<'p> {
        JobRun {
            did: self.did.clone(),
            log: OpLog::default(),
            judgement: self.judgement.clone(),
            steady: self.steady.clone(),
            ..*self
        }
    }

    /// The same clone without its counts, for a job that shows none.
    pub(crate) fn hidden<'h>(&self, job: &'h Job) -> JobRun<'h> {
        JobRun {
            job,
            did: JobResult::default(),
            log: OpLog::default(),
            judgement: Judgement::default(),
            steady: None,
            clone: self.clone,
            serial: self.serial,
            began_unix_ns: self.began_unix_ns,
            interval_ns: self.interval_ns,
            place_bits: self.place_bits,
        }
    }

    /// The file at one of its addresses, and the offset within it.
    pub fn place(&self, address: u64) -> (String, u64) {
        let (file, offset) = (address >> self.place_bits, address & ((1 << self.place_bits) - 1));
        let path = self.job.paths(self.clone).into_iter().nth(file as usize);
        (path.unwrap_or_default(), offset)
    }

    /// Number of its intervals that are not measured completely, because of its ramp or the search
    /// for its queue depth.
    pub(crate) fn ramp_intervals(&self) -> u64 {
        let schedule = &self.job.schedule;
        let searches = self.job.latency_target.as_ref().is_some_and(|target| !target.run);
        let has_ramp = !schedule.ramp_time.is_zero() || schedule.ramp_size > 0;
        if has_ramp || searches {
            self.did.begin_ns.div_ceil(self.interval_ns)
        } else {
            self.did.begin_ns / self.interval_ns
        }
    }

    /// The error number that ended it; 0 for none.
    pub fn error(&self) -> i32 {
        if let Some((code, _)) = self.judgement.failed {
            return code;
        }
        let errors = &self.did.measurement.errors;
        match errors.iter().find(|error| error.op != "verify") {
            Some(error) => errno_of(&error.kind),
            None if self.faults() == 0 || self.job.errors.forgives_faults() => 0,
            None => FAULT,
        }
    }

    /// Blocks that failed verification.
    pub(crate) fn faults(&self) -> u64 {
        let errors = &self.did.measurement.errors;
        errors.iter().filter(|error| error.op == "verify").map(|error| error.count).sum()
    }
}

/// fio's number for a verification failure.
pub(crate) const FAULT: i32 = rig::errno::EILSEQ;

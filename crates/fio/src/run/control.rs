//! Decisions about a running job, based on its completions: `max_latency`, `rate_min`,
//! `latency_target`, `ramp_size`, and the errors after which it continues.

use std::sync::{Arc, Mutex, PoisonError};

use rig::{Continuation, JobControl, errno};
use workload::{Op, OpKind};

use super::least::Least;
use super::search::Search;
use crate::job::direction;
use crate::{Job, PerKind};

/// Errors after which `continue_on_error` continues, unless `ignore_error` names others.
const USUAL: [i32; 2] = [errno::EIO, errno::EILSEQ];

/// The decisions about one clone.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// The final queue depth, if `latency_target` searched for it.
    pub depth: Option<u32>,
    /// The error number that ended the job, and the reason.
    pub failed: Option<(i32, String)>,
    /// Errors after which it continued.
    pub forgiven: u64,
    /// Number of the first of these errors; 0 without any.
    pub first_error: i32,
}

/// A judgement filled in while the job runs, and read after its end.
pub(super) type SharedJudgement = Arc<Mutex<Judgement>>;

/// The rules of one clone.
pub(super) struct JobRules {
    ramp_ns: u64,
    /// Remaining bytes of the ramp.
    ramp_bytes: u64,
    latency_ns_max: PerKind<Option<u64>>,
    least: Option<Least>,
    search: Option<Search>,
    /// Error numbers after which it continues, for reads and for writes.
    forgives: [Vec<i32>; 2],
    judgement: SharedJudgement,
}

impl JobRules {
    /// The rules of a job, if it has any.
    pub(super) fn new(job: &Job, depth: u32) -> Option<JobRules> {
        let ramp_ns = job.schedule.ramp_time.as_nanos() as u64;
        let latency_max = job.pace.max_latency;
        let rules = JobRules {
            ramp_ns,
            ramp_bytes: job.schedule.ramp_size,
            latency_ns_max: latency_max.map(|time| time.map(|time| time.as_nanos() as u64)),
            least: Least::new(job, ramp_ns),
            search: job.latency_target.as_ref().map(|target| Search::new(target, depth, ramp_ns)),
            forgives: forgiven(job),
            judgement: SharedJudgement::default(),
        };
        let forgives = rules.forgives.iter().any(|list| !list.is_empty());
        (rules.watches() || forgives).then_some(rules)
    }

    /// The judgement filled in by these rules.
    pub(super) fn judgement(&self) -> SharedJudgement {
        Arc::clone(&self.judgement)
    }

    fn note(&self, change: impl FnOnce(&mut Judgement)) {
        change(&mut self.judgement.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn fail(&self, error: i32, why: String) -> Continuation {
        self.note(|judgement| judgement.failed = Some((error, why)));
        Continuation::Fail
    }

    fn reset(&mut self, now_ns: u64) {
        self.ramp_ns = 0;
        if let Some(least) = &mut self.least {
            least.restart(now_ns);
        }
        if let Some(search) = &mut self.search {
            search.restart(now_ns);
        }
    }

    fn too_slow(&self, op: &Op, service_ns: u64, limit: u64) -> Continuation {
        let reason = format!(
            "latency of {service_ns} nsec exceeds specified max ({limit} nsec): {} {} {}",
            op.kind.name(),
            op.offset,
            op.bytes
        );
        self.fail(errno::ETIMEDOUT, reason)
    }
}

impl JobControl for JobRules {
    fn first_depth(&self) -> Option<u32> {
        self.search.as_ref().map(Search::depth)
    }

    fn watches(&self) -> bool {
        let limited = self.latency_ns_max.each().iter().any(|limit| limit.is_some());
        limited || self.ramp_bytes > 0 || self.least.is_some() || self.search.is_some()
    }

    fn completed(&mut self, op: &Op, service_ns: u64, now_ns: u64) -> Continuation {
        let Some(kind) = direction(op.kind).filter(|_| now_ns >= self.ramp_ns) else {
            return Continuation::GoOn;
        };
        if self.ramp_bytes > 0 {
            self.ramp_bytes = self.ramp_bytes.saturating_sub(u64::from(op.bytes));
            if self.ramp_bytes > 0 {
                return Continuation::GoOn;
            }
            self.reset(now_ns);
            return Continuation::Reset;
        }
        if let Some(limit) = self.latency_ns_max.each()[kind].filter(|limit| service_ns > *limit) {
            return self.too_slow(op, service_ns, limit);
        }
        if let Some(reason) = self.least.as_mut().and_then(|l| l.missed(kind, op.bytes, now_ns)) {
            return self.fail(errno::EIO, reason);
        }
        let Some(search) = &mut self.search else { return Continuation::GoOn };
        let ruling = search.completed(service_ns, now_ns);
        let depth = search.depth();
        match ruling {
            None => {
                let limit = search.target_ns();
                self.too_slow(op, service_ns, limit)
            }
            Some(ruling) => {
                if ruling != Continuation::GoOn {
                    self.note(|judgement| judgement.depth = Some(depth));
                }
                ruling
            }
        }
    }

    fn forgives(&mut self, op: &Op, result: i64) -> bool {
        let code = -result as i32;
        let list = match op.kind {
            OpKind::Read => &self.forgives[0],
            OpKind::Write | OpKind::Flush | OpKind::Discard => &self.forgives[1],
        };
        let forgiven = result < 0 && list.contains(&code);
        if forgiven {
            self.note(|judgement| {
                judgement.forgiven += 1;
                if judgement.first_error == 0 {
                    judgement.first_error = code;
                }
            });
        }
        forgiven
    }
}

/// Error numbers after which a job continues: those that it names, or the usual ones.
fn forgiven(job: &Job) -> [Vec<i32>; 2] {
    let errors = &job.errors;
    let kinds =
        [(errors.go_on.read, &errors.ignore_read), (errors.go_on.write, &errors.ignore_write)];
    kinds.map(|(goes_on, codes)| {
        if !goes_on {
            Vec::new()
        } else if codes.is_empty() {
            USUAL.to_vec()
        } else {
            codes.clone()
        }
    })
}

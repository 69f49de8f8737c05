//! The cold path of a completion: failures, verification, logs, and reads that returned zeros.

use rig::{Logged, errno};
use workload::{Op, OpKind};

use super::Worker;
use crate::backend::Backend;

/// Maximum number of wrong blocks kept: enough for a diagnosis, with little memory.
const DUMPS_MAX: usize = 16;

/// Number of reads checked for zeros: enough for a conclusion, at negligible cost.
const READS_SAMPLED: u32 = 16;

/// Logged operations per report: few messages, little memory.
const LOG_BATCH: usize = 4096;

impl<B: Backend> Worker<'_, B> {
    #[cold]
    pub(super) fn failed(&mut self, slot: u32, result: i64) {
        let op = self.slots[slot as usize].op;
        self.failed += 1;
        self.count_failure(op, result);
        if let Some(verifier) = &mut self.verifier {
            verifier.complete(slot, false, &[]);
        }
    }

    /// Counts a failure, and gives up after too many in succession.
    pub(super) fn count_failure(&mut self, op: Op, result: i64) {
        self.recorder.error(op, result);
        if self.forgiven(&op, result) {
            self.failures = 0;
            return;
        }
        let fatal_errors = [errno::ENODEV, errno::ENXIO, errno::EBADF];
        let weight =
            if fatal_errors.iter().any(|e| result == -i64::from(*e)) { u32::MAX / 2 } else { 1 };
        self.failures = self.failures.saturating_add(weight);
        if self.failures >= self.issue.failures_max {
            self.give_up();
        }
    }

    /// Whether more reads are to be checked for zeros. A verified read is checked anyway.
    fn samples_reads(&self) -> bool {
        self.verifier.is_none()
            && self.workload.mix.read > 0
            && self.end.reads_sampled < READS_SAMPLED
    }

    /// Decides whether the next completions are examined one by one.
    pub(super) fn look_again(&mut self) {
        let is_watched = self.control.watches() || self.issue.log || self.issue.times_submission;
        self.looks = is_watched || self.verifier.is_some() || self.samples_reads();
    }

    /// Examines a completed operation: for the control, the log, verification, or zeros.
    #[cold]
    pub(super) fn look_at(&mut self, slot: u32, now: u64, service_ns: u64) {
        let op = self.slots[slot as usize].op;
        if self.control.watches() {
            self.show(&op, service_ns, now);
        }
        let mut submission_ns = 0;
        if let Some(submitted) = self.backend.submitted(slot) {
            let call_ns = submitted.saturating_sub(self.origin + now - service_ns);
            submission_ns = call_ns.min(service_ns);
            self.recorder.count_submission(op.kind, submission_ns, service_ns - submission_ns);
        }
        if self.issue.log && now >= self.issue.ramp_ns {
            let priority = self.backend.priority(slot);
            self.log.push(Logged { priority, done_ns: now, service_ns, submission_ns, op });
            if self.log.len() >= LOG_BATCH {
                self.report_log();
            }
        }
        if self.verifier.is_some() {
            self.verify(slot, op);
        } else if op.kind == OpKind::Read && self.samples_reads() {
            self.end.reads_sampled += 1;
            self.end.reads_zero += u32::from(self.backend.read_zeros(slot, &op));
            self.look_again();
        }
    }

    fn verify(&mut self, slot: u32, op: Op) {
        let Some(verifier) = &mut self.verifier else { return };
        let buffer = self.backend.buffer(slot, op.bytes);
        let Some((fault, offset)) = verifier.complete(slot, true, buffer) else { return };
        self.recorder.fault("verify", fault.name(), offset);
        if self.issue.dump && self.end.dumps.len() < DUMPS_MAX {
            self.end.dumps.push(verifier.dump(op, offset, buffer));
        }
        if self.issue.fault_ends {
            self.give_up();
        }
    }

    /// Reports the operations logged since the last time.
    pub(super) fn report_log(&mut self) {
        if !self.log.is_empty() {
            self.recorder.log(std::mem::take(&mut self.log));
        }
    }
}

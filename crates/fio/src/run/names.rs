//! Clones whose engine only calls on the names of their files: creates, asks about or removes them.
//!
//! As in fio, the calls are timed, and the blocks of the files count as operations although none is
//! moved.

use std::path::Path;

use rig::{Files, JobResult, KindStats, Logged, NameCall, errno};
use workload::{Op, OpKind};

use super::RunError;
use super::clones::JobClone;
use super::control::Judgement;
use super::result::JobRun;
use super::stage::{idle, op_log};
use crate::{Engine, Plan};

/// Makes the calls of a clone, one after the other.
pub(super) fn perform<'p>(
    clone: &JobClone<'p>,
    plan: &Plan,
    files: &mut dyn Files,
) -> Result<JobRun<'p>, RunError> {
    let mut run = JobRun { log: op_log(clone, plan)?, ..idle(clone) };
    let Engine::Names(call) = clone.job.engine else { return Ok(run) };
    let kind = if clone.job.access.rw.reads() { OpKind::Read } else { OpKind::Write };
    let block = clone.job.access.min_bs().max(1);
    let (mut stats, mut end_ns) = (KindStats::default(), 0);
    let paths: Vec<_> = clone.files.iter().map(|used| used.path.as_path()).collect();
    let is_set_up = paths.iter().try_for_each(|path| set_up(call, path, files));
    let called = is_set_up.and_then(|()| {
        for (path, span) in paths.iter().zip(&clone.spans) {
            let service_ns = files.call(call, path).map_err(|number| (number, *path))?;
            end_ns += service_ns;
            stats.service.record(service_ns);
            stats.ops += span.bytes / block;
            stats.bytes += span.bytes / block * block;
            let op = Op { kind, offset: 0, bytes: 0 };
            let entry = Logged { priority: 0, done_ns: end_ns, service_ns, submission_ns: 0, op };
            run.log.add(&[entry]);
        }
        Ok(())
    });
    if let Err((number, path)) = called {
        let text = format!("{}: {}", path.display(), errno::name(number));
        run.judgement = Judgement { failed: Some((number, text)), ..Judgement::default() };
    }
    let mut did =
        JobResult { issued: stats.ops, issue_end_ns: end_ns, end_ns, ..JobResult::default() };
    did.seen.kinds[kind as usize] = Some(stats);
    Ok(JobRun { did, ..run })
}

/// Makes what the calls need. What is there stays, and is not removed.
fn set_up<'f>(
    call: NameCall,
    path: &'f Path,
    files: &mut dyn Files,
) -> Result<(), (i32, &'f Path)> {
    let first_call = match call {
        NameCall::CreateFile | NameCall::CreateDirectory => return Ok(()),
        NameCall::StatFile | NameCall::DeleteFile => NameCall::CreateFile,
        NameCall::StatDirectory | NameCall::DeleteDirectory => NameCall::CreateDirectory,
    };
    match files.call(first_call, path) {
        Ok(_) | Err(errno::EEXIST) => Ok(()),
        Err(number) => Err((number, path)),
    }
}

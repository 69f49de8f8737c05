//! fio's I/O logs (`write_iolog`), version 3: every operation of a clone, in order of issue.
//!
//! Operations are kept in order of completion. They are sorted in a window, because a log may be
//! larger than memory; an operation that took longer than the whole window comes too late in the
//! file, with the time of its neighbours. As in fio, a log that exists is continued, and clones share
//! the file.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rig::Logged;
use workload::{Op, OpKind};

use crate::iolog::HEADER_3;
use crate::run::{JobRun, Ran};
use crate::{Job, Plan};

/// Operations that are sorted at a time, about 40 bytes each; arbitrary, seconds of a fast drive.
const WINDOW: usize = 1 << 20;

/// An operation: time of issue in nanoseconds, its number in order of completion, and itself.
type Pending = Reverse<(u64, u64, OpKind, u64, u32)>;

/// Writes the I/O logs requested by the jobs, where fio would: `--aux-path` does not apply.
pub fn write_iologs(ran: &Ran<'_>) -> io::Result<()> {
    for path in iolog_paths(ran.plan) {
        let runs = ran.jobs.iter().filter(|run| path_of(run.job).is_some_and(|own| own == path));
        let mut file = BufWriter::new(emit::Replacement::renew(&path, HEADER_3.as_bytes())?);
        if path.is_file() {
            io::copy(&mut File::open(&path)?, &mut file)?;
        }
        for run in runs {
            IologWriter { run, out: &mut file, pending: BinaryHeap::new(), last_us: 0 }.write()?;
        }
        file.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
    }
    Ok(())
}

/// The paths of the I/O logs of a plan, each once.
pub fn iolog_paths(plan: &Plan) -> Vec<PathBuf> {
    let mut paths: Vec<_> = plan.jobs.iter().filter_map(path_of).map(PathBuf::from).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

fn path_of(job: &Job) -> Option<&Path> {
    job.logs.iolog.as_deref().map(Path::new)
}

struct IologWriter<'r, W> {
    run: &'r JobRun<'r>,
    out: &'r mut W,
    /// Operations that others may precede.
    pending: BinaryHeap<Pending>,
    /// Time of the last line, microseconds.
    last_us: u64,
}

impl<W: Write> IologWriter<'_, W> {
    fn write(&mut self) -> io::Result<()> {
        let run = self.run;
        let paths = run.job.paths(run.clone);
        writeln!(self.out, "{HEADER_3}")?;
        for action in ["add", "open"] {
            paths.iter().try_for_each(|path| writeln!(self.out, "0 {path} {action}"))?;
        }
        let mut number = 0;
        run.log.each(|logged| {
            number += 1;
            self.add(number, logged, &paths)
        })?;
        while !self.pending.is_empty() {
            self.write_first(&paths)?;
        }
        let last_us = self.last_us;
        paths.iter().try_for_each(|path| writeln!(self.out, "{last_us} {path} close"))
    }

    fn add(&mut self, number: u64, logged: &Logged, paths: &[String]) -> io::Result<()> {
        let Op { kind, offset, bytes } = logged.op;
        let issue_ns = logged.done_ns.saturating_sub(logged.service_ns);
        self.pending.push(Reverse((issue_ns, number, kind, offset, bytes)));
        if self.pending.len() > WINDOW { self.write_first(paths) } else { Ok(()) }
    }

    /// Writes the operation that was issued first.
    fn write_first(&mut self, paths: &[String]) -> io::Result<()> {
        let Some(Reverse((issue_ns, _, kind, address, bytes))) = self.pending.pop() else {
            return Ok(());
        };
        self.last_us = self.last_us.max(issue_ns / 1000);
        let bits = self.run.place_bits;
        let (file, offset) = (address >> bits, address & ((1 << bits) - 1));
        let path = paths.get(file as usize).map_or("", String::as_str);
        let action = match kind {
            OpKind::Read => "read",
            OpKind::Write => "write",
            OpKind::Discard => "trim",
            OpKind::Flush if self.run.job.flushes_metadata() => "sync",
            OpKind::Flush => "datasync",
        };
        writeln!(self.out, "{} {path} {action} {offset} {bytes}", self.last_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::IoLog;
    use crate::run::OpLog;
    use crate::testing;

    fn logged(done_ns: u64, service_ns: u64, kind: OpKind, offset: u64, bytes: u32) -> Logged {
        let op = Op { kind, offset, bytes };
        Logged { priority: 0, done_ns, service_ns, submission_ns: 0, op }
    }

    #[test]
    fn a_log_is_in_order_of_issue_and_continues_the_old_one() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log");
        let option = format!("--write_iolog={}", path.display());
        let plan = testing::plan(&["--name=a", "--size=1m", "--nrfiles=2", &option]);
        let mut run = testing::job_run(&plan.jobs[0]);
        run.place_bits = 20;
        run.log = OpLog::within(directory.path()).expect("a log");
        run.log.add(&[
            logged(3000, 1000, OpKind::Read, 1 << 20 | 4096, 4096),
            logged(9000, 8000, OpKind::Write, 0, 512),
            logged(12_000, 1000, OpKind::Flush, 0, 0),
        ]);
        let ran = testing::ran(&plan, vec![run]);
        write_iologs(&ran).expect("written");
        let once = std::fs::read_to_string(&path).expect("there");
        let lines =
            "1 a.0.0 write 0 512\n2 a.0.1 read 4096 4096\n11 a.0.0 sync 0 0\n11 a.0.0 close";
        assert!(once.contains(lines), "{once}");
        write_iologs(&ran).expect("written");
        let twice = std::fs::read_to_string(&path).expect("there");
        assert_eq!(twice, once.repeat(2));
        let log = IoLog::parse(&twice).expect("read");
        let due_us: Vec<_> = log.ops.iter().map(|op| op.due_us).collect();
        assert_eq!(due_us, [1, 2, 11, 12, 13, 22]);
        std::fs::write(&path, "another's file\n").expect("written");
        assert!(write_iologs(&ran).is_err());
    }
}

//! One job: a workload, issued one way, on one target.
//!
//! A job is plain data but for its sources of operations and its control, so that it can be planned,
//! refused or run by any [`crate::Rig`]. Files are named, never opened, here.

use std::ops::Range;
use std::path::PathBuf;

use workload::{OpStream, Region, Source, Workload};

use crate::{Issue, JobControl};

/// One job of a performance.
pub struct Job {
    /// Name, block sizes, mix, content, depth, pacing, stop and verify. Its region holds every
    /// address that the sources give; its block sizes are the smallest and the largest of theirs.
    pub workload: Workload,
    /// The operations, one source for each of the workload's jobs, at least one. Each source has a
    /// thread of its own on a real target.
    pub sources: Vec<Box<dyn Source>>,
    /// How they are issued.
    pub issue: Issue,
    /// The files it works on; none: the target of the rig. With several files an operation's address
    /// holds the number of the file above [`place_bits`] bits for the place in it.
    pub files: Vec<FileUse>,
    /// When it begins, and whose end its own end is.
    pub start: Start,
    /// Where in the machine it runs. A virtual drive has no machine around it and ignores this.
    pub placement: Placement,
    /// Sees every completion and decides how the job goes on, if anybody does.
    pub control: Option<Box<dyn JobControl>>,
}

impl Job {
    /// A job with a source of its own, begun at once, issued in the usual way on the rig's target.
    pub fn new(workload: Workload, source: Box<dyn Source>) -> Job {
        Job {
            workload,
            sources: vec![source],
            issue: Issue::default(),
            files: Vec::new(),
            start: Start::default(),
            placement: Placement::default(),
            control: None,
        }
    }

    /// A workload as one job: its operations are those of its own streams.
    pub fn of(workload: &Workload) -> Job {
        let stream = |lane| Box::new(OpStream::new(workload, lane)) as Box<dyn Source>;
        let sources = (0..workload.jobs).map(stream).collect();
        Job { sources, ..Job::new(workload.clone(), Box::new(OpStream::new(workload, 0))) }
    }

    /// The name of its workload.
    pub fn name(&self) -> &str {
        &self.workload.name
    }
}

/// A file that a job works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileUse {
    /// The file or device as the user named it. A plan may span devices: each file says its own.
    pub path: PathBuf,
    /// The part of it that is used.
    pub region: Region,
}

/// Bits of an address for the place in a file, where a job has these files: all of them for one
/// file, as many as the largest end needs for several.
pub fn place_bits(files: &[FileUse]) -> u32 {
    let largest = files.iter().map(|file| file.region.end()).max().unwrap_or(1);
    if files.len() <= 1 { u64::BITS - 1 } else { u64::BITS - largest.leading_zeros() }
}

/// When a job begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Delay after the start of all, or after the end of the last job it waits for, nanoseconds.
    pub delay_ns: u64,
    /// Numbers of the jobs that must have ended before it begins.
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// The processors it may use; none named: all.
    pub cpus: Vec<usize>,
    /// Priority for the processor, -20 (first) to 19.
    pub nice: Option<i32>,
    /// Class (0 to 3) and level (0 to 7) for the drive.
    pub io_priority: Option<(u8, u8)>,
    /// On which NUMA nodes its memory is allocated.
    pub memory: Option<MemoryPolicy>,
}

/// On which NUMA nodes memory is allocated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryPolicy {
    /// On the node that the thread runs on.
    Local,
    /// There, as long as there is room.
    Prefer(u32),
    /// On these only.
    Bind(Vec<u32>),
    /// On these in turn.
    Interleave(Vec<u32>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_has_the_whole_address_and_several_share_it() {
        let file = |end| FileUse { path: "f".into(), region: Region::first(end) };
        assert_eq!(place_bits(&[]), 63);
        assert_eq!(place_bits(&[file(5)]), 63);
        // The exclusive end must fit, too: a flush may carry it.
        assert_eq!(place_bits(&[file(5), file(1 << 20)]), 21);
    }
}

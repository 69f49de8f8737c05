//! One job: a workload, and how its operations are issued, on one target.
//!
//! A job is plain data except for its sources and its control, so any [`crate::Rig`] can plan,
//! refuse or run it. A job only names files; it does not open them.

use std::ops::Range;
use std::path::PathBuf;

use workload::{OpStream, Region, Source, Workload};

use crate::{Issue, JobControl};

/// One job of a performance.
pub struct Job {
    /// Name, block sizes, mix, content, depth, pacing, stop and verify. Its region must contain
    /// every address of the sources; its block sizes are the smallest and largest of theirs.
    pub workload: Workload,
    /// The operations: one source for each of the workload's jobs, at least one. On a real target
    /// each source has its own thread.
    pub sources: Vec<Box<dyn Source>>,
    /// How they are issued.
    pub issue: Issue,
    /// Its files; empty: the rig's target. With several files, the bits of an operation's address
    /// above [`place_bits`] select the file.
    pub files: Vec<FileUse>,
    /// When it begins, and whether its end also ends the other jobs.
    pub start: Start,
    /// Its placement in the machine; ignored on a virtual drive.
    pub placement: Placement,
    /// Receives every completion and decides how the job continues.
    pub control: Option<Box<dyn JobControl>>,
}

impl Job {
    /// A job with the given source, the default settings and an immediate start, on the rig's
    /// target.
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

    /// A workload as one job with its own streams.
    pub fn from_workload(workload: &Workload) -> Job {
        let streams = (0..workload.jobs).map(|lane| OpStream::new(workload, lane));
        let sources = streams.map(|stream| Box::new(stream) as Box<dyn Source>).collect();
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
    /// The file or device as the user named it. One plan may use files on several devices.
    pub path: PathBuf,
    /// The part that is used.
    pub region: Region,
}

/// The number of address bits used for the offset within a file: all 63 for one file; for several,
/// as many as the largest end needs.
pub fn place_bits(files: &[FileUse]) -> u32 {
    let largest = files.iter().map(|file| file.region.end()).max().unwrap_or(1);
    if files.len() <= 1 { u64::BITS - 1 } else { u64::BITS - largest.leading_zeros() }
}

/// When a job begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Delay after the common start, or after the last of the jobs in `after` has ended,
    /// nanoseconds.
    pub delay_ns: u64,
    /// Indices of the jobs that must end before it begins.
    pub after: Range<usize>,
    /// Whether its end also ends the other jobs.
    pub ends_all: EndsAll,
}

/// Whether the end of a job ends all jobs that run with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EndsAll {
    /// No.
    #[default]
    Never,
    /// If the job ended with an error.
    OnError,
    /// Always, with or without an error.
    Always,
}

/// Placement of a job on processors and memory nodes, and its priorities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// The processors it may use; empty: all.
    pub cpus: Vec<usize>,
    /// Scheduling priority, -20 (highest) to 19.
    pub nice: Option<i32>,
    /// I/O priority: class (0 to 3) and level (0 to 7).
    pub io_priority: Option<(u8, u8)>,
    /// NUMA policy of its memory.
    pub memory: Option<MemoryPolicy>,
}

/// NUMA nodes on which memory is allocated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryPolicy {
    /// The node of the running thread.
    Local,
    /// This node, if it has free memory.
    Prefer(u32),
    /// Only these nodes.
    Bind(Vec<u32>),
    /// These nodes in turn.
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

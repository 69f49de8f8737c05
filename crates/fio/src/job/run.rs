//! The execution of a job: start and end, engine, queue depth, rates and processors.

use std::time::Duration;

pub use rig::{MemoryPolicy, NameCall, RingFeatures};

use super::{PerKind, TimeRange};

/// Start and end of a job, the jobs it waits for and the jobs it ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// `stonewall` (`wait_for_previous`): starts when all jobs before it have ended. Also set for
    /// the first job of every job file except the first.
    pub stonewall: bool,
    /// `wait_for=`: index in [`crate::Plan::jobs`] of a job whose clones must all have ended.
    pub wait_for: Option<usize>,
    pub startdelay: TimeRange,
    /// `runtime=` (`timeout`): ends after this time, counted from the end of `ramp_time`; none by
    /// default.
    pub runtime: Option<Duration>,
    /// `time_based`: repeats until `runtime`.
    pub time_based: bool,
    /// `ramp_time=`: unmeasured ramp-up.
    pub ramp_time: Duration,
    /// `ramp_size=`: bytes of the unmeasured ramp-up.
    pub ramp_size: u64,
    /// `loops=`: repetitions of the whole job; at least 1.
    pub loops: u32,
    /// `exitall`: the end of this job ends others. As in fio, one job's option sets it for all.
    pub exitall: bool,
    /// `exit_what=`: the jobs that it ends.
    pub exit_what: ExitWhat,
    /// `exitall_on_error`: the same when it ends in an error.
    pub exitall_on_error: bool,
}

/// `exit_what=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExitWhat {
    /// In fio, the jobs of its reporting group; here the same as [`ExitWhat::Stonewall`].
    #[default]
    Group,
    /// The jobs started since the last stonewall.
    Stonewall,
    /// All jobs, including those not yet started.
    All,
}

/// `ioengine=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// read/write at the file position.
    Sync,
    /// pread/pwrite; fio's default on Linux.
    #[default]
    Psync,
    /// readv/writev over adjacent operations of a queue.
    Vsync,
    /// preadv/pwritev.
    Pvsync,
    /// preadv2/pwritev2.
    Pvsync2,
    /// Linux AIO.
    Libaio,
    /// io_uring.
    IoUring,
    /// POSIX AIO: threads of the C library around pread/pwrite.
    Posixaio,
    /// Memory mapping.
    Mmap,
    /// No I/O at all.
    Null,
    /// Calls on the names of its files, which move no data.
    Names(NameCall),
}

impl Engine {
    /// fio's name.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Sync => "sync",
            Engine::Psync => "psync",
            Engine::Vsync => "vsync",
            Engine::Pvsync => "pvsync",
            Engine::Pvsync2 => "pvsync2",
            Engine::Libaio => "libaio",
            Engine::IoUring => "io_uring",
            Engine::Posixaio => "posixaio",
            Engine::Mmap => "mmap",
            Engine::Null => "null",
            Engine::Names(NameCall::CreateFile) => "filecreate",
            Engine::Names(NameCall::StatFile) => "filestat",
            Engine::Names(NameCall::DeleteFile) => "filedelete",
            Engine::Names(NameCall::CreateDirectory) => "dircreate",
            Engine::Names(NameCall::StatDirectory) => "dirstat",
            Engine::Names(NameCall::DeleteDirectory) => "dirdelete",
        }
    }

    /// Whether its operations reach the files: there is something to lay out, open and write.
    pub fn moves_data(self) -> bool {
        !matches!(self, Engine::Null | Engine::Names(_))
    }

    /// Whether it can have more than one operation in flight; for other engines, `iodepth` has no
    /// effect. (`vsync` gathers a queue of operations into one call.)
    pub fn asynchronous(self) -> bool {
        matches!(self, Engine::Libaio | Engine::IoUring | Engine::Posixaio | Engine::Null)
    }
}

/// Queue depth, and batches of submission and completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueOptions {
    /// `iodepth=`: maximum operations in flight per clone; at least 1.
    pub depth: u32,
    /// `iodepth_batch=`: maximum operations submitted in one call, 1 to `depth`; 1 by default,
    /// `depth` if 0 is given.
    pub batch: u32,
    /// `iodepth_batch_complete_min=`: completions to wait for; 1 by default.
    pub complete_min: u32,
    /// `iodepth_batch_complete_max=`: maximum completions collected; `complete_min` by default. The
    /// runner ignores it.
    pub complete_max: u32,
    /// `iodepth_low=`: a full queue is drained to this depth before more is submitted; `depth` by
    /// default.
    pub low: u32,
    /// `serialize_overlap`: an operation that overlaps one in flight waits for it.
    pub serialize_overlap: bool,
    /// `sqthread_poll`, `hipri`, `force_async=` of `ioengine=io_uring`.
    pub ring: RingFeatures,
}

impl Default for QueueOptions {
    fn default() -> QueueOptions {
        QueueOptions {
            depth: 1,
            batch: 1,
            complete_min: 1,
            complete_max: 1,
            low: 1,
            serialize_overlap: false,
            ring: RingFeatures::default(),
        }
    }
}

/// Rates and pauses.
#[derive(Clone, Debug, PartialEq)]
pub struct PaceOptions {
    /// `rate=`: bytes per second per clone.
    pub rate: PerKind<Option<u64>>,
    /// `rate_iops=`: operations per second per clone. Never together with `rate`.
    pub rate_iops: PerKind<Option<u32>>,
    /// `rate_min=`: the job fails if its rate over `rate_cycle` is lower.
    pub rate_min: PerKind<Option<u64>>,
    /// `rate_iops_min=`: the same in operations.
    pub rate_iops_min: PerKind<Option<u32>>,
    /// `rate_process=`.
    pub process: RateProcess,
    /// `rate_cycle=`: time over which `rate_min` is averaged; 1 s by default.
    pub cycle: Duration,
    /// `rate_ignore_thinktime`: the job does not catch up after a pause.
    pub ignore_thinktime: bool,
    /// Pauses.
    pub think: ThinkOptions,
    /// `flow=`: a ratio to other jobs.
    pub flow: FlowWeight,
    /// `max_latency=`: the job fails if an operation takes longer.
    pub max_latency: PerKind<Option<Duration>>,
}

impl Default for PaceOptions {
    fn default() -> PaceOptions {
        PaceOptions {
            rate: PerKind::default(),
            rate_iops: PerKind::default(),
            rate_min: PerKind::default(),
            rate_iops_min: PerKind::default(),
            process: RateProcess::Linear,
            cycle: Duration::from_secs(1),
            ignore_thinktime: false,
            think: ThinkOptions::default(),
            flow: FlowWeight::default(),
            max_latency: PerKind::default(),
        }
    }
}

/// `flow=`: the operations of jobs of one flow keep the ratio of their weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowWeight {
    /// `flow=`: its weight; 0 for a job without a flow.
    pub weight: u32,
    /// `flow_id=`: the flow it belongs to.
    pub id: u32,
    /// `flow_sleep=`: its pause while it is ahead.
    pub sleep: Duration,
}

/// `rate_process=`: when operations are due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateProcess {
    /// Evenly.
    #[default]
    Linear,
    /// As independent arrivals.
    Poisson,
}

/// `thinktime=`: pauses between blocks of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThinkOptions {
    /// Length of a pause; zero: none.
    pub time: Duration,
    /// `thinktime_spin=`: part of the pause spent busy; at most `time`.
    pub spin: Duration,
    /// `thinktime_blocks=`: operations between pauses; 1 by default, none with `iotime` alone.
    pub blocks: Option<u32>,
    /// `thinktime_iotime=`: time between pauses; with `blocks`, whichever ends first.
    pub iotime: Duration,
}

/// Processors and priorities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineOptions {
    /// `cpus_allowed=` (`cpumask=`): distinct numbers, ascending; empty: all.
    pub cpus: Vec<u32>,
    /// `cpus_allowed_policy=`.
    pub cpu_policy: CpuPolicy,
    /// `nice=`: -20 to 19.
    pub nice: i32,
    /// `prio=`: I/O priority within its class, 0 (first) to 7.
    pub prio: Option<u8>,
    /// `prioclass=`: 1 real time, 2 best effort, 3 idle, 0 none.
    pub prioclass: Option<u8>,
    /// `numa_cpu_nodes=`: the nodes on whose processors it runs; empty: all.
    pub numa_nodes: Vec<u32>,
    /// `numa_mem_policy=`: the nodes of its memory.
    pub memory: Option<MemoryPolicy>,
    /// `cmdprio_percentage=`, `cmdprio_bssplit=`: shares of operations with a different priority.
    pub priorities: PerKind<Vec<PriorityShare>>,
}

/// A share of a direction's operations, with its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityShare {
    /// Size of the operations, bytes; `None`: all sizes.
    pub bytes: Option<u64>,
    pub percent: u32,
    /// Class, hint and level in one number, as for `ioprio_set`.
    pub own: Option<u16>,
}

/// `cpus_allowed_policy=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CpuPolicy {
    /// Every clone may use all of them.
    #[default]
    Shared,
    /// Clone `n` gets the `n`th, modulo their number.
    Split,
}

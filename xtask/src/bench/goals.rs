//! The comparisons of the engine with fio, and their goals.

/// A comparison: the same I/O, expressed as options of both tools.
pub struct Case {
    /// Name in the table.
    pub name: &'static str,
    /// Target.
    pub place: CaseTarget,
    /// Options for ssdyno, without target and time.
    pub ours: &'static [&'static str],
    /// Options for fio, without file name and time.
    pub fio: &'static [&'static str],
    /// Minimum rate relative to fio.
    pub rate_min: f64,
    /// Maximum processor time per operation relative to fio.
    pub cpu_max: Option<f64>,
}

/// Target of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseTarget {
    /// No target.
    Null,
    /// A file in the page cache.
    Cached,
    /// A file on the machine's disk, bypassing the page cache.
    Disk,
    /// A loop device over memory, bypassing the page cache.
    Loop,
}

const REGISTERED: [&str; 2] = ["--registerfiles=1", "--fixedbufs=1"];

/// fio's options for a batch of 16 at depth 64.
const BATCH: [&str; 4] = [
    "--iodepth=64",
    "--iodepth_batch_submit=16",
    "--iodepth_batch_complete_min=1",
    "--iodepth_batch_complete_max=16",
];

/// All cases, with the goals of the design. fio gets `--norandommap`, which makes it faster.
pub const CASES: [Case; 9] = [
    Case {
        name: "null, depth 1",
        place: CaseTarget::Null,
        ours: &["--backend", "null"],
        fio: &["--ioengine=null", "--iodepth=1"],
        rate_min: 4.0,
        cpu_max: None,
    },
    Case {
        name: "null, depth 64",
        place: CaseTarget::Null,
        ours: &["--backend", "null", "--depth", "64"],
        fio: &["--ioengine=null", "--iodepth=64"],
        rate_min: 8.0,
        cpu_max: None,
    },
    Case {
        name: "psync, cached",
        place: CaseTarget::Cached,
        ours: &["--backend", "psync", "--buffered"],
        fio: &["--ioengine=psync", "--invalidate=0"],
        rate_min: 1.20,
        cpu_max: Some(0.80),
    },
    Case {
        name: "io_uring, cached, depth 1",
        place: CaseTarget::Cached,
        ours: &["--backend", "uring", "--buffered"],
        fio: &["--ioengine=io_uring", "--invalidate=0", REGISTERED[0], REGISTERED[1]],
        rate_min: 1.20,
        cpu_max: Some(0.85),
    },
    Case {
        name: "io_uring, cached, depth 64, batch 16",
        place: CaseTarget::Cached,
        ours: &["--backend", "uring", "--buffered", "--depth", "64", "--batch", "16"],
        fio: &[
            "--ioengine=io_uring",
            "--invalidate=0",
            REGISTERED[0],
            REGISTERED[1],
            BATCH[0],
            BATCH[1],
            BATCH[2],
            BATCH[3],
        ],
        rate_min: 1.25,
        cpu_max: Some(0.80),
    },
    Case {
        name: "disk, O_DIRECT, io_uring, depth 32",
        place: CaseTarget::Disk,
        ours: &["--backend", "uring", "--depth", "32"],
        fio: &["--ioengine=io_uring", "--direct=1", "--iodepth=32", REGISTERED[0], REGISTERED[1]],
        rate_min: 0.98,
        cpu_max: Some(0.85),
    },
    Case {
        name: "disk, O_DIRECT, aio, depth 32",
        place: CaseTarget::Disk,
        ours: &["--backend", "aio", "--depth", "32"],
        fio: &["--ioengine=libaio", "--direct=1", "--iodepth=32"],
        rate_min: 0.98,
        cpu_max: Some(0.85),
    },
    Case {
        name: "disk, O_DIRECT, 1 MiB sequential, depth 8",
        place: CaseTarget::Disk,
        ours: &["--backend", "uring", "--depth", "8", "--rw", "read", "--bs", "1M"],
        fio: &[
            "--ioengine=io_uring",
            "--direct=1",
            "--iodepth=8",
            "--rw=read",
            "--bs=1M",
            REGISTERED[0],
            REGISTERED[1],
        ],
        rate_min: 0.98,
        cpu_max: None,
    },
    Case {
        name: "loop on memory, O_DIRECT, io_uring, depth 32",
        place: CaseTarget::Loop,
        ours: &["--backend", "uring", "--depth", "32"],
        fio: &["--ioengine=io_uring", "--direct=1", "--iodepth=32", REGISTERED[0], REGISTERED[1]],
        rate_min: 0.98,
        cpu_max: Some(0.85),
    },
];

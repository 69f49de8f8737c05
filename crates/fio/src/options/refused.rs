//! Unsupported options of fio, with the reason; values that request nothing are accepted.

use super::{OptionEntry, refused};

const TRIMS: &str = "trims between writes and verification are not supported";
const TRACE: &str = "traces of blktrace are not read";
const PLACE: &str = "data placement (FDP, streams) is not supported";
const PROGRAMS: &str = "programs named in a job file are not run";
const RIGHTS: &str = "ssdyno keeps the user and group with which it was started";

pub(super) const OPTIONS: &[OptionEntry] = &[
    refused("opendir", &[], "files are not gathered from a directory; list them in filename="),
    refused("lockfile", &["none"], "files are not locked"),
    refused("filetype", &["none"], "the system determines the type of a file"),
    refused("percentage_sequential", &[], "removed from fio; write percentage_random="),
    refused("rwmixcycle", &[], "removed from fio; omit it"),
    refused("num_range", &["1"], "a trim has one range"),
    refused("sync_file_range", &[], "sync_file_range is not called; fdatasync= is supported"),
    refused("write_barrier", &["0"], "Linux no longer has barrier writes; use fdatasync="),
    refused("write_hint", &["none"], "write lifetime hints are not passed on"),
    refused("atomic", &["0"], "atomic writes are not supported"),
    refused("end_syncfs", &["0"], "syncfs is not called; end_fsync= is supported"),
    refused("mem", &["malloc", "shm", "mmap"], "buffers are plain memory").also(&["iomem"]),
    refused("lockmem", &["0"], "the machine's memory is not locked"),
    refused("trim_percentage", &["0"], TRIMS),
    refused("trim_backlog", &["0"], TRIMS),
    refused("trim_backlog_batch", &["0"], TRIMS),
    refused("merge_blktrace_file", &[], TRACE),
    refused("merge_blktrace_scalars", &[], TRACE),
    refused("merge_blktrace_iters", &[], TRACE),
    refused("exec_prerun", &[], PROGRAMS),
    refused("exec_postrun", &[], PROGRAMS),
    refused("ioscheduler", &[], "settings of the machine are not changed"),
    refused("fdp", &["0"], PLACE),
    refused("dataplacement", &["none"], PLACE).also(&["data_placement"]),
    refused("plid_select", &[], PLACE).also(&["fdp_pli_select"]),
    refused("plids", &[], PLACE).also(&["fdp_pli"]),
    refused("dp_scheme", &[], PLACE),
    refused("priohint", &["0"], "I/O priority hints are not passed on"),
    refused("thinkcycles", &["0"], "pauses are times: thinktime_spin="),
    refused("gpu_dev_id", &[], "GPU memory is not supported"),
    refused("log_alternate_epoch_clock_id", &["0"], "only CLOCK_REALTIME is supported"),
    refused("block_error_percentiles", &["0"], "trim errors are counted, but have no histogram"),
    refused("profile", &[], "fio's built-in benchmarks are not supported; see ssdyno methods"),
    refused("cgroup", &[], "jobs stay in ssdyno's cgroup"),
    refused("uid", &[], RIGHTS),
    refused("gid", &[], RIGHTS),
];

//! The supported options, each with a drawing of its value. Options that are not drawn have a
//! reason: they depend on time or on the machine, or are set for every case.

use fuzz::Random;

use super::case::{Case, Target};

/// An option that is drawn.
pub struct Drawn {
    pub name: &'static str,
    /// A value for a case that is otherwise complete; `None` if the option does not fit.
    pub value: fn(&mut Random, &Case) -> Option<String>,
}

/// One of these values.
pub fn one(random: &mut Random, values: &[&str]) -> Option<String> {
    values.get(random.below(values.len())).map(ToString::to_string)
}

macro_rules! drawn {
    ($($name:literal: $($value:literal)|+ $(, if $fits:expr)?;)*) => {
        &[$(Drawn {
            name: $name,
            value: |random, case| {
                let fits: fn(&Case) -> bool = drawn!(@fits $($fits)?);
                if fits(case) { one(random, &[$($value),+]) } else { None }
            },
        }),*]
    };
    (@fits) => { |_| true };
    (@fits $fits:expr) => { $fits };
}

fn is_random(case: &Case) -> bool {
    case.rw(0).starts_with("rand")
}

fn writes(case: &Case) -> bool {
    !matches!(case.rw(0), "read" | "randread" | "trim" | "randtrim")
}

fn reads(case: &Case) -> bool {
    matches!(case.rw(0), "read" | "randread" | "rw" | "randrw")
}

fn mixes(case: &Case) -> bool {
    matches!(case.rw(0), "rw" | "randrw")
}

fn has_files(case: &Case) -> bool {
    case.target == Target::Files
}

fn is_plain_write(case: &Case) -> bool {
    matches!(case.rw(0), "write" | "randwrite")
}

/// All options drawn on top of `rw`, `bs`, `size` and `ioengine`, which every case has.
pub const DRAWN: &[Drawn] = drawn! {
    "fsync": "1" | "3" | "8", if writes;
    "fdatasync": "1" | "2" | "5", if writes;
    "end_fsync": "1", if writes;
    "fsync_on_close": "1", if writes;
    "sync": "1" | "dsync" | "sync", if writes;
    "direct": "1";
    "buffered": "1";
    "offset": "4k" | "8k" | "64k" | "10k" | "25%";
    "offset_align": "4k" | "64k", if |case| case.has("offset");
    "offset_increment": "16k" | "64k", if |case| case.has("numjobs");
    "io_size": "16k" | "100k" | "300k" | "1m" | "50%";
    "io_limit": "40k" | "200k", if writes;
    "number_ios": "1" | "7" | "30" | "200";
    "loops": "2" | "3";
    // With exitall, speed decides how much the other clones do.
    "numjobs": "2" | "3", if |case| {
        case.target == Target::Files && case.jobs.len() < 3 && !case.has("exitall")
    };
    "nrfiles": "2" | "3" | "5", if has_files;
    "filesize": "16k" | "40k" | "100k", if has_files;
    "openfiles": "1" | "2", if |case| case.has("nrfiles");
    "file_service_type": "sequential" | "roundrobin:2" | "random" | "roundrobin" | "zipf"
        | "pareto:0.3", if |case| case.has("nrfiles");
    // With both, fio uses the sizes of one and the limits of the other.
    "bsrange": "512-4k" | "1k-16k" | "4k-64k" | "3k-10k", if |case| !case.has("bssplit");
    "bssplit": "4k/50:8k/50" | "512/10:4k/60:16k/30" | "4k/:1k/20" | "4k/30:64k/70,8k/100",
        if |case| !case.has("bsrange");
    "bs_unaligned": "1", if |case| case.has("bsrange");
    "bs_is_seq_rand": "1";
    "ba": "512" | "4k" | "8k", if is_random;
    "rwmixread": "0" | "30" | "75" | "100", if mixes;
    "rwmixwrite": "20" | "90", if mixes;
    "percentage_random": "0" | "50" | "100", if is_random;
    "norandommap": "1", if is_random;
    "random_generator": "lfsr" | "tausworthe64" | "tausworthe", if is_random;
    "random_distribution": "zipf:1.2" | "pareto:0.3" | "normal:20" | "zoned:60/10:40/90"
        | "random", if is_random;
    "randseed": "1" | "12345", if is_random;
    "randrepeat": "0" | "1", if is_random;
    // Another name of the same option in 3.42.
    "allrandrepeat": "1", if |case| is_random(case) && !case.has("randrepeat");
    "rw_sequencer": "identical" | "sequential", if is_random;
    "file_append": "1", if is_plain_write;
    "zero_buffers": "1", if writes;
    "buffer_pattern": "0xdeadbeef" | "0x5a" | "\"abc\"" | "0x123456", if writes;
    "buffer_compress_percentage": "0" | "30" | "70" | "100", if writes;
    "buffer_compress_chunk": "512" | "4k", if |case| case.has("buffer_compress_percentage");
    "refill_buffers": "1", if writes;
    "scramble_buffers": "0" | "1", if writes;
    "dedupe_percentage": "0" | "50" | "100", if writes;
    "dedupe_mode": "repeat" | "working_set", if |case| case.has("dedupe_percentage");
    "dedupe_working_set_percentage": "5" | "50", if |case| case.is("dedupe_mode", "working_set");
    "verify": "crc32c" | "md5" | "meta" | "sha256" | "xxhash" | "crc64" | "crc32" | "crc16" | "crc7"
        | "sha512" | "sha1" | "pattern" | "null", if |case| {
        // Reads of what no job wrote fail at once, unless they go on.
        writes(case) && case.rw(0) != "randtrimwrite" || reads(case) && case.has("continue_on_error")
    };
    "do_verify": "0" | "1", if |case| case.has("verify");
    "verify_backlog": "4" | "16", if |case| case.has("verify");
    "verify_backlog_batch": "2" | "8", if |case| case.has("verify_backlog");
    "verify_interval": "512" | "4k", if |case| case.has("verify");
    "verify_pattern": "0xa5" | "0xcafe", if |case| case.has("verify");
    "verify_offset": "200" | "256", if |case| case.has("verify");
    "verify_fatal": "1", if |case| case.has("verify");
    "verify_dump": "1", if |case| case.has("verify");
    "verify_async": "1", if |case| case.has("verify");
    "verify_only": "1", if |case| case.has("verify");
    "continue_on_error": "all" | "verify" | "io";
    "overwrite": "1", if writes;
    "create_only": "1", if has_files;
    "create_on_open": "1", if |case| has_files(case) && is_plain_write(case);
    "create_fsync": "0" | "1";
    "fallocate": "none" | "native" | "posix" | "keep" | "truncate";
    "unlink": "1", if has_files;
    "unlink_each_loop": "1", if |case| case.has("loops") && has_files(case);
    "pre_read": "1", if reads;
    "invalidate": "0" | "1";
    "fadvise_hint": "0" | "1" | "random" | "sequential";
    "iodepth": "1" | "4" | "16";
    "iodepth_batch": "1" | "4", if |case| case.has("iodepth");
    "iodepth_low": "1" | "2", if |case| case.is("iodepth", "4");
    "iodepth_batch_complete_min": "1" | "2", if |case| case.is("iodepth", "4");
    "iodepth_batch_complete_max": "4", if |case| case.is("iodepth", "16");
    "serialize_overlap": "1", if |case| !case.has("verify");
    "stonewall": "1", if |case| case.jobs.len() > 1;
    "new_group": "1", if |case| case.jobs.len() > 1;
    "group_reporting": "1", if |case| case.jobs.len() > 1 || case.has("numjobs");
    "thread": "1";
    "exitall": "1", if |case| case.jobs.len() == 1 && !case.has("numjobs");
    "rate_iops": "2000" | "5000", if |case| !case.has("rate");
    "rate": "20m" | "50m", if |case| !case.has("rate_iops");
    "rate_process": "poisson", if |case| case.has("rate_iops");
    "thinktime": "100" | "500";
    "thinktime_blocks": "1" | "8", if |case| case.has("thinktime");
    "thinktime_blocks_type": "issue" | "complete", if |case| case.has("thinktime");
    "thinktime_spin": "50", if |case| case.has("thinktime");
    "startdelay": "1ms";
    "unified_rw_reporting": "0" | "1" | "mixed" | "both";
    "clat_percentiles": "0" | "1";
    "lat_percentiles": "1";
    "slat_percentiles": "1";
    "percentile_list": "50:99";
    "disable_lat": "0";
    "disable_clat": "1";
    "disable_slat": "1";
    "disable_bw_measurement": "1";
    "gtod_reduce": "0";
    "stats": "0" | "1", if |case| {
        case.jobs.len() == 1 && case.clones(0) == 1
    };
    "disk_util": "0" | "1";
    "description": "text";
    "significant_figures": "6";
    "unit_base": "8" | "1";
    "kb_base": "1000" | "1024";
    "error_dump": "1";
    "max_latency": "20s";
    "exitall_on_error": "1";
    "allow_file_create": "1";
    "runtime": "60";
    "rate_min": "1k", if |case| case.has("rate");
    "rate_iops_min": "1", if |case| case.has("rate_iops");
    "rate_cycle": "500", if |case| case.has("rate");
    "rate_ignore_thinktime": "1", if |case| case.has("thinktime") && case.has("rate");
    "thinktime_iotime": "10ms", if |case| case.has("thinktime");
    "steadystate": "iops:50%";
    "steadystate_duration": "10", if |case| case.has("steadystate");
    "steadystate_ramp_time": "1", if |case| case.has("steadystate");
    "bwavgtime": "200";
    "iopsavgtime": "300";
    "write_bw_log": "../bw";
    "write_iops_log": "../iops";
    "log_alternate_epoch": "1";
    "log_prio": "1";
    "cpumask": "1";
    "cpus_allowed": "0", if |case| !case.has("cpumask");
    "cpus_allowed_policy": "shared" | "split", if |case| case.has("cpus_allowed");
    "nice": "1";
    "prio": "4";
    "prioclass": "2";
    "numa_cpu_nodes": "0";
    "numa_mem_policy": "local" | "default";
    "exit_what": "group" | "all", if |case| case.has("exitall");
    "ignore_error": "EIO" | "EIO,EIO,EIO";
    "filename_format": "f.$jobnum.$filenum" | "$jobname.$jobnum.$filenum", if has_files;
    "dedupe_global": "1", if |case| case.is("dedupe_mode", "working_set");
    "io_submit_mode": "inline" | "inline" | "inline" | "offload", if |case| case.is("ioengine", "libaio");
};

/// Supported options that are not drawn on their own, each with the reason.
const LEFT_OUT: &[(&[&str], &str)] = &[
    (&["rw", "bs", "size", "ioengine", "name", "filename", "directory"], "in every case"),
    (&["zonemode", "zonesize", "zoneskip", "zonerange"], "drawn together"),
    (&["wait_for"], "drawn together with a second job"),
    (&["write_lat_log", "log_offset", "per_job_logs"], "in every case"),
    (
        &[
            "time_based",
            "ramp_time",
            "ramp_size",
            "latency_target",
            "latency_window",
            "latency_percentile",
            "latency_run",
            "steadystate_check_interval",
            "flow",
            "flow_id",
            "flow_sleep",
        ],
        "the amount of work depends on speed",
    ),
    (&["log_avg_msec", "log_window_value"], "the log of operations would be averaged"),
    (&["log_issue_time"], "the log of operations would have a column more"),
    (&["write_hist_log", "log_hist_coarseness", "log_hist_msec"], "they sum up times by time"),
    (&["fill_device", "cmdprio_percentage"], "the machine decides"),
    (
        &[
            "random_sequence_stride",
            "spr_cs",
            "spr_num_regions",
            "spr_op",
            "sprandom",
            "verify_pattern_interval",
            "verify_policy",
        ],
        "unknown to fio 3.33",
    ),
    (&["verify_state_load", "verify_state_save"], "fio 3.33 has another format of states"),
    (
        &[
            "read_iolog",
            "replay_align",
            "replay_no_stall",
            "replay_redirect",
            "replay_scale",
            "replay_skip",
            "replay_time_scale",
            "write_iolog",
        ],
        "logs are drawn by `fio_iolog`, and fio writes one for every case",
    ),
    (&["log_store_compressed"], "the log of operations would not be text"),
    (&["force_async", "hipri", "sqthread_poll", "sqthread_poll_cpu"], "options of io_uring alone"),
];

/// Whether an option is drawn, or left out with a reason.
pub fn is_covered(name: &str) -> bool {
    let is_drawn = DRAWN.iter().any(|option| option.name == name);
    is_drawn || LEFT_OUT.iter().any(|(names, _)| names.contains(&name))
}

//! Options accepted without effect, because no effect is needed.

use super::{OptionEntry, idle};

pub(super) const OPTIONS: &[OptionEntry] = &[
    idle("unique_filename", "it concerns clients of fio's server"),
    idle("softrandommap", "random maps are never too large"),
    idle("create_serialize", "files are laid out one after the other"),
    idle("allow_mounted_write", "ssdyno's guard decides where writes are allowed"),
    idle("iomem_align", "buffers are aligned to pages, which suits every device")
        .also(&["mem_align"]),
    idle("hugepage-size", "it concerns mem=, for which only plain memory is supported"),
    idle("clocksource", "always the fastest: the processor's counter if the kernel trusts it"),
    idle("gtod_cpu", "reading the clock costs 8 to 40 ns; no thread is needed for it"),
    idle("job_start_clock_id", "it selects the clock of a job's start time in fio's JSON"),
    idle("comm", "it names fio's threads for top and ps"),
    idle("verifysort", "deprecated in fio, where it has no effect"),
    idle("verifysort_nr", "deprecated in fio, where it has no effect"),
    idle("flow_watermark", "deprecated in fio, where it has no effect"),
    idle("verify_write_sequence", "each header is compared with the write expected there"),
    idle(
        "experimental_verify",
        "operations to read back are drawn again from the seed, or remembered if they may overlap",
    ),
    idle("verify_header_seed", "each header is compared with the write expected there"),
    idle("trim_verify_zero", "it concerns trim_percentage, which is not supported"),
    idle("log_entries", "logs grow as needed"),
    idle("log_compression", "logs in memory are small enough"),
    idle("log_compression_cpus", "logs are not compressed"),
    idle("read_iolog_chunked", "the log is read before the job"),
    idle("cgroup_nodelete", "it concerns cgroup, which is not supported"),
    idle("cgroup_weight", "it concerns cgroup, which is not supported"),
    idle("max_open_zones", "it concerns zonemode=zbd, which is not supported"),
    idle("job_max_open_zones", "it concerns zonemode=zbd, which is not supported"),
    idle("ignore_zone_limits", "it concerns zonemode=zbd, which is not supported"),
    idle("read_beyond_wp", "it concerns zonemode=zbd, which is not supported"),
    idle("zone_reset_threshold", "it concerns zonemode=zbd, which is not supported"),
    idle("zone_reset_frequency", "it concerns zonemode=zbd, which is not supported"),
    idle("zonecapacity", "it concerns zonemode=zbd, which is not supported"),
    idle("recover_zbd_write_error", "it concerns zonemode=zbd, which is not supported"),
    idle("write_zone_remainder", "it concerns zonemode=zbd, which is not supported"),
    idle("verify_async_cpus", "the job's thread checks"),
];

//! fio's engines, and options of single engines.

use super::{Entry, Standing, idle, refused};
use crate::Engine;

/// An engine of fio.
#[derive(Clone, Copy)]
pub(crate) struct EngineEntry {
    /// Its names.
    pub names: &'static [&'static str],
    /// Its treatment.
    pub standing: Standing<Engine>,
}

const fn supported(
    names: &'static [&'static str],
    set: Engine,
    remark: &'static str,
) -> EngineEntry {
    EngineEntry { names, standing: Standing::Supported { set, remark } }
}

const fn not(names: &'static [&'static str], why: &'static str) -> EngineEntry {
    EngineEntry { names, standing: Standing::refused(why) }
}

/// All engines, supported ones first.
pub(crate) const ENGINES: &[EngineEntry] = &[
    supported(&["psync"], Engine::Psync, "the default, as in fio"),
    supported(&["sync"], Engine::Sync, "runs as psync, which the result mentions"),
    supported(&["vsync"], Engine::Vsync, "runs as psync, which the result mentions"),
    supported(&["pvsync"], Engine::Pvsync, "runs as psync, which the result mentions"),
    supported(&["pvsync2"], Engine::Pvsync2, "runs as psync, which the result mentions"),
    supported(&["libaio"], Engine::Libaio, ""),
    supported(&["io_uring"], Engine::IoUring, ""),
    supported(&["posixaio"], Engine::Posixaio, "runs on io_uring, which the result mentions"),
    supported(
        &["mmap"],
        Engine::Mmap,
        "if another program shortens the file, the operation beyond its new end fails",
    ),
    supported(&["null"], Engine::Null, ""),
    not(&["cpuio"], "it does no I/O; load the processor with another program"),
    not(&["exec"], "programs named in a job file are not run; see ssdyno run -m command"),
    not(
        &["sg", "mtd", "io_uring_cmd", "nvme"],
        "commands that bypass the block layer are not supported",
    ),
    not(&["libzbc"], "zoned block devices are not supported"),
    not(&["net", "netsplice", "rdma", "rdmaio"], "it measures a network, not a drive"),
    not(
        &[
            "rbd",
            "rados",
            "gfapi",
            "gfapi_async",
            "libhdfs",
            "dfs",
            "nfs",
            "http",
            "libiscsi",
            "nbd",
            "ime_psync",
            "ime_psyncv",
            "ime_aio",
            "xnvme",
            "libblkio",
        ],
        "it accesses storage through a library; mount it or attach it as a device",
    ),
    not(&["libcufile", "libhipfile"], "no I/O goes to GPU memory"),
    not(&["dev-dax", "libpmem", "pmemblk"], "it measures memory, not a drive"),
    not(&["page_fault"], "it measures memory, not a drive"),
    not(&["splice"], "splice is not called; use psync"),
    not(&["falloc", "ftruncate", "e4defrag"], "it measures a file system's internal work, not I/O"),
    not(
        &["filecreate", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete"],
        "it measures a file system's internal work, not I/O",
    ),
    not(&["external", "cpp_null", "skeleton_external"], "foreign code is not loaded"),
    not(&["solarisaio", "windowsaio"], "it is for another operating system; use libaio"),
];

/// An option of some engines.
#[derive(Clone, Copy)]
pub(crate) struct EngineOption {
    /// The engines.
    pub engines: &'static str,
    /// Their options.
    pub entries: &'static [Entry],
}

const NOT_SERVED: &str = "its engines are not supported";
const PROFILES: &str = "fio's built-in benchmarks are not supported; see ssdyno methods";

/// Options of engines.
pub(crate) const ENGINE_OPTIONS: &[EngineOption] = &[
    EngineOption { engines: "io_uring, libaio: priorities", entries: super::priority::ENGINES },
    EngineOption {
        engines: "io_uring, libaio",
        entries: &[
            refused("nowait", &["0"], "operations may wait"),
            idle("userspace_reap", "the engine chooses how completions are collected").bare(),
            idle("libaio_vectored", "an operation has one buffer").bare(),
        ],
    },
    EngineOption {
        engines: "io_uring, pvsync2, mmap",
        entries: &[
            idle("fixedbufs", "the engine chooses how buffers are registered").bare(),
            idle("registerfiles", "the engine chooses how files are registered").bare(),
            idle("nonvectored", "an operation has one buffer").bare(),
            refused("sqthread_poll", &["0"], "no kernel thread polls the queue").bare(),
            refused("sqthread_poll_cpu", &[], "no kernel thread polls the queue"),
            refused("hipri", &["0"], "completions are not polled for").bare(),
            refused("hipri_percentage", &["0"], "completions are not polled for"),
            refused("uncached", &["0"], "RWF_DONTCACHE is not used"),
            refused("force_async", &["0"], "operations are not forced to the kernel's threads"),
            idle("thp", "mappings are of files").bare(),
        ],
    },
    EngineOption {
        engines: "io_uring_cmd, sg",
        entries: &[
            refused("readfua", &[], NOT_SERVED),
            refused("writefua", &[], NOT_SERVED),
            refused("write_mode", &[], NOT_SERVED),
            refused("sg_write_mode", &[], NOT_SERVED),
            refused("verify_mode", &[], NOT_SERVED),
            refused("read_mode", &[], NOT_SERVED),
            refused("verify_bytchk", &[], NOT_SERVED),
            refused("cmd_type", &[], NOT_SERVED),
            refused("cdb_len", &[], NOT_SERVED),
            refused("md_per_io_size", &[], NOT_SERVED),
            refused("pi_act", &[], NOT_SERVED),
            refused("pi_chk", &[], NOT_SERVED),
            refused("apptag", &[], NOT_SERVED),
            refused("apptag_mask", &[], NOT_SERVED),
            refused("deac", &[], NOT_SERVED),
            refused("stream_id", &[], NOT_SERVED),
            refused("skip_bad", &[], NOT_SERVED),
        ],
    },
    EngineOption {
        engines: "net, rdma, libhdfs, nfs, http, nbd",
        entries: &[
            refused("hostname", &[], NOT_SERVED),
            refused("bindname", &[], NOT_SERVED),
            refused("port", &[], NOT_SERVED),
            refused("verb", &[], NOT_SERVED),
            refused("protocol", &[], NOT_SERVED).also(&["proto"]),
            refused("nodelay", &[], NOT_SERVED),
            refused("listen", &[], NOT_SERVED).bare(),
            refused("pingpong", &[], NOT_SERVED).bare(),
            refused("interface", &[], NOT_SERVED),
            refused("ttl", &[], NOT_SERVED),
            refused("window_size", &[], NOT_SERVED),
            refused("mss", &[], NOT_SERVED),
            refused("namenode", &[], NOT_SERVED),
            refused("hdfsdirectory", &[], NOT_SERVED),
            refused("single_instance", &[], NOT_SERVED),
            refused("hdfs_use_direct", &[], NOT_SERVED),
            refused("chunk_size", &[], NOT_SERVED).also(&["chunck_size"]),
            refused("nfs_url", &[], NOT_SERVED),
            refused("uri", &[], NOT_SERVED),
            refused("initiator", &[], NOT_SERVED),
            refused("https", &[], NOT_SERVED),
            refused("http_host", &[], NOT_SERVED),
            refused("http_user", &[], NOT_SERVED),
            refused("http_pass", &[], NOT_SERVED),
            refused("http_s3_key", &[], NOT_SERVED),
            refused("http_s3_keyid", &[], NOT_SERVED),
            refused("http_s3_security_token", &[], NOT_SERVED),
            refused("http_s3_region", &[], NOT_SERVED),
            refused("http_s3_sse_customer_key", &[], NOT_SERVED),
            refused("http_s3_sse_customer_algorithm", &[], NOT_SERVED),
            refused("http_s3_storage_class", &[], NOT_SERVED),
            refused("http_swift_auth_token", &[], NOT_SERVED),
            refused("http_mode", &[], NOT_SERVED),
            refused("http_verbose", &[], NOT_SERVED),
            refused("http_object_mode", &[], NOT_SERVED),
        ],
    },
    EngineOption {
        engines: "rbd, rados, gfapi, dfs, xnvme, libblkio",
        entries: &[
            refused("clustername", &[], NOT_SERVED),
            refused("rbdname", &[], NOT_SERVED),
            refused("rbd_encryption_format", &[], NOT_SERVED),
            refused("rbd_encryption_passphrase", &[], NOT_SERVED),
            refused("pool", &[], NOT_SERVED),
            refused("clientname", &[], NOT_SERVED),
            refused("conf", &[], NOT_SERVED),
            refused("busy_poll", &[], NOT_SERVED),
            refused("touch_objects", &[], NOT_SERVED),
            refused("volume", &[], NOT_SERVED),
            refused("brick", &[], NOT_SERVED),
            refused("single-instance", &[], NOT_SERVED),
            refused("cont", &[], NOT_SERVED),
            refused("object_class", &[], NOT_SERVED),
            refused("svcl", &[], NOT_SERVED),
            refused("xnvme_be", &[], NOT_SERVED),
            refused("xnvme_mem", &[], NOT_SERVED),
            refused("xnvme_async", &[], NOT_SERVED),
            refused("xnvme_sync", &[], NOT_SERVED),
            refused("xnvme_admin", &[], NOT_SERVED),
            refused("xnvme_dev_nsid", &[], NOT_SERVED),
            refused("xnvme_dev_subnqn", &[], NOT_SERVED),
            refused("xnvme_iovec", &[], NOT_SERVED).bare(),
            refused("libblkio_driver", &[], NOT_SERVED),
            refused("libblkio_path", &[], NOT_SERVED),
            refused("libblkio_pre_connect_props", &[], NOT_SERVED),
            refused("libblkio_num_entries", &[], NOT_SERVED),
            refused("libblkio_queue_size", &[], NOT_SERVED),
            refused("libblkio_pre_start_props", &[], NOT_SERVED),
            refused("libblkio_vectored", &[], NOT_SERVED).bare(),
            refused("libblkio_write_zeroes_on_trim", &[], NOT_SERVED).bare(),
            refused("libblkio_wait_mode", &[], NOT_SERVED),
            refused("libblkio_force_enable_completion_eventfd", &[], NOT_SERVED).bare(),
        ],
    },
    EngineOption {
        engines: "cpuio, exec, e4defrag, filestat, libcufile, libhipfile, windowsaio",
        entries: &[
            refused("cpuload", &[], NOT_SERVED),
            refused("cpumode", &[], NOT_SERVED),
            refused("cpuchunks", &[], NOT_SERVED),
            refused("exit_on_io_done", &[], NOT_SERVED),
            refused("program", &[], NOT_SERVED),
            refused("arguments", &[], NOT_SERVED),
            refused("grace_time", &[], NOT_SERVED),
            refused("std_redirect", &[], NOT_SERVED),
            refused("donorname", &[], NOT_SERVED),
            refused("inplace", &[], NOT_SERVED),
            refused("stat_type", &[], NOT_SERVED),
            refused("gpu_dev_ids", &[], NOT_SERVED),
            refused("cuda_io", &[], NOT_SERVED),
            refused("rocm_io", &[], NOT_SERVED),
            refused("no_completion_thread", &[], NOT_SERVED),
        ],
    },
    EngineOption {
        engines: "fio's built-in profiles act and tiobench",
        entries: &[
            idle(
                "threads",
                "without profile=tiobench fio ignores it, too; `thread` is another option",
            ),
            refused("block", &[], PROFILES),
            refused("numruns", &[], PROFILES),
            refused("dir", &[], PROFILES),
            refused("device-names", &[], PROFILES),
            refused("load", &[], PROFILES),
            refused("test-duration", &[], PROFILES),
            refused("threads-per-queue", &[], PROFILES),
            refused("read-req-num-512-blocks", &[], PROFILES),
            refused("large-block-op-kbytes", &[], PROFILES),
            refused("prep", &[], PROFILES),
        ],
    },
];

/// The engine option of that name.
pub(crate) fn engine_option(name: &str) -> Option<&'static Entry> {
    ENGINE_OPTIONS.iter().flat_map(|group| group.entries).find(|entry| entry.is(name))
}

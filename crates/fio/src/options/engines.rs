//! fio's engines and their own options.

use super::{OptionEntry, Standing, idle, refused, supported as option};
use crate::Engine;
use crate::job::NameCall;
use crate::value::put;

/// An engine of fio.
#[derive(Clone, Copy)]
pub(crate) struct EngineEntry {
    pub names: &'static [&'static str],
    /// Whether it is supported or refused.
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

const NAMES: &str = "its clones run one after the other, before the jobs that move data; it \
                     removes only what it made";

/// All engines, supported ones first.
pub(crate) const ENGINES: &[EngineEntry] = &[
    supported(&["psync"], Engine::Psync, "the default, as in fio"),
    supported(&["sync"], Engine::Sync, "runs as psync; the result says so"),
    supported(&["vsync"], Engine::Vsync, "runs as psync; the result says so"),
    supported(&["pvsync"], Engine::Pvsync, "runs as psync; the result says so"),
    supported(&["pvsync2"], Engine::Pvsync2, "runs as psync; the result says so"),
    supported(&["libaio"], Engine::Libaio, ""),
    supported(&["io_uring"], Engine::IoUring, ""),
    supported(&["posixaio"], Engine::Posixaio, "threads of the C library, as in fio"),
    supported(
        &["mmap"],
        Engine::Mmap,
        "if another program shortens the file, the operation beyond its new end fails",
    ),
    supported(&["null"], Engine::Null, ""),
    supported(&["filecreate"], Engine::Names(NameCall::CreateFile), NAMES),
    supported(&["filestat"], Engine::Names(NameCall::StatFile), NAMES),
    supported(&["filedelete"], Engine::Names(NameCall::DeleteFile), NAMES),
    supported(&["dircreate"], Engine::Names(NameCall::CreateDirectory), NAMES),
    supported(&["dirstat"], Engine::Names(NameCall::StatDirectory), NAMES),
    supported(&["dirdelete"], Engine::Names(NameCall::DeleteDirectory), NAMES),
    not(&["cpuio"], "it does no I/O; use another program to load the processor"),
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
    not(&["libcufile", "libhipfile"], "GPU memory is not supported"),
    not(&["dev-dax", "libpmem", "pmemblk"], "it measures memory, not a drive"),
    not(&["page_fault"], "it measures memory, not a drive"),
    not(&["splice"], "splice is not supported; use psync"),
    not(&["falloc", "ftruncate", "e4defrag"], "it measures a file system's internal work, not I/O"),
    not(&["external", "cpp_null", "skeleton_external"], "external code is not loaded"),
    not(&["solarisaio", "windowsaio"], "it is for another operating system; use libaio"),
];

/// Options shared by a group of engines.
#[derive(Clone, Copy)]
pub(crate) struct EngineOption {
    pub engines: &'static str,
    /// Their options.
    pub entries: &'static [OptionEntry],
}

/// Options that only unsupported engines have; a `bare` one may appear without a value.
macro_rules! unsupported {
    ($($($bare:ident)? $name:literal $(as $alias:literal)?),* $(,)?) => {
        &[$(refused($name, &[], "its engines are not supported")
            $(.$bare())? $(.also(&[$alias]))?),*]
    };
}

const RING: &str = "with `ioengine=io_uring` on a real machine";

const PROFILES: &str = "fio's built-in benchmarks are not supported; see ssdyno methods";

/// All engine options, by group of engines.
pub(crate) const ENGINE_OPTIONS: &[EngineOption] = &[
    EngineOption { engines: "io_uring, libaio: priorities", entries: super::priority::ENGINES },
    EngineOption {
        engines: "io_uring, libaio",
        entries: &[
            refused("nowait", &["0"], "operations may block"),
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
            option("sqthread_poll", &[], |d, v| {
                put(&mut d.job.queue.ring.polls_submissions, v.set()?)
            })
            .bare()
            .says(RING),
            option("sqthread_poll_cpu", &[], |d, v| {
                let ring = &mut d.job.queue.ring;
                ring.polls_submissions = true;
                put(&mut ring.polling_cpu, Some(v.count32(0, u32::MAX)?))
            })
            .says(RING),
            option("hipri", &[], |d, v| put(&mut d.job.queue.ring.polls_completions, v.set()?))
                .bare()
                .says(RING),
            refused("hipri_percentage", &["0"], "completions are not polled for"),
            refused("uncached", &["0"], "RWF_DONTCACHE is not used"),
            option("force_async", &[], |d, v| {
                put(&mut d.job.queue.ring.async_every, v.count32(0, u32::MAX)?)
            })
            .says(RING),
            idle("thp", "mappings are of files").bare(),
        ],
    },
    EngineOption {
        engines: "io_uring_cmd, sg",
        entries: unsupported! {
            "readfua", "writefua", "write_mode", "sg_write_mode", "verify_mode", "read_mode",
            "verify_bytchk", "cmd_type", "cdb_len", "md_per_io_size", "pi_act", "pi_chk",
            "apptag", "apptag_mask", "deac", "stream_id", "skip_bad",
        },
    },
    EngineOption {
        engines: "net, rdma, libhdfs, nfs, http, nbd",
        entries: unsupported! {
            "hostname", "bindname", "port", "verb", "protocol" as "proto", "nodelay",
            bare "listen", bare "pingpong", "interface", "ttl", "window_size", "mss",
            "namenode", "hdfsdirectory", "single_instance", "hdfs_use_direct",
            "chunk_size" as "chunck_size", "nfs_url", "uri", "initiator", "https", "http_host",
            "http_user", "http_pass", "http_s3_key", "http_s3_keyid", "http_s3_security_token",
            "http_s3_region", "http_s3_sse_customer_key", "http_s3_sse_customer_algorithm",
            "http_s3_storage_class", "http_swift_auth_token", "http_mode", "http_verbose",
            "http_object_mode",
        },
    },
    EngineOption {
        engines: "rbd, rados, gfapi, dfs, xnvme, libblkio",
        entries: unsupported! {
            "clustername", "rbdname", "rbd_encryption_format", "rbd_encryption_passphrase",
            "pool", "clientname", "conf", "busy_poll", "touch_objects", "volume", "brick",
            "single-instance", "cont", "object_class", "svcl", "xnvme_be", "xnvme_mem",
            "xnvme_async", "xnvme_sync", "xnvme_admin", "xnvme_dev_nsid", "xnvme_dev_subnqn",
            bare "xnvme_iovec", "libblkio_driver", "libblkio_path",
            "libblkio_pre_connect_props", "libblkio_num_entries", "libblkio_queue_size",
            "libblkio_pre_start_props", bare "libblkio_vectored",
            bare "libblkio_write_zeroes_on_trim", "libblkio_wait_mode",
            bare "libblkio_force_enable_completion_eventfd",
        },
    },
    EngineOption {
        engines: "cpuio, exec, e4defrag, filestat, libcufile, libhipfile, windowsaio",
        entries: unsupported! {
            "cpuload", "cpumode", "cpuchunks", "exit_on_io_done", "program", "arguments",
            "grace_time", "std_redirect", "donorname", "inplace", "stat_type", "gpu_dev_ids",
            "cuda_io", "rocm_io", "no_completion_thread",
        },
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

/// The engine option with this name.
pub(crate) fn engine_option(name: &str) -> Option<&'static OptionEntry> {
    ENGINE_OPTIONS.iter().flat_map(|group| group.entries).find(|entry| entry.is(name))
}

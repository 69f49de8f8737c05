//! The calling thread: its usage, priorities and memory policy.

use std::io;

use rig::{MemoryPolicy, ThreadUsage};

use super::check;

/// Usage of the calling thread since it began.
pub(crate) fn usage() -> ThreadUsage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel writes one rusage to the pointer, which is live for the call; all zeros
    // are a valid rusage where it should fail.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let [user_ns, system_ns] = [usage.ru_utime, usage.ru_stime]
        .map(|time| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000);
    ThreadUsage {
        user_ns,
        system_ns,
        waiting_ns: waiting_ns(),
        switches: (usage.ru_nvcsw + usage.ru_nivcsw) as u64,
        major_faults: usage.ru_majflt as u64,
        minor_faults: usage.ru_minflt as u64,
    }
}

/// Time in which the calling thread could have run but waited for a processor, nanoseconds.
fn waiting_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    // Processor time, waiting time, number of runs (Documentation/scheduler/sched-stats.rst).
    text.split_whitespace().nth(1).and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

/// Sets the calling thread's scheduling priority: -20 (highest) to 19.
pub(crate) fn set_nice(nice: i32) -> io::Result<()> {
    // SAFETY: takes numbers; "process" 0 is the calling thread on Linux.
    let result = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
    check(result).map(drop)
}

/// Number of nodes in a policy's mask; Linux supports no more.
const NODES_MAX: usize = 1024;

/// Sets the NUMA policy for future memory allocations of the calling thread.
pub(crate) fn set_memory_policy(policy: &MemoryPolicy) -> io::Result<()> {
    let (mode, nodes) = match policy {
        MemoryPolicy::Local => (libc::MPOL_LOCAL, &[][..]),
        MemoryPolicy::Prefer(node) => (libc::MPOL_PREFERRED, std::slice::from_ref(node)),
        MemoryPolicy::Bind(nodes) => (libc::MPOL_BIND, &nodes[..]),
        MemoryPolicy::Interleave(nodes) => (libc::MPOL_INTERLEAVE, &nodes[..]),
    };
    let mut mask = [0u64; NODES_MAX / 64];
    for node in nodes.iter().map(|node| *node as usize) {
        let word = mask.get_mut(node / 64).ok_or(io::ErrorKind::InvalidInput)?;
        *word |= 1 << (node % 64);
    }
    // SAFETY: the kernel reads `NODES_MAX` bits from the mask, which is live for the call.
    let result = unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, mask.as_ptr(), NODES_MAX) };
    check(result).map(drop)
}

/// Sets the calling thread's I/O priority: class (0 to 3) and level (0 to 7).
pub(crate) fn set_io_priority(class: u8, level: u8) -> io::Result<()> {
    /// `IOPRIO_WHO_PROCESS` and `IOPRIO_CLASS_SHIFT`, include/uapi/linux/ioprio.h.
    const WHO_PROCESS: libc::c_int = 1;
    const CLASS_SHIFT: u32 = 13;
    let priority = i32::from(class) << CLASS_SHIFT | i32::from(level);
    // SAFETY: takes numbers; 0 is the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, priority) };
    check(result).map(drop)
}

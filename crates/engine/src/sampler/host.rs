//! The host's counters for a measurement: device, process and kernel workers.

use std::fs;

use rig::DeviceTraffic;

use crate::device::Sample;

pub(super) fn traffic(before: &Sample, after: &Sample) -> DeviceTraffic {
    DeviceTraffic {
        read_bytes: after.read_bytes.saturating_sub(before.read_bytes),
        written_bytes: after.written_bytes.saturating_sub(before.written_bytes),
        discarded_bytes: after.discarded_bytes.saturating_sub(before.discarded_bytes),
        ..DeviceTraffic::default()
    }
}

/// Processor time of this process's kernel workers (`iou-wrk-*`), which carry out requests that
/// could not be issued inline. They end with the thread that used the ring, so those of an earlier
/// measurement do not count.
pub(super) fn kernel_worker_cpu_ns() -> u64 {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return 0 };
    let times = tasks.flatten().filter_map(|task| {
        let name = fs::read_to_string(task.path().join("comm")).ok()?;
        let worker = name.starts_with("iou-wrk");
        // Processor time, waiting time, number of runs (Documentation/scheduler/sched-stats.rst).
        let stat = worker.then(|| fs::read_to_string(task.path().join("schedstat")).ok())??;
        stat.split_whitespace().next()?.parse::<u64>().ok()
    });
    times.sum()
}

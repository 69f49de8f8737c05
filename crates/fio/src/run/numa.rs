//! The processors of this machine's NUMA nodes.

use super::RunError;
use crate::options;
use crate::{Job, MemoryPolicy};

/// The kernel's list of nodes.
const NODES: &str = "/sys/devices/system/node";

/// The processors of the nodes named by a job; none if it names no nodes. A node that does not
/// exist, named for processors or memory, is an error.
pub(super) fn processors(job: &Job) -> Result<Vec<usize>, RunError> {
    let memory: &[u32] = match &job.machine.memory {
        Some(MemoryPolicy::Bind(nodes) | MemoryPolicy::Interleave(nodes)) => nodes,
        Some(MemoryPolicy::Prefer(node)) => std::slice::from_ref(node),
        Some(MemoryPolicy::Local) | None => &[],
    };
    for node in memory {
        listed(job, *node)?;
    }
    let nodes = job.machine.numa_nodes.iter();
    let lists: Result<Vec<String>, RunError> = nodes.map(|node| listed(job, *node)).collect();
    let lists = lists?;
    let numbers = lists.iter().flat_map(|list| options::cpu_list(list.trim()).unwrap_or_default());
    Ok(numbers.map(|number| number as usize).collect())
}

fn listed(job: &Job, node: u32) -> Result<String, RunError> {
    std::fs::read_to_string(format!("{NODES}/node{node}/cpulist")).map_err(|_| {
        let text = format!("{}: this machine has no NUMA node {node}", job.origin);
        RunError::usage(text, "numactl --hardware lists the nodes; or omit the numa_ options")
    })
}

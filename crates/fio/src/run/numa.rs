//! The processors of this machine's NUMA nodes.

use super::RunError;
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
    Ok(lists?.iter().flat_map(|list| numbers(list)).collect())
}

fn listed(job: &Job, node: u32) -> Result<String, RunError> {
    std::fs::read_to_string(format!("{NODES}/node{node}/cpulist")).map_err(|_| {
        let text = format!("{}: this machine has no NUMA node {node}", job.origin);
        RunError::usage(text, "numactl --show lists the nodes; or omit the numa_ options")
    })
}

/// A kernel list such as `0-3,8`.
fn numbers(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (low, high) = part.trim().split_once('-').unwrap_or((part.trim(), part.trim()));
        Some(low.parse().ok()?..=high.parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_lists_are_parsed() {
        assert_eq!(numbers("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(numbers("\n"), [0usize; 0]);
    }
}

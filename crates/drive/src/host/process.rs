//! Privileges and limits of this process, from `/proc/self`.

use crate::machine::{Machine, field};

/// CAP_IPC_LOCK in capabilities(7): memory can be locked without limit.
const MAY_LOCK: u64 = 1 << 14;
/// CAP_SYS_ADMIN.
const MAY_ADMINISTER: u64 = 1 << 21;

/// Privileges and limits of this process; unreported privileges count as missing.
#[derive(Debug)]
pub(super) struct Process {
    pub root: bool,
    pub may_lock: bool,
    pub may_administer: bool,
    /// Groups of the process. Never contains -1, which stands for no group.
    pub groups: Vec<i64>,
    /// Logical processors available to the process.
    pub threads: Option<u32>,
    /// Limit on locked memory, bytes; `None`: no limit reported.
    pub lock_bytes_max: Option<u64>,
}

impl Process {
    pub fn read(machine: &Machine) -> Process {
        let status = machine.text("/proc/self/status").unwrap_or_default();
        let field = |name| field(&status, name);
        let effective = field("CapEff").and_then(|hex| u64::from_str_radix(hex, 16).ok());
        let [may_lock, may_administer] =
            [MAY_LOCK, MAY_ADMINISTER].map(|bit| effective.is_some_and(|set| set & bit != 0));
        Process {
            // Real, effective, saved and file system user.
            root: field("Uid").and_then(|ids| ids.split_whitespace().nth(1)) == Some("0"),
            may_lock,
            may_administer,
            groups: ["Gid", "Groups"]
                .into_iter()
                .filter_map(field)
                .flat_map(|ids| ids.split_whitespace())
                .filter_map(|id| id.parse().ok())
                .collect(),
            threads: field("Cpus_allowed").and_then(count_bits),
            lock_bytes_max: machine.text("/proc/self/limits").as_deref().and_then(lock_limit),
        }
    }
}

/// Number of bits set in a mask such as `ff,0000000f`.
fn count_bits(mask: &str) -> Option<u32> {
    mask.chars().filter(|c| *c != ',').map(|c| Some(c.to_digit(16)?.count_ones())).sum()
}

/// The soft limit in `Max locked memory  8388608  8388608  bytes`.
fn lock_limit(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_limits() {
        assert_eq!(count_bits("ff,0000000f"), Some(12));
        assert_eq!(count_bits("x"), None);
        let limits = "Max locked memory         8388608              8388608              bytes\n";
        assert_eq!(lock_limit(limits), Some(8 << 20));
        assert_eq!(lock_limit("Max locked memory  unlimited  unlimited bytes"), None);
    }
}

//! Limits imposed on this process by a container or service manager: I/O and processor time.
//!
//! A limit on any parent group applies, so every level from this process's group to the root is
//! read. Sources: Documentation/admin-guide/cgroup-v2.rst (io.max, cpu.max) and
//! cgroup-v1/blkio-controller.rst.

use std::path::{Path, PathBuf};

use crate::machine::{Machine, read_text};
use crate::mounts::Mounts;

/// A limit in force.
#[derive(Debug, PartialEq)]
pub(super) enum Limit {
    /// A line of the kernel, such as `8:0 rbps=1048576 wbps=max`.
    Io(String),
    /// Number of processors.
    Cpu(f64),
}

/// All limits on this process.
pub(super) fn limits(machine: &Machine) -> Vec<Limit> {
    let mounts = Mounts::of(machine);
    let groups = machine.text("/proc/self/cgroup").unwrap_or_default();
    groups.lines().flat_map(|line| limits_of(machine, &mounts, line).unwrap_or_default()).collect()
}

/// Limits of one hierarchy: `0::/path` of version 2, `7:blkio:/path` of version 1.
fn limits_of(machine: &Machine, mounts: &Mounts, line: &str) -> Option<Vec<Limit>> {
    let (_, rest) = line.split_once(':')?;
    let (controllers, group) = rest.split_once(':')?;
    let limit: fn(&Path) -> Vec<Limit> = match () {
        () if controllers.is_empty() => unified,
        () if controllers.split(',').any(|c| c == "blkio") => throttled,
        () if controllers.split(',').any(|c| c == "cpu") => quota,
        () => return None,
    };
    Some(levels(machine, mounts, controllers, group)?.iter().flat_map(|dir| limit(dir)).collect())
}

/// Directories of this process's group and all its parents.
fn levels(
    machine: &Machine,
    mounts: &Mounts,
    controllers: &str,
    group: &str,
) -> Option<Vec<PathBuf>> {
    let mount = mounts.0.iter().find(|mount| match controllers.split(',').next() {
        Some("") | None => mount.kind == "cgroup2",
        Some(first) => mount.kind == "cgroup" && mount.option(first).is_some(),
    })?;
    // In a container the mount may show only part of the tree.
    let below = Path::new(group).strip_prefix(&mount.root).unwrap_or(Path::new(""));
    let top = machine.path(&mount.point);
    let mut dirs: Vec<PathBuf> = below.ancestors().map(|level| top.join(level)).collect();
    dirs.retain(|dir| !dir.components().any(|part| part.as_os_str() == ".."));
    Some(dirs)
}

fn unified(dir: &Path) -> Vec<Limit> {
    let io = read_text(&dir.join("io.max")).unwrap_or_default();
    let limited = |line: &&str| line.split_whitespace().skip(1).any(|rule| !rule.ends_with("=max"));
    let mut limits: Vec<Limit> =
        io.lines().filter(limited).map(|line| Limit::Io(line.to_string())).collect();
    let cpu = read_text(&dir.join("cpu.max"));
    limits.extend(cpu.and_then(|text| {
        let mut numbers = text.split_whitespace().map(str::parse::<f64>);
        processors(numbers.next()?.ok()?, numbers.next()?.ok()?)
    }));
    limits
}

fn throttled(dir: &Path) -> Vec<Limit> {
    let rules = ["read_bps", "write_bps", "read_iops", "write_iops"];
    let lines = rules.into_iter().flat_map(|rule| {
        let text =
            read_text(&dir.join(format!("blkio.throttle.{rule}_device"))).unwrap_or_default();
        text.lines().map(|line| Limit::Io(format!("{rule} {line}"))).collect::<Vec<_>>()
    });
    lines.collect()
}

fn quota(dir: &Path) -> Vec<Limit> {
    let number = |file: &str| read_text(&dir.join(file))?.parse::<f64>().ok();
    let both = number("cpu.cfs_quota_us").zip(number("cpu.cfs_period_us"));
    both.and_then(|(quota, period)| processors(quota, period)).into_iter().collect()
}

/// A quota of -1 means no limit.
fn processors(quota: f64, period: f64) -> Option<Limit> {
    (quota > 0.0 && period > 0.0).then(|| Limit::Cpu(quota / period))
}

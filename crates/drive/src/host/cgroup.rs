//! Limits imposed on this process by a container or service manager: I/O and processor time.
//!
//! A limit on any parent group applies, so every level from this process's group to the root is
//! read. Sources: Documentation/admin-guide/cgroup-v2.rst (io.max, cpu.max) and
//! cgroup-v1/blkio-controller.rst.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rig::GroupLimits;

use crate::machine::{DevNumber, Machine, read_text};
use crate::mounts::Mounts;
use crate::node::Node;
use crate::stack::Stack;

/// A limit in force.
#[derive(Debug, PartialEq)]
pub(super) enum Limit {
    /// A line from the kernel, such as `8:0 rbps=1048576 wbps=max`.
    Io(String),
    /// Number of processors.
    Cpu(f64),
}

/// All limits that apply to this process.
pub(super) fn limits(machine: &Machine) -> Vec<Limit> {
    let mounts = Mounts::read(machine);
    let groups = machine.text("/proc/self/cgroup").unwrap_or_default();
    groups.lines().flat_map(|line| limits_of(machine, &mounts, line).unwrap_or_default()).collect()
}

/// The limits on this process that affect a target: processor time, and I/O on its layers and
/// drives.
pub(crate) fn group_limits(machine: &Machine, stack: &Stack) -> GroupLimits {
    let nodes = stack.passed.iter().chain(&stack.disks);
    let numbers: Vec<DevNumber> = nodes.map(Node::disk).filter_map(|node| node.number()).collect();
    let mut group = GroupLimits::default();
    for limit in limits(machine) {
        match limit {
            Limit::Cpu(processors) => lower(&mut group.processors, processors),
            Limit::Io(line) => restrict(&mut group, &line, &numbers),
        }
    }
    group
}

/// Applies a line if it concerns one of these devices: `8:0 rbps=1048576 wbps=max` in version 2,
/// `read_bps 8:0 1048576` in version 1.
fn restrict(group: &mut GroupLimits, line: &str, devices: &[DevNumber]) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_ours = |word: &str| word.parse().is_ok_and(|number| devices.contains(&number));
    let rules: Vec<(&str, &str)> = match words[..] {
        [rule, device, value] if is_ours(device) => vec![(rule, value)],
        [device, ref rules @ ..] if is_ours(device) => {
            rules.iter().filter_map(|rule| rule.split_once('=')).collect()
        }
        _ => return,
    };
    for (rule, value) in rules {
        let Ok(value) = value.parse::<f64>() else { continue };
        let (place, side) = match rule {
            "rbps" | "read_bps" => (&mut group.bytes_per_s, 0),
            "wbps" | "write_bps" => (&mut group.bytes_per_s, 1),
            "riops" | "read_iops" => (&mut group.iops, 0),
            "wiops" | "write_iops" => (&mut group.iops, 1),
            _ => continue,
        };
        lower(&mut place[side], value);
    }
}

fn lower(limit: &mut Option<f64>, to: f64) {
    *limit = Some(limit.map_or(to, |now| now.min(to)));
}

/// Counters of the time for which quotas throttled this process, for its control group and all
/// parents.
#[derive(Debug)]
pub struct CpuQuota {
    files: Vec<PathBuf>,
}

impl CpuQuota {
    /// The counters of this process. Their files are looked up once: a process hardly ever changes
    /// its group, and a short step should not read all mounts.
    pub fn of_this_process() -> &'static CpuQuota {
        static OWN: OnceLock<CpuQuota> = OnceLock::new();
        OWN.get_or_init(|| CpuQuota::read(&Machine::here()))
    }

    /// The counters of the process that a machine's files describe.
    pub fn read(machine: &Machine) -> CpuQuota {
        let mounts = Mounts::read(machine);
        let groups = machine.text("/proc/self/cgroup").unwrap_or_default();
        let files = groups.lines().flat_map(|line| {
            let (controllers, group) = line.split_once(':').and_then(|l| l.1.split_once(':'))?;
            let counts = controllers.is_empty() || controllers.split(',').any(|c| c == "cpu");
            counts.then(|| levels(machine, &mounts, controllers, group))?
        });
        let files = files.flatten().map(|dir| dir.join("cpu.stat"));
        CpuQuota { files: files.filter(|file| throttled_of(file).is_some()).collect() }
    }

    /// The counters, nanoseconds since each group was created.
    pub fn throttled_ns(&self) -> Vec<u64> {
        self.files.iter().map(|file| throttled_of(file).unwrap_or(0)).collect()
    }

    /// The longest throttled time of any level since an earlier reading, nanoseconds.
    pub fn since(&self, before: &[u64]) -> u64 {
        let counts = self.throttled_ns();
        counts
            .iter()
            .zip(before)
            .map(|(counts, then)| counts.saturating_sub(*then))
            .max()
            .unwrap_or(0)
    }
}

/// Version 2 counts microseconds, version 1 nanoseconds.
fn throttled_of(file: &Path) -> Option<u64> {
    let text = read_text(file)?;
    text.lines().find_map(|line| match line.split_once(' ')? {
        ("throttled_usec", us) => us.parse::<u64>().ok()?.checked_mul(1000),
        ("throttled_time", ns) => ns.parse().ok(),
        _ => None,
    })
}

/// Limits of one hierarchy: `0::/path` in version 2, `7:blkio:/path` in version 1.
fn limits_of(machine: &Machine, mounts: &Mounts, line: &str) -> Option<Vec<Limit>> {
    let (_, rest) = line.split_once(':')?;
    let (controllers, group) = rest.split_once(':')?;
    let limit: fn(&Path) -> Vec<Limit> = if controllers.is_empty() {
        unified
    } else if controllers.split(',').any(|c| c == "blkio") {
        throttled
    } else if controllers.split(',').any(|c| c == "cpu") {
        quota
    } else {
        return None;
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
    // In a container, the mount may show only part of the tree.
    let top = machine.path(&mount.point);
    let mut dirs: Vec<PathBuf> = Path::new(group)
        .strip_prefix(&mount.root)
        .unwrap_or(Path::new(""))
        .ancestors()
        .map(|level| top.join(level))
        .collect();
    dirs.retain(|dir| !dir.components().any(|part| part.as_os_str() == ".."));
    Some(dirs)
}

fn unified(dir: &Path) -> Vec<Limit> {
    let io = read_text(&dir.join("io.max")).unwrap_or_default();
    let mut limits: Vec<Limit> = io
        .lines()
        .filter(|line| line.split_whitespace().skip(1).any(|rule| !rule.ends_with("=max")))
        .map(|line| Limit::Io(line.to_string()))
        .collect();
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
    let [quota, period] = ["cpu.cfs_quota_us", "cpu.cfs_period_us"]
        .map(|file| read_text(&dir.join(file))?.parse::<f64>().ok());
    let limit = quota.zip(period).and_then(|(quota, period)| processors(quota, period));
    limit.into_iter().collect()
}

/// A quota of -1 means no limit.
fn processors(quota: f64, period: f64) -> Option<Limit> {
    (quota > 0.0 && period > 0.0).then(|| Limit::Cpu(quota / period))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_versions_limit_the_named_devices() {
        let devices = [DevNumber { major: 8, minor: 0 }];
        let mut group = GroupLimits::default();
        let lines = [
            "8:0 rbps=2000 wbps=max riops=50 wiops=max",
            "8:16 rbps=1 wbps=1 riops=1 wiops=1",
            "read_bps 8:0 1000",
            "write_iops 8:0 70",
            "write_bps 8:16 9",
            "nonsense",
        ];
        lines.iter().for_each(|line| restrict(&mut group, line, &devices));
        assert_eq!(group.bytes_per_s, [Some(1000.0), None]);
        assert_eq!(group.iops, [Some(50.0), Some(70.0)]);
    }

    #[test]
    fn throttled_time_is_the_longest_of_any_level_in_both_versions() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).expect("written");
            path
        };
        let files = vec![
            file("2", "usage_usec 5\nnr_throttled 3\nthrottled_usec 1500\n"),
            file("1", "nr_periods 9\nnr_throttled 3\nthrottled_time 700\n"),
        ];
        let quota = CpuQuota { files };
        assert_eq!(quota.throttled_ns(), [1_500_000, 700]);
        assert_eq!(quota.since(&[1_400_000, 0]), 100_000);
        assert_eq!(throttled_of(&file("0", "usage_usec 5\n")), None);
    }
}

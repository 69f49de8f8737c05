//! Background activity of a machine, from two snapshots of its counters.

use record::{Evidence, Finding, FindingKind, Level, Unit};

use crate::machine::{Machine, names};
use crate::node::Node;
use crate::watch::{self, Sample};

/// Share of time spent on other I/O above which a drive is reported. Arbitrary.
const BUSY_SHARE: f64 = 0.02;
/// Share of stolen processor time above which it is reported. Arbitrary.
const STEAL_SHARE: f64 = 0.01;

/// Counters since boot.
#[derive(Clone, Debug, Default)]
pub(super) struct Snapshot {
    drives: Vec<(String, Sample)>,
    /// Processor time in ticks: total, and stolen by the hypervisor.
    cpu_ticks: u64,
    stolen_ticks: u64,
    swapped_pages: u64,
    throttled: u64,
}

impl Snapshot {
    pub fn take(machine: &Machine) -> Snapshot {
        let nodes =
            machine.names("/sys/block").into_iter().filter_map(|n| Node::named(machine, &n));
        let (cpu_ticks, stolen_ticks) = cpu(&machine.text("/proc/stat").unwrap_or_default());
        Snapshot {
            drives: nodes
                .filter(Node::is_shown)
                .filter_map(|node| {
                    // The head of an NVMe drive with multipath and its hidden paths count the same I/O.
                    let stats = node.counted(machine).into_iter().map(|node| node.dir.join("stat"));
                    let mut samples = stats.map(|stat| watch::parse(&std::fs::read(stat).ok()?));
                    let sample =
                        samples.try_fold(Sample::default(), |sum, one| Some(sum.and(one?)))?;
                    // A loop or dm device only repeats the counts of the underlying drive.
                    node.dir.join("device").exists().then_some((node.name, sample))
                })
                .collect(),
            cpu_ticks,
            stolen_ticks,
            swapped_pages: swapped(&machine.text("/proc/vmstat").unwrap_or_default()),
            throttled: throttled(machine),
        }
    }

    /// Findings between this snapshot and a later one.
    pub fn until(&self, later: &Snapshot, seconds: f64) -> Vec<Finding> {
        let pairs = self.drives.iter().filter_map(|(name, before)| {
            let end = later.drives.iter().find(|(other, _)| other == name)?;
            Some((name, before, &end.1))
        });
        let busy = pairs.filter_map(|(name, before, after)| busy(name, before, after, seconds));
        let rest = [self.stolen(later), self.swapping(later), self.throttling(later)];
        busy.chain(rest.into_iter().flatten()).collect()
    }

    fn stolen(&self, later: &Snapshot) -> Option<Finding> {
        let ticks = later.cpu_ticks.saturating_sub(self.cpu_ticks);
        let share = later.stolen_ticks.saturating_sub(self.stolen_ticks) as f64 / ticks as f64;
        (ticks > 0 && share > STEAL_SHARE).then(|| {
            let text = format!("the hypervisor steals {:.0}% of the processor time", share * 100.0);
            Finding::new(FindingKind::CpuStolen, Level::Warn, text)
                .advise("use a quieter host: latencies include pauses caused by the host")
                .with(Evidence::new("steal time / processor time", share, Unit::Number))
        })
    }

    fn swapping(&self, later: &Snapshot) -> Option<Finding> {
        let pages = later.swapped_pages.saturating_sub(self.swapped_pages);
        (pages > 0).then(|| {
            Finding::new(
                FindingKind::Swapping,
                Level::Warn,
                "the machine is swapping, which adds I/O",
            )
            .advise("free memory, or swapoff -a")
            .with(Evidence::new("pages swapped", pages as f64, Unit::Number))
        })
    }

    fn throttling(&self, later: &Snapshot) -> Option<Finding> {
        let events = later.throttled.saturating_sub(self.throttled);
        let (level, text) = if events > 0 {
            (Level::Warn, "the processor is being thermally throttled")
        } else if later.throttled > 0 {
            (Level::Note, "the processor has been thermally throttled since boot")
        } else {
            return None;
        };
        let evidence = Evidence::new("throttle events", later.throttled as f64, Unit::Number);
        Some(
            Finding::new(FindingKind::CpuThrottled, level, text)
                .advise("better cooling")
                .with(evidence),
        )
    }
}

fn busy(name: &str, before: &Sample, after: &Sample, seconds: f64) -> Option<Finding> {
    let busy_ms = after.busy_ms.saturating_sub(before.busy_ms) as f64;
    // Several paths can be busy at the same time.
    let share = if seconds > 0.0 { (busy_ms / 1e3 / seconds).min(1.0) } else { 0.0 };
    if share <= BUSY_SHARE && after.in_flight == 0 {
        return None;
    }
    let [before_bytes, after_bytes] = [before, after].map(|s| s.read_bytes + s.written_bytes);
    let bytes = after_bytes.saturating_sub(before_bytes) as f64;
    let rate = if seconds > 0.0 { bytes / seconds } else { 0.0 };
    let throughput = workload::units::throughput(rate);
    let text =
        format!("{name} has other I/O: busy {:.0}% of the time, {throughput}", share * 100.0);
    let finding = Finding::new(FindingKind::OtherIo, Level::Warn, text)
        .advise("stop the other I/O (iotop shows its source), or measure when the drive is idle")
        .with(Evidence::new("others' throughput", rate, Unit::BytesPerSecond))
        .with(Evidence::new("requests in flight", after.in_flight as f64, Unit::Number));
    Some(finding)
}

/// Total and stolen ticks in `cpu  user nice system idle iowait irq softirq steal guest ...`. Guest
/// time is already included in user and nice.
fn cpu(stat: &str) -> (u64, u64) {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu ")).unwrap_or_default();
    let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|t| t.parse().ok()).collect();
    (ticks.iter().sum(), ticks.get(7).copied().unwrap_or(0))
}

fn swapped(vmstat: &str) -> u64 {
    let counts = vmstat.lines().filter_map(|line| line.split_once(' '));
    let swap = counts.filter(|(name, _)| matches!(*name, "pswpin" | "pswpout"));
    swap.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).sum()
}

/// Thermal throttle events of all processors (x86).
fn throttled(machine: &Machine) -> u64 {
    let cpus = machine.path("/sys/devices/system/cpu");
    let counts = names(&cpus).into_iter().flat_map(|cpu| {
        let dir = cpus.join(cpu).join("thermal_throttle");
        ["core_throttle_count", "package_throttle_count"].map(|file| dir.join(file))
    });
    counts.filter_map(|file| crate::machine::read_text(&file)?.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(findings: &[Finding]) -> Vec<(&str, Level)> {
        findings.iter().map(|f| (f.kind.name(), f.level)).collect()
    }

    #[test]
    fn a_quiet_machine_gives_no_finding() {
        let drives = vec![("sda".to_string(), Sample { busy_ms: 500, ..Sample::default() })];
        let pulse =
            Snapshot { drives, cpu_ticks: 1000, stolen_ticks: 9, swapped_pages: 7, throttled: 0 };
        assert_eq!(named(&pulse.until(&pulse, 0.5)), []);
        assert_eq!(named(&pulse.until(&pulse, 0.0)), []);
    }

    #[test]
    fn other_activity_is_reported() {
        let drives = |busy_ms, in_flight| {
            vec![("sda".to_string(), Sample { busy_ms, in_flight, ..Sample::default() })]
        };
        let before = Snapshot {
            drives: drives(100, 0),
            cpu_ticks: 100,
            throttled: 3,
            ..Snapshot::default()
        };
        let busy = Snapshot { drives: drives(200, 0), ..before.clone() };
        let old = ("cpu-throttled", Level::Note);
        assert_eq!(named(&before.until(&busy, 0.5)), [("other-io", Level::Warn), old]);
        let waiting = Snapshot { drives: drives(100, 2), ..before.clone() };
        assert_eq!(named(&before.until(&waiting, 0.5)), [("other-io", Level::Warn), old]);
        let later = Snapshot {
            cpu_ticks: 200,
            stolen_ticks: 5,
            swapped_pages: 1,
            throttled: 4,
            ..before.clone()
        };
        let found = ["cpu-stolen", "swapping", "cpu-throttled"].map(|name| (name, Level::Warn));
        assert_eq!(named(&before.until(&later, 0.5)), found);
    }

    #[test]
    fn kernel_counters_are_parsed() {
        assert_eq!(cpu("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1\n"), (36, 8));
        assert_eq!(cpu(""), (0, 0));
        assert_eq!(swapped("pgfault 5\npswpin 3\npswpout 4\n"), 7);
    }
}

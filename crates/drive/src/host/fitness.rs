//! Checks whether a machine is fit for measurements: reports conditions that would distort a result
//! or make a measurement fail, each with advice.

use std::fs::File;
use std::io::ErrorKind;
use std::time::Duration;

use record::{Evidence, Finding, FindingKind, Level, Unit};

use super::cgroup::{self, Limit};
use super::environment::{governor, hypervisor, load};
use super::process::Process;
use super::snapshot::Snapshot;
use crate::identity;
use crate::machine::Machine;
use crate::node::Node;

/// Observation time for other I/O. Arbitrary: long enough to notice a writer that syncs, short
/// enough for an interactive user.
const LOOK: Duration = Duration::from_millis(500);
/// Registered buffers of a run at depth 256 with 256 KiB blocks.
const LOCK_BYTES_ENOUGH: u64 = 64 << 20;
/// A drive this close to its warning temperature is about to throttle.
const HEADROOM_C: f64 = 5.0;

/// Returns findings about the machine's current fitness. Observes other I/O for half a second.
pub fn fitness() -> Vec<Finding> {
    Machine::here().fitness(LOOK)
}

impl Machine {
    /// [`fitness`] of this machine, observing other I/O for `look`.
    pub fn fitness(&self, look: Duration) -> Vec<Finding> {
        let snapshot = Snapshot::take(self);
        std::thread::sleep(look);
        let mut findings = snapshot.until(&Snapshot::take(self), look.as_secs_f64());
        let process = Process::read(self);
        let about_machine = [
            slow_governor(self),
            high_load(self, &process),
            virtual_machine(self),
            slow_clock(self),
            on_battery(self),
            board_throttled(self),
            no_uring(self, &process),
            little_lock(&process),
            not_root(&process),
            no_device_access(self, &process),
        ];
        findings.extend(about_machine.into_iter().flatten());
        findings.extend(cgroup::limits(self).into_iter().map(limited));
        let nodes = self.names("/sys/block").into_iter().filter_map(|n| Node::named(self, &n));
        findings.extend(nodes.filter(Node::is_shown).flat_map(|node| about_drive(self, &node)));
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
        findings
    }
}

fn slow_governor(machine: &Machine) -> Option<Finding> {
    let governor = governor(machine).filter(|governor| governor != "performance")?;
    let text = format!("the CPU governor is {governor}: latencies at depth 1 may read high");
    let advice = "cpupower frequency-set -g performance";
    Some(Finding::new(FindingKind::Governor, Level::Warn, text).advise(advice))
}

fn high_load(machine: &Machine, process: &Process) -> Option<Finding> {
    let (load, cores) = load(machine).zip(process.threads)?;
    (load > f64::from(cores) / 2.0).then(|| {
        let text = format!("the load average is {load} on {cores} processors");
        Finding::new(FindingKind::Load, Level::Warn, text)
            .advise("wait for other work to finish")
            .with(Evidence::new("load average over a minute", load, Unit::Number))
    })
}

fn virtual_machine(machine: &Machine) -> Option<Finding> {
    let text = format!(
        "this is a virtual machine ({}): its drives may be shared, cached or limited by the host",
        hypervisor(machine)?
    );
    Some(Finding::new(FindingKind::VirtualMachine, Level::Note, text))
}

/// The engine reads the clock twice per I/O. Paravirtual clocks can also be read without a system
/// call.
fn slow_clock(machine: &Machine) -> Option<Finding> {
    let fast_clocks = ["tsc", "arch_sys_counter", "riscv_clocksource"];
    let near_clocks = ["kvm-clock", "hyperv_clocksource_tsc_page"];
    let clock = machine.text("/sys/devices/system/clocksource/clocksource0/current_clocksource")?;
    let level = match clock.as_str() {
        name if fast_clocks.contains(&name) => return None,
        name if near_clocks.contains(&name) => Level::Note,
        _ => Level::Warn,
    };
    let text = format!(
        "the kernel's clock source is {clock}, which is slower to read than the CPU's own counter"
    );
    let advice =
        "clocksource=tsc on the kernel command line, if the CPU's time-stamp counter is invariant";
    Some(Finding::new(FindingKind::Clock, level, text).advise(advice))
}

fn on_battery(machine: &Machine) -> Option<Finding> {
    let supplies = machine.names("/sys/class/power_supply").into_iter();
    let mut supplies = supplies.map(|name| format!("/sys/class/power_supply/{name}"));
    let is_discharging = supplies.any(|dir| {
        let reads =
            |file: &str, what: &str| machine.text(format!("{dir}/{file}")).as_deref() == Some(what);
        // A mouse also has a battery, with scope "Device".
        reads("type", "Battery") && reads("status", "Discharging") && !reads("scope", "Device")
    });
    is_discharging.then(|| {
        let text = "the machine is on battery power and may slow down to save energy";
        Finding::new(FindingKind::OnBattery, Level::Warn, text).advise("plug it in")
    })
}

/// Raspberry Pi firmware: bits 0 to 3 are the current state, bits 16 to 19 the history since boot.
fn board_throttled(machine: &Machine) -> Option<Finding> {
    let text = machine.text("/sys/devices/platform/soc/soc:firmware/get_throttled")?;
    let bits = u32::from_str_radix(text.trim_start_matches("0x"), 16).ok().filter(|b| *b != 0)?;
    let is_current = bits & 0xf != 0;
    let (undervoltage, period) = if is_current { (1, "now") } else { (1 << 16, "since boot") };
    let problem = if bits & undervoltage != 0 { "undervoltage" } else { "throttling" };
    let level = if is_current { Level::Warn } else { Level::Note };
    let text = format!("the board's firmware reports {problem} {period}");
    Some(
        Finding::new(FindingKind::BoardThrottled, level, text)
            .advise("a better power supply, or cooling"),
    )
}

fn no_uring(machine: &Machine, process: &Process) -> Option<Finding> {
    let disabled: u32 = machine.value("/proc/sys/kernel/io_uring_disabled")?;
    let group = machine.value("/proc/sys/kernel/io_uring_group");
    let may_use = process.may_administer || group.is_some_and(|id| process.groups.contains(&id));
    let for_us = disabled >= 2 || (disabled == 1 && !may_use);
    for_us.then(|| {
        let text =
            "io_uring is disabled for this user: libaio is used instead, at a higher cost per I/O";
        Finding::new(FindingKind::NoIoUring, Level::Warn, text)
            .advise("sysctl kernel.io_uring_disabled=0")
    })
}

fn little_lock(process: &Process) -> Option<Finding> {
    let bytes = process.lock_bytes_max.filter(|bytes| *bytes < LOCK_BYTES_ENOUGH)?;
    (!process.may_lock).then(|| {
        let size = workload::units::binary(bytes);
        let text = format!(
            "locked memory is limited to {size}: buffers may not be registered with the kernel"
        );
        Finding::new(FindingKind::Memlock, Level::Note, text)
            .advise("ulimit -l unlimited")
            .with(Evidence::new("locked memory limit", bytes as f64, Unit::Bytes))
    })
}

fn not_root(process: &Process) -> Option<Finding> {
    (!process.root).then(|| {
        let text = "not root: the drives' own health data, the payload size of PCIe links and the \
                    settings of card readers remain unknown";
        Finding::new(FindingKind::NotRoot, Level::Note, text).advise("use sudo if these matter")
    })
}

fn no_device_access(machine: &Machine, process: &Process) -> Option<Finding> {
    if process.root {
        return None;
    }
    let nodes = machine.names("/sys/block").into_iter().filter_map(|n| Node::named(machine, &n));
    let drives = nodes.filter(|node| node.is_shown() && node.dir.join("device").exists());
    // Other errors are those of the drive: no medium, or no node any more.
    let denied: Vec<String> = drives
        .filter(|node| {
            let error = File::open(machine.path(node.path())).err();
            error.is_some_and(|error| error.kind() == ErrorKind::PermissionDenied)
        })
        .map(|node| node.name)
        .collect();
    (!denied.is_empty()).then(|| {
        let text = format!(
            "this user cannot open {}: only directories on such drives can be measured",
            denied.join(", ")
        );
        Finding::new(FindingKind::NoDeviceAccess, Level::Note, text)
            .advise("join the device node's group (usually disk), or use sudo")
    })
}

fn limited(limit: Limit) -> Finding {
    match limit {
        Limit::Io(line) => {
            let text = format!("I/O of this process is limited by its control group: {line}");
            Finding::new(FindingKind::IoLimit, Level::Bad, text)
                .advise("run outside the container or service")
        }
        Limit::Cpu(processors) => {
            let text =
                format!("the control group limits this process to {processors:.1} processors");
            Finding::new(FindingKind::CpuLimit, Level::Warn, text)
                .advise("run outside the container or service")
                .with(Evidence::new("processors", processors, Unit::Number))
        }
    }
}

fn about_drive(machine: &Machine, node: &Node) -> Vec<Finding> {
    let drive = identity::identify(machine, node, false);
    let link = drive.link.filter(|link| link.downgraded == Some(true));
    let slow_link = link.map(|link| {
        let (now, best) = (link.now.unwrap_or_default(), link.best.unwrap_or_default());
        let text = format!("{} runs at {now} but supports {best}", drive.name);
        Finding::new(FindingKind::LinkDowngraded, Level::Warn, text)
            .advise("another slot, port or cable")
    });
    let heat = drive.health.temperature_c.zip(drive.health.temperature_warn_c);
    let hot = heat.filter(|(now, warn)| *now >= warn - HEADROOM_C).map(|(now, warn)| {
        let text = format!("{} is at {now:.0} C; its warning level is {warn:.0} C", drive.name);
        Finding::new(FindingKind::HotDrive, Level::Warn, text)
            .advise("let it cool, or add airflow")
            .with(Evidence::new("temperature", now, Unit::Celsius))
    });
    slow_link.into_iter().chain(hot).chain(drive.path_faults).collect()
}

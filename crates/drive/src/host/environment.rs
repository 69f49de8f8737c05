//! The machine: board, operating system, processor, memory, hypervisor.
//!
//! Sources: DMI (`/sys/class/dmi/id`) on PCs and servers, the device tree on boards,
//! `/etc/os-release`, `/proc`. Placeholder text in the firmware is ignored.

use record::{Cpu, Environment};

use super::process::Process;
use crate::machine::{Machine, field};

/// The environment of this machine. The engine adds backend, clock and instrument cost.
pub fn environment() -> Environment {
    Machine::here().environment()
}

impl Machine {
    /// [`environment`] of this machine.
    pub fn environment(&self) -> Environment {
        Environment {
            ssdyno: env!("CARGO_PKG_VERSION").into(),
            host: self.text("/proc/sys/kernel/hostname"),
            board: board(self),
            os: os(self),
            kernel: self.text("/proc/sys/kernel/osrelease"),
            cpu: Cpu {
                model: cpu_model(&self.text("/proc/cpuinfo").unwrap_or_default()),
                threads: Process::read(self).threads,
                governor: governor(self),
            },
            memory_bytes: memory_bytes(self),
            hypervisor: hypervisor(self),
            load: load(self),
            ..Environment::default()
        }
    }
}

/// Load average over one minute.
pub(super) fn load(machine: &Machine) -> Option<f64> {
    machine.text("/proc/loadavg")?.split_whitespace().next()?.parse().ok()
}

fn dmi(machine: &Machine, field: &str) -> Option<String> {
    let factory =
        ["to be filled", "default string", "system manufacturer", "system product", "o.e.m."];
    let text = machine.text(format!("/sys/class/dmi/id/{field}"))?;
    let lowercase = text.to_ascii_lowercase();
    (!factory.iter().any(|mark| lowercase.starts_with(mark)) && lowercase != "none").then_some(text)
}

fn board(machine: &Machine) -> Option<String> {
    let [maker, model] = [("sys_vendor", "board_vendor"), ("product_name", "board_name")]
        .map(|(system, board)| dmi(machine, system).or_else(|| dmi(machine, board)));
    let name = match (maker, model) {
        (Some(maker), Some(model)) if !model.starts_with(&maker) => {
            Some(format!("{maker} {model}"))
        }
        (maker, model) => model.or(maker),
    };
    name.or_else(|| machine.text("/proc/device-tree/model"))
}

fn os(machine: &Machine) -> Option<String> {
    let text = machine.text("/etc/os-release")?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches(['"', '\'']).to_string())
}

fn memory_bytes(machine: &Machine) -> Option<u64> {
    let text = machine.text("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The frequency governors in use, without duplicates.
pub(super) fn governor(machine: &Machine) -> Option<String> {
    let cpus = machine.names("/sys/devices/system/cpu").into_iter();
    let mut governors: Vec<String> = cpus
        .filter_map(|cpu| {
            machine.text(format!("/sys/devices/system/cpu/{cpu}/cpufreq/scaling_governor"))
        })
        .collect();
    governors.sort_unstable();
    governors.dedup();
    (!governors.is_empty()).then(|| governors.join(", "))
}

fn cpu_model(cpuinfo: &str) -> Option<String> {
    let field = |name| field(cpuinfo, name).filter(|value| !value.is_empty());
    // PCs and 32-bit ARM name the model; 64-bit ARM has only numbers.
    let model = ["model name", "cpu model", "cpu", "uarch"].into_iter().find_map(field);
    let model = model.map(str::to_string);
    model.or_else(|| arm_core(field("CPU implementer")?, field("CPU part")?))
}

/// Cores of boards to which drives are likely to be attached, by number (Arm, MIDR_EL1).
fn arm_core(implementer: &str, part: &str) -> Option<String> {
    let core = match (implementer, part) {
        ("0x41", "0xc07") => "Cortex-A7",
        ("0x41", "0xd03") => "Cortex-A53",
        ("0x41", "0xd04") => "Cortex-A35",
        ("0x41", "0xd05") => "Cortex-A55",
        ("0x41", "0xd07") => "Cortex-A57",
        ("0x41", "0xd08") => "Cortex-A72",
        ("0x41", "0xd09") => "Cortex-A73",
        ("0x41", "0xd0b") => "Cortex-A76",
        ("0x41", "0xd0c") => "Neoverse N1",
        ("0x41", "0xd40") => "Neoverse V1",
        ("0x41", "0xd49") => "Neoverse N2",
        ("0x41", "0xd4f") => "Neoverse V2",
        ("0x61", _) => "Apple silicon",
        _ => return Some(format!("ARM implementer {implementer} part {part}")),
    };
    Some(core.to_string())
}

/// The hypervisor named by the firmware or Xen, otherwise by the processor.
pub(crate) fn hypervisor(machine: &Machine) -> Option<String> {
    const FIRMWARE: [(&str, &str); 9] = [
        ("QEMU", "QEMU"),
        ("KVM", "KVM"),
        ("VMware", "VMware"),
        ("innotek", "VirtualBox"),
        ("Xen", "Xen"),
        ("Amazon EC2", "Amazon EC2"),
        ("Google", "Google Compute Engine"),
        ("Parallels", "Parallels"),
        ("Virtual Machine", "Hyper-V"),
    ];
    if let Some(kind) = machine.text("/sys/hypervisor/type") {
        return Some(kind);
    }
    let cpuinfo = machine.text("/proc/cpuinfo").unwrap_or_default();
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    let flagged =
        flags.is_some_and(|line| line.split_whitespace().any(|flag| flag == "hypervisor"));
    let words = ["sys_vendor", "product_name"].map(|f| dmi(machine, f).unwrap_or_default());
    let firmware = FIRMWARE.iter().find(|(mark, _)| words.iter().any(|word| word.contains(mark)));
    match firmware {
        // Amazon and Google also offer bare metal; the flags of an x86 processor decide, on ARM the
        // name, such as `m6g.metal`.
        Some((_, name)) if flagged || (flags.is_none() && !words[1].contains(".metal")) => {
            Some(name.to_string())
        }
        _ => flagged.then(|| cpuid_name().unwrap_or_else(|| "unknown".into())),
    }
}

/// The hypervisor named by the twelve-character signature in CPUID leaf 0x40000000.
#[cfg(target_arch = "x86_64")]
fn cpuid_name() -> Option<String> {
    let leaf = core::arch::x86_64::__cpuid(0x4000_0000);
    let bytes: Vec<u8> =
        [leaf.ebx, leaf.ecx, leaf.edx].iter().flat_map(|r| r.to_le_bytes()).collect();
    let name = String::from_utf8(bytes).ok()?;
    let name = name.trim_matches(|c: char| c == '\0' || c.is_whitespace());
    let hypervisor = match name {
        "KVMKVMKVM" => "KVM",
        "Microsoft Hv" => "Hyper-V",
        "VMwareVMware" => "VMware",
        "XenVMMXenVMM" => "Xen",
        "TCGTCGTCGTCG" => "QEMU without acceleration",
        "VBoxVBoxVBox" => "VirtualBox",
        other => other,
    };
    (!hypervisor.is_empty()).then(|| hypervisor.to_string())
}

#[cfg(not(target_arch = "x86_64"))]
fn cpuid_name() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_identified_by_name_or_number() {
        let pc = "processor\t: 0\nmodel\t\t: 2\nmodel name\t: AMD Ryzen 7 5800X 8-Core Processor\n";
        assert_eq!(cpu_model(pc).as_deref(), Some("AMD Ryzen 7 5800X 8-Core Processor"));
        let board = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\n";
        assert_eq!(cpu_model(board).as_deref(), Some("Cortex-A72"));
        assert_eq!(cpu_model(""), None);
    }

    #[test]
    fn this_machine_has_a_kernel_and_memory() {
        let here = environment();
        assert!(here.kernel.is_some() && here.memory_bytes > Some(0) && here.cpu.threads > Some(0));
    }
}

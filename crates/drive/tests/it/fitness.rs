//! Findings of `doctor` on simulated machines.

use crate::common::kernel::or_skip;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::common::Built;
use record::Level;

fn status(uid: u32, capabilities: &str) -> String {
    format!(
        "Name:\tssdyno\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nCapEff:\t{capabilities}\nCpus_allowed:\tf\n"
    )
}

/// A quiet machine without findings: root, four processors, the TSC clock source.
fn quiet() -> Built {
    let built = Built::new();
    built
        .file("/proc/self/status", status(0, "000001ffffffffff"))
        .file("/proc/loadavg", "0.50 0.40 0.30 1/100 4711\n")
        .file("/proc/stat", "cpu  100 0 50 1000 5 0 1 9 0 0\n")
        .file("/proc/sys/kernel/io_uring_disabled", "0\n")
        .file("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    built
}

fn found(built: &Built) -> Vec<(String, Level)> {
    let findings = built.machine().fitness(Duration::ZERO);
    findings.into_iter().map(|finding| (finding.kind.to_string(), finding.level)).collect()
}

fn texts(built: &Built) -> Vec<String> {
    let findings = built.machine().fitness(Duration::ZERO);
    findings.into_iter().map(|finding| finding.text).collect()
}

fn only(name: &str, level: Level) -> Vec<(String, Level)> {
    vec![(name.to_string(), level)]
}

#[test]
fn a_quiet_machine_is_fit() {
    assert_eq!(found(&quiet()), []);
}

#[test]
fn each_finding_alone() {
    let table: [(&str, &str, &str, Level); 9] = [
        (
            "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "powersave",
            "governor",
            Level::Warn,
        ),
        ("/proc/loadavg", "2.01 1 1 1/1 1", "load", Level::Warn),
        ("/sys/hypervisor/type", "xen", "virtual-machine", Level::Note),
        (
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            "hpet",
            "clock",
            Level::Warn,
        ),
        (
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            "kvm-clock",
            "clock",
            Level::Note,
        ),
        (
            "/sys/devices/platform/soc/soc:firmware/get_throttled",
            "50005",
            "board-throttled",
            Level::Warn,
        ),
        (
            "/sys/devices/platform/soc/soc:firmware/get_throttled",
            "50000",
            "board-throttled",
            Level::Note,
        ),
        ("/proc/sys/kernel/io_uring_disabled", "2", "no-io-uring", Level::Warn),
        (
            "/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count",
            "7",
            "cpu-throttled",
            Level::Note,
        ),
    ];
    for (file, text, name, level) in table {
        let built = quiet();
        built.file(file, text);
        assert_eq!(found(&built), only(name, level), "{file} {text}");
    }
}

#[test]
fn a_boards_present_state_is_not_its_history() {
    for (bits, state) in [
        ("50005", "undervoltage now"),
        // Throttled, or at the soft temperature limit; undervoltage earlier.
        ("50004", "throttling now"),
        ("d0008", "throttling now"),
        ("50000", "undervoltage since boot"),
        ("40000", "throttling since boot"),
    ] {
        let built = quiet();
        built.file("/sys/devices/platform/soc/soc:firmware/get_throttled", bits);
        assert_eq!(texts(&built), [format!("the board's firmware reports {state}")], "{bits}");
    }
}

/// Since Linux 6.4 the visible head of an NVMe drive with multipath counts too; before, only the
/// hidden paths do.
#[test]
fn the_io_of_a_drive_with_multipath_is_reported_once() {
    let (idle, busy) = ("1 0 8 1 2 0 16 1 0 5 6\n", "1 0 8 1 2 0 16 1 2 5 6\n");
    for head_stat in [idle, busy] {
        let built = quiet();
        let head = "/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1";
        let controller = "/sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0";
        let path = format!("{controller}/nvme0c0n1");
        built
            .disk(head, "259:1", 1 << 30)
            .disk(&path, "259:0", 1 << 30)
            .link(&format!("{head}/device"), "/sys/devices/virtual/nvme-subsystem/nvme-subsys0")
            .link(&format!("{path}/device"), controller)
            .files(&path, &[("hidden", "1")])
            .file(&format!("{path}/stat"), busy)
            .file(&format!("{head}/stat"), head_stat);
        let texts = texts(&built);
        assert_eq!(texts.len(), 1, "{texts:?}");
        assert!(texts[0].starts_with("nvme0n1 has other I/O"), "{texts:?}");
    }
}

#[test]
fn only_the_machines_battery_counts() {
    let built = quiet();
    let battery = [("type", "Battery"), ("status", "Discharging")];
    built.files("/sys/class/power_supply/mouse", &battery);
    built.files("/sys/class/power_supply/mouse", &[("scope", "Device")]);
    assert_eq!(found(&built), []);
    built.files("/sys/class/power_supply/BAT0", &battery);
    assert_eq!(found(&built), only("on-battery", Level::Warn));
}

#[test]
fn limits_of_the_control_group_and_its_parents() {
    let built = quiet();
    built
        .file("/proc/self/cgroup", "0::/system.slice/backup.service\n")
        .mounts(&["31 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"])
        .file("/sys/fs/cgroup/system.slice/backup.service/io.max", "8:0 rbps=max wbps=max\n")
        .file("/sys/fs/cgroup/system.slice/backup.service/cpu.max", "max 100000\n");
    assert_eq!(found(&built), []);
    built
        .file(
            "/sys/fs/cgroup/system.slice/io.max",
            "8:0 rbps=1048576 wbps=max riops=max wiops=max\n",
        )
        .file("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    let both = [("io-limit".to_string(), Level::Bad), ("cpu-limit".to_string(), Level::Warn)];
    assert_eq!(found(&built), both);
}

#[test]
fn limits_of_control_groups_version_1() {
    let built = quiet();
    built
        .file("/proc/self/cgroup", "7:blkio:/box\n4:cpu,cpuacct:/box\n3:memory:/box\n")
        .mounts(&[
            "31 1 0:30 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio",
            "32 1 0:31 /box /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct",
        ])
        .file("/sys/fs/cgroup/blkio/box/blkio.throttle.write_bps_device", "8:0 1048576\n")
        .file("/sys/fs/cgroup/blkio/box/blkio.throttle.read_bps_device", "\n")
        .file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
        .file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    assert_eq!(found(&built), only("io-limit", Level::Bad));
    built.file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n");
    assert_eq!(found(&built).len(), 2);
}

#[test]
fn an_unprivileged_user_sees_the_restrictions() {
    let built = quiet();
    built.file("/proc/self/status", status(1000, "0")).file(
        "/proc/self/limits",
        "Max locked memory         8388608              8388608    bytes\n",
    );
    let notes = ["memlock", "not-root"].map(|name| (name.to_string(), Level::Note));
    assert_eq!(found(&built), notes);
    built.file("/proc/sys/kernel/io_uring_disabled", "1\n");
    built.file("/proc/sys/kernel/io_uring_group", "-1\n");
    assert_eq!(found(&built)[0], ("no-io-uring".to_string(), Level::Warn));
    let in_group = format!("{}Gid:\t100\t100\t100\t100\nGroups:\t100 990\n", status(1000, "0"));
    built.file("/proc/self/status", in_group);
    built.file("/proc/sys/kernel/io_uring_group", "990\n");
    assert_eq!(found(&built), notes, "the group may use it");
}

/// Permissions are not the reason if a node is missing, as that of a hidden path, or has no medium.
#[test]
fn only_a_denied_drive_needs_permissions() {
    let built = quiet();
    built.file("/proc/self/status", status(1000, "0"));
    for (name, number, bytes) in [("sda", "8:0", 1 << 30), ("sdb", "8:16", 0)] {
        let device = format!("/sys/devices/pci0000:00/ata1/host0/{name}");
        let disk = format!("{device}/block/{name}");
        built.disk(&disk, number, bytes).link(&format!("{disk}/device"), &device);
    }
    let node = built.path("/dev/sda");
    std::fs::remove_file(&node).expect("there");
    let access = ("no-device-access".to_string(), Level::Note);
    assert!(!found(&built).contains(&access), "{:?}", texts(&built));
    // Root may open a file whatever its mode.
    std::fs::write(&node, "").expect("written");
    std::fs::set_permissions(&node, std::fs::Permissions::from_mode(0o000)).expect("changed");
    or_skip!(match std::fs::File::open(&node) {
        Ok(_) => Err("root may open every file".to_string()),
        Err(_) => Ok(()),
    });
    assert!(found(&built).contains(&access), "{:?}", texts(&built));
}

#[test]
fn the_environment_of_a_board_and_of_a_server() {
    let board = Built::new();
    board
        .file("/proc/device-tree/model", "Acme Compute Module 4 Rev 1.0\0")
        .file("/proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\n")
        .file("/proc/sys/kernel/hostname", "pi\n")
        .file("/proc/meminfo", "MemTotal:        3884876 kB\n")
        .file("/etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
    for cpu in ["cpu0", "cpu1"] {
        board
            .file(&format!("/sys/devices/system/cpu/{cpu}/cpufreq/scaling_governor"), "ondemand\n");
    }
    let environment = board.machine().environment();
    assert_eq!(environment.board.as_deref(), Some("Acme Compute Module 4 Rev 1.0"));
    assert_eq!(environment.cpu.model.as_deref(), Some("Cortex-A72"));
    assert_eq!(environment.cpu.governor.as_deref(), Some("ondemand"));
    assert_eq!(environment.memory_bytes, Some(3_884_876 << 10));
    assert_eq!(environment.os.as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
    assert_eq!((environment.host.as_deref(), environment.hypervisor), (Some("pi"), None));

    let server = Built::new();
    server
        .files(
            "/sys/class/dmi/id",
            &[("sys_vendor", "To Be Filled By O.E.M."), ("board_vendor", "ACME")],
        )
        .files(
            "/sys/class/dmi/id",
            &[("product_name", "System Product Name"), ("board_name", "X570 Pro")],
        );
    assert_eq!(server.machine().environment().board.as_deref(), Some("ACME X570 Pro"));
    server.files("/sys/class/dmi/id", &[("sys_vendor", "QEMU"), ("product_name", "Standard PC")]);
    assert_eq!(server.machine().environment().hypervisor.as_deref(), Some("QEMU"));
    // The processors of ARM have no flag that shows a hypervisor.
    for (name, hypervisor) in [("m6g.large", Some("Amazon EC2")), ("m6g.metal", None)] {
        let vendor = ("sys_vendor", "Amazon EC2");
        server.files("/sys/class/dmi/id", &[vendor, ("product_name", name)]);
        assert_eq!(server.machine().environment().hypervisor.as_deref(), hypervisor, "{name}");
    }
}

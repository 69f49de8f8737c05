//! The Debian packages used by tests, installed if missing.
//!
//! No package is needed to build. If one cannot be installed, the tests that need it report that
//! and count as skipped.

use crate::guest::has_kernel;
use crate::run::{find, output, program};

/// Alternative programs or absolute paths of files, and the package that brings them.
pub type Need<'a> = (&'a [&'a str], &'a str);

/// The packages of `cargo xtask test`, and the use of each.
pub const FOR_TESTS: &[Need] = &[
    (&["mkfs.ext4"], "e2fsprogs"),   // file systems on loop devices
    (&["mkfs.vfat"], "dosfstools"),  // the same, as on SD cards
    (&["mkfs.exfat"], "exfatprogs"), // the same
    (&["losetup"], "mount"),         // loop devices
    (&["fio"], "fio"),               // the same I/O by another tool
    (&["qemu-system-x86_64"], "qemu-system-x86"), // a guest with drives of every kind
    (&["qemu-system-aarch64"], "qemu-system-arm"), // the driver on a bare Cortex-A53
    (&[KERNEL], "linux-image-amd64"), // the guest's kernel
    (&["busybox"], "busybox-static"), // the guest's shell
    (&["nvme"], "nvme-cli"),         // another NVMe tool, in the guest
    (&["hdparm"], "hdparm"),         // another ATA tool, in the guest
    (&["sfdisk"], "fdisk"),          // another partitioning tool, in the guest
    (&["jq"], "jq"),                 // reads JSON of the guest
    (&["dmsetup"], "dmsetup"),       // held drives
    (&["lvm"], "lvm2"),              // layers above drives, in the guest
    (&["make-bcache"], "bcache-tools"), // the same
    (&["mkfs.btrfs"], "btrfs-progs"), // the same
    (&["nats-server"], "nats-server"), // the queue of a fleet
    (&["initdb", "pg_ctlcluster"], "postgresql"), // its records
    (&["valgrind"], "valgrind"),     // instructions of the NVMe driver
    (&["strace"], "strace"),         // the order in which a journal is made durable
    (&["chromium", "chromium-browser", "google-chrome"], "chromium"), // opens the HTML report
];

/// Represents a kernel with its modules, not a program.
const KERNEL: &str = "vmlinuz";

/// Installs missing packages; returns one line with those installed and those unavailable.
pub fn install(needs: &[Need]) -> String {
    let before = missing(needs);
    if before.is_empty() {
        return "all present".into();
    }
    let failure = apt(&before).err();
    let after = missing(needs);
    let installed: Vec<_> = before.into_iter().filter(|p| !after.contains(p)).collect();
    let mut words = Vec::new();
    if !installed.is_empty() {
        words.push(format!("installed {}", installed.join(" ")));
    }
    if !after.is_empty() {
        let why = failure.map_or("unknown to apt-get".into(), |e| e.to_string());
        let why = why.lines().last().unwrap_or_default().to_string();
        words.push(format!("without {} ({why})", after.join(" ")));
    }
    words.join(", ")
}

/// The packages without which something is missing.
pub fn missing<'a>(needs: &[Need<'a>]) -> Vec<&'a str> {
    let has = |name: &str| if name == KERNEL { has_kernel() } else { find(name).is_some() };
    let lacks = |programs: &[&str]| !programs.iter().any(|name| has(name));
    needs.iter().filter(|(programs, _)| lacks(programs)).map(|(_, package)| *package).collect()
}

/// Updates the package lists.
pub fn update() -> anyhow::Result<()> {
    apt_get(&["update"]).map(drop)
}

/// Runs apt-get as root or with passwordless sudo.
fn apt_get(arguments: &[&str]) -> anyhow::Result<String> {
    let prefix: &[&str] = if is_root() { &[] } else { &["sudo", "-n"] };
    let environment = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"];
    let words = [prefix, &environment, arguments].concat();
    output(&mut program(words[0], &words[1..]))
}

fn apt(packages: &[&str]) -> anyhow::Result<()> {
    if find("apt-get").is_none() {
        anyhow::bail!("no apt-get on this machine");
    }
    update()?;
    // One by one, so that an unavailable package does not block the others.
    let install = |package: &&str| apt_get(&["install", "-y", "--no-install-recommends", *package]);
    let results: Vec<_> = packages.iter().map(install).collect();
    results.into_iter().collect::<anyhow::Result<Vec<_>>>().map(drop)
}

fn is_root() -> bool {
    output(&mut program("id", &["-u"])).is_ok_and(|id| id.trim() == "0")
}

//! The guest's boot image: an archive of busybox, `ssdyno`, the other programs that the scripts
//! use, kernel modules, and the scripts of `guest/`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::cpio::Archive;
use super::kernel::Kernel;
use super::script::Script;
use crate::run::{find, output, program, root};

/// Programs copied from this machine with their libraries. A script lists the programs it needs in
/// its first comment (`needs:`) and is skipped if one is missing.
const TOOLS: &[&str] = &[
    "nvme",
    "hdparm",
    "lsblk",
    "blkid",
    "sfdisk",
    "fdisk",
    "findmnt",
    "swapon",
    "mkswap",
    "blkdiscard",
    "mkfs.ext4",
    "mkfs.btrfs",
    "mkfs.vfat",
    "mkfs.exfat",
    "fsck.vfat",
    "fsck.exfat",
    "e2fsck",
    "dmsetup",
    "lvm",
    "make-bcache",
    "btrfs",
    "mdadm",
    "cryptsetup",
    "losetup",
    "partx",
    "setpriv", // drops privileges
    "flashbench",
    "f3probe",
    "f3write",
    "f3read",
];

/// Writes the archive with these programs, each given by its path in the guest and the file.
pub fn write(to: &Path, kernel: &Kernel, programs: &[(String, PathBuf)]) -> Result<()> {
    let mut archive = Archive::default();
    for directory in ["dev", "proc", "sys", "tmp", "mnt", "root", "run", "etc", "busybox"] {
        archive.directory(directory);
    }
    for (place, file) in programs {
        add(&mut archive, place, file)?;
        libraries(&mut archive, file)?;
    }
    kernel.add_modules(&mut archive)?;
    let guest = root().join("guest");
    add(&mut archive, "/init", &guest.join("init.sh"))?;
    add(&mut archive, "/lib.sh", &guest.join("lib.sh"))?;
    for script in super::script::all()? {
        add(&mut archive, &format!("/tests/{}.sh", script.name), &script.path)?;
    }
    // Another run may still be using the previous archive.
    let part = to.with_extension(std::process::id().to_string());
    fs::write(&part, archive.finish()).with_context(|| part.display().to_string())?;
    fs::rename(&part, to).with_context(|| to.display().to_string())
}

/// The place of the guest's shell.
pub const BUSYBOX: &str = "/busybox/busybox";

/// The shell, and those of the tools that this machine has, with their places in the guest.
pub fn tools() -> Result<Vec<(String, PathBuf)>> {
    let busybox = find("busybox").context("no busybox on this machine")?;
    let tools = TOOLS.iter().filter_map(|name| find(name));
    let placed = tools.map(|tool| (format!("/usr/bin/{}", name(&tool)), tool));
    Ok([(BUSYBOX.into(), busybox)].into_iter().chain(placed).collect())
}

/// An archive with a script from outside `guest/tests`, and with the programs that only this script
/// needs, to append to the first archive.
pub fn extra(script: &Script) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    add(&mut archive, &format!("/tests/{}", name(&script.path)), &script.path)?;
    let more = script.needs.iter().filter(|program| !TOOLS.contains(&program.as_str()));
    for tool in more.filter_map(|program| find(program)) {
        add(&mut archive, &format!("/usr/bin/{}", name(&tool)), &tool)?;
        libraries(&mut archive, &tool)?;
    }
    Ok(archive.finish())
}

fn add(archive: &mut Archive, place: &str, file: &Path) -> Result<()> {
    let content = fs::read(file).with_context(|| file.display().to_string())?;
    archive.file(place, 0o755, &content);
    Ok(())
}

/// Adds the libraries and the loader listed by `ldd`, each under its own path.
fn libraries(archive: &mut Archive, binary: &Path) -> Result<()> {
    // `ldd` fails on a static binary, which needs no libraries.
    let said = output(&mut program("ldd", &[&binary.to_string_lossy()])).unwrap_or_default();
    for path in said.split_whitespace().filter(|word| word.starts_with('/')) {
        if !archive.has(path) {
            add(archive, path, &PathBuf::from(path))?;
        }
    }
    Ok(())
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

//! `cargo xtask guest arm`: Debian's kernel for 64-bit Arm on QEMU's `virt` board, with both Arm
//! binaries of `cargo xtask dist`.
//!
//! The kernel and busybox are Debian's packages for arm64, unpacked in `target/guest/debian-arm64`;
//! nothing is installed on this machine and its list of architectures stays as it is. The
//! processor, a Cortex-A53 as in a Raspberry Pi 3, runs 64-bit and 32-bit programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};

use super::kernel::Kernel;
use super::machine::Board;
use super::script::{Case, Script};
use super::session::{self, Outcome};
use super::{Ready, image, suite};
use crate::packages;
use crate::run::{find, metadata, output, program, root};

/// The script that runs if none is named.
const SCRIPT: &str = "guest/benches/arm.sh";

/// The package that depends on the newest kernel.
const KERNEL: &str = "linux-image-arm64";

/// Runs a script in the guest and prints its output.
pub fn run(arguments: &[String]) -> Result<ExitCode> {
    let needs: [packages::Need; 2] =
        [(&["qemu-system-aarch64"], "qemu-system-arm"), (&["depmod"], "kmod")];
    packages::install(&needs);
    let path = arguments.first().map_or_else(|| root().join(SCRIPT), PathBuf::from);
    let script = Script::read(&path)?;
    let ready = suite::with_script(ready()?, &script)?;
    let Outcome { status, said } = session::run(&Case { script, drive: None }, &ready)?;
    print!("{said}");
    Ok(if status == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The files to boot.
fn ready() -> Result<Ready> {
    let target = metadata()?;
    let target = Path::new(target["target_directory"].as_str().context("cargo metadata")?);
    let dir = target.join("guest");
    let system = dir.join("debian-arm64");
    fs::create_dir_all(&system).with_context(|| system.display().to_string())?;
    let kernel = match Kernel::in_root(&system) {
        Ok(kernel) => kernel,
        Err(_) => install(&system)?,
    };
    let mut programs = vec![(image::BUSYBOX.to_string(), system.join("bin/busybox"))];
    for (name, machine) in [("ssdyno", "aarch64"), ("ssdyno-armv7", "armv7")] {
        let binary = target.join("dist").join(machine).join("ssdyno");
        if !binary.exists() {
            bail!("no {}\ntry: cargo xtask dist --target aarch64,armv7", binary.display());
        }
        programs.push((format!("/usr/bin/{name}"), binary));
    }
    let initrd = dir.join("initrd-arm");
    image::write(&initrd, &kernel, &programs)?;
    Ok(Ready { kernel: kernel.image, initrd, dir, board: Board::Virt })
}

/// Unpacks Debian's kernel and busybox for arm64 into a directory.
fn install(system: &Path) -> Result<Kernel> {
    ensure!(find("apt-get").is_some(), "no apt-get on this machine");
    output(&mut apt(system, "apt-get", &["-qq", "update"])?)?;
    let said = output(&mut apt(system, "apt-cache", &["depends", KERNEL])?)?;
    let newest = said.lines().find_map(|line| line.trim().strip_prefix("Depends: "));
    let newest = newest.with_context(|| format!("{KERNEL} names no kernel:\n{said}"))?;
    let packages = ["-qq", "download", newest, "busybox-static"];
    output(apt(system, "apt-get", &packages)?.current_dir(system))?;
    for entry in fs::read_dir(system)? {
        let deb = entry?.path();
        if deb.extension().is_some_and(|e| e == "deb") {
            output(program("dpkg-deb", &["-x"]).arg(&deb).arg(system))?;
            fs::remove_file(deb)?;
        }
    }
    let version = newest.trim_start_matches("linux-image-");
    let depmod = find("depmod").context("no depmod on this machine")?;
    output(program(depmod, &["-b"]).arg(system).arg(version))?;
    Kernel::in_root(system)
}

/// A program of apt for arm64, with lists of its own.
fn apt(system: &Path, name: &str, words: &[&str]) -> Result<Command> {
    let state = system.join("apt");
    fs::create_dir_all(state.join("lists/partial"))?;
    fs::create_dir_all(state.join("archives/partial"))?;
    let mut command = program(name, &[]);
    for option in ["APT::Architecture=arm64", "APT::Architectures=arm64", "APT::Sandbox::User=root"]
    {
        command.args(["-o", option]);
    }
    for (key, place) in [("State::Lists", "lists"), ("Cache", "."), ("State::Status", "status")] {
        command.arg("-o").arg(format!("Dir::{key}={}", state.join(place).display()));
    }
    fs::write(state.join("status"), "")?;
    command.args(words);
    Ok(command)
}

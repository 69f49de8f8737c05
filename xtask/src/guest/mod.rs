//! `cargo xtask guest`: a Linux guest with kernel devices of every kind, in QEMU.
//!
//! QEMU also emulates the processor, so the guest neither needs nor accesses the host's devices,
//! and everything is slow. The guest therefore only tests correctness, never speed.

mod arm;
mod cpio;
mod image;
mod kernel;
mod machine;
mod qemu;
mod script;
mod session;
mod suite;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

pub use kernel::has_kernel;
pub use suite::{missing_for, names, script, test_built};

use crate::run::{cargo, find, metadata, output, program};
use kernel::Kernel;
use machine::Board;

const HELP: &str = "\
cargo xtask guest test [NAME...]          all tests of guest/tests, or those that begin with NAME
cargo xtask guest run SCRIPT [DRIVE]      your own script, or one of guest/tests by name
cargo xtask guest sh [DRIVE...]           a shell; Ctrl-A X ends it
cargo xtask guest arm [SCRIPT]            both Arm binaries of `dist` in a 64-bit Arm guest
";

/// Files to boot guests.
pub struct Ready {
    kernel: PathBuf,
    initrd: PathBuf,
    /// Parent of the guests' directories.
    dir: PathBuf,
    board: Board,
}

/// Runs the command.
pub fn run(arguments: &[String]) -> Result<ExitCode> {
    let (what, rest) = arguments.split_first().map_or(("", arguments), |(w, r)| (w.as_str(), r));
    match what {
        "test" => suite::run(rest),
        "run" => suite::one(rest),
        "sh" => suite::shell(rest),
        "arm" => arm::run(rest),
        _ => {
            print!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The reason why this machine cannot run the guest, if any.
pub fn missing() -> Option<String> {
    if std::env::consts::ARCH != "x86_64" {
        return Some("the guest needs x86_64".into());
    }
    let programs = ["qemu-system-x86_64", "busybox", "jq", "lsblk"];
    if let Some(program) = programs.into_iter().find(|program| find(program).is_none()) {
        return Some(format!("no {program} on this machine"));
    }
    Kernel::find().err().map(|error| format!("{error:#}"))
}

impl Ready {
    /// Builds the test binary and the archive.
    pub fn make() -> Result<Ready> {
        Ready::with(None)
    }

    /// Builds the archive with the test binary, which is already built.
    pub fn with_built() -> Result<Ready> {
        let binary = match std::env::var_os(STATIC) {
            Some(path) => PathBuf::from(path),
            None => built(&target()?),
        };
        Ready::with(Some(&binary))
    }

    /// Builds the archive with this ssdyno binary, or with the test binary.
    pub fn with(binary: Option<&Path>) -> Result<Ready> {
        if let Some(why) = missing() {
            bail!("{why}");
        }
        let kernel = Kernel::find()?;
        let target = target()?;
        let dir = target.join("guest");
        std::fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
        let ssdyno = match binary {
            Some(binary) => stripped(binary, &dir)?,
            None => stripped(&tested(&target)?, &dir)?,
        };
        let initrd = dir.join("initrd");
        let mut programs = image::tools()?;
        programs.push(("/usr/bin/ssdyno".into(), ssdyno.clone()));
        image::write(&initrd, &kernel, &programs)?;
        std::fs::remove_file(ssdyno)?;
        let kernel = kernel.unpacked(&dir)?;
        Ok(Ready { kernel, initrd, dir, board: Board::Q35 })
    }
}

/// The target directory of cargo.
fn target() -> Result<PathBuf> {
    let metadata = metadata()?;
    Ok(metadata["target_directory"].as_str().context("cargo metadata")?.into())
}

/// Environment variable with the path of a static binary to test, such as
/// `target/dist/x86_64/ssdyno`.
const STATIC: &str = "SSDYNO_GUEST_STATIC";

/// The test binary, or a given static one. It is dynamic because a static one would need a second
/// full build. Its libraries are copied like those of the tools.
fn tested(target: &Path) -> Result<PathBuf> {
    if let Some(path) = std::env::var_os(STATIC) {
        return Ok(PathBuf::from(path));
    }
    output(&mut cargo(&["test", "-q", "--workspace", "--no-run", "--test=it"]))?;
    Ok(built(target))
}

/// The test binary.
fn built(target: &Path) -> PathBuf {
    target.join("debug/ssdyno")
}

/// A copy without debug information.
fn stripped(binary: &Path, dir: &Path) -> Result<PathBuf> {
    let stripped = dir.join(format!("ssdyno.{}", std::process::id()));
    let paths = [stripped.to_string_lossy(), binary.to_string_lossy()];
    output(&mut program("strip", &["-o", &paths[0], &paths[1]]))?;
    Ok(stripped)
}

//! Runs other programs in the project root.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The root of the project.
pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_path_buf()
}

/// A program that starts in the project root, without input.
pub fn program(name: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(arguments).current_dir(root()).stdin(Stdio::null());
    command
}

/// The cargo that runs this program.
pub fn cargo(arguments: &[&str]) -> Command {
    program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), arguments)
}

/// How a command gives way to the others that want a processor.
#[derive(Clone, Copy)]
pub enum Way {
    /// It keeps a share, by so much of what `nice` calls niceness.
    Nice(u8),
    /// It takes what is left, and leaves its processor the moment another command wants one; a nice one
    /// first runs on for a millisecond or more.
    Idle,
}

/// The same command, which gives way to others.
pub fn giving_way(command: &Command, way: Way) -> Command {
    let mut giving = match way {
        Way::Nice(niceness) => program("nice", &["-n", &niceness.to_string()]),
        Way::Idle => program("chrt", &["--idle", "0"]),
    };
    giving.arg(command.get_program()).args(command.get_args());
    if let Some(directory) = command.get_current_dir() {
        giving.current_dir(directory);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => giving.env(name, value),
            None => giving.env_remove(name),
        };
    }
    giving
}

/// Runs a command to its end; returns its success and all output, with both streams in order.
pub fn capture(command: &mut Command) -> Result<(bool, String)> {
    let name = command.get_program().to_string_lossy().into_owned();
    let cannot = || format!("cannot run {name}");
    let (mut reader, writer) = std::io::pipe().with_context(cannot)?;
    command.stdout(writer.try_clone().with_context(cannot)?).stderr(writer);
    let mut child = command.spawn().with_context(cannot)?;
    // The command also holds the writing end, for which the reader would wait.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut said = Vec::new();
    reader.read_to_end(&mut said).with_context(cannot)?;
    let success = child.wait().with_context(cannot)?.success();
    Ok((success, String::from_utf8_lossy(&said).into_owned()))
}

/// Runs a command to its end with progress on stderr; returns its success and output.
pub fn printed(command: &mut Command) -> Result<(bool, String)> {
    let name = command.get_program().to_string_lossy().into_owned();
    let said = command.stderr(Stdio::inherit()).output();
    let said = said.with_context(|| format!("cannot run {name}"))?;
    Ok((said.status.success(), String::from_utf8_lossy(&said.stdout).into_owned()))
}

/// Runs a command to its end and returns its output (both streams), or an error that contains it.
pub fn output(command: &mut Command) -> Result<String> {
    let (success, said) = capture(command)?;
    if !success {
        bail!("{} failed:\n{}", command.get_program().to_string_lossy(), said.trim_end());
    }
    Ok(said)
}

/// Processor time of this process and of all programs it has waited for, in seconds.
pub fn processor_seconds() -> Result<f64> {
    /// Of the kernel's interface on every architecture (proc(5), `sysconf(_SC_CLK_TCK)`).
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").context("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(") ").context("/proc/self/stat")?;
    // utime, stime, cutime and cstime: fields 14 to 17, counted with the two before.
    let times = fields.split(' ').skip(11).take(4).map(str::parse::<u64>);
    let ticks: u64 = times.sum::<Result<u64, _>>().context("/proc/self/stat")?;
    Ok(ticks as f64 / TICKS_PER_SECOND)
}

/// The workspace as seen by cargo: the JSON of `cargo metadata`.
pub fn metadata() -> Result<Value> {
    let text = output(&mut cargo(&["metadata", "--no-deps", "--format-version=1", "--offline"]))?;
    let json = text.lines().find(|line| line.starts_with('{')).context("cargo metadata")?;
    serde_json::from_str(json).context("cargo metadata")
}

/// The packages of the workspace, each with its room: the name of its directory, which the name of a
/// package that others may use extends (`ssdyno-nvme`).
pub fn rooms() -> Result<Vec<(String, Value)>> {
    let mut metadata = metadata()?;
    let packages = metadata["packages"].as_array_mut().context("cargo metadata")?;
    let room = |package: &Value| {
        let manifest = Path::new(package["manifest_path"].as_str()?);
        Some(manifest.parent()?.file_name()?.to_str()?.to_string())
    };
    Ok(packages.drain(..).filter_map(|package| Some((room(&package)?, package))).collect())
}

/// The name of a room's package.
pub fn package(room: &str) -> Result<String> {
    let rooms = rooms()?;
    let package = rooms.iter().find(|(name, _)| name == room);
    let name = package.and_then(|(_, package)| package["name"].as_str());
    Ok(name.with_context(|| format!("no room '{room}'"))?.to_string())
}

/// Path of a program, in the search path or in Debian's directories for root.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    dirs.map(|dir| dir.join(name)).find(|file| file.is_file())
}

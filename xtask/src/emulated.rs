//! Programs of other machines, started by the kernel through qemu-user (binfmt_misc).
//!
//! The registration is private: a user namespace has its own table since Linux 6.7, so nothing
//! changes for the rest of this machine. root of the namespace is root outside with the same
//! numbers, but no device may be mounted or created in it.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::dist::Target;
use crate::run::{find, program};

/// The kernel's table.
const TABLE: &str = "/proc/sys/fs/binfmt_misc";

/// The first program in the namespace: waits until its users are mapped, then registers the
/// emulator.
const BEGIN: &str = "echo ready; read -r _; mount -t binfmt_misc none \"$1\" && \
    printf %s \"$2\" >\"$1/register\" && shift 2 && exec \"$@\" </dev/null";

/// Runs a program to its end in a namespace in which the target's programs can be started; returns
/// its success and its output (both streams).
pub fn capture(target: &Target, command: &Command) -> Result<(bool, String)> {
    if target.is_native() || Path::new(TABLE).join(format!("qemu-{}", target.qemu)).exists() {
        let mut direct = program(command.get_program(), &[]);
        return crate::run::capture(like(&mut direct, command));
    }
    let emulator = find(&target.emulator()).with_context(|| format!("no {}", target.emulator()))?;
    let (mut reader, writer) = std::io::pipe()?;
    let words = ["--user", "--mount", "sh", "-c", BEGIN, "sh", TABLE, &rule(target, &emulator)];
    let mut namespace = program("unshare", &words);
    namespace.arg(command.get_program());
    like(&mut namespace, command).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(writer);
    let mut child = namespace.spawn().context("unshare")?;
    drop(namespace);
    let mut said = BufReader::new(child.stdout.take().context("no output of unshare")?);
    let mut line = String::new();
    said.read_line(&mut line)?;
    ensure!(line == "ready\n", "no user namespace on this machine");
    for map in ["uid_map", "gid_map"] {
        let map = format!("/proc/{}/{map}", child.id());
        fs::write(&map, "0 0 4294967295").with_context(|| format!("{map}: this needs root"))?;
    }
    writeln!(child.stdin.take().context("no input of unshare")?, "go")?;
    let errors = std::thread::spawn(move || {
        let mut text = Vec::new();
        reader.read_to_end(&mut text).map(|_| text)
    });
    let mut text = Vec::new();
    said.read_to_end(&mut text)?;
    let success = child.wait()?.success();
    let errors = errors.join().map_err(|_| anyhow::anyhow!("the reader of errors ended"))??;
    text.extend(errors);
    Ok((success, String::from_utf8_lossy(&text).into_owned()))
}

/// As [`capture`], with an error that contains the output of a program that failed.
pub fn output(target: &Target, command: &Command) -> Result<String> {
    let (success, said) = capture(target, command)?;
    let name = command.get_program().to_string_lossy();
    ensure!(success, "{name} failed:\n{}", said.trim_end());
    Ok(said)
}

/// Gives a command the arguments, environment and directory of another.
fn like<'a>(command: &'a mut Command, other: &Command) -> &'a mut Command {
    command.args(other.get_args());
    let set = other.get_envs().filter_map(|(name, value)| Some((name, value?)));
    command.envs(set.collect::<Vec<(&OsStr, &OsStr)>>());
    if let Some(dir) = other.get_current_dir() {
        command.current_dir(dir);
    }
    command
}

/// The rule for ELF programs of a target (Documentation/admin-guide/binfmt-misc.rst of Linux); `F`
/// opens the emulator now, so that it works in every root directory.
fn rule(target: &Target, emulator: &Path) -> String {
    let (machine, bits) = target.elf;
    let zeros = "\\x00".repeat(8);
    let magic = format!(
        "\\x7fELF\\x{:02x}\\x01\\x01{}{zeros}\\x02\\x00\\x{machine:02x}\\x00",
        bits / 32,
        "\\x00"
    );
    // The version of the system interface and the kind (executable or position-independent) vary.
    let mask = format!("{}\\x00{}\\xfe{}", "\\xff".repeat(7), "\\xff".repeat(8), "\\xff".repeat(3));
    format!(":qemu-{}:M::{magic}:{mask}:{}:F", target.qemu, emulator.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_has_twenty_bytes_of_magic_and_of_mask() {
        let target = Target::named("armv7").expect("a target");
        let rule = rule(target, Path::new("/usr/bin/qemu"));
        let fields: Vec<&str> = rule.split(':').collect();
        assert_eq!(fields[4].replace("ELF", "\\x45\\x4c\\x46").len(), 20 * 4);
        assert_eq!(fields[5].len(), 20 * 4);
        assert!(fields[4].ends_with("\\x02\\x00\\x28\\x00"), "{}", fields[4]);
    }
}

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
/// its success and its output (both streams, in order).
pub fn capture(target: &Target, command: &Command) -> Result<(bool, String)> {
    if target.is_native() || Path::new(TABLE).join(format!("qemu-{}", target.qemu)).exists() {
        let mut direct = program(command.get_program(), &[]);
        return crate::run::capture(like(&mut direct, command));
    }
    let emulator = find(&target.emulator()).with_context(|| format!("no {}", target.emulator()))?;
    let (reader, writer) = std::io::pipe()?;
    let words = ["--user", "--mount", "sh", "-c", BEGIN, "sh", TABLE, &rule(target, &emulator)];
    let mut namespace = program("unshare", &words);
    like(namespace.arg(command.get_program()), command);
    namespace.stdin(Stdio::piped()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = namespace.spawn().context("unshare")?;
    // The command also holds the writing end, for which the reader would wait.
    drop(namespace);
    let mut reader = BufReader::new(reader);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    ensure!(line == "ready\n", "no user namespace on this machine: {}", line.trim_end());
    map_users(child.id())?;
    writeln!(child.stdin.take().context("no input of unshare")?, "go")?;
    let mut said = Vec::new();
    reader.read_to_end(&mut said)?;
    Ok((child.wait()?.success(), String::from_utf8_lossy(&said).into_owned()))
}

/// Gives every user and group in a process' new namespace its number outside.
fn map_users(process: u32) -> Result<()> {
    for map in ["uid_map", "gid_map"] {
        let map = format!("/proc/{process}/{map}");
        fs::write(&map, "0 0 4294967295").with_context(|| format!("{map}: this needs root"))?;
    }
    Ok(())
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
    let (class, zeros) = (bits / 32, "\\x00".repeat(9));
    let magic = format!("\\x7fELF\\x{class:02x}\\x01\\x01{zeros}\\x02\\x00\\x{machine:02x}\\x00");
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

//! `run`, and what is asked before: `list`, `methods`, `doctor`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use methods::Reference;
use workload::units;

use super::TargetArgs;

#[derive(Debug, Args)]
#[command(next_help_heading = "Test", after_help = RUN_EXAMPLES)]
pub struct RunArgs {
    /// The tests to run, in order: see `ssdyno methods`
    #[arg(long, short, value_name = "METHOD", default_value = "quick")]
    pub method: Vec<String>,
    /// About how long it may take: 30s, 5m
    #[arg(long, value_parser = units::parse_duration, value_name = "TIME")]
    pub time: Option<Duration>,
    /// How often each workload is repeated; intervals need two
    #[arg(long, value_name = "N")]
    pub replicates: Option<u32>,
    /// mark: only the figures of the old tool, which take a second each
    #[arg(long)]
    pub legacy: bool,
    /// mark: what scores are compared with: ram, a RAM disc of this machine measured in turn with
    /// the drive, or riscos-ramfs, the published one of RISC OS
    #[arg(long, value_name = "DISC", default_value = "ram", hide_default_value = true)]
    #[arg(value_parser = reference)]
    pub reference: Reference,
    #[command(flatten)]
    pub on: TargetArgs,
    /// command: the program to run in the directory, and its arguments
    #[arg(last = true, value_name = "COMMAND", help_heading = "Test")]
    pub command: Vec<String>,
}

fn reference(text: &str) -> Result<Reference, String> {
    match text {
        "ram" => Ok(Reference::Ram),
        "riscos-ramfs" => Ok(Reference::RiscOsRamFs),
        _ => Err("must be ram or riscos-ramfs".into()),
    }
}

const RUN_EXAMPLES: &str = "\
Examples:
  ssdyno run .                              the drive under this directory, about a minute
  ssdyno run . --time 10s --size 256MiB     a short look
  ssdyno run /dev/sdb                       a whole drive, reads only
  ssdyno run /dev/sdb --destroy=S6Z1NJ0W    and writes: everything on it is lost
  ssdyno run . -m command -- make -j4       a program, timed, and what it made the drive do
  ssdyno run . --json | jq .metrics         for programs";

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only the drive behind this path
    pub path: Option<PathBuf>,
    /// JSON on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct MethodsArgs {
    /// Only this one, in full
    pub name: Option<String>,
    /// JSON on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// JSON on stdout
    #[arg(long)]
    pub json: bool,
}

//! `run`, and what is asked before: `list`, `methods`, `doctor`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
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
    #[command(flatten)]
    pub on: TargetArgs,
}

const RUN_EXAMPLES: &str = "\
Examples:
  ssdyno run .                              the drive under this directory, about a minute
  ssdyno run . --time 10s --size 256MiB     a short look
  ssdyno run /dev/sdb                       a whole drive, reads only
  ssdyno run /dev/sdb --destroy=S6Z1NJ0W    and writes: everything on it is lost
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

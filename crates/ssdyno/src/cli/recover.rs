//! `recover`: what killed runs had borrowed.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  ssdyno recover                what is left, compared with its drive; nothing is written
  ssdyno recover --replay       and blocks that differ are put back

A journal whose blocks are all as they were is closed. Where blocks differ, either the run damaged
them or somebody has written to the drive since: only you can know, and --replay undoes both.
Exit code 1: something is left.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RecoverArgs {
    /// Only journals of this device; needed where several drives look alike
    pub device: Option<String>,
    /// Write the original content over blocks that differ
    #[arg(long)]
    pub replay: bool,
    /// Where the journals are [default: in the XDG state directory]
    #[arg(long, value_name = "DIR")]
    pub journal: Option<PathBuf>,
    /// JSON on stdout
    #[arg(long)]
    pub json: bool,
}

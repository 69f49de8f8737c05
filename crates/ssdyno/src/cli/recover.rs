//! Arguments of `recover`.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  ssdyno recover                compare the journals with their drives; nothing is written
  ssdyno recover --replay       and put back blocks that differ

An NVMe drive that a killed run had taken from the kernel (pci:) goes back to it.

A journal whose blocks are all unchanged is closed. Where blocks differ, either the run damaged them
or somebody has written to the drive since: only you can know, and --replay undoes both. Exit code 1:
a journal is left.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RecoverArgs {
    /// Only journals of this device; required where several drives look alike
    pub device: Option<String>,
    /// Restore the original content of blocks that differ
    #[arg(long)]
    pub replay: bool,
    /// Forget this journal: its blocks stay on the drive as they are now
    #[arg(long, value_name = "ID", conflicts_with_all = ["replay", "device"])]
    pub discard: Option<String>,
    /// Directory of the journals [default: in the XDG state directory, and all registered there]
    #[arg(long, value_name = "DIR")]
    pub journal: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

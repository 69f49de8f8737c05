//! Arguments of `recover`.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  ssdyno recover                compare the journals with their drives; nothing is written
  ssdyno recover --replay       also restore blocks that differ

An NVMe drive that a killed run had detached (pci:) is returned to the kernel.

A journal of another user may contain anything: it is processed only if
--journal-of names that user, and its path, owner, size and hash are shown first.

A journal whose blocks are all unchanged is closed. If blocks differ, either the
run damaged them or something has written to the drive since. Only you can know;
--replay undoes both.

Exit code 1: a journal or a detached drive remains.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RecoverArgs {
    /// Only journals of this device; required if several drives match, and for --replay on a USB
    /// drive of which most blocks differ
    pub device: Option<String>,
    /// Restore the original content of blocks that differ
    #[arg(long)]
    pub replay: bool,
    /// Discard this journal; its blocks on the drive are not changed
    #[arg(long, value_name = "ID", conflicts_with_all = ["replay", "device"])]
    pub discard: Option<String>,
    /// Directory of the journals [default: in the XDG state directory, and all registered there]
    #[arg(long, value_name = "DIR")]
    pub journal: Option<PathBuf>,
    /// Process the journals of another user, who may have written anything into them: path, owner,
    /// size and hash are shown first
    #[arg(long, value_name = "USER")]
    pub journal_of: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

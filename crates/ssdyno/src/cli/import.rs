//! `import`: results of other tools.

use std::path::PathBuf;

use clap::Args;

use super::StoreArgs;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ImportArgs {
    /// Outputs of other tools; `-` is standard input
    #[arg(required_unless_present = "list")]
    pub files: Vec<PathBuf>,
    /// What it is the output of, where that is not found out: see --list
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// Say what is in it, and enter nothing
    #[arg(long)]
    pub dry_run: bool,
    /// The formats that are read
    #[arg(long, conflicts_with_all = ["files", "format", "dry_run"])]
    pub list: bool,
    /// The records as JSON lines on stdout
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

const EXAMPLES: &str = "\
Examples:
  ssdyno import fio.json                    a file may hold several results, of several tools
  fio --name=x --rw=randread ... | ssdyno import -
  ssdyno import --dry-run old-logs/*.txt    what is in them
  ssdyno compare last pub:002/mini-base-fio-1

What a tool did not write down stays unknown. A result that is in the store already is not entered
again.";

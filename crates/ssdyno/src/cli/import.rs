//! Arguments of `import`.

use std::path::PathBuf;

use clap::Args;

use super::{LabelArgs, StoreArgs};

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ImportArgs {
    /// Output files of other tools, or of `run --out`, or directories of them; `-` is standard input
    #[arg(required_unless_present = "list")]
    pub files: Vec<PathBuf>,
    /// Their format, if it is not recognised: see --list
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// List the results without importing them
    #[arg(long)]
    pub dry_run: bool,
    /// List the formats
    #[arg(long, conflicts_with_all = ["files", "format", "dry_run"])]
    pub list: bool,
    /// Print the records as JSON lines
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub labels: LabelArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

const EXAMPLES: &str = "\
Examples:
  ssdyno import fio.json                    a file may contain results of several tools
  fio --name=x --rw=randread ... | ssdyno import -
  ssdyno import --dry-run old-logs/*.txt    list the results in them
  ssdyno import mini-a/*.txt --tag board=mini-a
  ssdyno compare last pub:002/mini-base-fio-1

Whatever a tool did not record stays unknown. A result that is already in the store is not imported
again.";

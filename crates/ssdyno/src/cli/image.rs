//! Arguments of `image`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

// A missing subcommand is refused in one line, like every mistake.
#[derive(Debug, Args)]
#[command(arg_required_else_help = false)]
pub struct ImageArgs {
    #[command(subcommand)]
    pub command: ImageCommand,
}

#[derive(Debug, Subcommand)]
pub enum ImageCommand {
    /// Make an image of a file or a drive, which is only read
    Make(MakeArgs),
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct MakeArgs {
    /// File or block device
    pub source: PathBuf,
    /// Image to write
    pub image: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ssdyno image make os.ext4 os.img                      blocks of 1 MiB, compressed, with checksums
  ssdyno run /dev/sdb -m restore --image os.img --destroy=S6Z1NJ0W";

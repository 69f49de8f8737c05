//! Arguments of `iozone`.

use clap::Args;

/// `compat` parses everything after `iozone`, except ssdyno's own options: see `commands::iozone`.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct IozoneArgs {
    /// iozone's options; see -h
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "IOZONE OPTIONS")]
    pub words: Vec<String>,
}

//! `iozone`: another tool's words.

use clap::Args;

/// Everything behind `iozone` is read by `compat`, as iozone would read it, but for the options that
/// are ours: see `commands::iozone`.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct IozoneArgs {
    /// iozone's options; -h tells more
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "IOZONE OPTIONS")]
    pub words: Vec<String>,
}

//! Arguments of `fio`.

use clap::Args;

/// The `fio` crate parses everything after `fio`, except ssdyno's own options: see `commands::fio`.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct FioArgs {
    /// fio's options and job files; see --help
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FIO OPTIONS")]
    pub words: Vec<String>,
}

//! `fio`: the command line of another tool.

use clap::Args;

/// The crate `fio` parses everything after `fio`, except for ssdyno's own options: see
/// `commands::fio`.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct FioArgs {
    /// fio's options and job files; --help lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FIO OPTIONS")]
    pub words: Vec<String>,
}

//! `fio`: another tool's words.

use clap::Args;

/// Everything behind `fio` is read by `compat`, as fio would read it, but for the options that are
/// ours: see `commands::fio`.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct FioArgs {
    /// fio's options and job files; --help tells more
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FIO OPTIONS")]
    pub words: Vec<String>,
}

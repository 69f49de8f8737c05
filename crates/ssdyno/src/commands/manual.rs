//! Completions and manual pages, made from the command line's own description.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::cli::Cli;
use crate::failure::Result;
use crate::present;

/// Prints the completions of a shell.
pub fn completions(shell: Shell) -> Result {
    let mut text = Vec::new();
    generate(shell, &mut Cli::command(), "ssdyno", &mut text);
    present::print(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the manual page, or writes it and one for every command into a directory.
pub fn man(directory: Option<&Path>) -> Result {
    match directory {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page)?;
            present::print(&String::from_utf8_lossy(&page))?;
        }
        Some(directory) => {
            fs::create_dir_all(directory)?;
            clap_mangen::generate_to(Cli::command(), directory)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

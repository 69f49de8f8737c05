//! `ssdyno web` and `ssdyno site`: start `ssdyno-web`, a program of its own, so that this one links
//! no server. Every package has it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cli::{SiteArgs, StoreArgs, WebArgs};
use crate::failure::{Failure, Result, USAGE};

const PROGRAM: &str = if cfg!(windows) { "ssdyno-web.exe" } else { "ssdyno-web" };

/// Serves the records until Ctrl-C.
pub fn serve(args: &WebArgs) -> Result {
    let this_program = std::env::current_exe()?;
    let mut command = Command::new(program(&this_program));
    command.args(["serve", "--port", &args.port.to_string(), "--command"]).arg(&this_program);
    add_store(&mut command, &args.store);
    hand_over(command)
}

/// Writes the records as files.
pub fn write_site(args: &SiteArgs) -> Result {
    let mut command = Command::new(program(&std::env::current_exe()?));
    command.arg("site");
    add_store(&mut command, &args.store);
    command.arg("--").arg(&args.directory);
    hand_over(command)
}

/// The program beside this one, or else in the search path.
fn program(own: &Path) -> PathBuf {
    let sibling = own.parent().map(|directory| directory.join(PROGRAM));
    sibling.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(PROGRAM))
}

fn add_store(command: &mut Command, args: &StoreArgs) {
    if let Some(store) = &args.store {
        command.arg("--store").arg(store);
    }
}

/// Becomes the other program, so that signals reach it alone.
#[cfg(target_os = "linux")]
fn hand_over(mut command: Command) -> Result {
    use std::os::unix::process::CommandExt;
    let error = command.exec();
    Err(missing(command.get_program(), &error))
}

/// Waits for the other program.
#[cfg(not(target_os = "linux"))]
fn hand_over(mut command: Command) -> Result {
    let status = command.status().map_err(|error| missing(command.get_program(), &error))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(std::process::ExitCode::from(code.unwrap_or(u8::MAX)))
}

fn missing(program: &OsStr, error: &std::io::Error) -> Failure {
    let text = format!("cannot start {}: {error}", program.display());
    let advice = "every package of ssdyno has it beside ssdyno; in its sources: cargo build --release -p web";
    Failure::new(USAGE, text).advise(advice)
}

//! The command: arguments in, text out. It connects the crates and has no logic of its own.
//!
//! Results go to stdout, progress and diagnostics to stderr. Exit codes: 0 done, 1 a check failed,
//! 2 bad usage, 3 refused for safety, 4 I/O error on the target, 130 ended by the user.

#![forbid(unsafe_code)]
// Options of the commands that are refused there.
#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

#[cfg_attr(not(target_os = "linux"), path = "elsewhere/apart.rs")]
mod apart;
mod cli;
mod commands;
mod failure;
mod interrupt;
mod live;
mod picture;
mod present;
mod relay;
mod returning;
mod screen;
mod signals;
mod usage;
mod words;

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::CompleteEnv;

use crate::cli::{Cli, Command};
use crate::failure::{Failure, Result};
use crate::interrupt::INTERRUPTED;

/// The environment variable of a completion request, which may read the store.
const COMPLETE: &str = "COMPLETE";

fn main() -> ExitCode {
    if let Some(end) = guard().or_else(keeper) {
        return end;
    }
    lab::keeper::use_process(KEEPER);
    interrupt::survive_file_limit();
    if let Err(error) = interrupt::install() {
        return Failure::from(error).report();
    }
    if let Some(code) = std::env::var_os(COMPLETE).and_then(|_| apart::run()) {
        return code;
    }
    // Answers a completion request of the shell and exits.
    CompleteEnv::with_factory(Cli::command).var(COMPLETE).complete();
    store::on_migration(|done, of| {
        screen::say(&format!("converting the store to a new version: {done} of {of} runs"));
    });
    let words = cli::under_other_names(std::env::args_os().collect());
    if words.len() == 1 {
        return welcome().unwrap_or_else(|failure| failure.report());
    }
    let result = cli::parse(words).map_err(|e| usage::failure(&e)).and_then(run);
    let code = result.unwrap_or_else(|failure| failure.report());
    // The signal may have come too late to cut anything short.
    if interrupt::is_asked() { ExitCode::from(INTERRUPTED) } else { code }
}

/// What `ssdyno` alone shows: what is here, and what to do next.
fn welcome() -> Result {
    let name = concat!("ssdyno ", env!("CARGO_PKG_VERSION"));
    present::done(&format!(
        "{name}: how fast a drive really is, and why\n\n{}\n{NEXT}",
        commands::list::overview()
    ))
}

const NEXT: &str = "\
ssdyno run .     the drive under this directory, about a minute
ssdyno run       asks which drive and which question
ssdyno --help    everything else
";

/// No drive has a guard here.
#[cfg(not(target_os = "linux"))]
fn guard() -> Option<ExitCode> {
    None
}

/// Runs this process as the guard of a drive without an IOMMU, if requested. It prints nothing,
/// because its descriptors serve that task.
#[cfg(target_os = "linux")]
fn guard() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    let is_guard = words.next().is_some_and(|word| word == drive::pci::GUARD);
    let address = words.next().filter(|_| is_guard)?;
    Some(
        drive::pci::keep_guard(&address.to_string_lossy())
            .map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS),
    )
}

/// The argument of the process that writes the store for a run.
const KEEPER: &str = "store-keeper";

/// Runs this process as the keeper of a run's record, if requested. It ends with that run, and no
/// signal ends it before.
fn keeper() -> Option<ExitCode> {
    std::env::args_os().nth(1).filter(|word| word == KEEPER)?;
    interrupt::survive_file_limit();
    interrupt::outlive();
    Some(lab::keeper::serve().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS))
}

fn run(cli: Cli) -> Result {
    if let Some(code) = cli.command.opens_store().then(apart::run).flatten() {
        return Ok(code);
    }
    match cli.command {
        Command::List(args) => commands::list::run(&args),
        Command::Run(args) if args.targets.is_empty() => commands::ask::run(),
        Command::Run(args) => commands::run::run(&args),
        Command::Io(args) => commands::io::run(&args),
        Command::Fio(args) => commands::fio::run(&args),
        Command::Iozone(args) => commands::iozone::run(&args),
        Command::Methods(args) => commands::methods::run(&args),
        Command::Drives(args) => commands::drives::run(&args),
        Command::Replicate(args) => commands::replicate::run(&args),
        Command::Prepare(args) => commands::prepare::run(args),
        Command::Partition(args) => commands::partition::run(&args),
        Command::Runs(args) => commands::runs::list(&args),
        Command::Show(args) => commands::runs::show(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Web(args) => commands::web::serve(&args),
        Command::Site(args) => commands::web::write_site(&args),
        Command::Export(args) => commands::export::run(&args),
        Command::Import(args) => commands::import::run(&args),
        Command::Rm(args) => commands::runs::remove(&args),
        Command::Recover(args) => commands::recover::run(&args),
        Command::Image(args) => commands::image::run(&args),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Completions { shell } => commands::manual::completions(shell),
        Command::Man { directory } => commands::manual::man(directory.as_deref()),
    }
}

//! `ssdyno run`: the methods, one record each.

use std::process::ExitCode;

use lab::{Options, Work, work};

use super::session;
use crate::cli::RunArgs;
use crate::failure::Result;
use crate::interrupt;

/// Runs the methods in order, up to the first that fails.
pub fn run(args: &RunArgs) -> Result {
    let options = work::options(&args.method, &args.own.typed, Options::from(args))?;
    let works = args.method.iter().map(|name| Ok(Work::method(name, &options)?));
    let works = works.collect::<Result<Vec<_>>>()?;
    let interrupt = interrupt::flag()?;
    for work in works {
        let code = session::run(&args.on, &work, &interrupt)?;
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
    }
    Ok(ExitCode::SUCCESS)
}

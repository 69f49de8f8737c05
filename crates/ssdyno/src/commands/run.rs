//! `ssdyno run`: the methods, one record each.

use std::process::ExitCode;

use methods::{Catalog, Method, Options};

use super::session::{self, Job};
use crate::cli::RunArgs;
use crate::failure::Result;
use crate::interrupt;

/// Runs every method asked for, in order; the first that does not come to a good end is the last.
pub fn run(args: &RunArgs) -> Result {
    let methods: Vec<&dyn Method> = args
        .method
        .iter()
        .map(|name| methods::find(name))
        .collect::<std::result::Result<_, _>>()?;
    let usual = Options {
        size: args.on.size,
        time: args.time,
        seed: args.on.instrument.seed,
        replicates: args.replicates,
        ..Options::default()
    };
    let options = Catalog::default().options(&methods, &args.own.typed, usual)?;
    let interrupt = interrupt::flag()?;
    for method in methods {
        let job =
            Job { method: method.info().name, act: &|session| Ok(method.run(session, &options)?) };
        let code = session::run(&args.on, &job, &interrupt)?;
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
    }
    Ok(ExitCode::SUCCESS)
}

//! `ssdyno run`: the methods, one record each.

use std::process::ExitCode;

use methods::{Method, Options, Reference};

use super::session::{self, Job};
use crate::cli::RunArgs;
use crate::failure::{Failure, Result, USAGE};
use crate::interrupt;

/// What goes with one method only is not swallowed by another.
fn check(args: &RunArgs) -> Result<()> {
    let asked = |method: &str| args.method.iter().any(|name| name == method);
    let wrong = |text: &str| Err(Failure::new(USAGE, text));
    if !args.command.is_empty() && !asked("command") {
        return wrong("a command after -- goes with -m command");
    }
    if (args.legacy || args.reference != Reference::default()) && !asked("mark") {
        return wrong("--legacy and --reference go with -m mark");
    }
    Ok(())
}

/// Runs every method asked for, in order; the first that does not come to a good end is the last.
pub fn run(args: &RunArgs) -> Result {
    let methods: Vec<&dyn Method> = args
        .method
        .iter()
        .map(|name| methods::find(name))
        .collect::<std::result::Result<_, _>>()?;
    let options = Options {
        size: args.on.size,
        time: args.time,
        seed: args.on.instrument.seed,
        replicates: args.replicates,
        legacy: args.legacy,
        reference: args.reference,
        command: args.command.clone(),
        iozone: None,
    };
    check(args)?;
    let interrupt = interrupt::flag()?;
    for method in methods {
        let job = Job {
            method: method.info().name,
            plan: &|info| Ok(method.plan(info, &options)?),
            act: &|rig, out| Ok(method.run(rig, &options, out)?),
        };
        let code = session::run(&args.on, &job, &interrupt)?;
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
    }
    Ok(ExitCode::SUCCESS)
}

//! `ssdyno run`: runs methods on targets, with a record for each.

use std::process::ExitCode;

use lab::{Options, Work, work};

use super::{array, protocol, session, together};
use crate::cli::RunArgs;
use crate::failure::{CHECK_FAILED, Failure, Result, USAGE};
use crate::present;

/// The method whose negative verdict has an exit code.
const FAKE: &str = "fake";

/// Runs the methods in order, each on all targets in turn, until a run fails. A false capacity found
/// by `fake` is a result, not a failure: the other runs follow.
pub fn run(args: &RunArgs) -> Result {
    check_several(args)?;
    if let Some(file) = &args.protocol {
        return protocol::run(file, args);
    }
    if let Some(directory) = &args.array.out {
        return array::run(args, directory);
    }
    let options = work::options(&args.method, &args.own.typed, Options::from(args))?;
    if args.together {
        return together::run(args, &options);
    }
    let works = args.method.iter().map(|name| Ok(Work::method(name, &options)?));
    let works = works.collect::<Result<Vec<_>>>()?;
    let (mut is_first, mut result) = (true, ExitCode::SUCCESS);
    for (name, work) in args.method.iter().zip(&works) {
        for target in &args.targets {
            if args.measure.dry_run && !args.measure.output.is_json() && !is_first {
                present::print("\n")?;
            }
            is_first = false;
            let code = session::run(target, &args.measure, work)?;
            if code == ExitCode::from(CHECK_FAILED) && name == FAKE {
                result = code;
            } else if code != ExitCode::SUCCESS {
                return Ok(code);
            }
        }
    }
    Ok(result)
}

/// Refuses options for a single run or a single drive if there are several.
fn check_several(args: &RunArgs) -> Result<()> {
    if args.together {
        return Ok(());
    }
    if args.targets.len() > 1 && args.measure.destroy.is_some() {
        let failure = Failure::new(USAGE, "--destroy is for one drive, not several");
        return Err(failure.advise("one `ssdyno run` for each drive"));
    }
    if args.targets.len() * args.method.len() > 1 && args.measure.output.html.is_some() {
        let failure = Failure::new(USAGE, "--html=FILE is for one run, not several");
        return Err(failure.advise("ssdyno show RUN --html=FILE"));
    }
    Ok(())
}

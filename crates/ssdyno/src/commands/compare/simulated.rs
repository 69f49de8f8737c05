//! A virtual drive as a side: `compare 12 sim:samsung-980-pro-1t` repeats the work of the first run
//! on it. The result is a record like any other, kept in the store; with the seed of the first run,
//! it is the same every time.

use lab::io::Io;
use lab::{Options, Request, TargetRequest, Work, work};
use record::Run;

use crate::cli::{Command, CompareArgs, MeasureArgs, OutputArgs, reparsed};
use crate::commands::session;
use crate::failure::{Failure, Result, USAGE};

/// Simulates the work of the run `like` on a virtual drive.
pub fn run(target: &str, like: Option<&Run>, args: &CompareArgs) -> Result<Run> {
    let refused = |why: String| {
        let advice = format!("ssdyno run {target} -m METHOD, then compare the two runs");
        Failure::new(USAGE, why).advise(advice)
    };
    let like = like.ok_or_else(|| {
        refused(format!("{target} needs a run before it, whose work is repeated on it"))
    })?;
    let words = like.plan.as_ref().map(|plan| plan.command.clone()).unwrap_or_default();
    match reparsed(&words) {
        Some(Command::Run(run)) if run.protocol.is_none() => {
            let method = like.method.clone();
            let options = Options { seed: seed(like), ..Options::from(&run) };
            // The options are those of all methods of the command.
            let options = work::options(&run.method, &run.own.typed, options)?;
            record(target, like, &run.measure, args, &Work::method(&method, &options)?)
        }
        Some(Command::Io(io)) => {
            record(target, like, &io.on.measure, args, &Work::io(&Io::from(&*io)))
        }
        _ => Err(refused("the first run cannot be repeated: it is no `run` or `io`".into())),
    }
}

fn seed(like: &Run) -> u64 {
    like.seed.unwrap_or(1)
}

fn record(
    target: &str,
    like: &Run,
    measure: &MeasureArgs,
    args: &CompareArgs,
    work: &Work<'_>,
) -> Result<Run> {
    let mut request = Request::on(target.to_string());
    request.target = TargetRequest { size: measure.size, ..request.target };
    request.instrument.seed = seed(like);
    request.store.clone_from(&args.store.store);
    request.command = crate::cli::typed();
    let output = OutputArgs { quiet: args.live.quiet, ..OutputArgs::default() };
    let recorded = session::record(&request, &output, work)?;
    recorded.ended?;
    recorded.kept.map_err(Failure::reported)?;
    Ok(recorded.run)
}

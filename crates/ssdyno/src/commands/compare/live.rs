//! `ssdyno compare -m METHOD A B`: measures two targets in turns until the difference is clear.

use std::process::ExitCode;

use indicatif::ProgressBar;
use lab::compare::live::{Audience, Cost, Ended, Finished, Live};
use lab::{Options, Planned, Request, Watcher, work};
use workload::units;

use super::{as_json, show, view};
use crate::cli::{self, CompareArgs, OutputArgs};
use crate::failure::{Failure, INTERRUPTED, Result, USAGE};
use crate::{interrupt, live, present, screen};

/// The limits of a comparison in one session.
const SITTING: &str =
    "measured in turns: valid for these two, here and today; another session may differ";

/// Measures two targets in turns and shows the conclusion.
pub fn run(args: &CompareArgs, method: &str) -> Result {
    let [a, b] = args.runs.as_slice() else {
        let why = format!("-m takes two targets, not {}", args.runs.len());
        return Err(Failure::new(USAGE, why).advise("ssdyno compare -m quick /mnt/a /mnt/b"));
    };
    let request = |spec: &String| {
        let mut request = Request::on(spec.clone());
        request.target.size = args.live.size;
        request.store.clone_from(&args.store.store);
        request.command = cli::typed();
        request
    };
    let (size, time) = (args.live.size, args.live.time);
    let options = Options { size, time, ..Options::default() };
    let live = Live {
        requests: [request(a), request(b)],
        method,
        options: work::options(&[method.to_string()], &[], options)?,
        metric: args.metric.as_deref(),
        detect: args.live.detect,
    };
    let cost = live.cost()?;
    if !args.live.quiet || args.live.dry_run {
        screen::say(&announcement(&cost, [a, b]));
    }
    if args.live.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    let interrupt = interrupt::flag()?;
    let mut audience = Screen { quiet: args.live.quiet, bar: None };
    let finished = live.run(cost.pairs[1], &interrupt, &mut audience)?;
    conclude(args, finished)
}

/// The cost, shown before the first byte.
fn announcement(cost: &Cost, targets: [&String; 2]) -> String {
    let [least, most] = cost.pairs.map(f64::from);
    let seconds: f64 = cost.plans.iter().map(|plan| plan.seconds).sum();
    let span = |pairs: f64| units::span((seconds * pairs).round());
    let writes = cost.plans.iter().map(|plan| plan.write_bytes_max).max().unwrap_or(0);
    let writes = match writes {
        0 => "reads only".to_string(),
        bytes => format!("each run writes at most {}", units::decimal(bytes)),
    };
    let [a, b] = targets;
    let pairs = if least < most { format!("{least} to {most}") } else { format!("{most}") };
    format!(
        "A {a}, B {b}   {pairs} pairs of runs, {} to {}; {writes}; Ctrl-C ends it with the result so far",
        span(least),
        span(most)
    )
}

struct Screen {
    quiet: bool,
    bar: Option<ProgressBar>,
}

impl Audience for Screen {
    fn begins(&mut self, side: usize, pair: u32, planned: &Planned<'_>) -> Box<dyn Watcher> {
        let output = OutputArgs { quiet: self.quiet, ..OutputArgs::default() };
        if !self.quiet {
            screen::say(&format!("pair {}   {}", pair + 1, super::letter(side)));
        }
        let live = live::Live::new(&planned.plan, planned.spec(), &output);
        self.bar = Some(live.bar());
        Box::new(live)
    }

    fn ended(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn conclude(args: &CompareArgs, finished: Finished) -> Result {
    let Finished { comparison, sides, ended, failure } = finished;
    let pairs = sides[0].runs.len();
    let found = [comparison];
    match args.json {
        true => {
            let mut value = as_json(&sides, &found, "in turns")?;
            value["pairs_of_runs"] = pairs.into();
            present::print(&present::json(&value)?)?;
        }
        false if pairs == 0 => {}
        false => {
            let titles = [&args.runs[0], &args.runs[1]].map(Clone::clone);
            show(args, &view(args, &titles, &sides, &found, SITTING))?;
        }
    }
    match (failure, ended) {
        (Some(failure), _) => Err(failure.into()),
        (None, Ended::Stopped) => Ok(ExitCode::from(INTERRUPTED)),
        (None, Ended::Decided | Ended::Exhausted) => Ok(ExitCode::SUCCESS),
    }
}

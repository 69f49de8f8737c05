//! `ssdyno compare -m METHOD A B`: measures two targets in turns until the difference is clear.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use indicatif::ProgressBar;
use lab::compare;
use lab::compare::live::{Audience, ComparisonCost, Ended, Finished, LiveComparison};
use lab::{Options, PlannedRun, Request, Watcher, drives, work};
use workload::units;

use super::{as_json, show};
use crate::cli::{self, CompareArgs, OutputArgs};
use crate::failure::{Failure, Result, USAGE};
use crate::interrupt::INTERRUPTED;
use crate::relay::Relay;
use crate::{interrupt, live, present, screen};

/// The limits of a comparison in one session.
const SITTING: &str =
    "measured in turns: valid for these two, here and today; another session may differ";

/// Measures two targets in turns and shows the conclusion.
pub fn run(args: &CompareArgs, method: &str) -> Result {
    let [a, b] = args.runs.as_slice() else {
        let text = format!("-m takes two targets, not {}", args.runs.len());
        return Err(Failure::new(USAGE, text).advise("ssdyno compare -m quick /mnt/a /mnt/b"));
    };
    let (size, time) = (args.live.size, args.live.time);
    let options = Options { size, time, ..Options::default() };
    let live = LiveComparison {
        requests: [a, b].map(|spec| {
            let mut request = Request::on(spec.clone());
            request.target.size = args.live.size;
            request.store.clone_from(&args.store.store);
            request.command = cli::typed();
            request
        }),
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
    super::check_page(args)?;
    let interrupt = interrupt::InterruptibleRun::begin();
    let flag = Arc::clone(interrupt.flag());
    let mut audience = ComparisonScreen { interrupt: flag, quiet: args.live.quiet, bar: None };
    let finished = live.run(cost.pairs[1], interrupt.flag(), &mut audience);
    drop(interrupt);
    let finished = finished?;
    // A run that could not begin has not ended either.
    audience.ended();
    conclude(args, finished)
}

/// The cost, shown before the first byte.
fn announcement(cost: &ComparisonCost, targets: [&String; 2]) -> String {
    let [least, most] = cost.pairs;
    let is_simulated = targets.map(|target| target.starts_with(drives::PREFIX));
    let is_simulation = is_simulated == [true, true];
    // A simulation beside a real drive takes hardly any time.
    let sides = [0, 1].into_iter().filter(|side| is_simulation || !is_simulated[*side]);
    let seconds: f64 = sides.map(|side| cost.plans[side].seconds).sum();
    let span = |pairs: u32| {
        let seconds = seconds * f64::from(pairs);
        if is_simulation { units::duration(seconds) } else { units::span(seconds.round()) }
    };
    let (pairs, time) = if least < most {
        (format!("{least} to {most}"), format!("{} to {}", span(least), span(most)))
    } else {
        (most.to_string(), span(most))
    };
    let simulated = if is_simulation { " simulated" } else { "" };
    let writes = cost.plans.iter().map(|plan| plan.write_bytes_max).max().unwrap_or(0);
    let writes = match writes {
        0 => "reads only".to_string(),
        bytes => format!("each run writes at most {}", units::decimal(bytes)),
    };
    let [a, b] = targets;
    format!(
        "A {a}, B {b}   {pairs} pairs of runs, {time}{simulated}; {writes}; Ctrl-C ends it with the result so far"
    )
}

struct ComparisonScreen {
    interrupt: Arc<AtomicBool>,
    quiet: bool,
    bar: Option<ProgressBar>,
}

impl Audience for ComparisonScreen {
    fn begins(&mut self, side: usize, pair: u32, planned: &PlannedRun<'_>) -> Box<dyn Watcher> {
        let output = OutputArgs { quiet: self.quiet, ..OutputArgs::default() };
        if !self.quiet {
            screen::say(&format!("pair {}   {}", pair + 1, compare::letter(side)));
        }
        let live = live::Live::new(&planned.plan, planned.spec(), planned.method(), &output);
        self.bar = Some(live.bar());
        Relay::start(live, &self.interrupt)
    }

    fn ended(&mut self) {
        if let Some(bar) = self.bar.take() {
            let _limit = interrupt::OutputLimit::begin();
            bar.finish_and_clear();
        }
    }
}

fn conclude(args: &CompareArgs, finished: Finished) -> Result {
    let Finished { comparison, sides, ended, failure } = finished;
    let pairs = sides[0].runs.len();
    let comparisons = [comparison];
    if args.json {
        let mut value = as_json(args, &sides, &comparisons, "in turns")?;
        value["pairs_of_runs"] = pairs.into();
        present::print(&present::json(&value)?)?;
    } else if pairs > 0 {
        let titles = [&args.runs[0], &args.runs[1]].map(Clone::clone);
        show(args, &compare::view(&titles, &sides, &comparisons, SITTING, args.all))?;
    }
    match (failure, ended) {
        (Some(failure), _) => Err(failure.into()),
        (None, Ended::Stopped) => Ok(ExitCode::from(INTERRUPTED)),
        (None, Ended::Decided | Ended::Exhausted) => super::pass(args, &sides, &comparisons),
    }
}

#[cfg(test)]
mod tests {
    use record::{Plan, Safety};

    use super::*;

    #[test]
    fn the_cost_has_one_time_for_one_count_and_simulated_time_is_named() {
        let plan = |seconds| Plan {
            safety: Safety::Reads,
            seconds,
            write_bytes_expected: None,
            range: None,
            write_bytes_max: 0,
            region_bytes: 0,
            destroys: None,
            steps: Vec::new(),
            workloads: Vec::new(),
            command: Vec::new(),
        };
        let words = |pairs, a: &str, b: &str| {
            let cost = ComparisonCost { plans: [plan(60.0), plan(30.0)], pairs };
            let text = announcement(&cost, [&a.to_string(), &b.to_string()]);
            text.split("   ").nth(1).unwrap_or_default().split(';').next().map(String::from)
        };
        let table = [
            ([4, 4], "/a", "/b", "4 pairs of runs, 6:00"),
            ([4, 24], "/a", "/b", "4 to 24 pairs of runs, 6:00 to 36:00"),
            ([4, 4], "/a", "sim:b", "4 pairs of runs, 4:00"),
            ([4, 4], "sim:a", "sim:b", "4 pairs of runs, 6 min simulated"),
            ([4, 24], "sim:a", "sim:b", "4 to 24 pairs of runs, 6 min to 36 min simulated"),
        ];
        for (pairs, a, b, expected) in table {
            assert_eq!(words(pairs, a, b).as_deref(), Some(expected));
        }
    }
}

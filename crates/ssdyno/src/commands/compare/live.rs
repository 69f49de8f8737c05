//! `ssdyno compare -m METHOD A B ...`: measures targets in turns until the differences are clear, and
//! more than two also at the same time.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use indicatif::ProgressBar;
use lab::compare;
use lab::compare::live::{Audience, ComparisonCost, Ended, Finished, LiveComparison};
use lab::together::{SetRuns, Together, view};
use lab::{Options, PlannedRun, Request, Watcher, drives, work};
use report::together as set_report;
use serde_json::json;
use workload::units;

use super::super::together::SetScreen;
use super::{as_json, show};
use crate::cli::{self, CompareArgs, OutputArgs};
use crate::failure::{Failure, Result, USAGE};
use crate::interrupt::INTERRUPTED;
use crate::relay::Relay;
use crate::{interrupt, live, present, screen};

/// The limits of a comparison in one session.
const SITTING: &str =
    "measured in turns: valid for these drives, here and today; another session may differ";

/// Measures targets in turns and shows the conclusion.
pub fn run(args: &CompareArgs, method: &str) -> Result {
    if args.runs.len() < 2 {
        let text = "-m takes two or more targets, not one";
        return Err(Failure::new(USAGE, text).advise("ssdyno compare -m quick /mnt/a /mnt/b"));
    }
    let (size, time) = (args.live.size, args.live.time);
    let options = Options { size, time, ..Options::default() };
    let live = LiveComparison {
        requests: args.runs.iter().map(|spec| request(args, spec)).collect(),
        method,
        options: work::options(&[method.to_string()], &[], options)?,
        metric: args.metric.as_deref(),
        detect: args.live.detect,
    };
    let cost = live.cost()?;
    if !args.live.quiet || args.live.dry_run {
        screen::say(&announcement(&cost, &args.runs));
    }
    if args.live.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    super::check_page(args)?;
    let interrupt = interrupt::InterruptibleRun::begin();
    let flag = Arc::clone(interrupt.flag());
    let mut audience = ComparisonScreen { interrupt: flag, quiet: args.live.quiet, bar: None };
    let finished = live.run(cost.pairs[1], interrupt.flag(), &mut audience);
    // A run that could not begin has not ended either.
    audience.ended();
    let finished = finished?;
    let set = measure_together(&live, &finished, interrupt.flag(), args.live.quiet);
    drop(interrupt);
    conclude(args, finished, set)
}

fn request(args: &CompareArgs, spec: &str) -> Request {
    let mut request = Request::on(spec);
    request.target.size = args.live.size;
    request.store.clone_from(&args.store.store);
    request.command = cli::typed();
    request
}

/// Measures more than two targets at the same time, after their turns.
fn measure_together(
    live: &LiveComparison<'_>,
    finished: &Finished,
    interrupt: &Arc<AtomicBool>,
    quiet: bool,
) -> Option<SetRuns> {
    let is_complete = finished.ended != Ended::Stopped && finished.failure.is_none();
    if finished.sides.len() < 3 || finished.sides.iter().any(|side| side.runs.is_empty()) {
        return None;
    }
    let alone = finished.sides.iter().map(|side| side.runs.clone()).collect();
    let mut runs = SetRuns { alone, ..SetRuns::default() };
    if is_complete {
        let (requests, options) = (live.requests.clone(), live.options.clone());
        let set = Together { requests, method: live.method, options };
        set.complete(&mut runs, interrupt, &mut SetScreen::new(Arc::clone(interrupt), quiet));
    }
    Some(runs)
}

/// The cost, shown before the first byte.
fn announcement(cost: &ComparisonCost, targets: &[String]) -> String {
    let [least, most] = cost.pairs;
    let is_simulated = |target: &str| target.starts_with(drives::PREFIX);
    let is_simulation = targets.iter().all(|target| is_simulated(target));
    // A simulation beside a real drive takes hardly any time.
    let sides = targets.iter().zip(&cost.plans);
    let sides = sides.filter(|(target, _)| is_simulation || !is_simulated(target));
    let seconds: f64 = sides.map(|(_, plan)| plan.seconds).sum();
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
    let names = targets.iter().enumerate();
    let names = names.map(|(i, target)| format!("{} {target}", compare::letter(i)));
    let names = names.collect::<Vec<_>>().join(", ");
    let runs = if targets.len() == 2 { "pairs of runs" } else { "rounds of runs" };
    format!(
        "{names}   {pairs} {runs}, {time}{simulated}; {writes}; Ctrl-C ends it with the result so far"
    )
}

struct ComparisonScreen {
    interrupt: Arc<AtomicBool>,
    quiet: bool,
    bar: Option<ProgressBar>,
}

impl Audience for ComparisonScreen {
    fn begins(&mut self, side: usize, round: u32, planned: &PlannedRun<'_>) -> Box<dyn Watcher> {
        let output = OutputArgs { quiet: self.quiet, ..OutputArgs::default() };
        if !self.quiet {
            screen::say(&format!("round {}   {}", round + 1, compare::letter(side)));
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

fn conclude(args: &CompareArgs, finished: Finished, set: Option<SetRuns>) -> Result {
    let Finished { comparisons, sides, ended, failure } = finished;
    let rounds = sides[0].runs.len();
    let drives = set.as_ref().map(lab::together::conclude);
    if args.json {
        let mut value = as_json(args, &sides, &comparisons, "in turns")?;
        value["pairs_of_runs"] = rounds.into();
        if let Some(drives) = &drives {
            value["together"] = json!(drives);
        }
        present::print(&present::json(&value)?)?;
    } else if let Some(drives) = &drives {
        show_drives(args, &view(drives))?;
    } else if rounds > 0 {
        show(args, &compare::view(&args.runs, &sides, &comparisons, SITTING, args.all))?;
    }
    let failure = failure.or(set.and_then(|set| set.failure));
    match (failure, ended) {
        (Some(failure), _) => Err(failure.into()),
        (None, Ended::Stopped) => Ok(ExitCode::from(INTERRUPTED)),
        (None, Ended::Decided | Ended::Exhausted) => super::pass(args, &sides, &comparisons),
    }
}

/// Shows more than two drives: one table for all.
fn show_drives(args: &CompareArgs, table: &set_report::SetTable) -> Result<()> {
    if let Some(path) = &args.html {
        let page = set_report::html(table, env!("CARGO_PKG_VERSION"));
        emit::renew(path, page).map_err(|e| Failure::cannot_write(path, &e))?;
    }
    present::print(&if args.markdown {
        set_report::markdown(table)
    } else {
        set_report::text(table, &screen::uncut())
    })
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
            let cost = ComparisonCost { plans: vec![plan(60.0), plan(30.0)], pairs };
            let text = announcement(&cost, &[a.to_string(), b.to_string()]);
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

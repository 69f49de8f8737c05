//! `ssdyno run T1 T2 ... --together`: several drives, alone and at the same time.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::ProgressBar;
use lab::together::{Audience, SetPhase, SetRuns, Together, conclude, view};
use lab::{ErrorKind, Options, PlannedRun, Request, Watcher};
use record::Plan;
use report::together as set_report;
use workload::units;

use crate::cli::{OutputArgs, RunArgs};
use crate::failure::{Failure, Result, USAGE};
use crate::interrupt::INTERRUPTED;
use crate::relay::Relay;
use crate::{interrupt, live, present, screen};

/// Separates the serial numbers of `--destroy` for several drives, in the order of the targets.
const SEPARATOR: char = ',';

/// Runs each method on all targets.
pub fn run(args: &RunArgs, options: &Options) -> Result {
    let output = &args.measure.output;
    if args.method.len() > 1 && output.html.is_some() {
        let failure = Failure::new(USAGE, "--html=FILE is for one method, not several");
        return Err(failure.advise("one `ssdyno run --together` for each method"));
    }
    for method in &args.method {
        let set = Together { requests: requests(args)?, method, options: options.clone() };
        let code = measure(&set, args)?;
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A request for each target, with its own confirmation.
fn requests(args: &RunArgs) -> Result<Vec<Request>> {
    let mut requests: Vec<Request> =
        args.targets.iter().map(|target| args.measure.request(target)).collect();
    let Some(words) = &args.measure.destroy else { return Ok(requests) };
    let serials: Vec<&str> = words.split(SEPARATOR).map(str::trim).collect();
    if serials.len() != requests.len() {
        let text = format!("{} serial numbers for {} targets", serials.len(), requests.len());
        let failure = Failure::new(USAGE, text);
        return Err(failure.advise("--destroy=SERIAL,SERIAL,... in the order of the targets"));
    }
    for (request, serial) in requests.iter_mut().zip(serials) {
        request.target.destroy = Some(serial.to_string());
    }
    Ok(requests)
}

fn measure(set: &Together<'_>, args: &RunArgs) -> Result {
    let output = &args.measure.output;
    let plans = set.plans()?;
    if args.measure.dry_run && output.is_json() {
        present::print(&present::json(&plans)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !output.quiet || args.measure.dry_run {
        screen::say(&announcement(set, &plans));
    }
    if args.measure.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(path) = &output.html {
        emit::check(path, None).map_err(|e| Failure::cannot_write(path, &e))?;
    }
    let interrupt = interrupt::InterruptibleRun::begin();
    let mut audience = SetScreen::new(Arc::clone(interrupt.flag()), output.quiet);
    let runs = set.run(interrupt.flag(), &mut audience);
    let is_interrupted = interrupt.flag().load(Ordering::Relaxed);
    drop(interrupt);
    audience.ended();
    let code = show(&runs, output)?;
    match runs.failure {
        Some(failure) if failure.kind() != ErrorKind::Interrupted => Err(failure.into()),
        _ if is_interrupted => Ok(ExitCode::from(INTERRUPTED)),
        _ => Ok(code),
    }
}

/// Shows what runs on several drives say.
pub fn show(runs: &SetRuns, output: &OutputArgs) -> Result {
    // A drive without a run ends the measurement before there is anything to compare.
    if runs.alone.iter().any(Vec::is_empty) {
        return Ok(ExitCode::SUCCESS);
    }
    let set = conclude(runs);
    let table = view(&set);
    if let Some(path) = &output.html {
        let page = set_report::html(&table, env!("CARGO_PKG_VERSION"));
        emit::renew(path, page).map_err(|e| Failure::cannot_write(path, &e))?;
    }
    if output.is_json() {
        present::print(&present::json(&set)?)?;
    } else {
        present::print(&set_report::text(&table, &screen::uncut()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The cost, shown before the first byte.
fn announcement(set: &Together<'_>, plans: &[Plan]) -> String {
    let alone: f64 = plans.iter().map(|plan| plan.seconds).sum();
    let longest = plans.iter().map(|plan| plan.seconds).fold(0.0, f64::max);
    let bytes_max = plans.iter().map(|plan| plan.write_bytes_max).max().unwrap_or(0);
    let writes = match bytes_max {
        0 => "reads only".to_string(),
        bytes => format!("each run writes at most {}", units::decimal(bytes)),
    };
    let destroyed: Vec<String> = set
        .requests
        .iter()
        .zip(plans)
        .filter_map(|(request, plan)| {
            let data = plan.destroys.as_ref()?;
            Some(format!(
                "\ndestroys  {}: {}",
                emit::plain(&request.target.spec),
                emit::plain(data)
            ))
        })
        .collect();
    let (count, method) = (plans.len(), set.method);
    let time = if set.is_simulated() {
        format!("{} simulated, each alone: virtual drives share nothing", units::duration(alone))
    } else {
        // The drive that lost most runs alone once more.
        let seconds = (alone + 2.0 * longest).round();
        format!("each alone, then all at the same time, about {}", units::span(seconds))
    };
    format!("{method} on {count} drives, {time}; {writes}{}", destroyed.concat())
}

/// Shows which run is in progress.
pub struct SetScreen {
    interrupt: Arc<AtomicBool>,
    quiet: bool,
    bars: Vec<ProgressBar>,
}

impl SetScreen {
    /// A screen for the runs of several drives.
    pub fn new(interrupt: Arc<AtomicBool>, quiet: bool) -> SetScreen {
        SetScreen { interrupt, quiet, bars: Vec::new() }
    }
}

impl Audience for SetScreen {
    /// Of runs at the same time, the first shows its progress.
    fn begins(
        &mut self,
        drive: usize,
        phase: SetPhase,
        planned: &PlannedRun<'_>,
    ) -> Box<dyn Watcher> {
        let is_hidden = phase == SetPhase::Together && drive > 0;
        if !self.quiet && !is_hidden {
            let target = emit::plain(planned.spec());
            screen::say(&match phase {
                SetPhase::Alone => format!("alone   {target}"),
                SetPhase::Together => "together".to_string(),
                SetPhase::Again => format!("again   {target}"),
            });
        }
        let output = OutputArgs { quiet: self.quiet || is_hidden, ..OutputArgs::default() };
        let live = live::Live::new(&planned.plan, planned.spec(), planned.method(), &output);
        self.bars.push(live.bar());
        Relay::start(live, &self.interrupt)
    }

    fn ended(&mut self) {
        let _limit = interrupt::OutputLimit::begin();
        self.bars.drain(..).for_each(|bar| bar.finish_and_clear());
    }
}

//! A run from the user's point of view: its plan or announcement, its progress, its record.

use std::process::ExitCode;

use lab::{Care, PlannedRun, Recorded, Request, Work};
use workload::units;

use super::recover;
use crate::cli::{MeasureArgs, OutputArgs};
use crate::failure::Result;
use crate::live::Live;
use crate::relay::Relay;
use crate::{interrupt, present, screen};

/// Runs work on a target and shows its record, or its plan for a dry run.
pub fn run(target: &str, args: &MeasureArgs, work: &Work<'_>) -> Result {
    let request = args.request(target);
    if args.dry_run {
        show_plan(&request, &args.output, work)?;
        return Ok(ExitCode::SUCCESS);
    }
    present::conclude(record(&request, &args.output, work)?, &args.output)
}

/// Shows the plan and cost of a run; with `--quiet` the cost alone.
pub fn show_plan(request: &Request, output: &OutputArgs, work: &Work<'_>) -> Result<()> {
    let planned = request.plan(work)?;
    if output.is_json() {
        return present::print(&present::json(&planned.plan)?);
    }
    let announcement = announcement(request, &planned, Care::Thorough);
    if output.quiet {
        return present::print(&format!("{announcement}\n"));
    }
    print_plan(&planned, &announcement, present::SCRATCH)
}

/// Prints a plan in full. `scratch` is its effect on a directory.
pub fn print_plan(planned: &PlannedRun<'_>, announcement: &str, scratch: &str) -> Result<()> {
    let (plan, health) = (&planned.plan, planned.health());
    present::print(&present::plan(announcement, plan, scratch, health, &screen::style()))
}

/// Runs work on a target and returns its record. A record that is not in the store is reported.
pub fn record(request: &Request, output: &OutputArgs, work: &Work<'_>) -> Result<Recorded> {
    let planned = request.plan(work)?;
    output.html.as_deref().map_or(Ok(()), present::check_page)?;
    let live = Live::new(&planned.plan, planned.spec(), planned.method(), output);
    let announcement = (!output.quiet).then(|| announcement(request, &planned, Care::Brief));
    carry_out(planned, live, |number| {
        if let Some(announcement) = announcement {
            recover::mention(request.target.journal.as_deref());
            screen::say(&format!("run {number}   {announcement}"));
        }
    })
}

/// Carries out a plan, shown by `live`, and returns its record. Calls `announce` with the number of
/// the run before the first byte. A record that is not in the store is reported.
pub fn carry_out(
    planned: PlannedRun<'_>,
    live: Live,
    announce: impl FnOnce(i64),
) -> Result<Recorded> {
    let interrupted = interrupt::InterruptibleRun::begin();
    let interrupt = interrupted.flag();
    let live = live.with_interrupt(interrupt);
    let bar = live.bar();
    let run = planned.begin(Relay::start(live, interrupt), interrupt)?;
    announce(run.number());
    let recorded = run.run(interrupt);
    present::report_unkept(&recorded);
    let _limit = interrupt::OutputLimit::begin();
    bar.finish_and_clear();
    Ok(recorded)
}

/// The text shown before a run starts: its cost, data lost, space left on a file system that it
/// fills, blocks borrowed.
fn announcement(request: &Request, planned: &PlannedRun<'_>, care: Care) -> String {
    let (spec, plan) = (&request.target.spec, &planned.plan);
    let (health, seconds) = (planned.health(), planned.seconds_here(care));
    let mut text = present::announce(planned.name(), spec, plan, health, seconds);
    if let Some((free, mount)) = planned.fills() {
        let free = units::decimal(free);
        text +=
            &format!("\nfills     {}: {free} stays free there during the run", emit::plain(mount));
    }
    if let Some(directory) = planned.borrows_into() {
        let (bytes, directory) = (units::binary(plan.region_bytes), directory.display());
        text += &format!("\nborrows   {bytes} of {spec}, copied to {directory} during the run");
    }
    text
}

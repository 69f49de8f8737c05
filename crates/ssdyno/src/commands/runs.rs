//! `ssdyno runs`, `show`, `export`, `rm`: the records.

use std::fs;
use std::process::{Command, ExitCode, Stdio};

use record::{Metric, Run};
use report::Ink;
use report::table::{Align, Cell, Table};
use serde_json::json;
use store::{Filter, RunSummary, Store};

use crate::cli::{ExportArgs, RmArgs, RunsArgs, ShowArgs, StoreArgs};
use crate::failure::{Failure, IO, Result};
use crate::{present, screen};

/// Lists the records, the latest first.
pub fn list(args: &RunsArgs) -> Result {
    let store = open(&args.store)?;
    let day = |text: &String| store::day(text);
    let filter = Filter {
        drive: args.drive.clone(),
        method: args.method.clone(),
        since: args.since.as_ref().map(day).transpose()?.map(|d| d.start),
        until: args.until.as_ref().map(day).transpose()?.map(|d| d.end),
        limit: args.limit,
    };
    let runs = store.runs(&filter)?;
    let text = if args.json { runs_json(&runs)? } else { runs_table(&runs) };
    present::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Shows one record.
pub fn show(args: &ShowArgs) -> Result {
    let store = open(&args.store)?;
    let run = store.load(store.find(&args.run)?)?;
    if let Some(path) = &args.html {
        let reports = present::reports_beside(store.path());
        let page = present::write_page(&run, path.as_deref(), &reports)?;
        present::print(&format!("{}\n", page.display()))?;
        return if args.open { open_page(&page) } else { Ok(ExitCode::SUCCESS) };
    }
    let text = if args.json {
        present::record_json(&run, true)?
    } else if args.markdown {
        report::markdown(&run)
    } else if args.csv {
        report::csv(&run)
    } else if args.series {
        report::csv_series(&run)
    } else {
        report::terminal(&run, &screen::style())
    };
    present::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Records as JSON lines, or their metrics as CSV, oldest first.
pub fn export(args: &ExportArgs) -> Result {
    let store = open(&args.store)?;
    let numbers = match args.runs.as_slice() {
        [] => store.runs(&Filter::default())?.iter().rev().map(|r| r.number).collect(),
        some => find_all(&store, some)?,
    };
    for (i, number) in numbers.into_iter().enumerate() {
        let run: Run = store.load(number)?;
        let text = match args.csv {
            // One heading for all.
            true if i > 0 => report::csv(&run).split_inclusive('\n').skip(1).collect(),
            true => report::csv(&run),
            false => present::record_json(&run, false)?,
        };
        present::print(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Removes records, and the pages made of them beside the store.
pub fn remove(args: &RmArgs) -> Result {
    let mut store = open(&args.store)?;
    let numbers = find_all(&store, &args.runs)?;
    store.remove(&numbers)?;
    let reports = present::reports_beside(store.path());
    for number in &numbers {
        // There may be none.
        let _ = fs::remove_file(reports.join(present::page_name(*number)));
    }
    let shown: Vec<String> = numbers.iter().map(i64::to_string).collect();
    screen::say(&format!("removed run {}", shown.join(", ")));
    Ok(ExitCode::SUCCESS)
}

fn open(args: &StoreArgs) -> Result<Store> {
    Ok(Store::open_existing(args.store.as_deref())?)
}

fn find_all(store: &Store, selectors: &[String]) -> Result<Vec<i64>> {
    selectors.iter().map(|s| Ok(store.find(s)?)).collect()
}

fn runs_table(runs: &[RunSummary]) -> String {
    if runs.is_empty() {
        return "no runs match\n".to_string();
    }
    let columns = [Align::Right, Align::Left, Align::Left, Align::Left, Align::Left, Align::Left];
    let mut table = Table::new(&columns);
    table.heading(["run", "started", "method", "drive", "target", "result"]);
    for run in runs {
        let (ink, result) = match (run.complete, run.running, &run.cut_short) {
            (true, ..) => (Ink::Plain, headline(&run.headline)),
            (_, true, _) => (Ink::Good, "running".to_string()),
            (_, _, Some(why)) => (Ink::Warn, format!("cut short: {why}")),
            _ => (Ink::Warn, "cut short".to_string()),
        };
        table.row([
            Cell::new(Ink::Strong, run.number.to_string()),
            Cell::dim(run.started.get(..16).unwrap_or(&run.started).replace('T', " ")),
            Cell::from(run.method.as_str()),
            Cell::from(run.drive.as_deref().unwrap_or("unknown")),
            Cell::from(run.target.as_str()),
            Cell::new(ink, result),
        ]);
    }
    table.render(&screen::style())
}

/// The first metrics in a few words.
fn headline(metrics: &[Metric]) -> String {
    let words = metrics.iter().filter_map(|metric| {
        let value = metric.value?;
        Some(format!("{} {}", metric.name, report::quantity(metric.unit, value)))
    });
    words.take(2).collect::<Vec<_>>().join(", ")
}

fn runs_json(runs: &[RunSummary]) -> Result<String> {
    let summary = |run: &RunSummary| {
        json!({
            "number": run.number,
            "id": run.id,
            "started": run.started,
            "method": run.method,
            "target": run.target,
            "drive": run.drive,
            "serial": run.serial,
            "complete": run.complete,
            "running": run.running,
            "cut_short": run.cut_short,
            "headline": run.headline,
        })
    };
    present::json(&runs.iter().map(summary).collect::<Vec<_>>())
}

/// Hands a page to the desktop's browser.
fn open_page(page: &std::path::Path) -> Result {
    let opener =
        Command::new("xdg-open").arg(page).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match opener {
        Ok(status) if status.success() => Ok(ExitCode::SUCCESS),
        _ => {
            Err(Failure::new(IO, "no browser could be started here").advise("open the file above"))
        }
    }
}

//! `ssdyno replicate`: published experiments on virtual drives, figure by figure.
//!
//! What is published and how it is measured here is data (`published/*.toml`); each experiment runs
//! once in virtual time and leaves a record like any run. On a target of the user's (`here`) the
//! document's steps are run themselves. A figure outside its tolerance is missed,
//! also where the reason is known, and the exit code says so.

mod beside;
mod document;
mod experiment;
mod here;
mod page;
mod reading;

use std::process::ExitCode;

use report::Ink;
use report::table::{Align, Cell, Table};
use serde_json::json;

use self::document::{Document, Experiment};
use self::page::Done;
use crate::cli::ReplicateArgs;
use crate::commands::session::Recorded;
use crate::failure::{CHECK_FAILED, Result};
use crate::{interrupt, present, screen};

/// Repeats a document's experiments, or lists the documents there are.
pub fn run(args: &ReplicateArgs) -> Result {
    let Some(name) = &args.document else { return list(args.json) };
    let document = document::document(name)?;
    if let Some(target) = &args.here.target {
        return here::run(name, &document, target, args);
    }
    let done = experiments(&document, args)?;
    let figures: Vec<_> = document
        .figures
        .iter()
        .filter_map(|figure| {
            let done = done.iter().find(|d| d.experiment == figure.experiment)?;
            Some(reading::compare(figure, &done.run))
        })
        .collect();
    let text = match args.json {
        true => present::json(&page::json(name, &document, &figures, &done))?,
        false => page::text(&document, &figures, &done, &screen::style()),
    };
    present::print(&text)?;
    let met = figures.iter().all(|figure| figure.met);
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

fn experiments(document: &Document, args: &ReplicateArgs) -> Result<Vec<Done>> {
    let wanted = |e: &&Experiment| args.only.as_ref().is_none_or(|only| e.id.contains(only));
    let chosen: Vec<&Experiment> = document.experiments.iter().filter(wanted).collect();
    if chosen.is_empty() {
        return Err(document::nothing_called_so(document.experiments.iter().map(|e| &e.id)));
    }
    let interrupt = interrupt::flag()?;
    let mut done = Vec::new();
    for experiment in chosen {
        let Recorded { run, reports, ended, kept } = experiment::run(experiment, args, &interrupt)?;
        ended?;
        kept?;
        let page = present::write_page(&run, None, &reports).map(|path| path.display().to_string());
        done.push(Done { experiment: experiment.id.clone(), run, page: page.ok() });
    }
    Ok(done)
}

fn list(as_json: bool) -> Result {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
    table.heading(["document", "figures", "what it is"]);
    let mut all = Vec::new();
    for name in document::names() {
        let document = document::document(name)?;
        let count = document.figures.len();
        table.row([
            Cell::new(Ink::Strong, name),
            Cell::dim(count.to_string()),
            Cell::from(document.title.as_str()),
        ]);
        all.push(json!({ "name": name, "figures": count, "title": document.title }));
    }
    let text = if as_json { present::json(&all)? } else { table.render(&screen::style()) };
    present::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

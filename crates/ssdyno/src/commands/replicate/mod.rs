//! `ssdyno replicate`: runs published experiments on virtual drives, or on the user's own drive.
//!
//! On virtual drives, the exit code is 1 if a figure is outside its tolerance, or with `--claims` if
//! a claim differs, even if the reason is known. With `--from`, the experiments were run elsewhere.

mod here;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lab::replicate::{self, Document, Done, Repeated, document};
use lab::{Recorded, Request, Work};
use report::table::{Align, Table, TableCell};
use report::{Ink, replication};
use serde_json::json;

use super::{array, io, session};
use crate::cli::{self, OutputArgs, ReplicateArgs};
use crate::failure::{CHECK_FAILED, Failure, Result};
use crate::{present, screen};

/// Repeats a document's experiments, or lists the documents.
pub fn run(args: &ReplicateArgs) -> Result {
    let Some(name) = &args.document else { return list(args.json) };
    let document = document::document(name)?;
    if let Some(target) = &args.here.target {
        return here::run(name, &document, target, args);
    }
    if let Some(directory) = &args.array.out {
        return array::run_experiments(&document, args, directory);
    }
    if let Some(Some(path)) = &args.html {
        emit::check(path, None).map_err(|e| Failure::cannot_write(path, &e))?;
    }
    let runs = if args.array.from.is_empty() {
        experiments(&document, args)?
    } else {
        replicate::from_records(&document, args.only.as_deref(), &args.array.from)?
    };
    let replication_run = Repeated::new(name, &document, &runs);
    let view = replication_run.view()?;
    let text = if args.json {
        present::json(&replication_run.json()?)?
    } else if args.claims {
        replication::claims_text(&view, &screen::uncut())
    } else {
        replication::text(&view, &screen::uncut())
    };
    present::print(&text)?;
    if let Some(path) = &args.html {
        let store = args.store.store.clone().map_or_else(store::default_path, Ok)?;
        let path = path.clone().map_or_else(|| beside_store(&store, name), Ok)?;
        let page = replication::html(&view, env!("CARGO_PKG_VERSION"));
        emit::renew(&path, page).map_err(|e| Failure::cannot_write(&path, &e))?;
        screen::say(&format!("page     {}", path.display()));
    }
    let is_met = if args.claims { replication_run.is_reproduced() } else { replication_run.met() };
    Ok(if is_met { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

/// The path for a document's page in the directory of reports, which is created.
fn beside_store(store: &Path, name: &str) -> Result<PathBuf> {
    let directory = present::reports_beside(store);
    present::make_reports(&directory).map_err(|e| Failure::cannot_write(&directory, &e))?;
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Ok(directory.join(format!("replicate-{name}.html")))
}

fn experiments(document: &Document, args: &ReplicateArgs) -> Result<Vec<Done>> {
    let mut runs = Vec::new();
    for experiment in document.chosen(args.only.as_deref())? {
        let options = experiment.options()?;
        let work = Work::experiment(experiment, &io::read, &options)?;
        let request = request(experiment.target(), args);
        let recorded = session::record(&request, &output(args), &work)?;
        let Recorded { run, store, ended, kept } = recorded;
        ended?;
        kept.map_err(Failure::reported)?;
        runs.push(with_page(Done { experiment: experiment.id.clone(), run, page: None }, &store));
    }
    // With `--only` too: imported records take no time, and a question they answer is not open.
    let store = args.store.store.clone().map_or_else(store::default_path, Ok)?;
    let imported = replicate::imported(document, &store)?;
    runs.extend(imported.into_iter().map(|runs| with_page(runs, &store)));
    Ok(runs)
}

/// Writes a page beside the store, or says why it could not.
fn with_page(done: Done, store: &Path) -> Done {
    match present::write_page(&done.run, None, &present::reports_beside(store)) {
        Ok(path) => Done { page: Some(path.display().to_string()), ..done },
        Err(error) => {
            screen::say(&format!("no page of {}: {}", done.experiment, error.text()));
            done
        }
    }
}

/// A request for a target, with defaults for the instrument.
fn request(target: String, args: &ReplicateArgs) -> Request {
    let (store, command) = (args.store.store.clone(), cli::typed());
    Request { store, command, labels: args.array.labels.labels(), ..Request::on(target) }
}

fn output(args: &ReplicateArgs) -> OutputArgs {
    let ReplicateArgs { json, quiet, .. } = *args;
    OutputArgs { json, quiet: quiet || json, ..OutputArgs::default() }
}

fn list(as_json: bool) -> Result {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
    table.heading(["document", "figures", "title"]);
    let mut documents = Vec::new();
    for name in document::names() {
        let document = document::document(name)?;
        let count = document.figures.len();
        table.row([
            TableCell::new(Ink::Strong, name),
            TableCell::dim(count.to_string()),
            TableCell::from(document.title.as_str()),
        ]);
        documents.push(json!({ "name": name, "figures": count, "title": document.title }));
    }
    let text = if as_json { present::json(&documents)? } else { table.render(&screen::style()) };
    present::done(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only the command can check options of `io` in the documents.
    #[test]
    fn every_step_of_every_document_can_be_planned() {
        for name in document::names() {
            let document = document::document(name).expect("it is there");
            for experiment in &document.experiments {
                let options = experiment.options().expect("declared");
                let work = Work::experiment(experiment, &io::read, &options).expect("known");
                let plan = Request::on(experiment.target()).plan(&work).map(drop);
                plan.unwrap_or_else(|e| panic!("{name}, {}: {e}", experiment.id));
            }
        }
    }
}

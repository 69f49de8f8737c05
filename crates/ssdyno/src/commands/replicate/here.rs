//! A document on a drive of one's own: what its author ran, step by step, a record for each.
//!
//! A step is a method, or a line of fio's as the document has it, with another file: a scratch file
//! in the directory, gone afterwards, or the device itself. A line that writes is left out where the
//! target may only be read; methods leave their writes out by themselves. No figure is held against
//! a tolerance: another drive is not expected to meet them.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use drive::NamedScratch;
use fio::{self, Plan, Request};
use lab::virtual_drive;
use methods::Options;
use serde::Deserialize;

use super::beside;
use super::document::{self, Document};
use crate::cli::{
    BorrowArgs, HereArgs, InstrumentArgs, OutputArgs, ReplicateArgs, StoreArgs, TargetArgs,
};
use crate::commands::fio as fio_command;
use crate::commands::session::{self, Job, Recorded};
use crate::failure::{Failure, Result, USAGE};
use crate::{interrupt, present, screen};

/// What the document's author ran.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub id: String,
    #[serde(flatten)]
    what: What,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum What {
    /// A method of ssdyno's.
    Method(String),
    /// The words behind `fio`, as printed but for slips of the printer.
    Fio(String),
}

/// The record of a step.
pub struct Done {
    pub step: String,
    pub recorded: Recorded,
}

/// Runs a document's steps on the target and shows its figures beside the published ones.
pub fn run(name: &str, document: &Document, target: &str, args: &ReplicateArgs) -> Result {
    let steps = chosen(name, document, target, args)?;
    let ground = Ground { target, args, interrupt: interrupt::flag()? };
    let (mut done, mut left_out, mut ended) = (Vec::new(), Vec::new(), Ok(()));
    for step in steps {
        match ground.step(step)? {
            Outcome::Planned => {}
            Outcome::LeftOut(why) => left_out.push(format!("{}: {why}", step.id)),
            Outcome::Ran(mut recorded) => {
                ended = std::mem::replace(&mut recorded.ended, Ok(()));
                done.push(Done { step: step.id.clone(), recorded: *recorded });
            }
        }
        if ended.is_err() {
            break;
        }
    }
    if args.here.dry_run {
        left_out.iter().for_each(|text| screen::say(&format!("left out: {text}")));
        return Ok(ExitCode::SUCCESS);
    }
    let text = match args.json {
        true => present::json(&beside::json(name, document, target, &done, &left_out))?,
        false => beside::text(document, target, &done, &left_out, &screen::style()),
    };
    present::print(&text)?;
    ended?;
    let mut code = ExitCode::SUCCESS;
    for Done { recorded, .. } in done {
        recorded.kept?;
        if code == ExitCode::SUCCESS {
            code = present::exit_code(&recorded.run);
        }
    }
    Ok(code)
}

fn chosen<'d>(
    name: &str,
    document: &'d Document,
    target: &str,
    args: &ReplicateArgs,
) -> Result<Vec<&'d Step>> {
    if document.here.is_empty() {
        let text = format!("of {name} nothing can be repeated on a drive of one's own as it was");
        return Err(Failure::new(USAGE, text).advise(format!("ssdyno run {target} -m METHOD")));
    }
    if virtual_drive::described(target).is_some() || target == "null:" {
        let text = format!("{target} is no directory and no device");
        let advice = format!("ssdyno replicate {name}, which has virtual drives of its own");
        return Err(Failure::new(USAGE, text).advise(advice));
    }
    let wanted = |step: &&Step| args.only.as_ref().is_none_or(|only| step.id.contains(only));
    let steps: Vec<&Step> = document.here.iter().filter(wanted).collect();
    if steps.is_empty() {
        return Err(document::nothing_called_so(document.here.iter().map(|step| &step.id)));
    }
    Ok(steps)
}

/// What became of a step.
enum Outcome {
    Ran(Box<Recorded>),
    /// Its plan was shown.
    Planned,
    /// Why it was not run.
    LeftOut(&'static str),
}

/// The target, and how it is worked on.
struct Ground<'a> {
    target: &'a str,
    args: &'a ReplicateArgs,
    interrupt: Arc<AtomicBool>,
}

impl Ground<'_> {
    fn step(&self, step: &Step) -> Result<Outcome> {
        match &step.what {
            What::Method(name) => self.method(name),
            What::Fio(words) => self.fio(words),
        }
    }

    fn output(&self) -> OutputArgs {
        let ReplicateArgs { json, quiet, .. } = self.args;
        OutputArgs { json: *json, events: false, html: None, quiet: *quiet || *json }
    }

    fn method(&self, name: &str) -> Result<Outcome> {
        let HereArgs { size, time, destroy, dry_run, .. } = &self.args.here;
        let on = TargetArgs {
            target: self.target.to_string(),
            size: *size,
            destroy: destroy.clone(),
            borrow: BorrowArgs { allowed: false, journal: None },
            dry_run: *dry_run,
            instrument: InstrumentArgs { backend: None, pin: false, seed: 1, patience: None },
            output: self.output(),
            store: self.args.store.clone(),
        };
        let method = methods::find(name)?;
        let options = Options { size: *size, time: *time, ..Options::default() };
        let job =
            Job { method: method.info().name, act: &|session| Ok(method.run(session, &options)?) };
        if *dry_run {
            session::run(&on, &job, &self.interrupt)?;
            return Ok(Outcome::Planned);
        }
        Ok(Outcome::Ran(Box::new(session::record(&on, &job, &self.interrupt)?)))
    }

    fn fio(&self, words: &str) -> Result<Outcome> {
        let here = &self.args.here;
        let target = Path::new(self.target);
        let directory = target.is_dir();
        let scratch = match directory && !here.dry_run {
            true => Some(NamedScratch::create(target)?),
            false => None,
        };
        let file = match &scratch {
            Some(scratch) => scratch.path().to_path_buf(),
            None if directory => target.join("scratch"),
            None => target.to_path_buf(),
        };
        let plan = plan(&own_words(words, &file.to_string_lossy(), here))?;
        let changes = |job: &fio::Job| job.access.rw.writes() || job.access.rw.trims();
        if !directory && here.destroy.is_none() && plan.jobs.iter().any(changes) {
            return Ok(Outcome::LeftOut("it writes, and the target may only be read"));
        }
        let destroy: Vec<String> = here.destroy.iter().cloned().collect();
        let prepared = fio_command::prepare(&plan, &destroy)?;
        if here.dry_run {
            fio_command::show_plan(&plan, &prepared)?;
            return Ok(Outcome::Planned);
        }
        let store: &StoreArgs = &self.args.store;
        let how = fio_command::How {
            store,
            seen: &self.output(),
            speaks: false,
            interrupt: &self.interrupt,
        };
        Ok(Outcome::Ran(Box::new(fio_command::record(&plan, prepared, &how)?.1)))
    }
}

/// The document's words with another file, and with the size and time that were asked for.
fn own_words(words: &str, file: &str, here: &HereArgs) -> Vec<String> {
    let replaced = ["filename", "directory"].into_iter().chain(here.size.map(|_| "size"));
    let replaced: Vec<_> = replaced.map(|name| format!("--{name}=")).collect();
    let kept = |word: &&str| !replaced.iter().any(|begin| word.starts_with(begin.as_str()));
    let mut words: Vec<String> = words.split_whitespace().filter(kept).map(String::from).collect();
    words.push(format!("--filename={}", file.replace(':', "\\:")));
    words.extend(here.size.map(|bytes| format!("--size={bytes}")));
    words.extend(here.time.map(|time| format!("--runtime={}ms", time.as_millis().max(1))));
    words
}

fn plan(words: &[String]) -> Result<Plan> {
    match fio::parse(words, &fio::Here).map_err(fio_command::usage)? {
        Request::Run(plan) => Ok(*plan),
        Request::Answer(_) => Err(Failure::new(USAGE, "a line of fio's that runs nothing")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_lines_are_fios() {
        for name in document::names() {
            let document = document::document(name).unwrap_or_else(|e| panic!("{}", e.text()));
            for step in &document.here {
                let here = HereArgs {
                    target: None,
                    size: Some(16 << 20),
                    time: None,
                    destroy: None,
                    dry_run: false,
                };
                match &step.what {
                    What::Method(name) => assert!(methods::find(name).is_ok(), "{name}"),
                    What::Fio(words) => {
                        let words = own_words(words, "/a:b/c", &here);
                        let plan = plan(&words).unwrap_or_else(|e| panic!("{}", e.text()));
                        assert_eq!(plan.jobs[0].paths(0), ["/a:b/c"]);
                        assert_eq!(words.iter().filter(|w| w.starts_with("--size")).count(), 1);
                    }
                }
            }
            for figure in &document.beside {
                let step = document.here.iter().find(|step| step.id == figure.step);
                assert!(step.is_some(), "{name}: {figure:?}");
            }
        }
    }
}

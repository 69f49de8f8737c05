//! `ssdyno run --out DIR` and `replicate --out DIR`: a record a file, for `ssdyno import DIR`, and with
//! `--shard I/N` only a part of the runs, for job arrays: every part writes into one directory, on any
//! machine, in any order.
//!
//! A run of a virtual drive has a store of its own, so that it knows no earlier run, and its record is
//! reproducible: a part that is repeated finds its files there and goes on. A run on a real drive is in
//! the user's store as always; its file is a copy.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lab::replicate::{Document as PublishedDocument, Experiment};
use lab::{Options, Recorded, Request, Work, work};
use record::{Document, Run, TargetKind};

use super::{io, session};
use crate::cli::{self, OutputArgs, ReplicateArgs, RunArgs};
use crate::failure::{Failure, IO, Result};
use crate::{present, screen};

/// Longest part of a file's name that comes from a target, characters.
const TARGET_MAX: usize = 60;

/// Runs the shard's part of all combinations: by seed, by method, by target.
pub fn run(args: &RunArgs, out: &Path) -> Result {
    fs::create_dir_all(out).map_err(|e| Failure::cannot_write(out, &e))?;
    let shard = args.array.shard.unwrap_or_default();
    let (mut index, mut result) = (0, ExitCode::SUCCESS);
    for seed in args.seeds() {
        let common = Options { seed, ..Options::from(args) };
        let options = work::options(&args.method, &args.own.typed, common)?;
        for method in &args.method {
            let work = Work::method(method, &options)?;
            for target in &args.targets {
                index += 1;
                if !shard.has(index) {
                    continue;
                }
                let array_run = ArrayRun { args, target, method, seed, work: &work };
                let code = array_run.write_into(out)?;
                if code != ExitCode::SUCCESS {
                    result = code;
                }
            }
        }
    }
    Ok(result)
}

/// One of the runs.
struct ArrayRun<'a> {
    args: &'a RunArgs,
    target: &'a str,
    method: &'a str,
    seed: u64,
    work: &'a Work<'a>,
}

impl ArrayRun<'_> {
    /// Measures, unless the file of an equal run is there, and writes the record.
    fn write_into(&self, out: &Path) -> Result {
        if !self.target.starts_with(lab::drives::PREFIX) {
            let recorded = measure(&self.request(), &self.args.measure.output, self.work)?;
            let path = out.join(format!("{}.json", recorded.run.id));
            return write(&path, recorded.run);
        }
        let path = out.join(self.file_name());
        if path.exists() {
            self.say("is already in", &path);
            return Ok(ExitCode::SUCCESS);
        }
        self.say("into", &path);
        simulate_into(&path, self.request(), self.work)
    }

    fn request(&self) -> Request {
        let mut request = self.args.measure.request(self.target);
        request.instrument.seed = self.seed;
        request
    }

    fn say(&self, verb: &str, path: &Path) {
        if !self.args.measure.output.quiet {
            let ArrayRun { method, target, seed, .. } = self;
            let (target, path) = (emit::plain(target), path.display());
            screen::say(&format!("{method} on {target}, seed {seed}, {verb} {path}"));
        }
    }

    /// The name of the file: for people, and with a hash of everything that determines the run.
    fn file_name(&self) -> String {
        let ArrayRun { args, target, method, seed, work } = self;
        let labels = args.measure.labels.labels();
        let identity = format!("{target} {method} {seed} {:?} {labels:?}", work.options());
        file_name(&format!("{method}-{}-{seed}", words(target)), &identity)
    }
}

/// Runs the shard's part of the experiments of a document.
pub fn run_experiments(document: &PublishedDocument, args: &ReplicateArgs, out: &Path) -> Result {
    fs::create_dir_all(out).map_err(|e| Failure::cannot_write(out, &e))?;
    let shard = args.array.shard.unwrap_or_default();
    let experiments = document.chosen(args.only.as_deref())?;
    for (number, experiment) in (1..).zip(experiments) {
        if !shard.has(number) {
            continue;
        }
        let options = experiment.options()?;
        let work = Work::experiment(experiment, &io::read, &options)?;
        let mut labels = args.array.labels.labels();
        labels.tags.insert(Experiment::TAG.into(), experiment.identity());
        let (target, identity) = (experiment.target(), format!("{labels:?}"));
        let path = out.join(file_name(&format!("replicate-{}", words(&target)), &identity));
        let verb = if path.exists() { "is already in" } else { "into" };
        if !args.quiet {
            let (id, path) = (emit::plain(&experiment.id), path.display());
            screen::say(&format!("experiment {id} {verb} {path}"));
        }
        if !path.exists() {
            let command = cli::typed();
            simulate_into(&path, Request { labels, command, ..Request::on(target) }, &work)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Characters of a target that a file's name can have.
fn words(target: &str) -> String {
    let words = target.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    words.take(TARGET_MAX).collect()
}

/// A name for people, with a hash of everything that determines the run.
fn file_name(words: &str, identity: &str) -> String {
    let identity = format!("{} {identity}", env!("CARGO_PKG_VERSION"));
    format!("{words}-{}.json", store::id_of(0, identity.as_bytes())[10..].to_lowercase())
}

/// Runs a virtual drive with a store of its own, and writes the reproducible record.
fn simulate_into(path: &Path, request: Request, work: &Work<'_>) -> Result {
    let place = OwnStore::make()?;
    let quiet = OutputArgs { quiet: true, ..OutputArgs::default() };
    let request = Request { store: Some(place.file()), ..request };
    write(path, lab::reproducible(measure(&request, &quiet, work)?.run)?)
}

fn measure(request: &Request, output: &OutputArgs, work: &Work<'_>) -> Result<Recorded> {
    let recorded = session::record(request, output, work)?;
    match &recorded.ended {
        Ok(()) => Ok(recorded),
        Err(error) => Err(error.clone().into()),
    }
}

/// Writes the record, and returns its exit code.
fn write(path: &Path, run: Run) -> Result {
    let code = present::exit_code(&run);
    assert!(run.complete || run.target.kind != TargetKind::Virtual, "a part of a run is not it");
    let text = Document::from_run(run).and_then(|document| document.numbered(None));
    let text = text.map_err(|e| Failure::new(IO, e))? + "\n";
    emit::replace(path, text).map_err(|e| Failure::cannot_write(path, &e))?;
    Ok(code)
}

/// A store for one run, removed with it.
struct OwnStore(PathBuf);

impl OwnStore {
    fn make() -> Result<OwnStore> {
        let place = std::env::temp_dir().join(format!("ssdyno-{}", store::new_id()?));
        // It fails if somebody else has made it.
        fs::create_dir(&place).map_err(|e| Failure::cannot_write(&place, &e))?;
        Ok(OwnStore(place))
    }

    fn file(&self) -> PathBuf {
        self.0.join("runs.sqlite")
    }
}

impl Drop for OwnStore {
    fn drop(&mut self) {
        // The system empties its temporary directory, too.
        let _ = fs::remove_dir_all(&self.0);
    }
}

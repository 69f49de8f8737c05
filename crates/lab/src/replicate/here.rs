//! Runs a document on the user's own drive: the author's own steps, with a record for each.
//!
//! A step is a method, or an fio command line from the document with another file: a scratch file
//! in the directory, or the device itself.

use std::path::Path;
use std::time::Duration;

use fio::{CommandLine, Plan};
use serde::Deserialize;

use crate::error::{LabError, Result};
use crate::real::NamedScratch;
use crate::request::TargetRequest;
use crate::watcher::Recorded;

/// A step by the document's author.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HereStep {
    pub id: String,
    /// The method or the fio command line.
    #[serde(flatten)]
    pub run: StepWork,
}

/// The work of a step.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepWork {
    /// A method of ssdyno.
    Method(String),
    /// Options of fio, as printed except for misprints.
    Fio(String),
}

/// A completed step.
#[derive(Debug)]
pub struct Done {
    pub step: String,
    /// Its record.
    pub recorded: Recorded,
}

/// An fio command line on the user's drive.
pub struct Jobs {
    /// Its jobs.
    pub plan: Plan,
    /// Whether the target permits these jobs.
    pub permitted: bool,
    /// Their scratch file in a directory, removed at the end.
    _scratch: Option<NamedScratch>,
}

impl Jobs {
    /// The jobs of a command line, on a scratch file in the target or on the target itself. Creates
    /// the scratch file only if the jobs are to `run`.
    pub fn parse(
        words: &str,
        target: &TargetRequest,
        time: Option<Duration>,
        run: bool,
    ) -> Result<Jobs> {
        let path = Path::new(&target.spec);
        let directory = path.is_dir();
        let scratch = if directory && run { Some(NamedScratch::create(path)?) } else { None };
        let file = match &scratch {
            Some(scratch) => scratch.path().to_path_buf(),
            None if directory => path.join("scratch"),
            None => path.to_path_buf(),
        };
        let plan = plan(&fio_words(words, &file.to_string_lossy(), target.size, time))?;
        let permitted = directory
            || target.destroy.is_some()
            || !plan.jobs.iter().any(|job| job.access.rw.writes() || job.access.rw.trims());
        Ok(Jobs { plan, permitted, _scratch: scratch })
    }
}

fn plan(words: &[String]) -> Result<Plan> {
    match fio::parse(words, &fio::Here) {
        Ok(CommandLine::Run(plan)) => Ok(*plan),
        Ok(CommandLine::Answer(_) | CommandLine::Inflate(_)) => {
            Err(LabError::usage("an fio command line without jobs"))
        }
        Err(error) => Err(LabError::usage(&error).advise_if(error.advice)),
    }
}

/// Options of fio with another file, and with the user's size and time.
fn fio_words(words: &str, file: &str, size: Option<u64>, time: Option<Duration>) -> Vec<String> {
    let replaced = ["filename", "directory"].into_iter().chain(size.map(|_| "size"));
    let replaced: Vec<_> = replaced.map(|name| format!("--{name}=")).collect();
    let words = words
        .split_whitespace()
        .filter(|word| !replaced.iter().any(|prefix| word.starts_with(prefix.as_str())));
    let mut words: Vec<String> = words.map(String::from).collect();
    words.push(format!("--filename={}", file.replace(':', "\\:")));
    words.extend(size.map(|bytes| format!("--size={bytes}")));
    words.extend(time.map(|time| format!("--runtime={}ms", time.as_millis().max(1))));
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replicate::document;

    #[test]
    fn methods_and_figures_of_the_steps_exist() {
        for name in document::names() {
            let document = document::document(name).unwrap_or_else(|e| panic!("{e}"));
            for step in &document.here {
                if let StepWork::Method(name) = &step.run {
                    assert!(methods::find(name).is_ok(), "{name}");
                }
            }
            for figure in &document.beside {
                let step = document.here.iter().find(|step| step.id == figure.step);
                assert!(step.is_some(), "{name}: {figure:?}");
            }
        }
    }

    #[test]
    fn fio_command_lines_in_the_documents_are_parsed() {
        for name in document::names() {
            for step in document::document(name).expect("it is there").here {
                let StepWork::Fio(words) = &step.run else { continue };
                let words = fio_words(words, "/a:b/c", Some(16 << 20), None);
                let plan = plan(&words).unwrap_or_else(|e| panic!("{e}"));
                assert_eq!(plan.jobs[0].paths(0), ["/a:b/c"]);
                assert_eq!(words.iter().filter(|w| w.starts_with("--size")).count(), 1);
            }
        }
    }

    #[test]
    fn file_size_and_time_are_replaced() {
        let words = "--name=x --filename=/dev/sda --size=1g --rw=read";
        let own = fio_words(words, "/a:b", Some(4096), Some(Duration::from_secs(2)));
        let expected =
            ["--name=x", "--rw=read", "--filename=/a\\:b", "--size=4096", "--runtime=2000ms"];
        assert_eq!(own, expected);
        let own = fio_words(words, "f", None, None);
        assert_eq!(own, ["--name=x", "--size=1g", "--rw=read", "--filename=f"]);
    }
}

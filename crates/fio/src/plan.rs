//! A fio command line as a whole: its jobs, and the form of the results.

use std::time::Duration;

use super::error::line;
use super::{Engine, FioError, Job};

/// A parsed command line.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Run this.
    Run(Box<Plan>),
    /// Print this (`--help`, `--cmdhelp`, `--version`, `--showcmd`); empty for `--parse-only`.
    Answer(String),
}

/// A command line with its job files, resolved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Options of the run as a whole.
    pub globals: Globals,
    /// The jobs in the order of their sections; at least one.
    pub jobs: Vec<Job>,
    /// Remarks for the user before it runs, a line each.
    pub notes: Vec<Note>,
}

impl Plan {
    /// The drive that all files lie on, where they name one that is no file or device of this machine:
    /// `sim:NAME`, `pci:ADDRESS`. A plan has one such drive at most, and nothing beside it.
    pub fn drive(&self) -> Result<Option<String>, FioError> {
        let mut found: Option<Option<String>> = None;
        for job in self.jobs.iter().filter(|job| job.engine != Engine::Null) {
            for drive in job.files.drives() {
                match &found {
                    Some(other) if *other != drive => {
                        let place = |drive: &Option<String>| {
                            drive.clone().unwrap_or_else(|| "files of this machine".to_string())
                        };
                        let text = format!(
                            "{} and {} in one plan: a virtual drive has a time of its own",
                            place(other),
                            place(&drive)
                        );
                        return Err(FioError::new(&job.origin, text).advise("a run for each"));
                    }
                    _ => found = Some(drive),
                }
            }
        }
        Ok(found.flatten())
    }
}

/// A remark that is not an error: the reading of a value where fio's surprises, an option dropped
/// because of `--warn-unsupported`, or an option without effect on the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where: `file:line`, or `command line`.
    pub place: String,
    /// The remark, in one line.
    pub text: String,
}

impl Note {
    /// A remark about a place.
    pub(crate) fn new(place: impl Into<String>, text: impl Into<String>) -> Note {
        Note { place: line(place.into()), text: line(text.into()) }
    }
}

/// Options of the command line that belong to no job.
#[derive(Clone, Debug, PartialEq)]
pub struct Globals {
    /// File that takes the results (`--output`); stdout if none.
    pub output: Option<String>,
    /// Forms of the results, in the order printed (`--output-format=normal,json`).
    pub formats: Vec<Format>,
    /// Version of the terse lines, 3 to 5 (`--terse-version`).
    pub terse_version: u32,
    /// Whether the progress line is shown.
    pub eta: Eta,
    /// Starts a new progress line after this time.
    pub eta_newline: Option<Duration>,
    /// Directory for the logs that jobs write (`--aux-path`).
    pub aux_path: Option<String>,
}

impl Default for Globals {
    fn default() -> Globals {
        Globals {
            output: None,
            formats: vec![Format::Normal],
            terse_version: 3,
            eta: Eta::Auto,
            eta_newline: None,
            aux_path: None,
        }
    }
}

/// Form of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The text people read.
    Normal,
    /// fio's JSON.
    Json,
    /// fio's JSON with all bins of the latency histograms.
    JsonPlus,
    /// One line per job, in fields separated by semicolons.
    Terse,
}

/// When the progress line is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eta {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

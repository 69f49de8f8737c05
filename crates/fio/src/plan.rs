//! What a fio command line asks for as a whole: its jobs, and how results are shown.

use std::time::Duration;

use super::Job;
use super::error::line;

/// What a fio command line asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Run this.
    Run(Box<Plan>),
    /// Print this (`--help`, `--cmdhelp`, `--version`, `--showcmd`); empty for `--parse-only`.
    Answer(String),
}

/// Everything a command line with its job files asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// What is about the run as a whole.
    pub globals: Globals,
    /// The jobs in the order of their sections; at least one.
    pub jobs: Vec<Job>,
    /// What the user should know before it runs: a line each.
    pub notes: Vec<Note>,
}

/// Something that is no error but must not go unsaid: how a value was understood where fio's
/// meaning surprises, or an option left out because of `--warn-unsupported`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where: `file:line`, or `command line`.
    pub place: String,
    /// What, in one line.
    pub text: String,
}

impl Note {
    /// What is to be known, where.
    pub(crate) fn new(place: impl Into<String>, text: impl Into<String>) -> Note {
        Note { place: line(place.into()), text: line(text.into()) }
    }
}

/// Options of the command line that belong to no job.
#[derive(Clone, Debug, PartialEq)]
pub struct Globals {
    /// File that takes the results (`--output`); stdout if none.
    pub output: Option<String>,
    /// In which form results are printed, in this order (`--output-format=normal,json`).
    pub formats: Vec<Format>,
    /// Whether the progress line is shown.
    pub eta: Eta,
    /// A new progress line, rather than the same again, after this time.
    pub eta_newline: Option<Duration>,
    /// Directory for the logs that jobs write (`--aux-path`).
    pub aux_path: Option<String>,
}

impl Default for Globals {
    fn default() -> Globals {
        Globals {
            output: None,
            formats: vec![Format::Normal],
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

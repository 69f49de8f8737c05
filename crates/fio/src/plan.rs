//! A whole fio command line: its jobs, and the format of the results.

use std::path::Path;
use std::time::Duration;

use super::error::line;
use super::{Engine, FioError, Job, VerifyKind};

/// A parsed command line.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandLine {
    /// Run this.
    Run(Box<Plan>),
    /// Print this (`--help`, `--cmdhelp`, `--version`, `--showcmd`); for `--parse-only`, what `--debug` shows.
    Answer(String),
    /// Print this compressed log (`--inflate-log`).
    Inflate(String),
}

/// A resolved command line with its job files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Options of the run as a whole.
    pub globals: Globals,
    /// The jobs in the order of their sections; at least one.
    pub jobs: Vec<Job>,
    /// The options that apply to all jobs, as given: fio's name and the text.
    pub global_options: Vec<(String, String)>,
    /// Remarks for the user before it runs, one line each.
    pub notes: Vec<Note>,
}

impl Plan {
    /// The directory of the files that jobs write besides their own: logs, states, dumps.
    pub fn aux_directory(&self) -> &Path {
        self.globals.aux_path.as_deref().map_or(Path::new("."), Path::new)
    }

    /// Draws the seeds of jobs with `randrepeat=0` from `entropy`, as fio does from the system's
    /// randomness. Those of jobs that verify stay, so that a later job knows what they wrote, and so
    /// do those on virtual drives, of which a run repeats.
    pub fn draw_seeds(&mut self, entropy: u64) {
        for (number, job) in (1..).zip(&mut self.jobs) {
            let access = &mut job.access;
            let is_drawn = !access.passes_repeat && access.randseed.is_none();
            let is_virtual = job.files.drives().any(|drive| drive.is_some());
            if is_drawn && job.verify.kind == VerifyKind::None && !is_virtual {
                access.randseed = Some(entropy.wrapping_mul(number));
            }
        }
    }

    /// The drive of all files, if they name one that is not a local file or device: `sim:NAME`,
    /// `pci:ADDRESS`. A plan has at most one such drive, and no other files besides.
    pub fn drive(&self) -> Result<Option<String>, FioError> {
        let mut plan_drive: Option<Option<String>> = None;
        for job in self.jobs.iter().filter(|job| job.engine != Engine::Null) {
            for drive in job.files.drives() {
                match &plan_drive {
                    Some(other) if *other != drive => {
                        let [other, drive] = [other.as_deref(), drive.as_deref()]
                            .map(|drive| drive.unwrap_or("local files"));
                        let text = format!(
                            "{other} and {drive} in one plan: a virtual drive has its own time"
                        );
                        return Err(FioError::new(&job.origin, text).advise("one run for each"));
                    }
                    _ => plan_drive = Some(drive),
                }
            }
        }
        Ok(plan_drive.flatten())
    }
}

/// A remark that is not an error: a surprising interpretation of a value by fio, an option dropped
/// because of `--warn-unsupported`, or an option without effect on the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Location: `file:line`, or `command line`.
    pub place: String,
    /// The remark, in one line.
    pub text: String,
    /// Whether it says that an option is dropped, at the user's request.
    pub drops_option: bool,
}

impl Note {
    /// Creates a remark with its location.
    pub(crate) fn new(place: impl Into<String>, text: impl Into<String>) -> Note {
        Note { place: line(place.into()), text: line(text.into()), drops_option: false }
    }

    /// The remark that an option is dropped because it is not supported.
    pub(crate) fn dropped(place: &str, option: &str, why: &str) -> Note {
        let text = format!("{option}: dropped: {why}");
        Note { drops_option: true, ..Note::new(place, text) }
    }
}

/// Options of the command line that do not belong to a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Globals {
    /// File for the results (`--output`); stdout if `None`.
    pub output: Option<String>,
    /// Formats of the results, each at most once (`--output-format=normal,json`).
    pub formats: Vec<OutputFormat>,
    /// Version of the terse lines, 3 to 5 (`--terse-version`).
    pub terse_version: u32,
    /// Whether the progress line is shown.
    pub eta: Eta,
    /// Prints the results so far after each such time (`--status-interval`).
    pub status_interval: Option<Duration>,
    /// Starts a new progress line after this time.
    pub eta_newline: Option<Duration>,
    /// Directory for the logs that jobs write (`--aux-path`).
    pub aux_path: Option<String>,
    /// Whether the rates of all jobs together are logged (`--bandwidth-log`).
    pub bandwidth_log: bool,
    /// How idle the processors were, to be shown with the results (`--idle-prof`).
    pub idle_profile: Option<IdleProfile>,
    /// Whether it stands in for fio in a script: no line of the text is ssdyno's own.
    pub as_is: bool,
    /// What `--debug=` shows.
    pub debug: Debug,
}

/// What `--debug=` shows before the other text. Of fio's internals, only what scripts look for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Debug {
    /// The words given.
    pub topics: Vec<String>,
    /// The thresholds of steady states, in fio's words, one a line.
    pub thresholds: Vec<String>,
}

impl Debug {
    /// Whether a topic was asked for.
    pub(crate) fn shows(&self, topic: &str) -> bool {
        self.topics.iter().any(|other| other == topic || other == "all")
    }
}

impl Default for Globals {
    fn default() -> Globals {
        Globals {
            output: None,
            formats: vec![OutputFormat::Normal],
            terse_version: 3,
            eta: Eta::Auto,
            status_interval: None,
            eta_newline: None,
            aux_path: None,
            bandwidth_log: false,
            idle_profile: None,
            as_is: false,
            debug: Debug::default(),
        }
    }
}

/// The processors whose idle time is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleProfile {
    /// All together.
    System,
    /// All together, and each.
    PerProcessor,
}

/// Format of the results. The order is that in which fio prints several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutputFormat {
    /// One line per job, in fields separated by semicolons.
    Terse,
    /// fio's JSON.
    Json,
    /// fio's JSON with all bins of the latency histograms.
    JsonPlus,
    /// Text for users.
    Normal,
}

/// When the progress line is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eta {
    /// On a terminal.
    #[default]
    Auto,
    Always,
    Never,
}

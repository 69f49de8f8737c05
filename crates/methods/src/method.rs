//! What a method is: its words for people, its plan, its run.

use std::time::Duration;

use record::{Plan, Safety};
use rig::{Exit, Rig, RigError, TargetInfo};

use crate::{Iozone, Outcome};

/// What `ssdyno methods` shows of a method.
#[derive(Clone, Copy, Debug)]
pub struct MethodInfo {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line: the question it answers.
    pub summary: &'static str,
    /// A paragraph for people: what it does, in which order, and what comes out.
    pub about: &'static str,
    /// The most it does to what is on the drive.
    pub safety: Safety,
    /// Rough duration with the default options, in seconds.
    pub seconds: f64,
    /// What it writes, in words.
    pub writes: &'static str,
}

/// What the user may ask of a method. The default leaves everything to it.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of the target to work on.
    pub size: Option<u64>,
    /// About how long the whole may take.
    pub time: Option<Duration>,
    /// Seed of everything random.
    pub seed: u64,
    /// How often each workload is repeated, at least 1; from 2 on there are intervals.
    pub replicates: Option<u32>,
    /// `mark`: only the figures of the old tool.
    pub legacy: bool,
    /// `mark`: what scores are compared with.
    pub reference: Reference,
    /// `command`: the program and its arguments.
    pub command: Vec<String>,
    /// `iozone`: what its words ask for.
    pub iozone: Option<Iozone>,
}

/// The RAM disc that scores are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reference {
    /// One of the machine around the drive, measured in turn with the drive.
    #[default]
    Ram,
    /// The published one of RISC OS (document 000).
    RiscOsRamFs,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            size: None,
            time: None,
            seed: 1,
            replicates: None,
            legacy: false,
            reference: Reference::Ram,
            command: Vec::new(),
            iozone: None,
        }
    }
}

/// A named test.
pub trait Method: Sync {
    /// What it is, for people.
    fn info(&self) -> &'static MethodInfo;

    /// Whether it compares with a disc in memory, see [`Rig::reference`].
    fn wants_reference(&self) -> bool {
        false
    }

    /// What it would do to this target and what that costs. Touches nothing.
    fn plan(&self, target: &TargetInfo, options: &Options) -> Result<Plan, MethodError>;

    /// Does it. Whatever was measured is in `out`, also when it ends with an error.
    fn run(
        &self,
        rig: &mut dyn Rig,
        options: &Options,
        out: &mut Outcome<'_>,
    ) -> Result<(), MethodError>;
}

/// Why a method did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum MethodError {
    /// No method has that name.
    #[error("there is no method '{name}'; {}", suggestion(.nearest, .known))]
    Unknown {
        /// As the user typed it.
        name: String,
        /// A name that is spelt alike.
        nearest: Option<&'static str>,
        /// All names.
        known: String,
    },
    /// An option's value cannot be used.
    #[error("{option} is {value}, must be {range}")]
    Option {
        /// `size`, `time` or `replicates`.
        option: &'static str,
        /// Its value, for a person.
        value: String,
        /// What it may be, in words.
        range: String,
    },
    /// The target has less room than the method needs.
    #[error("the target has room for {bytes} bytes, the method needs {least}")]
    TooSmall {
        /// Bytes there are.
        bytes: u64,
        /// Bytes it takes.
        least: u64,
    },
    /// The disc in memory that was there a moment ago is not there any more.
    #[error("the disc in memory to compare with is gone")]
    NoReference,
    /// There is no program to run.
    #[error("no command was given; it comes after --, as in: -m command -- make -j4")]
    NoCommand,
    /// A program of the user's failed.
    #[error("the command ended with {exit}")]
    CommandFailed {
        /// How it ended.
        exit: Exit,
    },
    /// A workload ended because the target failed; the errors are in the outcome.
    #[error("too many I/O errors in {workload}")]
    Errors {
        /// The workload.
        workload: String,
    },
    /// The rig could not do what was asked, or the user ended the run.
    #[error(transparent)]
    Rig(#[from] RigError),
}

impl MethodError {
    /// The user ended the run: not a failure.
    pub fn interrupted(&self) -> bool {
        matches!(self, MethodError::Rig(RigError::Interrupted))
    }
}

fn suggestion(nearest: &Option<&'static str>, known: &str) -> String {
    match nearest {
        Some(name) => format!("did you mean '{name}'?"),
        None => format!("there are: {known}"),
    }
}

//! What a method is: its words for people, and its script.

use record::Safety;
use rig::{Exit, RigError};

use crate::{Declared, Options, Session};

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
    /// Options that it alone reads.
    pub options: &'static [&'static dyn Declared],
    /// It compares with a disc in memory, see [`rig::Rig::reference`].
    pub wants_reference: bool,
}

impl MethodInfo {
    /// A method without a word about it, for what its own declaration leaves out.
    pub const EMPTY: MethodInfo = MethodInfo {
        name: "",
        summary: "",
        about: "",
        safety: Safety::Reads,
        seconds: 0.0,
        writes: "nothing",
        options: &[],
        wants_reference: false,
    };
}

/// A named test.
pub trait Method: Sync {
    /// What it is, for people.
    fn info(&self) -> &'static MethodInfo;

    /// Does it. The same script is the plan: see [`crate::Planner`]. Whatever was measured is in the
    /// session, also when it ends with an error.
    fn run(&self, session: &mut Session<'_>, options: &Options) -> Result<(), MethodError>;
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
    /// An option was given that no chosen method declares.
    #[error("{option} goes with -m {declared_by}, not with {chosen}")]
    Undeclared {
        /// Its name, as it is typed.
        option: String,
        /// The methods that declare it.
        declared_by: String,
        /// The methods that were chosen.
        chosen: String,
    },
    /// A limit of the method's own is used up; whoever set it goes on after it.
    #[error("a limit of the method's own is used up")]
    Spent {
        /// How many limits are around it.
        depth: usize,
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

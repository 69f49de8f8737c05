//! Protocols: an experiment as a file of steps, some of which a person does.
//!
//! A step measures (a method or a workload, after preparations, so many times) or asks ("move the
//! drive to board B, then Enter"). Every measurement leaves a record of its own, which names the
//! protocol, the hash of its file, the step and the answers so far: the rest can be done on another
//! machine from the records alone. Nothing here prints, and nothing here measures: a caller takes
//! the next item from a [`Progress`], does it, and reports back.

mod answers;
mod conclude;
mod parse;
mod plan;
mod progress;
mod work;

use methods::Options;

use crate::error::{LabError, Result};

pub use self::answers::Answers;
pub use self::conclude::{Conclusion, Elapsed, conclude};
pub use self::parse::parse;
pub use self::plan::PlannedItem;
pub use self::progress::{Item, Next, Progress};

/// Names and texts of the protocols that come with the program.
const BUNDLED: [(&str, &str); 2] = [
    ("board-against-board", include_str!("../../../../protocols/board-against-board.toml")),
    ("state-bars", include_str!("../../../../protocols/state-bars.toml")),
];

/// Largest file, bytes.
const FILE_MOST: u64 = 1 << 20;

/// A protocol.
#[derive(Debug)]
pub struct Protocol {
    /// Its name, as records have it.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its purpose.
    pub about: String,
    /// SHA-256 of its text, in hexadecimal digits.
    pub hash: String,
    /// Its steps, in order; at least one measures.
    pub steps: Vec<Step>,
    /// The sides that are compared at the end.
    pub sides: Vec<String>,
}

/// One step.
#[derive(Debug)]
pub struct Step {
    /// Its name, unique in the protocol.
    pub id: String,
    /// What happens in it.
    pub action: Action,
}

/// The action of a step.
#[derive(Debug)]
pub enum Action {
    /// A question to the user.
    Ask(Ask),
    /// A measurement.
    Measure(Measure),
}

/// A question to the user, or a request to do something and press Enter.
#[derive(Debug)]
pub struct Ask {
    /// The question.
    pub text: String,
    /// The field of the records that takes the answer; without one there is nothing to answer.
    pub field: Option<String>,
}

/// A measurement.
#[derive(Debug)]
pub struct Measure {
    /// The measurement itself.
    pub run: Run,
    /// Preparations before each repetition, in the same run.
    pub prepare: Vec<Preparing>,
    /// How many times, from 1.
    pub repeat: u32,
    /// The side of the comparison it belongs to.
    pub side: Option<String>,
}

/// A method or a workload.
#[derive(Debug)]
pub enum Run {
    /// A method with its options.
    Method(&'static str, Options),
    /// A workload in the words of `ssdyno io`.
    Io(String),
}

/// A preparation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Preparing {
    /// Discard the free space of the file system (`fstrim`).
    TrimFree,
    /// Discard the whole drive (`blkdiscard`); everything on it is lost.
    Discard,
    /// Write everything once, sequentially.
    Fill,
    /// Leave the drive alone for so many seconds.
    Rest(f64),
    /// Rest until the drive has at most so many degrees Celsius, for half an hour at most.
    Cool(f64),
}

/// The names of the bundled protocols.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUNDLED.iter().map(|(name, _)| *name)
}

/// The protocol in a file, or a bundled one by its name.
pub fn protocol(file: &str) -> Result<Protocol> {
    if let Some((name, text)) = BUNDLED.iter().find(|(name, _)| *name == file) {
        return parse(&format!("protocols/{name}.toml"), text);
    }
    let wrong = |why: String| {
        let known = names().collect::<Vec<_>>().join(", ");
        LabError::usage(format!("{file}: {why}"))
            .advise(format!("a file of steps, or one of the bundled protocols: {known}"))
    };
    let size = std::fs::metadata(file).map_err(|error| wrong(error.to_string()))?;
    if !size.is_file() || size.len() > FILE_MOST {
        return Err(wrong("no file of at most 1 MiB".into()));
    }
    parse(file, &std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?)
}

impl Protocol {
    /// Its measurements, repetitions included.
    pub fn measurements(&self) -> u32 {
        let repeats = self.steps.iter().map(|step| match &step.action {
            Action::Measure(measure) => measure.repeat,
            Action::Ask(_) => 0,
        });
        repeats.sum()
    }

    /// The measuring steps of a side, in order.
    pub fn on_side<'p>(&'p self, side: &'p str) -> impl Iterator<Item = &'p str> {
        self.steps.iter().filter_map(move |step| match &step.action {
            Action::Measure(measure) if measure.side.as_deref() == Some(side) => {
                Some(step.id.as_str())
            }
            _ => None,
        })
    }

    /// Its questions, in order.
    pub fn questions(&self) -> impl Iterator<Item = (&str, &Ask)> {
        self.steps.iter().filter_map(|step| match &step.action {
            Action::Ask(ask) => Some((step.id.as_str(), ask)),
            Action::Measure(_) => None,
        })
    }
}

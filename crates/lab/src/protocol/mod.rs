//! Protocols: experiments as files of steps, some of them done by a person.
//!
//! A step measures (a method or a workload, after preparations, a given number of times) or asks
//! ("move the drive to board B, then Enter"). Every measurement leaves its own record with the
//! protocol's name, the hash of its file, the step and the answers so far, so another machine can
//! do the rest from the records alone. This module neither prints nor measures: a caller takes the
//! next item from a [`Progress`], does it, and reports back.

mod answers;
mod conclude;
mod parse;
mod plan;
mod progress;
mod work;

use script::Options;

use crate::error::{LabError, Result};

pub use self::answers::Answers;
pub use self::conclude::{Elapsed, ProtocolConclusion, conclude};
pub use self::parse::parse;
pub use self::plan::PlannedItem;
pub use self::progress::{Item, Next, Progress};

/// Names and texts of the bundled protocols.
const BUNDLED: [(&str, &str); 3] = [
    ("board-against-board", include_str!("../../../../protocols/board-against-board.toml")),
    ("iocost", include_str!("../../../../protocols/iocost.toml")),
    ("state-bars", include_str!("../../../../protocols/state-bars.toml")),
];

/// Maximum file size, bytes.
const FILE_MAX: u64 = 1 << 20;

#[derive(Debug)]
pub struct Protocol {
    /// Its name in records.
    pub name: String,
    pub title: String,
    /// Its purpose.
    pub about: String,
    /// SHA-256 of its text, in hexadecimal digits.
    pub hash: String,
    /// Its steps, in order; at least one measures.
    pub steps: Vec<ProtocolStep>,
    /// The two sides to compare at the end, if any.
    pub sides: Vec<String>,
}

#[derive(Debug)]
pub struct ProtocolStep {
    /// Its name, unique in the protocol.
    pub id: String,
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
    /// The record field for the answer; a question without one needs no answer.
    pub field: Option<String>,
}

/// A measurement.
#[derive(Debug)]
pub struct Measure {
    /// The method or workload.
    pub run: ProtocolRun,
    /// Preparations before each repetition, in the same run.
    pub prepare: Vec<Preparing>,
    /// Number of repetitions, at least 1.
    pub repeat: u32,
    /// Its side in the comparison.
    pub side: Option<String>,
}

/// A method or a workload.
#[derive(Debug)]
pub enum ProtocolRun {
    Method(&'static str, Options),
    /// A workload, as options of `ssdyno io`.
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
    /// Leave the drive idle for this many seconds.
    Rest(f64),
    /// Rest until the drive is at or below this temperature in degrees Celsius, for at most half an
    /// hour.
    Cool(f64),
}

/// The names of the bundled protocols.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUNDLED.iter().map(|(name, _)| *name)
}

/// Loads a protocol from a file, or a bundled one by name.
pub fn protocol(file: &str) -> Result<Protocol> {
    if let Some((name, text)) = BUNDLED.iter().find(|(name, _)| *name == file) {
        return parse(&format!("protocols/{name}.toml"), text);
    }
    let usage_error = |why: String| {
        let names_known = names().collect::<Vec<_>>().join(", ");
        LabError::usage(format!("{file}: {why}"))
            .advise(format!("a protocol file, or a bundled protocol: {names_known}"))
    };
    let size = std::fs::metadata(file).map_err(|error| usage_error(error.to_string()))?;
    if !size.is_file() || size.len() > FILE_MAX {
        return Err(usage_error("not a file, or larger than 1 MiB".into()));
    }
    parse(file, &std::fs::read_to_string(file).map_err(|error| usage_error(error.to_string()))?)
}

impl Protocol {
    /// The number of measurements, including repetitions.
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

    /// The questions, in order.
    pub fn questions(&self) -> impl Iterator<Item = (&str, &Ask)> {
        self.steps.iter().filter_map(|step| match &step.action {
            Action::Ask(ask) => Some((step.id.as_str(), ask)),
            Action::Measure(_) => None,
        })
    }
}

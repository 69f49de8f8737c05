//! The messages between a run and the keeper of its record, and their form on a pipe: a length of
//! eight bytes, little endian, then JSON.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, ErrorKind, Read, Write};

use record::{Answer, Metric, Run, Series, State, Target, Unit};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use store::Point;

use crate::error::Result;

/// Maximum size of a message, bytes: several times the largest record.
const BYTES_MAX: u64 = 1 << 30;

/// A message to the keeper. Each gets one [`Reply`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Question {
    // Paths are `OsString`s, because a `Path` that is not UTF-8 cannot be serialized.
    /// Enter a run into the store at this path, or the default one. It counts as running while the
    /// process `pid` lives.
    Begin { store: Option<OsString>, run: Box<Run>, pid: u32 },
    /// Store points of the run's series.
    Append(Vec<SeriesPoint>),
    /// Store the results so far.
    Update(Box<Run>),
    /// The state in which earlier runs left a whole drive.
    StateBefore(Box<Target>),
    /// Drives measured on the port of the run's drive by the same method.
    Neighbours(Box<Run>),
    /// What earlier runs say about this one. With `foresee`, the intervals for the next run.
    Earlier { run: Box<Run>, foresee: bool },
    /// The series stored so far.
    Series,
    /// Store the complete record.
    Finish(Box<Run>),
    /// Records in the store at this path, or the default one; no run is entered.
    Records { store: Option<OsString>, wanted: Wanted },
}

/// Which records are wanted.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Wanted {
    /// Those of the protocol with this hash, from the execution that began at this time or from
    /// all, in order of their start.
    OfProtocol { hash: String, began: Option<String> },
    /// The newest complete one of this method on this drive, with these options or any.
    Latest { target: Box<Target>, method: String, options: Option<BTreeMap<String, String>> },
    /// The newest on this target with this title of its origin.
    Newest { target: String, title: String },
}

/// The reply of the keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    /// The run is in the store.
    Begun {
        number: i64,
        machine_id: Option<String>,
        store: OsString,
    },
    /// The state, and the start of the run that left it.
    StateBefore(Option<(State, String)>),
    /// Models, each with the operations per second of its cells.
    Neighbours(Vec<(String, BTreeMap<String, f64>)>),
    /// What earlier runs say.
    Earlier(Box<Earlier>),
    /// The series stored so far.
    Series(Vec<Series>),
    /// The wanted records.
    Records(Vec<Run>),
    Stored,
}

/// Answers questions, one at a time.
pub(super) trait Desk: Send {
    fn answer(&mut self, question: Question) -> Result<Reply>;
}

/// What earlier runs say about a run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Earlier {
    /// The metrics of the run with the intervals for the next run.
    pub metrics: Vec<Metric>,
    /// The answer of the run with the intervals for the next run.
    pub answer: Option<Answer>,
    /// The latest run to compare with.
    pub last: Option<Run>,
}

/// What the keeper's process writes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Spoken {
    /// Progress of a migration: the store is converting this run of so many.
    Migrating(u64, u64),
    /// The reply to the last question.
    Reply(Result<Reply>),
}

/// An owned [`Point`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SeriesPoint {
    pub workload: String,
    pub replicate: u32,
    pub start_ns: u64,
    pub t_ns: u64,
    pub values: Vec<(String, Unit, Option<f64>)>,
}

impl SeriesPoint {
    /// Passes it on as the store's type.
    pub(super) fn lend<T>(&self, to: impl FnOnce(&Point<'_>) -> T) -> T {
        let SeriesPoint { workload, replicate, start_ns, t_ns, values } = self;
        let values: Vec<_> = values.iter().map(|(n, unit, v)| (n.as_str(), *unit, *v)).collect();
        let (replicate, start_ns, t_ns) = (*replicate, *start_ns, *t_ns);
        to(&Point { workload, replicate, start_ns, t_ns, values: &values })
    }
}

/// Writes a message.
pub(super) fn write(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let json = serde_json::to_vec(message)?;
    to.write_all(&(json.len() as u64).to_le_bytes())?;
    to.write_all(&json)?;
    to.flush()
}

/// Reads a message; `None` at the end of the input.
pub(super) fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 8];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        done => done?,
    }
    let length = u64::from_le_bytes(length);
    if length > BYTES_MAX {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut json = Vec::new();
    from.take(length).read_to_end(&mut json)?;
    Ok(Some(serde_json::from_slice(&json)?))
}

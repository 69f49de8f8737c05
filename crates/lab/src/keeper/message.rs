//! The messages between a run and the keeper of its record, and their form on a pipe: a length of
//! eight bytes, little endian, then JSON.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, ErrorKind, Read, Write};

use record::{Answer, Metric, Plan, Run, Series, State, Target, Unit};
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
    /// Drives measured on the port of the run's drive by the same method. The run needs target,
    /// method, protocol and environment only.
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

impl Question {
    fn run_mut(&mut self) -> Option<&mut Run> {
        match self {
            Question::Begin { run, .. }
            | Question::Update(run)
            | Question::Earlier { run, .. }
            | Question::Finish(run) => Some(run),
            _ => None,
        }
    }
}

/// A question on the pipe. A plan is most of a short run's record and hardly ever changes, so that
/// one equal to the last is left out.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Letter {
    question: Question,
    repeats_plan: bool,
}

/// The last plan of one side of the pipe. Both sides see the same questions.
#[derive(Default)]
pub(super) struct LastPlan(Option<Plan>);

impl LastPlan {
    /// Leaves out a repeated plan.
    pub(super) fn shorten(&mut self, mut question: Question) -> Letter {
        let plan = question.run_mut().map(|run| &mut run.plan).filter(|plan| plan.is_some());
        let repeats_plan = plan.as_ref().is_some_and(|plan| **plan == self.0);
        match plan {
            Some(plan) if repeats_plan => *plan = None,
            Some(plan) => self.0.clone_from(plan),
            None => {}
        }
        Letter { question, repeats_plan }
    }

    /// The question with its plan.
    pub(super) fn complete(&mut self, Letter { mut question, repeats_plan }: Letter) -> Question {
        if let Some(run) = question.run_mut() {
            if repeats_plan {
                run.plan.clone_from(&self.0);
            } else if run.plan.is_some() {
                self.0.clone_from(&run.plan);
            }
        }
        question
    }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Runs with no plan and with three plans in turn, every order of three.
    #[test]
    fn a_plan_that_crosses_once_is_in_every_question() {
        let plans: Vec<Option<Plan>> = [None, Some(0), Some(1), Some(2)]
            .map(|steps| {
                let step = json!({"name": "a", "seconds": 0.0, "repeats": 3, "write_bytes_max": 0});
                let plan = json!({
                    "safety": "scratch", "seconds": 0.0, "write_bytes_max": 0, "region_bytes": 0,
                    "steps": vec![step; steps?], "workloads": [],
                });
                Some(serde_json::from_value(plan).expect("a plan"))
            })
            .into();
        for order in 0..64_usize {
            let (mut sender, mut receiver) = (LastPlan::default(), LastPlan::default());
            let mut sent = None;
            for place in [0, 0, 2, 4, 0] {
                let plan = plans[(order >> place) & 3].clone();
                let run = Run { plan: plan.clone(), ..Run::new("iozone", Target::default()) };
                let letter = sender.shorten(Question::Update(Box::new(run)));
                assert_eq!(letter.repeats_plan, plan.is_some() && plan == sent, "order {order}");
                let mut pipe = Vec::new();
                write(&mut pipe, &letter).expect("written");
                let letter = read(&mut &pipe[..]).expect("read").expect("a message");
                let mut question = receiver.complete(letter);
                assert_eq!(question.run_mut().expect("a run").plan, plan, "order {order}");
                sent = plan.or(sent);
            }
        }
    }
}

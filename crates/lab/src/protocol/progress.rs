//! Progress through a protocol: the next item, and its position for the record.
//!
//! The records determine where an interrupted protocol resumes: after the last completed
//! measurement, whose record contains the answers so far. Later questions are asked again.

use std::collections::BTreeMap;
use std::path::Path;

use record::{PartOf, Run as Record};

use super::{Action, Ask, Measure, Protocol, ProtocolStep};
use crate::error::{LabError, Result};
use crate::keeper::{self, Wanted};

/// The next measurement.
#[derive(Clone, Copy, Debug)]
pub struct Item<'p> {
    pub step: &'p ProtocolStep,
    /// Its measurement.
    pub measure: &'p Measure,
    /// The repetition, from 1.
    pub repeat: u32,
}

/// The next item.
#[derive(Clone, Copy, Debug)]
pub enum Next<'p> {
    /// A question, to be answered with [`Progress::answer`].
    Ask(&'p str, &'p Ask),
    /// A measurement; its request must contain [`Progress::part_of`].
    Measure(Item<'p>),
}

/// Progress through a protocol.
#[derive(Debug)]
pub struct Progress<'p> {
    protocol: &'p Protocol,
    items: Vec<Next<'p>>,
    /// Number of items done.
    done: usize,
    began: String,
    fields: BTreeMap<String, String>,
}

impl<'p> Progress<'p> {
    /// Begins at the first step.
    pub fn begin(protocol: &'p Protocol) -> Progress<'p> {
        let start_time =
            jiff::ZonedDateTime::now().strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string();
        Progress {
            protocol,
            items: items(protocol),
            done: 0,
            began: start_time,
            fields: BTreeMap::new(),
        }
    }

    /// Resumes after the last completed measurement of this protocol in the store at this path, or
    /// the default one. A protocol of the same name but with another text is a different protocol.
    pub fn resume(protocol: &'p Protocol, store: Option<&Path>) -> Result<Progress<'p>> {
        let runs = records(store, protocol, None)?;
        let Some((part, _)) = runs.last() else {
            let text = format!("no record of the protocol '{}' with this text", protocol.name);
            let advice = "ssdyno import FILE for its records, or begin without --resume";
            return Err(LabError::usage(text).advise(advice));
        };
        let (start_time, fields) = (part.began.clone(), part.fields.clone());
        let mut progress = Progress { began: start_time, fields, ..Progress::begin(protocol) };
        let is_complete = |item: &Item<'_>| {
            runs.iter().any(|(part, run)| {
                let is_same = part.step == item.step.id && part.repeat == item.repeat;
                is_same && part.began == progress.began && run.complete
            })
        };
        // An interrupted measurement is repeated.
        let first_open = progress
            .items
            .iter()
            .position(|next| matches!(next, Next::Measure(item) if !is_complete(item)));
        let items = &progress.items[..first_open.unwrap_or(progress.items.len())];
        progress.done = items
            .iter()
            .rposition(|next| matches!(next, Next::Measure(item) if is_complete(item)))
            .map_or(0, |last| last + 1);
        Ok(progress)
    }

    /// The next item; `None` at the end.
    pub fn next(&self) -> Option<Next<'p>> {
        self.items.get(self.done).copied()
    }

    /// All remaining items, starting with the next.
    pub fn left(&self) -> &[Next<'p>] {
        &self.items[self.done..]
    }

    /// The number of the next item, and the total.
    pub fn place(&self) -> (usize, usize) {
        (self.done + 1, self.items.len())
    }

    /// The start time of this execution, as in its records.
    pub fn began(&self) -> &str {
        &self.began
    }

    /// Answers the current question.
    pub fn answer(&mut self, ask: &Ask, answer: &str) {
        if let Some(field) = &ask.field {
            self.fields.insert(field.clone(), answer.trim().to_string());
        }
        self.done += 1;
    }

    /// Marks the current measurement as done.
    pub fn measured(&mut self) {
        self.done += 1;
    }

    /// The position of a measurement, for its record.
    pub fn part_of(&self, item: &Item<'_>) -> PartOf {
        PartOf {
            protocol: self.protocol.name.clone(),
            hash: self.protocol.hash.clone(),
            began: self.began.clone(),
            step: item.step.id.clone(),
            repeat: item.repeat,
            side: item.measure.side.clone(),
            fields: self.fields.clone(),
        }
    }
}

fn items(protocol: &Protocol) -> Vec<Next<'_>> {
    let items = protocol.steps.iter().flat_map(|step| match &step.action {
        Action::Ask(ask) => vec![Next::Ask(&step.id, ask)],
        Action::Measure(measure) => (1..=measure.repeat)
            .map(|repeat| Next::Measure(Item { step, measure, repeat }))
            .collect(),
    });
    items.collect()
}

/// Records of a protocol in order of their start, from one execution or all.
pub(super) fn records(
    store: Option<&Path>,
    protocol: &Protocol,
    began: Option<&str>,
) -> Result<Vec<(PartOf, Record)>> {
    let (hash, start_time) = (protocol.hash.clone(), began.map(String::from));
    let runs = keeper::records(store, Wanted::OfProtocol { hash, began: start_time })?;
    Ok(runs.into_iter().filter_map(|run| Some((run.part_of.clone()?, run))).collect())
}

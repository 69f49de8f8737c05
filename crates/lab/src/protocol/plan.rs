//! The plan of the remaining items: the effects of each on the target, and whether all are possible
//! there.

use record::Plan;
use serde_json::{Value, json};

use super::{Ask, Item, Next, Progress};
use crate::error::{LabError, Result};
use crate::io::ReadIo;
use crate::request::Request;
use crate::work::Work;

#[derive(Debug)]
pub enum PlannedItem<'p> {
    /// A question, with the name of its step.
    Ask(&'p str, &'p Ask),
    /// A measurement.
    Measure {
        /// The step and repetition.
        item: Item<'p>,
        /// The method, or `io`.
        method: String,
        /// Its plan, boxed for its size.
        plan: Box<Plan>,
    },
}

impl<'p> Item<'p> {
    /// The measurement as work on the target of a request.
    pub fn work(&self, request: &Request, read_io: ReadIo<'_>) -> Result<Work<'p>> {
        let work = Work::measurement(self.measure, request.instrument.seed, read_io);
        work.map_err(|error| self.named(&error))
    }

    fn planned(&self, request: &Request, read_io: ReadIo<'_>) -> Result<PlannedItem<'p>> {
        let work = self.work(request, read_io)?;
        let plan = request.plan(&work).map_err(|error| self.named(&error))?;
        let (method, plan) = (plan.name().to_string(), Box::new(plan.plan));
        Ok(PlannedItem::Measure { item: *self, method, plan })
    }

    /// Adds the step's name to an error.
    fn named(&self, error: &LabError) -> LabError {
        let text = format!("step '{}': {error}", self.step.id);
        LabError::new(error.kind(), text).advise_if(error.advice())
    }
}

impl<'p> Progress<'p> {
    /// Plans all remaining items.
    pub fn plan(&self, request: &Request, read_io: ReadIo<'_>) -> Result<Vec<PlannedItem<'p>>> {
        self.left()
            .iter()
            .map(|next| match next {
                Next::Ask(step, ask) => Ok(PlannedItem::Ask(step, ask)),
                Next::Measure(item) => item.planned(request, read_io),
            })
            .collect()
    }

    /// Refuses to begin if a remaining measurement is impossible on the target.
    pub fn check(&self, request: &Request, read_io: ReadIo<'_>) -> Result<()> {
        let items = self.left().iter().filter_map(|next| match next {
            Next::Measure(item) => Some(item),
            Next::Ask(..) => None,
        });
        // All repetitions have the same plan.
        let mut ends = items.filter(|i| i.repeat == 1 || i.repeat == i.measure.repeat);
        ends.try_for_each(|item| item.planned(request, read_io).map(drop))
    }

    /// The step of the first remaining question.
    pub fn asks(&self) -> Option<&'p str> {
        self.left().iter().find_map(|next| match next {
            Next::Ask(step, _) => Some(*step),
            Next::Measure(_) => None,
        })
    }
}

impl PlannedItem<'_> {
    /// The plan, if it is a measurement.
    pub fn plan(&self) -> Option<&Plan> {
        match self {
            PlannedItem::Ask(..) => None,
            PlannedItem::Measure { plan, .. } => Some(plan),
        }
    }

    /// The item as JSON.
    pub fn json(&self) -> Value {
        match self {
            PlannedItem::Ask(step, ask) => {
                json!({ "step": step, "ask": ask.text, "field": ask.field })
            }
            PlannedItem::Measure { item, method, plan } => json!({
                "step": item.step.id,
                "repeat": item.repeat,
                "side": item.measure.side,
                "method": method,
                "seconds": plan.seconds,
                "write_bytes_max": plan.write_bytes_max,
                "destroys": plan.destroys,
            }),
        }
    }
}

//! Questions that a document leaves open, answered on the virtual drives of its experiments. Pure.
//!
//! An answer from a virtual drive predicts the behaviour of a real drive of this kind if the model
//! is right. The command for a real drive is given with it.

use record::Run;
use serde::{Deserialize, Serialize};

use super::time_series::{self, Reading};
use super::unit::Unit;

/// An open question.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The question in brief.
    pub ask: String,
    /// The values that answer it; the others are compared with the first.
    pub values: Vec<Value>,
    /// The unit for display.
    pub unit: Unit,
    /// Relative difference within which they count as equal.
    pub within: f64,
    /// The answer if they are equal.
    pub same: String,
    /// The answer if they differ.
    pub differs: String,
    /// The limits of the virtual drive, and the command for a real one.
    pub limits: String,
    /// How to get an answer if a record is missing; a question without this is then skipped.
    #[serde(default)]
    pub unanswered: Option<String>,
}

/// A value that answers a question.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    pub name: String,
    /// The experiment that gives it.
    pub experiment: String,
    /// How to read it from the record.
    pub read: Reading,
}

#[derive(Debug, Serialize)]
pub struct Answered<'a> {
    /// The question.
    pub ask: &'a str,
    /// Names and values in `unit`.
    pub values: Vec<(&'a str, f64)>,
    pub unit: Unit,
    /// The largest difference from the first value, as a fraction of it.
    pub difference: f64,
    pub answer: &'a str,
    /// The limits of the answer.
    pub limits: &'a str,
}

impl Question {
    /// Answers the question from records of the experiments; `None` if one is missing.
    pub fn answer<'a>(&'a self, run: impl Fn(&str) -> Option<&'a Run>) -> Option<Answered<'a>> {
        let scale = self.unit.name_and_scale().1;
        let values = self.values.iter().map(|value| {
            let read = time_series::read(&value.read, run(&value.experiment)?)?;
            Some((value.name.as_str(), read / scale))
        });
        let values = values.collect::<Option<Vec<_>>>()?;
        let reference = values.first()?.1;
        let differences = values.iter().map(|(_, value)| (value / reference - 1.0).abs());
        let difference = differences.fold(0.0, f64::max);
        let answer = if difference <= self.within { &self.same } else { &self.differs };
        let Question { ask, unit, limits, .. } = self;
        Some(Answered { ask, values, unit: *unit, difference, answer, limits })
    }
}

#[cfg(test)]
mod tests {
    use record::{Metric, Unit as RecordUnit};

    use super::*;

    #[test]
    fn the_answer_follows_from_the_values() {
        let text = r#"
            ask = "Does it matter?"
            unit = "MB/s"
            within = 0.05
            same = "no"
            differs = "yes"
            limits = "ssdyno run TARGET -m speed"
            [[values]]
            name = "start"
            experiment = "e"
            read = "a"
            [[values]]
            name = "end"
            experiment = "e"
            read = "b"
        "#;
        let question: Question = toml::from_str(text).expect("well formed");
        let answer = |end: f64| {
            let mut run = crate::published::find("002/mini-base-fio-1").expect("a record");
            run.metrics = [("a", 20e6), ("b", end)]
                .map(|(name, v)| Metric::single(name, RecordUnit::BytesPerSecond, v))
                .to_vec();
            question.answer(|name| (name == "e").then_some(&run)).map(|a| a.answer.to_string())
        };
        assert_eq!(answer(20.5e6).as_deref(), Some("no"));
        assert_eq!(answer(10e6).as_deref(), Some("yes"));
        assert!(question.answer(|_| None).is_none(), "the experiment was not run");
    }
}

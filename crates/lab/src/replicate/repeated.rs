//! The outcome of a document's experiments on virtual drives: its figures with ours, and the
//! answers to its questions, as JSON. Pure.

use record::Run;
use serde_json::{Map, Value, json};

use super::document::Document;
use super::judgement::{self, ClaimCounts, JudgedPlace};
use super::label::Basis;
use super::question::Answered;
use super::reading::{Compared, compare};
use crate::error::Result;

/// A completed experiment.
pub struct Done {
    pub experiment: String,
    /// Its record.
    pub run: Run,
    /// The file of its HTML page, if one was written.
    pub page: Option<String>,
}

/// A document and its completed experiments.
pub struct Repeated<'a> {
    name: &'a str,
    pub(super) document: &'a Document,
    pub(super) done: &'a [Done],
    pub(super) figures: Vec<Compared>,
}

impl<'a> Repeated<'a> {
    /// Compares the document's figures with those of its experiments. `name` is the document's
    /// name.
    pub fn new(name: &'a str, document: &'a Document, done: &'a [Done]) -> Repeated<'a> {
        let figures = document.figures.iter().filter_map(|figure| {
            let experiment = document.experiment(&figure.experiment)?;
            compare(figure, experiment, |name: &str| run_of(done, name))
        });
        Repeated { name, document, done, figures: figures.collect() }
    }

    /// Whether every figure is within its tolerance; a known reason does not excuse a miss.
    pub fn met(&self) -> bool {
        self.figures.iter().all(|figure| figure.met)
    }

    /// `27 of 28 figures are within their tolerance: 9 of 9 fitted, 18 of 19 predicted`
    pub(super) fn sentence(&self) -> String {
        let count = self.figures.iter().filter(|f| f.met).count();
        let by_basis =
            self.by_basis().map(|(b, count, of)| format!("{count} of {of} {}", b.name()));
        let by_basis = by_basis.collect::<Vec<_>>().join(", ");
        format!("{count} of {} figures are within their tolerance: {by_basis}", self.figures.len())
    }

    /// The document's places with their claims, judged.
    pub(super) fn claims(&self) -> Vec<JudgedPlace<'_>> {
        judgement::judge(self.document, &self.figures, &|name: &str| self.run_of(name))
    }

    /// Whether no claim differs.
    pub fn is_reproduced(&self) -> bool {
        ClaimCounts::new(&self.claims()).differs == 0
    }

    /// The document's open questions that the experiments answer.
    pub(super) fn answers(&self) -> Vec<Answered<'a>> {
        self.document
            .questions
            .iter()
            .filter_map(|question| question.answer(|name| self.run_of(name)))
            .collect()
    }

    /// The questions that lack a record, each with the way to get it.
    pub(super) fn unanswered(&self) -> Vec<(&'a str, &'a str)> {
        self.document
            .questions
            .iter()
            .filter_map(|question| {
                let advice = question.unanswered.as_deref()?;
                question
                    .answer(|name| self.run_of(name))
                    .is_none()
                    .then_some((&*question.ask, advice))
            })
            .collect()
    }

    /// The record of an experiment.
    pub(super) fn run_of(&self, experiment: &str) -> Option<&'a Run> {
        run_of(self.done, experiment)
    }

    /// The number of figures met, and the total, for each basis that occurs.
    fn by_basis(&self) -> impl Iterator<Item = (Basis, usize, usize)> + '_ {
        Basis::ALL
            .into_iter()
            .map(|basis| {
                let figures = self.figures.iter().filter(move |f| f.basis == basis);
                (basis, figures.clone().filter(|f| f.met).count(), figures.count())
            })
            .filter(|(_, _, of)| *of > 0)
    }

    /// The outcome as JSON.
    pub fn json(&self) -> Result<Value> {
        let headline = match &self.document.headline {
            Some(headline) => json!({ "rows": headline.table()?, "hidden": headline.hidden()? }),
            None => Value::Null,
        };
        let runs = self.done.iter().map(|done| {
            json!({
                "experiment": done.experiment,
                "run": done.run.number,
                "target": done.run.target.spec,
                "page": done.page,
            })
        });
        Ok(json!({
            "document": self.name,
            "title": self.document.title,
            "met": self.figures.iter().filter(|f| f.met).count(),
            "of": self.figures.len(),
            "by_basis": self
                .by_basis()
                .map(|(basis, met, of)| (basis.name().to_string(), json!({ "met": met, "of": of })))
                .collect::<Map<_, _>>(),
            "headline": headline,
            "figures": self.figures,
            "claims": judgement::json(&self.claims()),
            "answers": self.answers(),
            "unanswered": self
                .unanswered()
                .iter()
                .map(|(ask, how)| json!({ "ask": ask, "how": how }))
                .collect::<Vec<_>>(),
            "runs": runs.collect::<Vec<_>>(),
        }))
    }
}

fn run_of<'d>(done: &'d [Done], experiment: &str) -> Option<&'d Run> {
    Some(&done.iter().find(|d| d.experiment == experiment)?.run)
}

//! The outcome of a document's own steps on the user's drive: its figures next to the published
//! ones, for reports and as JSON. Pure.

use report::replication::{self as shown, BesideFigure};
use serde_json::{Value, json};

use super::beside::{PublishedRange, StepFigure, figures};
use super::document::Document;
use super::here::Done;
use super::reading::difference;
use super::unit::number;

/// A document's own steps, run on a target.
pub struct OwnDriveSteps<'a> {
    /// Name of the document.
    pub name: &'a str,
    pub document: &'a Document,
    /// The target as the user named it.
    pub target: &'a str,
    /// The completed steps.
    pub done: &'a [Done],
    /// Skipped steps, with the reason.
    pub left_out: &'a [String],
}

impl<'a> OwnDriveSteps<'a> {
    fn figures(&self) -> impl Iterator<Item = (&'a StepFigure, f64)> {
        figures(&self.document.beside, self.done).into_iter()
    }

    /// The content of the report.
    pub fn view(&self) -> shown::Beside<'a> {
        shown::Beside {
            title: &self.document.title,
            target: self.target,
            figures: self.figures().map(|(figure, here)| shown_figure(figure, here)).collect(),
            left_out: self.left_out,
            runs: self.done.iter().map(|d| (d.step.as_str(), &d.recorded.run)).collect(),
        }
    }

    /// The same as JSON.
    pub fn json(&self) -> Value {
        let runs = self.done.iter().map(|done| {
            let run = &done.recorded.run;
            json!({ "step": done.step, "run": run.number, "method": run.method })
        });
        json!({
            "document": self.name,
            "title": self.document.title,
            "target": self.target,
            "figures": self.figures().map(|(f, here)| json_figure(f, here)).collect::<Vec<_>>(),
            "left_out": self.left_out,
            "runs": runs.collect::<Vec<_>>(),
        })
    }
}

/// A figure for the report; `here` is in the record's unit.
fn shown_figure(figure: &StepFigure, here: f64) -> BesideFigure {
    let (unit, scale) = figure.unit.name_and_scale();
    let scaled = |value: f64| number(value / scale);
    let published = figure.published().into_iter().map(|published| shown::Published {
        value: if published.low < published.high {
            format!("{}-{}", scaled(published.low), scaled(published.high))
        } else {
            scaled(published.low)
        },
        off: off(here, &published),
        source: published.source,
    });
    BesideFigure {
        what: figure.title.clone(),
        here: scaled(here),
        unit,
        published: published.collect(),
    }
}

fn json_figure(figure: &StepFigure, here: f64) -> Value {
    let scale = figure.unit.name_and_scale().1;
    let figures = figure.published().into_iter().map(|published| {
        json!({
            "published": published.low / scale,
            "published_to": (published.low < published.high).then_some(published.high / scale),
            "difference": difference(here, published.low, Some(published.high)),
            "of": published.source,
        })
    });
    json!({
        "what": figure.title,
        "step": figure.step,
        "here": here / scale,
        "unit": figure.unit,
        "beside": figures.collect::<Vec<_>>(),
    })
}

/// The difference from the published figure, or from the nearer end of a range: `+12%`, `3.4x`.
fn off(here: f64, published: &PublishedRange) -> String {
    let share = difference(here, published.low, Some(published.high));
    match 1.0 + share {
        _ if share == 0.0 => "within".to_string(),
        times if times >= 10.0 => format!("{times:.0}x"),
        times if times >= 2.0 => format!("{times:.1}x"),
        times if times < 0.5 => format!("{times:.2}x"),
        _ => format!("{:+.0}%", share * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_percentages_or_factors() {
        let one = |value: f64| PublishedRange { low: value, high: value, source: String::new() };
        let said =
            [(120.0, one(100.0)), (50.0, one(100.0)), (340.0, one(100.0)), (20.0, one(100.0))];
        let said = said.map(|(here, published)| off(here, &published));
        assert_eq!(said, ["+20%", "-50%", "3.4x", "0.20x"]);
        let range = PublishedRange { low: 10.0, high: 20.0, source: String::new() };
        assert_eq!([off(15.0, &range), off(30.0, &range)], ["within", "+50%"]);
    }
}

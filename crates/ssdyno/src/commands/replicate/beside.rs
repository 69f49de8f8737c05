//! Figures of a drive of one's own beside the published ones: how they are read, and shown. Pure.

use lab::published;
use record::{Level, Run};
use report::table::{Align, Cell, Table};
use report::{Ink, Style};
use serde::Deserialize;
use serde_json::{Value, json};

use super::document::{Document, Unit};
use super::here::Done;
use super::page::number;
use super::reading::difference;
use crate::screen;

/// A figure of a step, and the published ones it stands beside.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// What it is, for people.
    pub what: String,
    /// The step it is found in.
    pub step: String,
    /// The metric, or what its name ends with behind a dot.
    pub read: String,
    pub unit: Unit,
    /// Paths in the data (`published/figures`); none for a figure nobody published.
    #[serde(default, deserialize_with = "known")]
    pub of: Vec<Published>,
    /// What the published ones are together, where they are shown as one range.
    #[serde(default)]
    pub range: Option<String>,
}

/// A published figure, or the range of several.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// In the record's unit; the lower end of a range.
    low: f64,
    high: f64,
    /// The drive and where it was measured.
    whose: String,
}

fn known<'de, D: serde::Deserializer<'de>>(data: D) -> Result<Vec<Published>, D::Error> {
    let paths = Vec::<String>::deserialize(data)?;
    let read = |path: &String| published_at(path).map_err(serde::de::Error::custom);
    paths.iter().map(read).collect()
}

/// `000/ramfs/hd-read`.
fn published_at(path: &str) -> Result<Published, String> {
    let (figure, _) = published::figure(path)?;
    let scale = figure.scale().1;
    let entry = path.rsplit_once('/').map_or(path, |(entry, _)| entry);
    let run = published::find(entry).map_err(|e| e.to_string())?;
    let drive = run.target.drive.as_ref().and_then(|drive| drive.model.clone());
    let whose: Vec<String> = [drive, run.environment.os].into_iter().flatten().collect();
    let (low, high) = (figure.value * scale, figure.to.unwrap_or(figure.value) * scale);
    Ok(Published { low, high, whose: whose.join(", ") })
}

impl Figure {
    fn here(&self, done: &[Done]) -> Option<f64> {
        let done = done.iter().find(|done| done.step == self.step)?;
        let behind = format!(".{}", self.read);
        let mut metrics = done.recorded.run.metrics.iter();
        metrics.find(|m| m.name == self.read || m.name.ends_with(&behind))?.value
    }

    /// The published figures, one where they are a range.
    fn published(&self) -> Vec<Published> {
        let Some(whose) = self.range.clone() else { return self.of.clone() };
        let low = self.of.iter().map(|p| p.low).fold(f64::INFINITY, f64::min);
        let high = self.of.iter().map(|p| p.high).fold(f64::NEG_INFINITY, f64::max);
        vec![Published { low, high, whose }]
    }
}

/// The figures of the steps that were done.
fn figures<'d>(document: &'d Document, done: &[Done]) -> Vec<(&'d Figure, f64)> {
    let found = |figure: &'d Figure| Some((figure, figure.here(done)?));
    document.beside.iter().filter_map(found).collect()
}

/// Everything as text.
pub fn text(
    document: &Document,
    target: &str,
    done: &[Done],
    left_out: &[String],
    style: &Style,
) -> String {
    let width = style.width.min(90);
    let mut text = style.paint(Ink::Strong, &document.title) + "\n";
    let said = format!(
        "What was run there, run on {target}. Another drive on another machine is not expected to \
         meet these figures: they stand beside for comparison, and nothing passes or fails."
    );
    text += &format!("{}\n\n{}", screen::wrap(&said, width), table(document, done, style));
    for why in left_out {
        text += &format!("left out: {why}\n");
    }
    for Done { recorded, step } in done {
        let run = &recorded.run;
        let number = run.number.map_or_else(|| run.id.clone(), |n| n.to_string());
        text += &format!("\nrun {number}   {step}   ssdyno show {number}\n");
        for verdict in &run.verdicts {
            text += &(screen::wrap(&format!("{}: {}", verdict.kind, verdict.text), width) + "\n");
        }
        for warning in run.warnings.iter().filter(|w| w.level > Level::Note) {
            text += &(screen::wrap(&format!("distrust: {}", warning.text), width) + "\n");
        }
    }
    text
}

fn table(document: &Document, done: &[Done], style: &Style) -> String {
    let right = Align::Right;
    let mut table = Table::new(&[Align::Left, right, Align::Left, right, right, Align::Left]);
    table.heading(["figure", "here", "", "published", "here is", "of"]);
    for (figure, here) in figures(document, done) {
        let (unit, scale) = figure.unit.name_and_scale();
        let shown = |value: f64| number(value / scale);
        let mut what = [figure.what.as_str(), &shown(here), unit].map(String::from);
        let published = figure.published();
        for published in &published {
            let [name, value, unit] = std::mem::take(&mut what);
            let range = match published.low < published.high {
                true => format!("{}-{}", shown(published.low), shown(published.high)),
                false => shown(published.low),
            };
            table.row([
                Cell::from(name),
                Cell::new(Ink::Strong, value),
                Cell::dim(unit),
                Cell::from(range),
                Cell::from(off(here, published)),
                Cell::dim(published.whose.as_str()),
            ]);
        }
        if published.is_empty() {
            let [name, value, unit] = what;
            let none = || Cell::from("");
            let here = [Cell::from(name), Cell::new(Ink::Strong, value), Cell::dim(unit)];
            table.row(here.into_iter().chain([none(), none(), none()]));
        }
    }
    table.render(style)
}

/// How far the figure is from the published one, or the nearer end of a range: `+12%`, `3.4x`.
fn off(here: f64, published: &Published) -> String {
    let share = difference(here, published.low, Some(published.high));
    match 1.0 + share {
        _ if share == 0.0 => "within".to_string(),
        times if times >= 10.0 => format!("{times:.0}x"),
        times if times >= 2.0 => format!("{times:.1}x"),
        times if times < 0.5 => format!("{times:.2}x"),
        _ => format!("{:+.0}%", share * 100.0),
    }
}

/// Everything as JSON.
pub fn json(
    name: &str,
    document: &Document,
    target: &str,
    done: &[Done],
    left_out: &[String],
) -> Value {
    let beside = |figure: &Figure, here: f64, published: &Published| {
        let scale = figure.unit.name_and_scale().1;
        let to = (published.low < published.high).then_some(published.high / scale);
        json!({
            "published": published.low / scale,
            "published_to": to,
            "difference": difference(here, published.low, Some(published.high)),
            "of": published.whose,
        })
    };
    let figure = |(figure, here): (&Figure, f64)| {
        let published = figure.published();
        json!({
            "what": figure.what,
            "step": figure.step,
            "here": here / figure.unit.name_and_scale().1,
            "unit": figure.unit,
            "beside": published.iter().map(|p| beside(figure, here, p)).collect::<Vec<_>>(),
        })
    };
    let run = |done: &Done| {
        let run: &Run = &done.recorded.run;
        json!({ "step": done.step, "run": run.number, "method": run.method })
    };
    json!({
        "document": name,
        "title": document.title,
        "target": target,
        "figures": figures(document, done).into_iter().map(figure).collect::<Vec<_>>(),
        "left_out": left_out,
        "runs": done.iter().map(run).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_told_in_percent_or_times() {
        let one = |value: f64| Published { low: value, high: value, whose: String::new() };
        let said =
            [(120.0, one(100.0)), (50.0, one(100.0)), (340.0, one(100.0)), (20.0, one(100.0))];
        let said = said.map(|(here, published)| off(here, &published));
        assert_eq!(said, ["+20%", "-50%", "3.4x", "0.20x"]);
        let range = Published { low: 10.0, high: 20.0, whose: String::new() };
        assert_eq!([off(15.0, &range), off(30.0, &range)], ["within", "+50%"]);
    }

    #[test]
    fn published_figures_are_found_with_their_drive() {
        let found = published_at("000/sabrent-512-linux/fs-read").expect("it is there");
        assert_eq!((found.low, found.high), (36_900_000.0, 36_900_000.0));
        assert_eq!(found.whose, "NVMe Sabrent 512GB, Linux");
        assert!(published_at("000/nobody/fs-read").is_err());
    }
}

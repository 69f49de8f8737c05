//! Figures of the user's own drive beside the published ones, as text and as JSON. Pure.

use lab::replicate::beside::{Figure, Published, figures};
use lab::replicate::here::Done;
use lab::replicate::{Document, difference};
use record::{Level, Run};
use report::table::{Align, Cell, Table};
use report::{Ink, Style};
use serde_json::{Value, json};

use super::page::number;
use crate::screen;

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
        "The document's own steps, run on {target}. Another drive on another machine is not \
         expected to meet these figures: they are for comparison, and nothing passes or fails."
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
    for (figure, here) in figures(&document.beside, done) {
        let (unit, scale) = figure.unit.name_and_scale();
        let shown = |value: f64| number(value / scale);
        let mut what = [figure.title.as_str(), &shown(here), unit].map(String::from);
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
                Cell::dim(published.source.as_str()),
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
            "of": published.source,
        })
    };
    let figure = |(figure, here): (&Figure, f64)| {
        let published = figure.published();
        json!({
            "what": figure.title,
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
        "figures": figures(&document.beside, done).into_iter().map(figure).collect::<Vec<_>>(),
        "left_out": left_out,
        "runs": done.iter().map(run).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_percentages_or_factors() {
        let one = |value: f64| Published { low: value, high: value, source: String::new() };
        let said =
            [(120.0, one(100.0)), (50.0, one(100.0)), (340.0, one(100.0)), (20.0, one(100.0))];
        let said = said.map(|(here, published)| off(here, &published));
        assert_eq!(said, ["+20%", "-50%", "3.4x", "0.20x"]);
        let range = Published { low: 10.0, high: 20.0, source: String::new() };
        assert_eq!([off(15.0, &range), off(30.0, &range)], ["within", "+50%"]);
    }
}

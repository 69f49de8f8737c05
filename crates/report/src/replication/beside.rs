//! A document's steps on the user's drive, as text: nothing passes or fails.

use record::{Level, Run};

use super::text::{SENTENCE_COLUMNS, lines};
use crate::table::{Align, Table, TableCell};
use crate::{Ink, Style};

/// A document's steps, run on the user's drive.
pub struct Beside<'a> {
    /// Title of the document.
    pub title: &'a str,
    /// The target, as named by the user.
    pub target: &'a str,
    pub figures: Vec<BesideFigure>,
    /// Skipped steps, each with the reason.
    pub left_out: &'a [String],
    /// Names and records of the executed steps.
    pub runs: Vec<(&'a str, &'a Run)>,
}

/// A figure of the drive with the corresponding published figures.
pub struct BesideFigure {
    /// The quantity.
    pub what: String,
    /// As measured, without its unit.
    pub here: String,
    pub unit: &'static str,
    /// The published figures.
    pub published: Vec<Published>,
}

/// A published figure.
pub struct Published {
    /// Its value, or a range.
    pub value: String,
    /// The drive's difference from it.
    pub off: String,
    /// The drive and the system on which it was measured.
    pub source: String,
}

/// The whole comparison as text.
pub fn beside(view: &Beside<'_>, style: &Style) -> String {
    let width = style.width.min(SENTENCE_COLUMNS);
    let mut text = style.paint(Ink::Strong, view.title) + "\n";
    let sentence = format!(
        "The document's own steps, run on {}. Another drive on another machine is not expected to \
         meet these figures: they are for comparison, and nothing passes or fails.",
        view.target
    );
    text += &format!("{}\n{}", lines(&sentence, width), table(&view.figures, style));
    for why in view.left_out {
        text += &format!("left out: {why}\n");
    }
    for (step, run) in &view.runs {
        let number = run.number.map_or_else(|| run.id.clone(), |n| n.to_string());
        text += &format!("\nrun {number}   {step}   ssdyno show {number}\n");
        for verdict in &run.verdicts {
            text += &lines(&format!("{}: {}", verdict.kind, verdict.text), width);
        }
        for warning in run.warnings.iter().filter(|w| w.level > Level::Note) {
            text += &lines(&format!("distrust: {}", warning.text), width);
        }
    }
    text
}

/// One row per published figure; the first row of a quantity names it.
fn table(figures: &[BesideFigure], style: &Style) -> String {
    let right = Align::Right;
    let mut table = Table::new(&[Align::Left, right, Align::Left, right, right, Align::Left]);
    table.heading(["figure", "here", "", "published", "here is", "of"]);
    for figure in figures {
        for row in 0..figure.published.len().max(1) {
            let [name, measured, unit] = match row {
                0 => [figure.what.as_str(), figure.here.as_str(), figure.unit],
                _ => [""; 3],
            };
            let published = figure.published.get(row);
            let [value, difference, source] = published
                .map_or([""; 3], |p| [p.value.as_str(), p.off.as_str(), p.source.as_str()]);
            table.row([
                TableCell::from(name),
                TableCell::new(Ink::Strong, measured),
                TableCell::dim(unit),
                TableCell::from(value),
                TableCell::from(difference),
                TableCell::dim(source),
            ]);
        }
    }
    table.render(style)
}

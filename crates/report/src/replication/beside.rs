//! A document's own steps on a drive of the user's, as text: nothing passes or fails.

use record::{Level, Run};

use super::text::{SENTENCE_COLUMNS, lines};
use crate::table::{Align, Cell, Table};
use crate::{Ink, Style};

/// A document on a drive of the user's.
pub struct Beside<'a> {
    /// Title of the document.
    pub title: &'a str,
    /// The target as its user named it.
    pub target: &'a str,
    /// Its figures.
    pub figures: Vec<BesideFigure>,
    /// Steps that were left out, with the reason.
    pub left_out: &'a [String],
    /// Names of the steps that were run, with their records.
    pub runs: Vec<(&'a str, &'a Run)>,
}

/// A figure of the drive, and the published ones beside it.
pub struct BesideFigure {
    /// The quantity.
    pub what: String,
    /// As measured, without its unit.
    pub here: String,
    /// Its unit.
    pub unit: &'static str,
    /// The published figures.
    pub published: Vec<Published>,
}

/// A published figure.
pub struct Published {
    /// Its value, or a range.
    pub value: String,
    /// How far the drive is from it.
    pub off: String,
    /// The drive and the system it was measured with.
    pub source: String,
}

/// Everything as text.
pub fn beside(view: &Beside<'_>, style: &Style) -> String {
    let width = style.width.min(SENTENCE_COLUMNS);
    let mut text = style.paint(Ink::Strong, view.title) + "\n";
    let said = format!(
        "The document's own steps, run on {}. Another drive on another machine is not expected to \
         meet these figures: they are for comparison, and nothing passes or fails.",
        view.target
    );
    text += &format!("{}\n{}", lines(&said, width), table(&view.figures, style));
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

/// A row for each published figure; the first of them names the quantity.
fn table(figures: &[BesideFigure], style: &Style) -> String {
    let right = Align::Right;
    let mut table = Table::new(&[Align::Left, right, Align::Left, right, right, Align::Left]);
    table.heading(["figure", "here", "", "published", "here is", "of"]);
    for figure in figures {
        for row in 0..figure.published.len().max(1) {
            let [what, here, unit] = match row {
                0 => [figure.what.as_str(), figure.here.as_str(), figure.unit],
                _ => [""; 3],
            };
            let published = figure.published.get(row);
            let [value, off, source] = published
                .map_or([""; 3], |p| [p.value.as_str(), p.off.as_str(), p.source.as_str()]);
            table.row([
                Cell::from(what),
                Cell::new(Ink::Strong, here),
                Cell::dim(unit),
                Cell::from(value),
                Cell::from(off),
                Cell::dim(source),
            ]);
        }
    }
    table.render(style)
}

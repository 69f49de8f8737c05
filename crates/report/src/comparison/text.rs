//! The comparison as terminal text.

use super::{Against, GroupComparison};
use crate::forest;
use crate::style::{Ink, Style, wrap};
use crate::table::{Align, Table, TableCell};

/// Maximum width of wrapped text.
const TEXT_COLUMNS: usize = 100;

/// The column of bars, until it is headed by the letters of its ends.
const PLOT: &str = "plot";

pub fn text(comparison: &GroupComparison, style: &Style) -> String {
    let columns = style.width.min(TEXT_COLUMNS);
    let mut text = String::new();
    for side in &comparison.sides {
        let lines = if side.heading.chars().count() + 3 > columns {
            wrap(&side.heading, columns.saturating_sub(3))
        } else {
            vec![side.heading.clone()]
        };
        text += &format!("{}  {}\n", side.letter, lines.join("\n   "));
    }
    for against in &comparison.against {
        let sentence = wrap(&against.sentence, columns).join("\n");
        text += &format!("\n{}\n", style.paint_lines(Ink::Strong, &sentence));
        if !against.rows.is_empty() {
            text += &format!("\n{}", table(against, style));
        }
        if !against.warnings.is_empty() || !against.notes.is_empty() {
            text += "\n";
        }
        for (ink, lines) in [(Ink::Warn, &against.warnings), (Ink::Dim, &against.notes)] {
            let mark = if ink == Ink::Warn { "!" } else { "-" };
            for line in lines {
                let line = wrap(&format!("{mark} {line}"), columns).join("\n");
                text += &(style.paint_lines(ink, &line) + "\n");
            }
        }
    }
    let caveat = wrap(&format!("- {}", comparison.caveat), columns).join("\n");
    let last = comparison.against.last();
    let is_separate = last.is_some_and(|last| last.warnings.is_empty() && last.notes.is_empty());
    let gap = if is_separate { "\n" } else { "" };
    text + gap + &style.paint_lines(Ink::Dim, &caveat) + "\n"
}

/// The quantities. A narrow screen loses the plot, then the interval, and then each name gets a
/// line of its own: no name and no number is truncated.
fn table(against: &Against, style: &Style) -> String {
    let widest = rows(against, style, false);
    let fits = |table: &Table| table.width() <= style.columns();
    let forms =
        [widest.clone(), widest.clone().without(&[PLOT]), widest.without(&[PLOT, "interval"])];
    let table = forms.into_iter().find(fits);
    let table = table.unwrap_or_else(|| {
        let separate = rows(against, style, true).without(&[PLOT]);
        if fits(&separate) { separate } else { separate.without(&["interval"]) }
    });
    let remark = match against.left_out {
        0 => String::new(),
        n => style.paint(Ink::Dim, &format!("{n} more without a claim: --all")) + "\n",
    };
    let ends = format!("A{:>1$}", against.letter, forest::COLUMNS - 1);
    table.headed(PLOT, &ends).render(style) + &remark
}

/// The rows, each name in the first column or, if `apart`, on a line of its own.
fn rows(against: &Against, style: &Style, apart: bool) -> Table {
    let (left, right) = (Align::Left, Align::Right);
    let mut table = Table::new(&[left, right, right, right, left, left, left]);
    let letter = against.letter.to_string();
    table.heading(["", "A", &letter, "ratio", "interval", PLOT, "claim"]);
    let reach = against.reach();
    for row in &against.rows {
        let plot = row.ratio.map(|ratio| forest::bar(ratio, row.interval, reach, style));
        let name = if apart { "" } else { row.name.as_str() };
        if apart {
            let lines = wrap(&row.name, style.columns());
            lines.into_iter().for_each(|line| table.row([TableCell::free(Ink::Plain, line)]));
        }
        table.row([
            TableCell::from(name),
            TableCell::from(row.a.as_str()),
            TableCell::from(row.b.as_str()),
            TableCell::new(Ink::Strong, row.lettered.ratio.as_str()),
            TableCell::dim(row.interval_words.as_str()),
            TableCell::dim(plot.unwrap_or_default()),
            TableCell::new(
                if row.certain { Ink::Strong } else { Ink::Dim },
                row.lettered.claim.as_str(),
            ),
        ]);
    }
    table
}

//! The comparison as terminal text.

use super::{Against, Comparison};
use crate::forest;
use crate::style::{Ink, Style, wrap};
use crate::table::{Align, Cell, Table};

/// Maximum width of wrapped text.
const TEXT_COLUMNS: usize = 100;

/// The comparison as text.
pub fn text(comparison: &Comparison, style: &Style) -> String {
    let columns = style.width.min(TEXT_COLUMNS);
    let mut text = String::new();
    for side in &comparison.sides {
        text += &format!("{}  {}\n", side.letter, side.heading);
    }
    for against in &comparison.against {
        let sentence = wrap(&against.sentence, columns).join("\n");
        text += &format!("\n{}\n", style.paint_lines(Ink::Strong, &sentence));
        if !against.rows.is_empty() {
            text += &format!("\n{}", table(against, style));
        }
        text += "\n";
        for (ink, lines) in [(Ink::Warn, &against.warnings), (Ink::Dim, &against.notes)] {
            let mark = if ink == Ink::Warn { "!" } else { "-" };
            for line in lines {
                let line = wrap(&format!("{mark} {line}"), columns).join("\n");
                text += &(style.paint_lines(ink, &line) + "\n");
            }
        }
    }
    let caveat = wrap(&format!("- {}", comparison.caveat), columns).join("\n");
    text + &style.paint_lines(Ink::Dim, &caveat) + "\n"
}

fn table(against: &Against, style: &Style) -> String {
    let (left, right) = (Align::Left, Align::Right);
    let mut table = Table::new(&[left, right, right, right, left, left, left]).elastic(0);
    let (letter, over) = (against.letter.to_string(), format!("{}/A", against.letter));
    table.heading(["", "A", &letter, &over, "interval", "", "claim"]);
    let reach = against.reach();
    for row in &against.rows {
        let plot = row.ratio.map(|ratio| forest::bar(ratio, row.interval, reach, style));
        table.row([
            Cell::from(row.name.as_str()),
            Cell::from(row.a.as_str()),
            Cell::from(row.b.as_str()),
            Cell::new(Ink::Strong, row.ratio_words.as_str()),
            Cell::dim(row.interval_words.as_str()),
            Cell::dim(plot.unwrap_or_default()),
            Cell::new(if row.certain { Ink::Strong } else { Ink::Dim }, row.claim.as_str()),
        ]);
    }
    let more = match against.left_out {
        0 => String::new(),
        n => style.paint(Ink::Dim, &format!("{n} more without a claim: --all")) + "\n",
    };
    table.render(style) + &more
}

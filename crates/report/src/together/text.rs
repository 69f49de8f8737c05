//! Several drives as terminal text and as Markdown.

use super::{DeviationRow, SetTable, deviation, letter, range, share};
use crate::style::{Ink, Style, wrap};
use crate::table::{Align, Table, TableCell};

/// Maximum width of wrapped text.
const TEXT_COLUMNS: usize = 100;

pub fn text(set: &SetTable, style: &Style) -> String {
    let columns = style.width.min(TEXT_COLUMNS);
    let sentence = wrap(&set.sentence, columns).join("\n");
    let ink = if set.is_limited { Ink::Warn } else { Ink::Strong };
    let mut text = style.paint_lines(ink, &sentence) + "\n";
    if !set.quantities.is_empty() {
        let table = figures(set).or_without(&["each alone"], style);
        text += &format!("\n{}\n{}", table.render(style), drives(set, style));
    }
    if !set.caveat.is_empty() {
        let caveat = wrap(&format!("- {}", set.caveat), columns).join("\n");
        text += &format!("\n{}\n", style.paint_lines(Ink::Dim, &caveat));
    }
    text
}

fn figures(set: &SetTable) -> Table {
    let (left, right) = (Align::Left, Align::Right);
    let mut table = Table::new(&[left, left, right, right, right, right, left]);
    table.heading(["", "figure", "each alone", "sum alone", "together", "", ""]);
    for (i, row) in set.quantities.iter().enumerate() {
        let [alone, together] = row.sums.clone().unwrap_or_default();
        table.row([
            TableCell::from(letter(i)),
            TableCell::from(row.name.as_str()),
            TableCell::from(range(row)),
            TableCell::from(alone),
            TableCell::from(together),
            TableCell::new(Ink::Strong, share(row)),
            TableCell::dim(row.loss.as_str()),
        ]);
    }
    table
}

/// Deviations of the drives. On a narrow screen each name gets a line of its own.
fn drives(set: &SetTable, style: &Style) -> String {
    let table = deviations(set, false);
    if table.width() <= style.columns() { table } else { deviations(set, true) }.render(style)
}

fn deviations(set: &SetTable, is_apart: bool) -> Table {
    let mut columns = vec![Align::Left];
    columns.extend(set.quantities.iter().map(|_| Align::Right));
    columns.push(Align::Left);
    let mut table = Table::new(&columns);
    let letters: Vec<String> = (0..set.quantities.len()).map(letter).collect();
    let heading = ["against the others, %"].into_iter().chain(letters.iter().map(String::as_str));
    table.heading(heading.chain(["runs"]));
    for row in &set.drives {
        if is_apart {
            table.row([TableCell::free(Ink::Plain, row.name.as_str())]);
        }
        let name = if is_apart { "" } else { row.name.as_str() };
        table.row(
            [TableCell::from(name)]
                .into_iter()
                .chain(cells(row).map(|(text, ink)| TableCell::new(ink, text)))
                .chain([TableCell::dim(row.runs.as_str())]),
        );
    }
    table
}

fn cells(row: &DeviationRow) -> impl Iterator<Item = (String, Ink)> {
    row.deviations.iter().zip(&row.stands_out).map(|(value, stands_out)| {
        (deviation(*value, *stands_out), if *stands_out { Ink::Warn } else { Ink::Plain })
    })
}

/// The same tables for a forum or an issue.
pub fn markdown(set: &SetTable) -> String {
    let cell = |text: &str| emit::plain(text).replace('|', "\\|");
    let mut text = format!("{}\n", cell(&set.sentence));
    if !set.quantities.is_empty() {
        text += "\n| | figure | each alone | sum alone | together | | |\n|---|---|--:|--:|--:|--:|---|\n";
        for (i, row) in set.quantities.iter().enumerate() {
            let [alone, together] = row.sums.clone().unwrap_or_default();
            text += &format!(
                "| {} | {} | {} | {alone} | {together} | {} | {} |\n",
                letter(i),
                cell(&row.name),
                range(row),
                share(row),
                row.loss
            );
        }
        let letters: Vec<String> = (0..set.quantities.len()).map(letter).collect();
        let rules = "--:|".repeat(letters.len());
        text += &format!("\n| against the others, % | {} |\n|---|{rules}\n", letters.join(" | "));
        for row in &set.drives {
            let cells: Vec<String> = cells(row).map(|(text, _)| text.replace('*', "\\*")).collect();
            text += &format!("| {} | {} |\n", cell(&row.name), cells.join(" | "));
        }
    }
    if !set.caveat.is_empty() {
        text += &format!("\n{}\n", cell(&set.caveat));
    }
    text
}

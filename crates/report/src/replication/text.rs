//! A repeated publication as text: its result, the figures as a table, the charts, the records.

use super::{Drawing, Headline, ReplicatedFigure, Replication, SKETCH_COLUMNS, Sketch};
use crate::quantity::UNKNOWN;
use crate::table::{Align, Table, TableCell};
use crate::{Ink, Style, sparkline, wrap};

/// Maximum width of sentences.
pub(super) const SENTENCE_COLUMNS: usize = 90;

/// Width of the longest bar.
const BAR_COLUMNS: f64 = 40.0;

/// The whole publication as text.
pub fn text(view: &Replication, style: &Style) -> String {
    let width = style.width.min(SENTENCE_COLUMNS);
    let mut text = style.paint(Ink::Strong, &view.title) + "\n";
    text += &lines(&view.about, width);
    text += "\n";
    text += &view.headline.as_ref().map_or(String::new(), |h| headline(h, style));
    text += &table(&view.figures, style);
    for [names, reason] in &view.missed {
        let reason = lines(&format!("{names}: {reason}"), width);
        text += &format!("\n{}\n{reason}", style.paint(Ink::Bad, "MISSED"));
    }
    for [ask, answer] in &view.answers {
        let answer = lines(answer, width);
        text += &format!("\n{}\n{answer}", style.paint(Ink::Strong, ask));
    }
    text += &view.sketches.iter().map(|chart| sketch(chart, style)).collect::<String>();
    text += "\n";
    for run in &view.runs {
        let words = [&*run.experiment, &run.target].into_iter().chain(run.page.as_deref());
        let words: Vec<&str> = words.collect();
        text += &format!("run {}   {}\n", run.number, words.join("   "));
    }
    text += &format!("\n{}\n", view.sentence);
    if view.claims.sentence.is_empty() { text } else { text + &lines(&view.claims.sentence, width) }
}

/// A paragraph wrapped into lines, including the last line break.
pub(super) fn lines(text: &str, width: usize) -> String {
    wrap(text, width).join("\n") + "\n"
}

/// The document's own result as published, and the difference that it hides.
fn headline(headline: &Headline, style: &Style) -> String {
    let mut table = Table::new(&[Align::Left, Align::Left, Align::Right]);
    for [machine, tool, value] in &headline.rows {
        let value = TableCell::new(Ink::Strong, value.as_str());
        table.row([TableCell::from(machine.as_str()), TableCell::from(tool.as_str()), value]);
    }
    let title = style.paint(Ink::Strong, &headline.title);
    let width = style.width.min(SENTENCE_COLUMNS);
    let hidden = headline.hidden.as_ref().map_or(String::new(), |h| lines(h, width));
    format!("{title}\n{}{hidden}\n", table.render(style))
}

/// The figures, with their positions in the document if there is room.
fn table(figures: &[ReplicatedFigure], style: &Style) -> String {
    let (left, right) = (Align::Left, Align::Right);
    let columns = [left, right, right, left, right, right, left, left];
    let mut table = Table::new(&columns).elastic(0);
    table.heading(["figure", "published", "here", "", "off", "allowed", "", "from"]);
    for figure in figures {
        let (ink, word) = if figure.met { (Ink::Good, "met") } else { (Ink::Bad, "MISSED") };
        let word = format!("{word}, {}", figure.basis);
        let [difference, allowed] = &figure.off;
        table.row([
            TableCell::from(figure.what.as_str()),
            TableCell::from(figure.published.as_str()),
            TableCell::new(Ink::Strong, figure.here.as_deref().unwrap_or(UNKNOWN)),
            TableCell::dim(figure.unit.as_str()),
            TableCell::from(difference.as_str()),
            TableCell::dim(allowed.as_str()),
            TableCell::new(ink, word),
            TableCell::dim(figure.source.as_str()),
        ]);
    }
    table.or_without(&["from"], style).render(style)
}

/// A chart, or nothing if it has no lines.
fn sketch(chart: &Sketch, style: &Style) -> String {
    let Some(width) = chart.lines.iter().map(|(name, ..)| name.chars().count()).max() else {
        return String::new();
    };
    let mut text = format!("\n{}\n", style.paint(Ink::Strong, &chart.title));
    for (name, drawing, values) in &chart.lines {
        let (sketch, gap) = match drawing {
            Drawing::Values(values) => {
                let values: Vec<_> = values.iter().copied().map(Some).collect();
                (sparkline(&values, SKETCH_COLUMNS, style), "  ")
            }
            Drawing::Bar(share) => {
                let columns = ((share * BAR_COLUMNS).round() as usize).max(1);
                (style.either("█", "#").repeat(columns), " ")
            }
        };
        text += &format!("{name:width$}  {sketch}{gap}{values}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use record::{Run, Target};

    use super::super::{ClaimEntry, ClaimPlace, ClaimState, Claims, claims_text};
    use super::*;

    #[test]
    fn sentences_fit_the_screen() {
        let sentence = "a word ".repeat(40);
        let view = Replication {
            title: "A document".into(),
            about: sentence.clone(),
            sentence: "1 of 2 figures".into(),
            met: false,
            headline: Some(Headline {
                title: "Its result".into(),
                rows: vec![["a machine", "a tool", "1 MB/s"].map(String::from)],
                hidden: Some(sentence.clone()),
            }),
            charts: Vec::new(),
            sources: Run::new("replicate", Target::default()),
            sketches: Vec::new(),
            figures: Vec::new(),
            claims: Claims {
                sentence: sentence.clone(),
                places: vec![ClaimPlace {
                    at: "paragraph 1".into(),
                    topic: sentence.clone(),
                    none: None,
                    claims: vec![ClaimEntry {
                        says: sentence.clone(),
                        row: Some(sentence.clone()),
                        state: ClaimState::Differs,
                        shown_by: sentence.clone(),
                        remark: sentence.clone(),
                    }],
                }],
            },
            missed: vec![["a figure".into(), sentence.clone()]],
            answers: vec![["a question".into(), sentence]],
            runs: Vec::new(),
        };
        for (width, widest) in [(60, 60), (80, 80), (200, SENTENCE_COLUMNS)] {
            let style = Style { width, ..Style::PLAIN };
            let text = text(&view, &style) + &claims_text(&view, &style);
            assert!(text.lines().all(|line| line.chars().count() <= widest), "{text}");
        }
    }
}

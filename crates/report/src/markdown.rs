//! The record as Markdown, for a forum or an issue.
//!
//! Pasted text is public, so the serial number, the host name and the path of a scratch file are
//! omitted. All foreign text is escaped.

use record::{Metric, Run};
use workload::units::{amount, latency};

use crate::facts;
use crate::grid::{Grid, GridRow, rates_of};
use crate::names::{DIRECTIONS, STATISTICS};
use crate::peers;
use crate::quantity;
use crate::style::Style;

const STYLE: Style = Style { colour: false, width: 100, unicode: true };

/// The run as Markdown with tables, in the dialect of GitHub and most forums.
pub fn markdown(run: &Run) -> String {
    let name = facts::marked(facts::run_name(run), run);
    let title = format!("### ssdyno {}: {name}, {}\n\n", escape(&run.method), facts::when(run));
    let mut text = title;
    if let Some(answer) = &run.answer {
        let stamp = facts::stamp(run).map(|(_, words)| words).unwrap_or_default();
        text.push_str(&format!("**{}** {}\n\n", escape(&answer.headline), escape(&stamp)));
        if !answer.rest.is_empty() {
            text.push_str(&format!("{}\n\n", escape(&answer.rest)));
        }
    }
    for (label, items) in [
        ("Labels", facts::labels(run)),
        ("From", facts::origin(run)),
        ("Drive", facts::drive(run, false)),
        ("Target", facts::target(run, false)),
        ("Host", facts::host(run)),
        ("Run", vec![facts::ending(run), format!("ssdyno {}", run.environment.ssdyno)]),
    ] {
        if items.is_empty() {
            continue;
        }
        text.push_str(&format!("- **{label}** {}\n", escape(&items.join(", "))));
    }
    let grid = Grid::new(run);
    if run.metrics.is_empty() {
        text.push_str("\nNothing was measured.\n");
    }
    rates(&mut text, &grid);
    latencies(&mut text, &grid);
    others(&mut text, &grid.others);
    conclusions(&mut text, run);
    normal(&mut text, run);
    text
}

fn normal(text: &mut String, run: &Run) {
    let peers = run.answer.iter().flat_map(peers::normal);
    for (i, peer) in peers.enumerate() {
        let sentence = format!("{}: {}", peer.whose, peer.text);
        let parts: Vec<String> = std::iter::once(sentence).chain(peer.differs).collect();
        let blank_line = if i == 0 { "\n" } else { "" };
        text.push_str(&format!("{blank_line}- **Normal?** {}\n", escape(&parts.join("; "))));
    }
}

fn rates(text: &mut String, grid: &Grid<'_>) {
    let rows: Vec<_> = grid.rows.iter().filter(|row| row.has_rate()).collect();
    if rows.is_empty() {
        return;
    }
    let interval = quantity::interval_heading(rates_of(rows.iter().copied()));
    head(text, &["", "read MB/s", "IOPS", interval, "write MB/s", "IOPS", interval]);
    for row in rows {
        let [read, write] = DIRECTIONS.map(|d| rate(row, row.side(d).rate));
        let cells = match row.both {
            Some(both) => [rate(row, Some(both)), ["together".into(), "".into(), "".into()]],
            None => [read, write],
        };
        line(text, std::iter::once(row.label()).chain(cells.into_iter().flatten()));
    }
}

fn rate(row: &GridRow<'_>, rate: Option<&Metric>) -> [String; 3] {
    let Some(rate) = rate else { return Default::default() };
    let megabytes = row.bytes_per_s(rate).map(|b| amount(b / 1e6));
    let iops = row.iops(rate).map(amount).unwrap_or_default();
    let interval = quantity::interval_percent(rate, &STYLE);
    [megabytes.unwrap_or_else(|| quantity::UNKNOWN.into()), iops, interval]
}

fn latencies(text: &mut String, grid: &Grid<'_>) {
    let rows: Vec<_> = grid.rows.iter().filter(|row| row.has_latency()).collect();
    if rows.is_empty() {
        return;
    }
    let names = DIRECTIONS.map(|d| STATISTICS.map(|s| format!("{} {}", d.name(), s.name())));
    let mut titles = vec!["latency"];
    titles.extend(names.iter().flatten().map(String::as_str));
    head(text, &titles);
    for row in rows {
        let cells = DIRECTIONS.iter().flat_map(|d| {
            let values = row.side(*d).latency;
            let dash = if values.iter().any(Option::is_some) { "–" } else { "" };
            values.map(|v| v.map_or_else(|| dash.to_string(), latency))
        });
        line(text, std::iter::once(row.label()).chain(cells));
    }
}

fn others(text: &mut String, metrics: &[&Metric]) {
    if metrics.is_empty() {
        return;
    }
    head(text, &["metric", "value", "interval"]);
    for metric in metrics {
        let value = quantity::show_or_dash(metric, &STYLE);
        line(text, [metric.name.clone(), value, quantity::interval_words(metric)]);
    }
}

fn conclusions(text: &mut String, run: &Run) {
    let verdicts = run.verdicts.iter().map(|v| {
        let next_test = v.next_test.as_ref().map(|test| format!(" Next test: {}", escape(test)));
        format!(
            "**{}** {}{}",
            escape(v.kind.name()),
            escape(&v.text),
            next_test.unwrap_or_default()
        )
    });
    section(text, "Why", verdicts);
    let doubts = facts::doubts(run);
    let doubts = doubts.iter().map(|d| format!("{}: {}", escape(d.level()), escape(&d.text())));
    section(text, "What to distrust", doubts);
    let errors = run.errors.iter().map(|e| escape(&facts::errors(e, run.naming())));
    section(text, "I/O errors", errors);
}

fn section(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    for (i, line) in lines.enumerate() {
        if i == 0 {
            text.push_str(&format!("\n**{title}**\n\n"));
        }
        text.push_str(&format!("- {line}\n"));
    }
}

/// The head of a table: the first column contains words, the others numbers.
fn head(text: &mut String, titles: &[&str]) {
    text.push('\n');
    line(text, titles.iter().map(|t| t.to_string()));
    text.push_str(&format!("|---{}|\n", "|--:".repeat(titles.len() - 1)));
}

fn line(text: &mut String, cells: impl IntoIterator<Item = String>) {
    for cell in cells {
        text.push_str("| ");
        text.push_str(&escape(&cell));
        text.push(' ');
    }
    text.push_str("|\n");
}

/// The text on one line, without meaning to Markdown or HTML.
pub(crate) fn escape(text: &str) -> String {
    let text = STYLE.paint(crate::Ink::Plain, &text.replace('\n', " "));
    let mut escaped = String::new();
    let mut in_word = false;
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        let before_word = letters.peek().is_some_and(|next| next.is_alphanumeric());
        match c {
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            // Inside a word, it has no meaning, and O_DIRECT is more readable unescaped.
            '_' if in_word && before_word => escaped.push('_'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' => escaped.extend(['\\', c]),
            _ => escaped.push(c),
        }
        in_word = c.is_alphanumeric();
    }
    escaped
}

#[cfg(test)]
mod tests {
    #[test]
    fn foreign_text_has_no_markdown_meaning() {
        let text = "<b>|`*[x](y)_\n\x1b O_DIRECT";
        assert_eq!(super::escape(text), "&lt;b>\\|\\`\\*\\[x\\](y)\\_ ? O_DIRECT");
    }
}

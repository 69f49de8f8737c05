//! The list of runs, a line each.

use crate::style::{Ink, Style};
use crate::table::{Align, Cell, Table};

/// What a list says of a run. Plain text: whoever lists has not read the whole records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunRow {
    /// Number in the store.
    pub number: i64,
    /// Start, as in the record (RFC 3339).
    pub started: String,
    /// Name of the method.
    pub method: String,
    /// The drive, or the target where no drive is known.
    pub drive: String,
    /// Wall time in words; empty where unknown.
    pub time: String,
    /// It ran to its end.
    pub complete: bool,
    /// A number or a verdict to know it again by; may be empty.
    pub headline: String,
}

/// The runs as a table, in the order given; an empty list is a sentence.
pub fn runs_table(rows: &[RunRow], style: &Style) -> String {
    if rows.is_empty() {
        return "no runs\n".to_string();
    }
    use Align::{Left, Right};
    let mut table = Table::new(&[Right, Left, Left, Left, Right, Left, Left]);
    table.heading(["run", "started", "method", "drive", "time", "", ""]);
    for row in rows {
        let started = crate::facts::minute(&row.started);
        let (ink, ending) = if row.complete { (Ink::Plain, "") } else { (Ink::Warn, "cut short") };
        table.row([
            Cell::new(Ink::Strong, row.number.to_string()),
            Cell::dim(started),
            Cell::from(row.method.as_str()),
            Cell::from(row.drive.as_str()),
            Cell::from(row.time.as_str()),
            Cell::new(ink, ending),
            Cell::from(row.headline.as_str()),
        ]);
    }
    table.render(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_each_run() {
        let quick = RunRow {
            number: 9,
            started: "2026-11-21T20:50:01+01:00".into(),
            method: "quick".into(),
            drive: "ACME X1 1TB".into(),
            time: "58 s".into(),
            complete: true,
            headline: "LINK".into(),
        };
        let cut = RunRow { number: 10, complete: false, headline: String::new(), ..quick.clone() };
        let expected = "\
run  started           method  drive        time
  9  2026-11-21 20:50  quick   ACME X1 1TB  58 s             LINK
 10  2026-11-21 20:50  quick   ACME X1 1TB  58 s  cut short
";
        assert_eq!(runs_table(&[quick, cut], &Style::PLAIN), expected);
        assert_eq!(runs_table(&[], &Style::PLAIN), "no runs\n");
    }
}

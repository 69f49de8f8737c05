//! The printed result of a document, and two of its figures that agree by accident.
//!
//! Everything is computed from `published/figures`; nothing is measured. Pure.

use serde::{Deserialize, Serialize};

use crate::error::{LabError, Result};
use crate::published::{self, ParsedFigure};

/// A document's own result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Headline {
    /// The title of its table.
    pub title: String,
    /// Its rows, by their paths in `published/figures`.
    pub rows: Vec<String>,
    /// The column printed for each row.
    pub column: String,
    /// Two rows that look alike.
    pub alike: Option<Alike>,
}

/// Two rows with equal totals but different parts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alike {
    /// The two rows.
    pub rows: [String; 2],
    /// The part of the total, in the same unit.
    pub part: String,
    /// The rate of that part.
    pub rate: String,
    /// An explanation for the rest of the first row's total.
    pub rest: String,
}

/// A printed row.
#[derive(Debug, PartialEq, Serialize)]
pub struct HeadlineRow {
    pub machine: String,
    pub tool: String,
    /// The figure, in the unit of its column.
    pub value: f64,
    pub unit: String,
}

impl Headline {
    pub fn table(&self) -> Result<Vec<HeadlineRow>> {
        self.rows.iter().map(|row| self.row(row)).collect()
    }

    fn row(&self, path: &str) -> Result<HeadlineRow> {
        let figure = figure(path, &self.column)?;
        let run = published::find(path)?;
        let machine = run.environment.board.unwrap_or_default();
        let (value, unit) = (figure.value, figure.unit.to_string());
        Ok(HeadlineRow { machine, tool: run.method, value, unit })
    }

    /// Explains the difference that two equal totals hide.
    pub fn hidden(&self) -> Result<Option<String>> {
        let Some(Alike { rows: [first, second], part, rate, rest }) = &self.alike else {
            return Ok(None);
        };
        let value = |row: &str, column: &str| figure(row, column).map(|f| (f.value, f.unit));
        let (total, unit) = value(first, &self.column)?;
        let (total_2, _) = value(second, &self.column)?;
        let ((inner, _), (inner_2, _)) = (value(first, part)?, value(second, part)?);
        let ((rate_1, rate_unit), (rate_2, _)) = (value(first, rate)?, value(second, rate)?);
        Ok(Some(format!(
            "{total} and {total_2} {unit} differ by {:.1}% and hide a change of rate by {:.0}%: the \
             workload itself took {inner:.1} and {inner_2:.1} {unit}, at {rate_1:.0} and {rate_2:.0} \
             {rate_unit}. The first run spent {:.1} {unit} more outside it: {rest}.",
            (total_2 / total - 1.0).abs() * 100.0,
            (1.0 - rate_2 / rate_1).abs() * 100.0,
            (total - inner) - (total_2 - inner_2),
        )))
    }
}

/// A printed figure of a row.
fn figure(row: &str, column: &str) -> Result<ParsedFigure> {
    let figure = published::figure(&format!("{row}/{column}"));
    figure.map(|(figure, _)| figure).map_err(LabError::usage)
}

#[cfg(test)]
mod tests {
    use crate::replicate::document;

    #[test]
    fn two_equal_times_in_document_002_hide_a_difference_of_twelve_percent() {
        let headline = document::document("002").expect("there").headline.expect("its table");
        let table = headline.table().expect("all rows are there");
        let times: Vec<f64> = table.iter().map(|row| row.value).collect();
        assert_eq!(times, [86.36, 85.77, 127.56, 127.78, 87.40, 86.62, 131.68, 130.42]);
        let text = headline.hidden().expect("computed").expect("a pair");
        for part in ["127.56 and 127.78 s", "0.2%", "by 12%", "112.5 and 127.3 s", "14.7 s"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}

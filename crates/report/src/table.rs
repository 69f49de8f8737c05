//! Small tables of aligned columns, without borders.
//!
//! Cells are plain text with an ink; widths are computed before colour is added. A table wider than
//! the screen truncates its elastic column (the last one by default), so that each row stays on one
//! line; no other column is truncated. Widths count characters, not terminal cells: a CJK name
//! shifts its row.

use crate::style::{Ink, Style, wrap};

/// Minimum width of the elastic column.
const ELASTIC_MIN: usize = 4;

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableCell {
    text: String,
    ink: Ink,
    /// Whether it extends over the columns to its right.
    free: bool,
    /// Whether it is truncated at its beginning rather than its end.
    tail: bool,
}

impl TableCell {
    /// A cell in an ink.
    pub fn new(ink: Ink, text: impl Into<String>) -> TableCell {
        TableCell { text: text.into(), ink, ..TableCell::default() }
    }

    /// The last cell of a row; widens no column and extends over those to its right.
    pub fn free(ink: Ink, text: impl Into<String>) -> TableCell {
        TableCell { text: text.into(), ink, free: true, ..TableCell::default() }
    }

    pub fn dim(text: impl Into<String>) -> TableCell {
        TableCell::new(Ink::Dim, text)
    }

    /// A plain cell truncated at its beginning, for paths, whose names are at the end.
    pub fn path(text: impl Into<String>) -> TableCell {
        TableCell { text: text.into(), tail: true, ..TableCell::default() }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }

    /// The text, truncated to `width` characters.
    fn cut(&self, width: usize, style: &Style) -> String {
        let full_width = self.width();
        if full_width <= width {
            return self.text.clone();
        }
        let mark = style.either("…", "..");
        let length = width.saturating_sub(mark.chars().count());
        if self.tail {
            mark.chars().chain(self.text.chars().skip(full_width - length)).collect()
        } else {
            self.text.chars().take(length).chain(mark.chars()).collect()
        }
    }
}

impl<T: Into<String>> From<T> for TableCell {
    fn from(text: T) -> TableCell {
        TableCell::new(Ink::Plain, text)
    }
}

/// A table under construction.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Align>,
    rows: Vec<Vec<TableCell>>,
    gap: usize,
    elastic: usize,
    wraps: bool,
}

impl Table {
    /// Creates a table with these columns, separated by two blanks.
    pub fn new(columns: &[Align]) -> Table {
        let elastic = columns.len().saturating_sub(1);
        Table { columns: columns.to_vec(), rows: Vec::new(), gap: 2, elastic, wraps: false }
    }

    /// Adds a column on the right, which becomes the elastic one. Rows keep their cells.
    #[must_use]
    pub fn with(mut self, column: Align) -> Table {
        self.columns.push(column);
        self.elastic = self.columns.len() - 1;
        self
    }

    /// Sets the gap between columns.
    #[must_use]
    pub fn gap(mut self, blanks: usize) -> Table {
        self.gap = blanks;
        self
    }

    /// Sets the column (from 0) that is truncated if the table is too wide.
    #[must_use]
    pub fn elastic(mut self, column: usize) -> Table {
        self.elastic = column;
        self
    }

    /// Continues the text of the last column below if the table is too wide, instead of truncating.
    #[must_use]
    pub fn wrapping(mut self) -> Table {
        (self.elastic, self.wraps) = (self.columns.len().saturating_sub(1), true);
        self
    }

    /// Removes the columns with these headings if the table is too wide.
    #[must_use]
    pub fn or_without(self, headings: &[&str], style: &Style) -> Table {
        if self.width() > style.width { self.without(headings) } else { self }
    }

    /// Removes the columns with these headings.
    #[must_use]
    pub fn without(mut self, headings: &[&str]) -> Table {
        let heading = self.rows.first().cloned().unwrap_or_default();
        let is_kept = |column: usize| {
            heading.get(column).is_none_or(|cell| !headings.contains(&cell.text.as_str()))
        };
        self.elastic = (0..self.elastic).filter(|column| is_kept(*column)).count();
        retain(&mut self.columns, is_kept);
        self.rows.iter_mut().for_each(|row| retain(row, is_kept));
        self
    }

    /// Renames a heading.
    #[must_use]
    pub fn headed(mut self, heading: &str, name: &str) -> Table {
        let cells = self.rows.first_mut().into_iter().flatten();
        cells.filter(|cell| cell.text == heading).for_each(|cell| cell.text = name.into());
        self
    }

    /// Adds a dim row of headings.
    pub fn heading<'a>(&mut self, cells: impl IntoIterator<Item = &'a str>) {
        self.rows.push(cells.into_iter().map(TableCell::dim).collect());
    }

    /// Adds a row. Missing cells are blank.
    pub fn row<C: Into<TableCell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Width in columns without truncation.
    pub fn width(&self) -> usize {
        self.rows.iter().map(|row| self.row_width(row, &self.widths())).max().unwrap_or(0)
    }

    /// Width in columns if the elastic column is truncated to `kept` characters.
    pub fn least(&self, kept: usize) -> usize {
        let elastic = self.widths().get(self.elastic).copied().unwrap_or_default();
        let mut narrow = self.clone();
        narrow.rows.iter_mut().for_each(|row| row.truncate(self.elastic));
        let width_before =
            narrow.widths().iter().take(self.elastic).map(|w| w + self.gap).sum::<usize>();
        width_before + elastic.min(kept)
    }

    /// The rows, each with a line break.
    pub fn render(&self, style: &Style) -> String {
        let mut widths = self.widths();
        self.narrow(&mut widths, style.columns());
        let lines = self.rows.iter().flat_map(|row| self.wrapped(row, &widths));
        lines.map(|row| self.render_row(&row, &widths, style)).collect()
    }

    /// The lines of a row: more than one only if its last cell continues below.
    fn wrapped(&self, row: &[TableCell], widths: &[usize]) -> Vec<Vec<TableCell>> {
        let width = widths.get(self.elastic).copied().unwrap_or_default();
        let last = row.get(self.elastic).filter(|cell| self.wraps && cell.width() > width);
        let Some(last) = last else { return vec![row.to_vec()] };
        let lines = wrap(&last.text, width).into_iter().enumerate().map(|(number, text)| {
            let mut cells = row.to_vec();
            if number > 0 {
                cells.iter_mut().for_each(|cell| cell.text.clear());
            }
            cells[self.elastic].text = text;
            cells
        });
        lines.collect()
    }

    /// Narrows the elastic column.
    fn narrow(&self, widths: &mut [usize], screen: usize) {
        let columns = widths.iter().map(|width| width + self.gap).sum::<usize>();
        let excess = columns.saturating_sub(self.gap).saturating_sub(screen);
        if let Some(elastic) = widths.get_mut(self.elastic) {
            *elastic -= excess.min(elastic.saturating_sub(ELASTIC_MIN));
        }
    }

    fn widths(&self) -> Vec<usize> {
        let widths = (0..self.columns.len()).map(|column| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.filter(|cell| !cell.free).map(TableCell::width).max().unwrap_or(0)
        });
        widths.collect()
    }

    fn row_width(&self, row: &[TableCell], widths: &[usize]) -> usize {
        row.iter()
            .zip(widths)
            .map(|(cell, bound)| if cell.free { cell.width() + self.gap } else { bound + self.gap })
            .sum::<usize>()
            .saturating_sub(self.gap)
    }

    fn render_row(&self, row: &[TableCell], widths: &[usize], style: &Style) -> String {
        let mut line = String::new();
        let mut blanks = 0;
        for (column, cell) in row.iter().enumerate().take(widths.len()) {
            let width = if cell.free { cell.width() } else { widths[column] };
            let text = cell.cut(width, style);
            let pad = width - text.chars().count();
            let is_right = self.columns.get(column) == Some(&Align::Right);
            if !text.is_empty() {
                line.push_str(&" ".repeat(blanks + if is_right { pad } else { 0 }));
                line.push_str(&style.paint(cell.ink, &text));
                blanks = 0;
            }
            // Blanks are written only before more text, so that no line ends with them.
            blanks += self.gap + if is_right && !text.is_empty() { 0 } else { pad };
        }
        line + "\n"
    }
}

/// Keeps the items of the selected columns.
fn retain<T>(items: &mut Vec<T>, is_kept: impl Fn(usize) -> bool) {
    let mut columns = 0..;
    items.retain(|_| columns.next().is_none_or(&is_kept));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
        table.heading(["name", "size", "what"]);
        table.row(["sda", "1.00 TB", "a disk with a long description"]);
        table.row(["nvme0n1", "", "x"]);
        table
    }

    #[test]
    fn a_wrapping_table_continues_its_last_column_between_words() {
        let style = Style { colour: false, width: 60, unicode: true };
        let mut table = Table::new(&[Align::Left, Align::Left]).wrapping();
        table.row(["sustain", "how long does the speed last, and what is left of it then"]);
        table.row(["fake", "is it real"]);
        assert_eq!(
            table.render(&style),
            "sustain  how long does the speed last, and what is left of\n         it then\nfake     \
             is it real\n"
        );
        let wide = Style { width: 80, ..style };
        assert_eq!(table.render(&wide).lines().count(), 2);
    }

    #[test]
    fn columns_align_and_lines_end_without_blanks() {
        let text = sample().render(&Style::PLAIN);
        let expected = "\
name        size  what
sda      1.00 TB  a disk with a long description
nvme0n1           x
";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_wide_table_is_truncated_in_one_column() {
        let narrow = Style { width: 40, unicode: true, ..Style::PLAIN };
        let text = sample().render(&narrow);
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
        assert!(text.contains("a disk with a long de…"), "{text}");
    }

    #[test]
    fn the_least_width_counts_the_other_columns_whole() {
        let mut table = Table::new(&[Align::Left, Align::Left]);
        table.row(["sim:samsung-980-pro-2t", "Records 1.35 GB/s on average"]);
        assert_eq!((table.width(), table.least(14), table.least(99)), (52, 38, 52));
        table.row([TableCell::free(
            Ink::Plain,
            "a name that extends over the columns to its right",
        )]);
        assert_eq!(table.least(14), 38);
    }

    #[test]
    fn a_column_can_be_removed_and_the_same_one_is_truncated() {
        let narrow = Style { width: 40, unicode: true, ..Style::PLAIN };
        let mut table = sample();
        table.row(["sdb", "", "another disk with a longer description"]);
        let text = table.without(&["size", "unknown"]).render(&narrow);
        let expected = "\
name     what
sda      a disk with a long description
nvme0n1  x
sdb      another disk with a longer des…
";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_path_keeps_its_end() {
        let mut table = Table::new(&[Align::Left, Align::Left]).elastic(0);
        table
            .row([TableCell::path("/a/directory/with/a/rather/long/name/fio.json"), "read".into()]);
        let narrow = Style { width: 40, unicode: true, ..Style::PLAIN };
        assert_eq!(table.render(&narrow), "…/with/a/rather/long/name/fio.json  read\n");
    }

    #[test]
    fn colour_does_not_move_columns() {
        let mut table = Table::new(&[Align::Right, Align::Right]);
        table.row([TableCell::new(Ink::Strong, "1"), TableCell::dim("22")]);
        table.row(["333", "4"]);
        let text = table.render(&Style { colour: true, ..Style::PLAIN });
        assert_eq!(text, "  \x1b[1m1\x1b[0m  \x1b[2m22\x1b[0m\n333   4\n");
    }
}

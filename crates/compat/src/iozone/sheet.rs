//! `-b`: a spreadsheet in Excel's format, like iozone's.
//!
//! The format is BIFF2, the oldest and simplest: a record with the version, a record per cell and an
//! end record. A record is its type and length, 16 bits each, and its content; a cell begins with
//! its row and column and three bytes of attributes. Source: Microsoft's and OpenOffice's
//! documentation of Excel's file format.

use record::Run;

use super::table::blocks;
use super::{IozoneCommand, throughput};

const BEGIN: (u16, [u8; 4]) = (9, [2, 0, 16, 0]);
const END: u16 = 10;
const TEXT: u16 = 4;
const NUMBER: u16 = 3;

/// Headings of the blocks, in the order of the columns of the table.
const BLOCKS: [&str; 13] = [
    "Writer Report",
    "Re-writer Report",
    "Reader Report",
    "Re-reader Report",
    "Random Read Report",
    "Random Write Report",
    "Backward Read Report",
    "Record Rewrite Report",
    "Stride Read Report",
    "Fwrite Report",
    "Re-fwrite Report",
    "Fread Report",
    "Re-fread Report",
];

/// The results as a spreadsheet.
pub fn sheet(command: &IozoneCommand, run: &Run) -> Vec<u8> {
    let mut sheet = Sheet::new(&format!("ssdyno iozone {}", command.typed));
    if command.run.processes.is_empty() {
        sheet.text("");
        sheet.text("The top row is records sizes, the left column is file sizes");
        for figure in command.asked_columns() {
            sheet.text(BLOCKS[figure as usize]);
            let sizes = command.records.iter().map(|bytes| (bytes >> 10) as f64);
            sheet.numbers(1, sizes);
            for (file_bytes, cells) in blocks(command, run, figure) {
                let cells = cells.iter().map(|cell| *cell as f64);
                sheet.numbers(0, std::iter::once((file_bytes >> 10) as f64).chain(cells));
            }
        }
        return sheet.end();
    }
    for row in &command.run.rows {
        sheet.text("Throughput report Y-axis is type of test X-axis is number of processes");
        sheet.text(&format!("Record size = {} kBytes", row.record_bytes >> 10));
        sheet.text(&format!("Output is in {}", command.unit.name().replace("kB", "kBytes")));
        for (name, rates) in throughput::cells(command, run, row) {
            sheet.cell(TEXT, 0, &labelled(name));
            sheet.numbers(1, rates.into_iter());
        }
    }
    sheet.end()
}

/// A sheet being written, row after row.
struct Sheet {
    bytes: Vec<u8>,
    row: u16,
}

impl Sheet {
    fn new(title: &str) -> Sheet {
        let mut sheet = Sheet { bytes: Vec::new(), row: 0 };
        sheet.record(BEGIN.0, &BEGIN.1);
        sheet.text(title);
        sheet
    }

    /// A row with a text.
    fn text(&mut self, text: &str) {
        self.cell(TEXT, 0, &labelled(text));
        self.row = self.row.saturating_add(1);
    }

    /// A row of numbers from a column on.
    fn numbers(&mut self, first: u16, numbers: impl Iterator<Item = f64>) {
        for (column, number) in (first..).zip(numbers) {
            self.cell(NUMBER, column, &number.to_le_bytes());
        }
        self.row = self.row.saturating_add(1);
    }

    fn cell(&mut self, kind: u16, column: u16, content: &[u8]) {
        let place = [self.row, column].map(u16::to_le_bytes).concat();
        self.record(kind, &[&place[..], &[0; 3], content].concat());
    }

    fn record(&mut self, kind: u16, content: &[u8]) {
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend((content.len() as u16).to_le_bytes());
        self.bytes.extend(content);
    }

    fn end(mut self) -> Vec<u8> {
        self.record(END, &[]);
        self.bytes
    }
}

/// A text with its length, cut at the longest that the format allows.
fn labelled(text: &str) -> Vec<u8> {
    let ascii: Vec<u8> = text.chars().map(|c| if c.is_ascii() { c as u8 } else { b'?' }).collect();
    let label = &ascii[..ascii.len().min(255)];
    [&[label.len() as u8], label].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_is_a_sequence_of_records() {
        let mut sheet = Sheet::new("t");
        sheet.numbers(1, [4.0].into_iter());
        let expected = [
            &[9, 0, 4, 0, 2, 0, 16, 0][..],
            &[4, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 1, b't'],
            &[3, 0, 15, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 64],
            &[10, 0, 0, 0],
        ];
        assert_eq!(sheet.end(), expected.concat());
    }

    #[test]
    fn a_long_title_is_cut_and_foreign_characters_are_marked() {
        assert_eq!(labelled(&"a".repeat(300)).len(), 256);
        assert_eq!(labelled("é"), [1, b'?']);
    }
}

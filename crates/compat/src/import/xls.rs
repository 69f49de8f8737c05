//! The spreadsheet that iozone writes with -b, in the first binary format of Excel (BIFF 2), as the
//! text of its cells: rows of words in quotes and numbers, as -R prints them.

use std::collections::BTreeMap;

/// Types of records: a label, a whole number, a number.
const LABEL: u16 = 4;
const INTEGER: u16 = 2;
const NUMBER: u16 = 3;

/// Bytes before the value of a cell: row, column, attributes.
const HEAD: usize = 7;

/// The first bytes of a spreadsheet: the type and the size of its first record.
pub(super) const MAGIC: [u8; 4] = [9, 0, 4, 0];

/// The cells of a spreadsheet as text, row by row.
pub(super) fn text(bytes: &[u8]) -> String {
    let mut rows: BTreeMap<u16, BTreeMap<u16, String>> = BTreeMap::new();
    let mut rest = bytes;
    while let Some((head, after)) = rest.split_at_checked(4) {
        let (kind, size) = (word(head, 0), usize::from(word(head, 2)));
        let Some((body, next)) = after.split_at_checked(size) else { break };
        if let Some(cell) = cell(kind, body) {
            rows.entry(word(body, 0)).or_default().insert(word(body, 2), cell);
        }
        rest = next;
    }
    rows.values().map(|cells| row(cells) + "\n").collect()
}

/// A row as -R prints it: labels and the sizes in quotes, figures without.
fn row(cells: &BTreeMap<u16, String>) -> String {
    let is_heading = !cells.contains_key(&0);
    let words = cells.iter().map(|(column, cell)| match cell {
        command if command.starts_with("iozone ") || command.starts_with("ssdyno iozone ") => {
            format!("Command line used: {command}")
        }
        cell if cell.parse::<f64>().is_ok() && !is_heading && *column > 0 => cell.clone(),
        cell => format!("\"{}\"", cell.trim()),
    });
    words.collect::<Vec<_>>().join("  ")
}

fn word(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
}

fn cell(kind: u16, body: &[u8]) -> Option<String> {
    let value = body.get(HEAD..)?;
    match kind {
        LABEL => {
            // A byte with the length; iozone fills the rest with zeros.
            let text = value.get(1..)?.split(|byte| *byte == 0).next()?;
            Some(String::from_utf8_lossy(text).into_owned())
        }
        INTEGER => value.get(..2).map(|b| u16::from_le_bytes([b[0], b[1]]).to_string()),
        NUMBER => {
            let number = f64::from_le_bytes(value.get(..8)?.try_into().ok()?);
            Some(number.to_string())
        }
        _ => None,
    }
}

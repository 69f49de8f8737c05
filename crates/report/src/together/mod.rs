//! Several drives measured with one method: on a screen, as Markdown, and as a page.
//!
//! One table of the figures, alone and at the same time, and one of each drive's deviation from the
//! others. What follows is decided by the caller.

mod page;
mod text;

pub use self::page::html;
pub use self::text::{markdown, text};

/// Several drives.
#[derive(Clone, Debug, Default)]
pub struct SetTable {
    /// The conclusion.
    pub sentence: String,
    /// Whether the host limits the drives.
    pub is_limited: bool,
    pub method: String,
    pub quantities: Vec<QuantityRow>,
    pub drives: Vec<DeviationRow>,
    /// How the table is to be read.
    pub caveat: String,
}

/// A figure of all drives.
#[derive(Clone, Debug, Default)]
pub struct QuantityRow {
    /// Display name.
    pub name: String,
    /// The smallest and the largest value of a drive alone, with units.
    pub lowest: String,
    pub highest: String,
    /// The sums alone and together, with units.
    pub sums: Option<[String; 2]>,
    /// The sum together over the sum alone.
    pub share: Option<f64>,
    /// What the loss is due to, in a word.
    pub loss: String,
}

/// A drive.
#[derive(Clone, Debug, Default)]
pub struct DeviationRow {
    /// Target and model.
    pub name: String,
    /// Its runs: `3, 7`.
    pub runs: String,
    /// Its deviation from the others at each figure, as a fraction.
    pub deviations: Vec<Option<f64>>,
    /// Whether it stands out there.
    pub stands_out: Vec<bool>,
}

/// `5.0 to 5.2 GB/s`, or one value.
fn range(row: &QuantityRow) -> String {
    if row.lowest == row.highest {
        return row.lowest.clone();
    }
    match (row.lowest.split_once(' '), row.highest.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => {
            format!("{number} to {}", row.highest)
        }
        _ => format!("{} to {}", row.lowest, row.highest),
    }
}

/// `-10.2`, in percent; a star where the drive stands out.
fn deviation(deviation: Option<f64>, stands_out: bool) -> String {
    let star = if stands_out { "*" } else { "" };
    match deviation {
        Some(value) => {
            let text = format!("{:+.1}", 100.0 * value);
            // No signed zero.
            format!("{}{star}", if text == "-0.0" || text == "+0.0" { "0.0" } else { &text })
        }
        None => "unknown".into(),
    }
}

/// The letter of a figure.
fn letter(index: usize) -> String {
    char::from(b'A' + u8::try_from(index.min(25)).unwrap_or(25)).to_string()
}

/// `25%`.
fn share(row: &QuantityRow) -> String {
    row.share.map(|share| format!("{:.0}%", 100.0 * share)).unwrap_or_default()
}

#[cfg(test)]
mod tests;

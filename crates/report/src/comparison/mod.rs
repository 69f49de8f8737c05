//! The output of a comparison of runs: on a screen, as Markdown, and as a page.
//!
//! All three show the sides, the conclusion in a sentence, the ratio of each quantity with its
//! interval, and then other differences and doubts; only the page has the curves. The permitted
//! claims are decided by the caller; nothing is computed here.

mod curve;
mod markdown;
mod page;
mod text;

pub use self::curve::{Curve, overlay};
pub use self::markdown::markdown;
pub use self::page::{html, linked_html};
pub use self::text::text;

/// Groups of runs, each compared with the first.
#[derive(Clone, Debug, Default)]
pub struct GroupComparison {
    /// The groups, A first.
    pub sides: Vec<ComparedSide>,
    /// One per side except the first.
    pub against: Vec<Against>,
    /// A caveat for the whole comparison.
    pub caveat: String,
    /// Rates of a common workload over the bytes written; empty without one.
    pub curves: Vec<Curve>,
}

/// A group of runs.
#[derive(Clone, Debug, Default)]
pub struct ComparedSide {
    /// A, B, C ...
    pub letter: char,
    /// The drive or run in a few words, or the letter.
    pub name: String,
    /// Title, runs, method and drive in one line.
    pub heading: String,
}

/// A side compared with the first.
#[derive(Clone, Debug, Default)]
pub struct Against {
    /// Letter of the side.
    pub letter: char,
    /// Names of the first side and of this one.
    pub names: [String; 2],
    /// The conclusion.
    pub sentence: String,
    /// The quantities, the primary ones first.
    pub rows: Vec<ComparedRow>,
    /// Number of quantities omitted from `rows`.
    pub left_out: usize,
    /// Conditions that differ, and doubts.
    pub warnings: Vec<String>,
    /// Minor remarks.
    pub notes: Vec<String>,
}

/// One quantity of two sides.
#[derive(Clone, Debug, Default)]
pub struct ComparedRow {
    /// Display name.
    pub name: String,
    /// The value of A, with its unit.
    pub a: String,
    /// The value of the other side.
    pub b: String,
    /// Whether more is faster.
    pub is_rate: bool,
    /// The other side over A, for the plot.
    pub ratio: Option<f64>,
    /// Interval of the ratio, for the plot.
    pub interval: Option<[f64; 2]>,
    /// The ratio and the conclusion for the page, with the sides' names.
    pub named: SideWords,
    /// The same for tables whose columns are headed by letters.
    pub lettered: SideWords,
    /// The interval of the larger value over the smaller one.
    pub interval_words: String,
    /// Whether there is a claim.
    pub certain: bool,
}

/// What a row says of its sides.
#[derive(Clone, Debug, Default)]
pub struct SideWords {
    /// The larger value over the smaller one: `B 1.31 times`.
    pub ratio: String,
    /// The conclusion in a few words: `B faster`.
    pub claim: String,
}

impl Against {
    /// The factor at both ends of the axis of ratios.
    fn reach(&self) -> f64 {
        crate::forest::reach(self.rows.iter().flat_map(|row| {
            row.interval.into_iter().flatten().chain(row.ratio).collect::<Vec<_>>()
        }))
    }
}

#[cfg(test)]
mod tests;

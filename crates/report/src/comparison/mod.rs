//! A comparison of runs as people see it: on a screen, as Markdown, and as a page.
//!
//! All three show the same in the same order: the sides, the conclusion in a sentence, the ratio of
//! each claimed quantity with its interval, everything else that differs, and then the doubts. Which
//! claims are permitted was decided before; nothing here computes one.

mod curve;
mod markdown;
mod page;
mod text;

pub use self::curve::{Curve, overlay};
pub use self::markdown::markdown;
pub use self::page::html;
pub use self::text::text;

/// Groups of runs, and each of them compared with the first.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The groups, A first.
    pub sides: Vec<Side>,
    /// One for every side but the first.
    pub against: Vec<Against>,
    /// A caveat of all of them.
    pub caveat: String,
    /// Rates of one workload of the sides over the bytes written; empty without a common one.
    pub curves: Vec<Curve>,
}

/// A group of runs.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// A, B, C ...
    pub letter: char,
    /// Its title, runs, method and drive in one line.
    pub heading: String,
}

/// A side compared with the first.
#[derive(Clone, Debug, Default)]
pub struct Against {
    /// Letter of the side.
    pub letter: char,
    /// The conclusion.
    pub sentence: String,
    /// The quantities, the primary ones first.
    pub rows: Vec<Row>,
    /// Quantities that are not in `rows`.
    pub left_out: usize,
    /// Conditions that differ, and doubts.
    pub warnings: Vec<String>,
    /// Smaller remarks.
    pub notes: Vec<String>,
}

/// One quantity of two sides.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Its name as a person says it.
    pub name: String,
    /// The value in A, with its unit.
    pub a: String,
    /// The value in the other side.
    pub b: String,
    /// The other side over A.
    pub ratio: Option<f64>,
    /// The ratio in words: `+31%`.
    pub ratio_words: String,
    /// Interval of the ratio.
    pub interval: Option<[f64; 2]>,
    /// The interval in words.
    pub interval_words: String,
    /// The conclusion in a few words.
    pub claim: String,
    /// Whether something is claimed.
    pub certain: bool,
}

impl Against {
    /// The factor at both ends of the axis of the ratios.
    fn reach(&self) -> f64 {
        let ends =
            |row: &Row| row.interval.into_iter().flatten().chain(row.ratio).collect::<Vec<_>>();
        crate::forest::reach(self.rows.iter().flat_map(ends))
    }
}

#[cfg(test)]
mod tests;

//! A repeated publication: published and repeated figures side by side, as a page and as text; and the
//! same steps on a drive of the user's, as text.
//!
//! The views hold words and numbers that are ready to be shown. Nothing is compared here.

mod beside;
mod page;
mod text;

use record::{Chart, Run};

pub use self::beside::{Beside, BesideFigure, Published, beside};
pub use self::page::html;
pub use self::text::text;

/// Columns of a text chart's rates, and of its longest bar.
pub const SKETCH_COLUMNS: usize = 50;

/// A repeated publication, in words and numbers that are ready to be shown.
#[derive(Clone, Debug)]
pub struct Replication {
    /// Title of the document.
    pub title: String,
    /// The document in a few sentences.
    pub about: String,
    /// The result in one sentence.
    pub sentence: String,
    /// Whether every figure is within its tolerance.
    pub met: bool,
    /// The document's own result, if it has one.
    pub headline: Option<Headline>,
    /// The document's charts for a page; their sources are in `sources`.
    pub charts: Vec<Chart>,
    /// Metrics and series of the charts.
    pub sources: Run,
    /// The same charts for text.
    pub sketches: Vec<Sketch>,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// Names of missed figures, and their reason.
    pub missed: Vec<[String; 2]>,
    /// Open questions of the document, and their answers.
    pub answers: Vec<[String; 2]>,
    /// Its runs.
    pub runs: Vec<RunLine>,
}

/// A run of an experiment.
#[derive(Clone, Debug)]
pub struct RunLine {
    /// Its number, or its id outside of a store.
    pub number: String,
    /// The experiment.
    pub experiment: String,
    /// The virtual drive.
    pub target: String,
    /// The file of its own page, if one was written.
    pub page: Option<String>,
}

/// A chart in text.
#[derive(Clone, Debug)]
pub struct Sketch {
    /// Its title.
    pub title: String,
    /// Name, drawing and values of each line.
    pub lines: Vec<(String, Drawing, String)>,
}

/// The drawing of a line.
#[derive(Clone, Debug)]
pub enum Drawing {
    /// A time series of at most [`SKETCH_COLUMNS`] values.
    Values(Vec<f64>),
    /// A bar of this share of the longest.
    Bar(f64),
}

/// The document's own result.
#[derive(Clone, Debug)]
pub struct Headline {
    /// Its title.
    pub title: String,
    /// Machine, tool and value.
    pub rows: Vec<[String; 3]>,
    /// A difference that these values do not show.
    pub hidden: Option<String>,
}

/// A published figure and ours.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The quantity.
    pub what: String,
    /// As published.
    pub published: String,
    /// As it came out here; `None` if it could not be read.
    pub here: Option<String>,
    /// The unit of both.
    pub unit: String,
    /// Difference in percent, and the difference that is allowed.
    pub off: [String; 2],
    /// Whether it is within its tolerance.
    pub met: bool,
    /// Whether it was fitted, stated or predicted.
    pub basis: String,
    /// Its place in the document.
    pub source: String,
}

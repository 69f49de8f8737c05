//! A repeated publication: published and repeated figures side by side, as a page and as text; and
//! the same steps on the user's drive, as text.
//!
//! The views contain words and numbers ready for display. Nothing is compared here.

mod beside;
mod claims;
mod page;
mod text;

use record::{Chart, Run};

pub use self::beside::{Beside, BesideFigure, Published, beside};
pub use self::claims::{ClaimEntry, ClaimPlace, ClaimState, Claims, claims_text};
pub use self::page::html;
pub use self::text::text;

/// Maximum width of a time series in a text chart.
pub const SKETCH_COLUMNS: usize = 50;

/// A repeated publication, in words and numbers ready for display.
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
    pub figures: Vec<ReplicatedFigure>,
    /// Every statement of the document by its place.
    pub claims: Claims,
    /// Names of missed figures, with the reason.
    pub missed: Vec<[String; 2]>,
    /// Open questions of the document, with their answers.
    pub answers: Vec<[String; 2]>,
    pub runs: Vec<RunLine>,
}

/// A run of an experiment.
#[derive(Clone, Debug)]
pub struct RunLine {
    /// Its number, or its id outside a store.
    pub number: String,
    pub experiment: String,
    /// The virtual drive.
    pub target: String,
    /// The file of its page, if one was written.
    pub page: Option<String>,
}

/// A chart in text.
#[derive(Clone, Debug)]
pub struct Sketch {
    pub title: String,
    /// Name, drawing and values of each line.
    pub lines: Vec<(String, Drawing, String)>,
}

/// How a line is drawn.
#[derive(Clone, Debug)]
pub enum Drawing {
    /// A time series of at most [`SKETCH_COLUMNS`] values.
    Values(Vec<f64>),
    /// A bar with this fraction of the longest bar's length.
    Bar(f64),
}

/// The document's own result.
#[derive(Clone, Debug)]
pub struct Headline {
    pub title: String,
    /// Machine, tool and value.
    pub rows: Vec<[String; 3]>,
    /// A difference not visible in these values.
    pub hidden: Option<String>,
}

/// A published figure and ours.
#[derive(Clone, Debug)]
pub struct ReplicatedFigure {
    /// The quantity.
    pub what: String,
    pub published: String,
    /// The repeated value; `None` if it could not be read.
    pub here: Option<String>,
    /// The unit of both.
    pub unit: String,
    /// Difference in percent, and the tolerance.
    pub off: [String; 2],
    /// Whether it is within its tolerance.
    pub met: bool,
    /// Whether it was fitted, stated or predicted.
    pub basis: String,
    /// Its position in the document.
    pub source: String,
}

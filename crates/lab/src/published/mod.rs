//! Records of figures published by others, transcribed in `published/figures/*.toml`.
//!
//! A published record is marked by its origin, and is listed, shown and compared like the user's
//! own runs. Anything that a publication does not print stays unknown.

mod figure;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use record::{
    Answer, DriveIdentity, FileSystem, Finding, FindingKind, Level, Metric, MetricKey, Origin,
    OriginKind, Run, State, Statistic, Target,
};
use serde::Deserialize;

pub(crate) use self::figure::{Meant, ParsedFigure, Printed};
use crate::error::{LabError, Result};

/// Prefix of the ids of published records: `pub:003/m225-fresh`.
pub const PREFIX: &str = "pub:";

/// Names and texts of the documents.
const DOCUMENTS: [(&str, &str); 5] = [
    ("000", include_str!("../../../../published/figures/000.toml")),
    ("001", include_str!("../../../../published/figures/001.toml")),
    ("002", include_str!("../../../../published/figures/002.toml")),
    ("003", include_str!("../../../../published/figures/003.toml")),
    ("004", include_str!("../../../../published/figures/004.toml")),
];

/// A publication.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    title: String,
    by: String,
    /// The year, or the full date.
    published: String,
    #[serde(rename = "about")]
    _about: String,
    /// Defaults for all runs.
    common: Entry,
    #[serde(rename = "column", default)]
    columns: Vec<Column>,
    #[serde(rename = "run")]
    runs: Vec<Entry>,
}

/// A figure that several runs share.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Column {
    name: String,
    unit: String,
    /// A description for readers of the file.
    #[serde(rename = "what")]
    _what: String,
    /// Metrics in ssdyno's records for the same quantity.
    #[serde(default)]
    same_as: Vec<String>,
}

/// One line of a table, or one measurement in a text: drive, tool, place and figures.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Entry {
    id: String,
    drive: Option<String>,
    serial: Option<String>,
    firmware: Option<String>,
    machine: Option<String>,
    system: Option<String>,
    filesystem: Option<String>,
    state: Option<State>,
    direct: Option<bool>,
    method: Option<String>,
    tool: Option<String>,
    version: Option<String>,
    command: Option<String>,
    started: Option<String>,
    place: Option<String>,
    figures: BTreeMap<String, Printed>,
    /// The result in a sentence, if no method answers a question with these figures.
    headline: Option<String>,
    /// Metrics in ssdyno's records, for figures whose quantity depends on the entry.
    same_as: BTreeMap<String, String>,
    notes: Vec<String>,
}

/// All published runs, in the order of the documents.
pub fn all() -> Result<Vec<Run>> {
    let mut runs = Vec::new();
    for (name, _) in DOCUMENTS {
        let document = document(name)?;
        runs.extend(document.runs.iter().map(|entry| run(name, &document, entry)));
    }
    Ok(runs)
}

/// The published run with this id.
pub fn find(id: &str) -> Result<Run> {
    let path = id.strip_prefix(PREFIX).unwrap_or(id);
    let (name, entry) = path.split_once('/').unwrap_or((path, ""));
    let unknown =
        || LabError::usage(format!("no published record '{id}'")).advise("ssdyno runs --published");
    DOCUMENTS.iter().find(|(known, _)| *known == name).ok_or_else(unknown)?;
    let document = document(name)?;
    let entry = document.runs.iter().find(|e| e.id == entry).ok_or_else(unknown)?;
    Ok(run(name, &document, entry))
}

/// A figure by its path, such as `003/m225-fresh/random-write`, and its source in the document.
pub(crate) fn figure(path: &str) -> std::result::Result<(ParsedFigure, String), String> {
    let unknown = || format!("no published figure '{path}'");
    let mut parts = path.splitn(3, '/');
    let (Some(name), Some(entry), Some(figure)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(unknown());
    };
    let document = document(name).map_err(|e| e.to_string())?;
    let entry = document.runs.iter().find(|e| e.id == entry).ok_or_else(unknown)?;
    let figure = read(&document, entry).into_iter().find(|(name, _)| name == figure);
    let place = entry.place.clone().or_else(|| document.common.place.clone());
    Ok((figure.ok_or_else(unknown)?.1, place.unwrap_or_default()))
}

/// The figures at a path whose entry may contain one `*`, with their entries: `000/*-usb/hd-read`.
/// Entries without the figure are left out; `None` if the document is unknown.
pub(crate) fn figures(path: &str) -> Option<Vec<(String, ParsedFigure)>> {
    let mut parts = path.splitn(3, '/');
    let (name, pattern, column) = (parts.next()?, parts.next()?, parts.next()?);
    DOCUMENTS.iter().find(|(known, _)| *known == name)?;
    let document = document(name).ok()?;
    let (prefix, suffix) = pattern.split_once('*').unwrap_or((pattern, ""));
    let entries = document.runs.iter().filter(|entry| match entry.id.strip_prefix(prefix) {
        Some(rest) if pattern.contains('*') => rest.ends_with(suffix),
        Some(rest) => rest.is_empty(),
        None => false,
    });
    let figures = entries.filter_map(|entry| {
        let figures = read(&document, entry).into_iter();
        let (_, figure) = figures.into_iter().find(|(name, _)| name == column)?;
        Some((entry.id.clone(), figure))
    });
    Some(figures.collect())
}

/// Whether a word is a path to a figure, such as `004/usd-sandisk-4g-class2/read`, rather than a
/// web address.
pub(crate) fn is_path(word: &str) -> bool {
    let document = word.split_once('/').filter(|(_, row)| row.contains('/'));
    document.is_some_and(|(name, _)| name.len() == 3 && name.bytes().all(|b| b.is_ascii_digit()))
}

/// Names for the quantity of a published run's metric, its own name first.
pub(crate) fn names(run: &Run, metric: &str) -> Vec<String> {
    let mut names = vec![metric.to_string()];
    let path = run.id.strip_prefix(PREFIX).and_then(|path| path.split_once('/'));
    let document = path.and_then(|(name, entry)| Some((document(name).ok()?, entry)));
    let Some((document, entry)) = document else { return names };
    let entry = document.runs.iter().find(|e| e.id == entry);
    let tile_names = entry.and_then(|e| e.same_as.get(metric));
    let column = document.columns.iter().find(|c| c.name == metric);
    names.extend(tile_names.cloned());
    names.extend(column.iter().flat_map(|c| c.same_as.clone()));
    names
}

/// Whether a run is a published one.
pub fn is_published(run: &Run) -> bool {
    run.id.starts_with(PREFIX)
}

fn document(name: &str) -> Result<Document> {
    let text = DOCUMENTS.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text);
    toml::from_str(text).map_err(|e| LabError::usage(format!("published/figures/{name}.toml: {e}")))
}

/// The figures of an entry: columns first, in their order.
fn read(document: &Document, entry: &Entry) -> Vec<(String, ParsedFigure)> {
    let column = |name: &str| document.columns.iter().position(|c| c.name == name);
    let mut figures: Vec<_> = entry.figures.iter().collect();
    figures.sort_by_key(|(name, _)| column(name).unwrap_or(usize::MAX));
    let parsed = figures.into_iter().filter_map(|(name, printed)| {
        let unit = column(name).map(|i| document.columns[i].unit.as_str());
        Some((name.clone(), ParsedFigure::read(printed, unit)?))
    });
    parsed.collect()
}

fn run(name: &str, document: &Document, entry: &Entry) -> Run {
    let entry = &entry.or(&document.common);
    let figures = read(document, entry);
    let method = entry.method.as_deref().unwrap_or("text");
    let mut run = Run::elsewhere(env!("CARGO_PKG_VERSION"), method, entry.origin(document));
    run.id = format!("{PREFIX}{name}/{}", entry.id);
    run.started = entry.started.clone().unwrap_or_else(|| moment(&document.published));
    run.target = entry.target(run.target);
    run.environment.board.clone_from(&entry.machine);
    run.environment.os.clone_from(&entry.system);
    run.state_before = entry.state.unwrap_or_default();
    run.metrics = figures.iter().flat_map(|(name, figure)| metrics(name, figure)).collect();
    run.warnings = notes(entry, &figures);
    if let Some(headline) = entry.headline.clone() {
        run.answer = Some(Answer { headline, ..methods::answer(&run) });
    }
    run
}

/// Start of the given year or day, UTC.
fn moment(published: &str) -> String {
    let day = if published.len() == 4 { format!("{published}-01-01") } else { published.into() };
    format!("{day}T00:00:00Z")
}

/// Converts a figure to metrics. A range becomes two, one for each end, because its distribution is
/// unknown.
fn metrics(name: &str, figure: &ParsedFigure) -> Vec<Metric> {
    let (unit, scale) = figure.scale();
    let suffix = match figure.unit {
        "%" if !name.ends_with("-percent") => "-percent",
        "GBP" => "-gbp",
        _ => "",
    };
    let key = MetricKey::parse(&format!("{name}{suffix}"));
    let metric =
        |statistic, value: f64| Metric::single(key.clone().with(statistic), unit, value * scale);
    match (figure.to, figure.meant) {
        (Some(to), _) => {
            vec![metric(Statistic::Lowest, figure.value), metric(Statistic::Highest, to)]
        }
        (None, Meant::AtLeast) => vec![metric(Statistic::AtLeast, figure.value)],
        (None, Meant::AtMost) => vec![metric(Statistic::AtMost, figure.value)],
        (None, _) => vec![Metric::single(key, unit, figure.value * scale)],
    }
}

fn notes(entry: &Entry, figures: &[(String, ParsedFigure)]) -> Vec<Finding> {
    let hedges = figures.iter().filter(|(_, f)| f.meant == Meant::About);
    let hedges =
        hedges.map(|(name, f)| format!("{name} was printed as \"about {} {}\"", f.value, f.unit));
    let texts = entry.notes.iter().cloned().chain(hedges);
    let numbered = texts.enumerate();
    numbered
        .map(|(i, text)| {
            Finding::new(FindingKind::Other(format!("note-{}", i + 1)), Level::Note, text)
        })
        .collect()
}

impl Entry {
    /// Completes this entry with the document's defaults.
    fn or(&self, common: &Entry) -> Entry {
        let (entry, shared) = (self.clone(), common.clone());
        Entry {
            id: entry.id,
            drive: entry.drive.or(shared.drive),
            serial: entry.serial.or(shared.serial),
            firmware: entry.firmware.or(shared.firmware),
            machine: entry.machine.or(shared.machine),
            system: entry.system.or(shared.system),
            filesystem: entry.filesystem.or(shared.filesystem),
            state: entry.state.or(shared.state),
            direct: entry.direct.or(shared.direct),
            method: entry.method.or(shared.method),
            tool: entry.tool.or(shared.tool),
            version: entry.version.or(shared.version),
            command: entry.command.or(shared.command),
            started: entry.started.or(shared.started),
            place: entry.place.or(shared.place),
            figures: entry.figures,
            headline: entry.headline,
            same_as: entry.same_as,
            notes: entry.notes,
        }
    }

    fn target(&self, unknown: Target) -> Target {
        let drive = self.drive.as_ref().map(|name| DriveIdentity {
            bus: "bus unknown".to_string(),
            model: Some(name.clone()),
            serial: self.serial.clone(),
            firmware: self.firmware.clone(),
            ..DriveIdentity::default()
        });
        let filesystem =
            self.filesystem.as_ref().map(|f| FileSystem { kind: f.clone(), ..Default::default() });
        Target { drive, filesystem, direct: self.direct, ..unknown }
    }

    fn origin(&self, document: &Document) -> Origin {
        Origin {
            kind: OriginKind::Published,
            tool: self.tool.clone(),
            version: self.version.clone(),
            source: format!("{} ({}, {})", document.title, document.by, document.published),
            place: self.place.clone(),
            command: self.command.clone(),
            title: None,
            start_known: self.started.is_some(),
        }
    }
}

//! Figures of the user's own drive next to the published ones. Pure.

use serde::Deserialize;

use super::here::Done;
use super::unit::Unit;
use crate::published;

/// A figure of a step, and the published figures to show next to it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepFigure {
    /// A description for readers.
    #[serde(rename = "what")]
    pub title: String,
    /// The step that measures it.
    pub step: String,
    /// The metric, or the part of its name after a dot.
    pub read: String,
    /// The unit for display.
    pub unit: Unit,
    /// Published figures, by their paths in `published/figures`.
    #[serde(default, deserialize_with = "published_figures")]
    pub of: Vec<PublishedRange>,
    /// The description of all published figures together, if they are shown as one range.
    #[serde(default)]
    pub range: Option<String>,
}

/// A published figure, or the range of several, in the record's unit.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedRange {
    /// The value, or the lower end of a range.
    pub low: f64,
    /// The value, or the upper end of a range.
    pub high: f64,
    /// The drive and the system of the measurement.
    pub source: String,
}

fn published_figures<'de, D>(data: D) -> Result<Vec<PublishedRange>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    let paths = Vec::<String>::deserialize(data)?;
    paths.iter().map(|path| published_at(path).map_err(serde::de::Error::custom)).collect()
}

/// The figure at a path such as `000/ramfs/hd-read`.
fn published_at(path: &str) -> Result<PublishedRange, String> {
    let (figure, _) = published::figure(path)?;
    let scale = figure.scale().1;
    let entry = path.rsplit_once('/').map_or(path, |(entry, _)| entry);
    let run = published::find(entry).map_err(|e| e.to_string())?;
    let drive = run.target.drive.as_ref().and_then(|drive| drive.model.clone());
    let source: Vec<String> = [drive, run.environment.os].into_iter().flatten().collect();
    let (low, high) = (figure.value * scale, figure.to.unwrap_or(figure.value) * scale);
    Ok(PublishedRange { low, high, source: source.join(", ") })
}

impl StepFigure {
    /// The measured figure, in the record's unit.
    fn measured(&self, done: &[Done]) -> Option<f64> {
        let step = done.iter().find(|step| step.step == self.step)?;
        let mut metrics = step.recorded.run.metrics.iter();
        metrics.find(|m| m.key().ends_with(&self.read))?.value
    }

    /// The published figures, or their range as one.
    pub fn published(&self) -> Vec<PublishedRange> {
        let Some(source) = self.range.clone() else { return self.of.clone() };
        let low = self.of.iter().map(|p| p.low).fold(f64::INFINITY, f64::min);
        let high = self.of.iter().map(|p| p.high).fold(f64::NEG_INFINITY, f64::max);
        vec![PublishedRange { low, high, source }]
    }
}

/// The figures of the completed steps, in the record's units.
pub(super) fn figures<'d>(figures: &'d [StepFigure], done: &[Done]) -> Vec<(&'d StepFigure, f64)> {
    figures.iter().filter_map(|figure| Some((figure, figure.measured(done)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_figures_name_their_drive() {
        let found = published_at("000/sabrent-512-linux/fs-read").expect("it is there");
        assert_eq!((found.low, found.high), (36_900_000.0, 36_900_000.0));
        assert_eq!(found.source, "NVMe Sabrent 512GB, Linux");
        assert!(published_at("000/nobody/fs-read").is_err());
    }
}

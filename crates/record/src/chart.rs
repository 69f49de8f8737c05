//! Charts of an answer: how the metrics and series of a record are shown.
//!
//! A chart names its sources and contains no measured data, so it always agrees with its record.
//! It adds labels, positions on the axis, marks, bands and a fitted line. Methods build it with
//! [`Chart::bars`] and its siblings; `report` draws it.
//!
//! Fields with one value per source (`labels`, `groups`, `places`) are empty if the chart does not
//! need them.

use serde::{Deserialize, Serialize};

use crate::Unit;
use crate::kind::kinds;

kinds! {
    /// The form of a chart.
    ChartKind {
        /// One bar with its interval per source, in order. Each source is a metric. Sources of a
        /// group stand side by side, such as reads and writes, or two formats.
        Bars = "bars",
        /// One line per source. Each source names a series, of which the columns in the chart's
        /// unit are drawn.
        Lines = "lines",
        /// One point with its interval per source, at its position on the axis. Each source is a
        /// metric. The points of a group are joined.
        Points = "points",
        /// One coloured cell per source. Each source is a metric; its group is the row, its label
        /// the column.
        Heatmap = "heatmap",
        /// A strip along the axis. Each source names a series whose rows are parts of the axis, from
        /// their `position` to their `end`; each part is divided in proportion to the columns in the
        /// chart's unit. The first column is the expected one.
        Map = "map",
    }
}

kinds! {
    /// The horizontal axis of a chart.
    Axis {
        /// One position per source.
        Workload = "workload",
        /// Time since the beginning, seconds.
        Time = "time",
        /// Time since the beginning of each source, seconds: sources that ran one after the other
        /// start together.
        OwnTime = "own_time",
        /// Bytes written since the beginning.
        BytesWritten = "bytes_written",
        /// Address on the drive, bytes.
        Address = "address",
        /// Queue depth.
        QueueDepth = "queue_depth",
        /// Block size, bytes.
        BlockSize = "block_size",
        /// Spacing of block boundaries, bytes.
        Offset = "offset",
        /// Share of reads, percent.
        ReadShare = "read_share",
        /// Share of the bytes of a workload, percent.
        ShareOfBytes = "share_of_bytes",
        /// Number of the round, from 1.
        Round = "round",
        /// Idle time before the workload, seconds.
        Rest = "rest",
        /// Requested operations per second.
        Demand = "demand",
        /// Size of the working set, bytes.
        WorkingSet = "working_set",
    }
}

/// A labelled position on the horizontal axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Its label.
    pub label: String,
    /// Its position, in the unit of the axis (bytes, seconds).
    pub at: f64,
    /// Lower end of the position's interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the position's interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// A labelled area of the plot: a level (both ends of `y` are equal), a window of rounds, or a
/// range in which values should stay. A missing `x` or `y` extends to the edges of the plot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// Its label; may be empty.
    pub label: String,
    /// Both ends on the horizontal axis, in its unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<[f64; 2]>,
    /// Both ends on the vertical axis, in the chart's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y: Option<[f64; 2]>,
}

/// A straight line fitted to points: `at_zero + slope * x`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedLine {
    /// Its label.
    pub label: String,
    /// Value at the origin, in the chart's unit.
    pub at_zero: f64,
    /// Change of the value per unit of the axis.
    pub slope: f64,
}

/// A chart of metrics or series of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// Title.
    pub title: String,
    /// Its form.
    pub kind: ChartKind,
    /// The horizontal axis.
    pub x: Axis,
    /// Unit of the vertical axis.
    pub y: Unit,
    /// Keys of metrics, or names of series.
    pub sources: Vec<String>,
    /// Display name of each source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Group of each source, for sources that are compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Position of each source on the horizontal axis, in its unit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<f64>,
    /// Marks on the horizontal axis.
    #[serde(default)]
    pub marks: Vec<Mark>,
    /// Levels, windows and ranges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<Band>,
    /// Fitted lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fits: Vec<FittedLine>,
}

impl Chart {
    fn new(title: impl Into<String>, kind: ChartKind, x: Axis, y: Unit) -> Chart {
        Chart {
            title: title.into(),
            kind,
            x,
            y,
            sources: Vec::new(),
            labels: Vec::new(),
            groups: Vec::new(),
            places: Vec::new(),
            marks: Vec::new(),
            bands: Vec::new(),
            fits: Vec::new(),
        }
    }

    /// A bar chart of metrics; add them with [`Chart::source`] or [`Chart::grouped`].
    pub fn bars(title: impl Into<String>, y: Unit) -> Chart {
        Chart::new(title, ChartKind::Bars, Axis::Workload, y)
    }

    /// A line chart of series; add them with [`Chart::source`].
    pub fn lines(title: impl Into<String>, x: Axis, y: Unit) -> Chart {
        Chart::new(title, ChartKind::Lines, x, y)
    }

    /// A chart of points; add metrics with [`Chart::point`].
    pub fn points(title: impl Into<String>, x: Axis, y: Unit) -> Chart {
        Chart::new(title, ChartKind::Points, x, y)
    }

    /// A heat map of metrics. Add them with [`Chart::grouped`]: the group is the row, the label the
    /// column.
    pub fn heatmap(title: impl Into<String>, x: Axis, y: Unit) -> Chart {
        Chart::new(title, ChartKind::Heatmap, x, y)
    }

    /// A strip of parts of the axis; add its series with [`Chart::source`].
    pub fn map(title: impl Into<String>, x: Axis, y: Unit) -> Chart {
        Chart::new(title, ChartKind::Map, x, y)
    }

    /// Adds a metric or a series by its key, with its display name. Must not be mixed with the
    /// other methods that add one.
    #[must_use]
    pub fn source(mut self, key: impl Into<String>, label: impl Into<String>) -> Chart {
        self.sources.push(key.into());
        self.labels.push(label.into());
        self
    }

    /// Adds metrics or series as [`Chart::source`] does, each by its key, with its display name.
    #[must_use]
    pub fn sources<K: Into<String>, L: Into<String>>(
        self,
        sources: impl IntoIterator<Item = (K, L)>,
    ) -> Chart {
        sources.into_iter().fold(self, |chart, (key, label)| chart.source(key, label))
    }

    /// Adds a metric to a group.
    #[must_use]
    pub fn grouped(
        mut self,
        group: impl Into<String>,
        key: impl Into<String>,
        label: impl Into<String>,
    ) -> Chart {
        self.groups.push(group.into());
        self.source(key, label)
    }

    /// Adds a metric at a position on the horizontal axis; the points of a group are joined.
    #[must_use]
    pub fn point(mut self, group: impl Into<String>, key: impl Into<String>, at: f64) -> Chart {
        self.groups.push(group.into());
        self.places.push(at);
        self.sources.push(key.into());
        self
    }

    /// Adds the metrics of a group as [`Chart::point`] does, each at its position.
    #[must_use]
    pub fn joined<K: Into<String>>(
        self,
        group: &str,
        points: impl IntoIterator<Item = (K, f64)>,
    ) -> Chart {
        points.into_iter().fold(self, |chart, (key, at)| chart.point(group, key, at))
    }

    /// Marks a position on the horizontal axis, in its unit.
    #[must_use]
    pub fn mark(mut self, label: impl Into<String>, at: f64) -> Chart {
        self.marks.push(Mark { label: label.into(), at, low: None, high: None });
        self
    }

    /// Adds a level between two positions, or over the whole width.
    #[must_use]
    pub fn level(mut self, label: impl Into<String>, value: f64, x: Option<[f64; 2]>) -> Chart {
        self.bands.push(Band { label: label.into(), x, y: Some([value; 2]) });
        self
    }

    /// Keeps the sources for which `keep` returns true.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        let keeps: Vec<bool> = self.sources.iter().map(|source| keep(source)).collect();
        fn filter<T>(values: &mut Vec<T>, keeps: &[bool]) {
            let mut flags = keeps.iter();
            values.retain(|_| flags.next().copied().unwrap_or(false));
        }
        filter(&mut self.sources, &keeps);
        filter(&mut self.labels, &keeps);
        filter(&mut self.groups, &keeps);
        filter(&mut self.places, &keeps);
    }

    /// Whether it has nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_of_earlier_versions_load_and_unused_fields_are_omitted() {
        let json = r#"{"title":"t","kind":"lines","x":"bytes_written","y":"B/s",
            "sources":["a"],"marks":[{"label":"end","at":3.0}]}"#;
        let chart: Chart = serde_json::from_str(json).expect("as written by 0.1");
        assert!(chart.labels.is_empty() && chart.marks[0].low.is_none());
        let text = serde_json::to_string(&chart).expect("plain data");
        assert_eq!(text, json.split_whitespace().collect::<String>());
        let full = Chart::points("t", Axis::Offset, Unit::Number).point("g", "a", 512.0);
        let full = full.mark("page", 4096.0).level("aligned", 1.0, None);
        let text = serde_json::to_string(&full).expect("plain data");
        assert_eq!(serde_json::from_str::<Chart>(&text).expect("the same"), full);
    }
}

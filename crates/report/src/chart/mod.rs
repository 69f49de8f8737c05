//! The charts of an answer as SVG, drawn without a script, so that they print, need no network and
//! can be checked as text.
//!
//! Each chart is drawn twice, for desktop and phone, because scaled text is unreadable; the style
//! sheet shows one of them. Colours are classes of that sheet. Every figure is a `role="img"` with
//! an equivalent text. Gaps in the data remain gaps.

mod bars;
mod canvas;
pub(crate) mod distribution;
mod heatmap;
pub(crate) mod history;
mod lines;
mod map;
mod plane;
mod points;
mod scale;
mod trace;

use maud::{Markup, html as markup};
use record::{Axis, Chart, ChartKind, Metric, Run, Unit};

use canvas::Canvas;

/// Widths of the two forms, in pixels: the page's text column, and a phone.
const WIDE: f64 = 1112.0;
const NARROW: f64 = 358.0;

/// All non-empty charts of the run's answer.
pub(crate) fn charts(run: &Run) -> Vec<Markup> {
    drawn(run.answer.as_ref().map_or(&[], |answer| &answer.charts), run)
}

/// The charts for which the record has data.
pub(crate) fn drawn(charts: &[Chart], run: &Run) -> Vec<Markup> {
    charts.iter().filter_map(|chart| figure(chart, run)).collect()
}

/// A chart as a figure; `None` if the record has none of its sources.
fn figure(chart: &Chart, run: &Run) -> Option<Markup> {
    let drawing = match &chart.kind {
        ChartKind::Bars => bars::draw(chart, run),
        ChartKind::Lines => lines::draw(chart, run),
        ChartKind::Points => points::draw(chart, run),
        ChartKind::Heatmap => heatmap::draw(chart, run),
        ChartKind::Map => map::draw(chart, run),
        ChartKind::Other(name) => return Some(of_a_later_version(chart, name)),
    }?;
    Some(drawing.figure(&chart.title))
}

/// The placeholder for a chart whose form this version cannot draw.
fn of_a_later_version(chart: &Chart, form: &str) -> Markup {
    markup! {
        figure.answer {
            figcaption { b { (chart.title) } }
            p { "This chart of the form '" (form) "' requires a later version of ssdyno." }
        }
    }
}

/// A chart in both forms.
struct Drawn {
    wide: Markup,
    narrow: Markup,
    /// Classes and names of its parts; empty for a single part.
    key: Vec<(String, String)>,
    /// The content as text.
    said: String,
}

impl Drawn {
    fn new(key: Vec<(String, String)>, words: Vec<String>, draw: impl Fn(bool) -> Canvas) -> Drawn {
        let key = if key.len() > 1 { key } else { Vec::new() };
        let (wide, narrow) = (draw(false).finish("wide"), draw(true).finish("narrow"));
        Drawn { wide, narrow, key, said: words.join("; ") }
    }
}

impl Drawn {
    fn figure(&self, title: &str) -> Markup {
        markup! {
            figure.answer {
                figcaption {
                    b { (title) }
                    @for (class, name) in &self.key { span.key.(class) { (name) } }
                }
                div role="img" aria-label=(emit::plain(&format!("{title}: {}", self.said))) {
                    (self.wide) (self.narrow)
                }
            }
        }
    }
}

/// The throughput of a run over time, from its latest series so far; `None` before the first interval.
pub fn throughput(run: &Run) -> Option<Markup> {
    // In the order of their first rounds, so that a run in progress keeps its colours.
    let mut names = crate::names::distinct(run.series.iter().map(|series| series.name.as_str()));
    // The latest, one colour each.
    let first = names.len().saturating_sub(COLOURS);
    names.drain(..first);
    let sources = names.into_iter().map(|name| (name, run.naming().step(name, &run.method)));
    figure(&Chart::lines("Throughput", Axis::Time, Unit::BytesPerSecond).sources(sources), run)
}

/// Number of colours.
const COLOURS: usize = 8;

/// The classes of the parts of a chart, which give them their colours.
struct Classes {
    /// Colours at the start of the list that the parts do not share.
    taken: usize,
}

impl Classes {
    /// Those of a chart with these parts: reads and writes have the page's colours for them, which
    /// are also the first two of the list.
    fn new<'l>(mut labels: impl Iterator<Item = &'l str>) -> Classes {
        let has_sides = labels.any(|label| matches!(label, "reads" | "writes"));
        Classes { taken: if has_sides { 2 } else { 0 } }
    }

    fn class(&self, label: &str, index: usize) -> String {
        match label {
            "reads" => "s-read".into(),
            "writes" => "s-write".into(),
            _ => format!("s{}", (self.taken + index) % COLOURS),
        }
    }
}

/// One value of a metric, in the unit of the chart.
#[derive(Clone, Copy)]
struct ChartValue {
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
}

/// A metric's figure in a chart's unit. In a chart of times, a throughput becomes the time of one
/// operation of that many `bytes`.
fn figure_of(metric: &Metric, unit: Unit, bytes: f64) -> Option<ChartValue> {
    let Metric { value, low, high, .. } = metric;
    let [value, low, high] = [*value, *low, *high].map(|v| v.filter(|v| v.is_finite()));
    let value = value?;
    if unit != Unit::Nanoseconds || metric.unit != Unit::BytesPerSecond {
        return Some(ChartValue { value, low, high });
    }
    let [value, low, high] = [Some(value), high, low]
        .map(|rate| rate.filter(|rate| *rate > 0.0 && bytes > 0.0).map(|rate| bytes * 1e9 / rate));
    Some(ChartValue { value: value?, low, high })
}

/// The display name of a source.
fn label_of(chart: &Chart, index: usize) -> String {
    let label = chart.labels.get(index).filter(|label| !label.is_empty());
    label.cloned().unwrap_or_else(|| record::MetricKey::parse(&chart.sources[index]).in_words())
}

/// The group of a source; empty if it has none.
fn group_of(chart: &Chart, index: usize) -> &str {
    chart.groups.get(index).map_or("", String::as_str)
}

//! Traces, the lines of a chart: the points of a series on the chart's axis, split at gaps and
//! thinned to the width of a screen.

use record::{Axis, Chart, Column, Run, Series};

/// Name of the part of a line whose blocks hold no data: never written, or discarded.
pub(super) const WITHOUT_DATA: &str = "blocks without data";

/// Maximum number of buckets in a line without gaps: a point for every other pixel on a desktop.
/// Each gap may add one.
const BUCKETS: usize = 500;

/// A pause this many times longer than an interval is a gap.
const GAP_INTERVALS: f64 = 3.0;

/// A line of a chart.
pub(super) struct Trace {
    /// Display name.
    pub(super) name: String,
    /// Pieces without gaps.
    pub(super) pieces: Vec<Vec<Bucket>>,
    /// Whether it shows blocks without data.
    pub(super) unmapped: bool,
}

/// The values around a position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bucket {
    pub(super) x: f64,
    pub(super) low: f64,
    pub(super) mid: f64,
    pub(super) high: f64,
}

/// A point, and whether it starts a piece.
#[derive(Clone, Copy)]
struct TracePoint {
    x: f64,
    y: f64,
    begins: bool,
    unmapped: bool,
}

/// The lines of a source.
pub(super) fn traces(chart: &Chart, run: &Run, index: usize) -> Vec<Trace> {
    let label = super::label_of(chart, index);
    let series: Vec<&Series> =
        run.series.iter().filter(|s| s.name == chart.sources[index]).collect();
    let names = columns(chart, &series);
    let mut traces = Vec::new();
    for name in &names {
        let points = points(chart, run, &series, name);
        let name = match (names.len(), label.as_str()) {
            (1, _) => label.clone(),
            (_, label) => format!("{label}, {name}s"),
        };
        for unmapped in [false, true] {
            let pieces = pieces(&points, unmapped);
            if pieces.is_empty() {
                continue;
            }
            let name = if unmapped { format!("{name}, {WITHOUT_DATA}") } else { name.clone() };
            traces.push(Trace { name, pieces: reduced(pieces), unmapped });
        }
    }
    traces
}

/// The columns shown by a chart: reads and writes if they are in its unit, otherwise the first
/// other column in that unit.
fn columns(chart: &Chart, series: &[&Series]) -> Vec<String> {
    let columns = series.iter().flat_map(|s| &s.columns);
    let columns = columns.filter(|c| c.unit == chart.y && c.values.iter().any(Option::is_some));
    let names: Vec<(&str, bool)> = columns.map(|c| (c.name.as_str(), c.is_extreme())).collect();
    let sides =
        ["read", "write"].into_iter().filter(|side| names.iter().any(|(name, _)| name == side));
    let sides: Vec<String> = sides.map(String::from).collect();
    if !sides.is_empty() {
        return sides;
    }
    let other = names.into_iter().find(|(name, is_extreme)| {
        !is_extreme
            && !name.starts_with("device.")
            && !["position", "unmapped", "written"].contains(name)
    });
    other.map(|(name, _)| name.to_string()).into_iter().collect()
}

fn points(chart: &Chart, run: &Run, series: &[&Series], name: &str) -> Vec<TracePoint> {
    let is_time = matches!(chart.x, Axis::Time | Axis::OwnTime);
    let series_shown = run.series.iter().filter(|series| chart.sources.contains(&series.name));
    let origin = match chart.x {
        Axis::OwnTime => series.iter().map(|series| series.start_ns).min(),
        _ => series_shown.map(|series| series.start_ns).min(),
    };
    let origin = origin.unwrap_or(0);
    let mut points = Vec::new();
    let (mut bytes, mut round, mut end_time) = (0.0, 0.0, f64::NEG_INFINITY);
    for series in series {
        let Some(column) = series.column(name) else { continue };
        let start = series.start_ns.saturating_sub(origin) as f64 / 1e9;
        let place = BytePositions::new(&chart.x, series);
        let (mut previous, mut last_x) = (0.0, None::<f64>);
        for (i, (t, value)) in series.t_ns.iter().zip(&column.values).enumerate() {
            let t = *t as f64 / 1e9;
            let (span, middle) = (t - previous, start + (t + previous) / 2.0);
            let bytes_moved = place.moved(i, span);
            round += 1.0;
            let x = match chart.x {
                Axis::Round => round,
                Axis::BytesWritten | Axis::Address => {
                    place.known(i).unwrap_or(bytes + bytes_moved / 2.0)
                }
                _ => middle,
            };
            (bytes, previous) = (bytes + bytes_moved, t);
            let Some(y) = value.filter(|v| v.is_finite()) else { continue };
            let pause = start + t - span - last_x.unwrap_or(end_time);
            // Sensors are read less often than other values; their pauses within a series are not
            // gaps.
            let rare = chart.y == record::Unit::Celsius && last_x.is_some();
            let begins = is_time && !rare && pause > GAP_INTERVALS * span;
            last_x = Some(start + t);
            points.push(TracePoint { x, y, begins, unmapped: place.unmapped(i) });
        }
        end_time = start + previous;
    }
    points
}

/// The positions of a series' rows on an axis of bytes.
struct BytePositions<'s> {
    known: Option<&'s Column>,
    unmapped: Option<&'s Column>,
    rates: Vec<&'s Column>,
}

impl<'s> BytePositions<'s> {
    fn new(axis: &Axis, series: &'s Series) -> BytePositions<'s> {
        let positions = match axis {
            Axis::Address => series.column("position"),
            Axis::BytesWritten => series.column("written"),
            _ => None,
        };
        let rates: &[&str] =
            if *axis == Axis::BytesWritten { &["write"] } else { &["read", "write"] };
        let rates = rates.iter().filter_map(|name| series.column(name)).collect();
        BytePositions { known: positions, unmapped: series.column("unmapped"), rates }
    }

    fn known(&self, row: usize) -> Option<f64> {
        self.known?.values.get(row).copied().flatten()
    }

    /// Bytes moved in a row's interval.
    fn moved(&self, row: usize, seconds: f64) -> f64 {
        let rates =
            self.rates.iter().filter_map(|column| column.values.get(row).copied().flatten());
        rates.sum::<f64>() * seconds
    }

    fn unmapped(&self, row: usize) -> bool {
        self.unmapped.and_then(|column| column.values.get(row).copied().flatten()) == Some(1.0)
    }
}

/// Sequences of points of one kind without gaps.
fn pieces(points: &[TracePoint], unmapped: bool) -> Vec<Vec<Bucket>> {
    let mut pieces: Vec<Vec<Bucket>> = Vec::new();
    let mut is_open = false;
    for point in points {
        if point.unmapped != unmapped {
            is_open = false;
            continue;
        }
        let TracePoint { x, y, begins, .. } = *point;
        if begins || !is_open {
            pieces.push(Vec::new());
        }
        is_open = true;
        if let Some(piece) = pieces.last_mut() {
            piece.push(Bucket { x, low: y, mid: y, high: y });
        }
    }
    pieces
}

/// Reduces points to buckets with the minimum, median and maximum of each.
fn reduced(pieces: Vec<Vec<Bucket>>) -> Vec<Vec<Bucket>> {
    let count: usize = pieces.iter().map(Vec::len).sum();
    let chunk = count.div_ceil(BUCKETS).max(1);
    pieces.into_iter().map(|piece| piece.chunks(chunk).map(merged).collect()).collect()
}

/// One bucket for several.
fn merged(buckets: &[Bucket]) -> Bucket {
    let mut values: Vec<f64> = buckets.iter().map(|b| b.mid).collect();
    values.sort_unstable_by(f64::total_cmp);
    let x = buckets.iter().map(|b| b.x).sum::<f64>() / buckets.len() as f64;
    Bucket { x, low: values[0], mid: values[values.len() / 2], high: values[values.len() - 1] }
}

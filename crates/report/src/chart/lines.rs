//! Line charts of series: the median of each bucket, with a band from minimum to maximum.

use record::{Axis, Chart, Run, Unit};

use super::canvas::Canvas;
use super::plane::Plane;
use super::scale::{Base, Scale, shown};
use super::trace::{Bucket, Trace, WITHOUT_DATA, traces};
use super::{Classes, Drawn};
use crate::names::distinct;

/// Share of an axis that may stay empty before the first point.
const EMPTY_MAX: f64 = 0.2;

/// Lines whose medians differ by more than this factor are drawn on a logarithmic axis.
const LOG_FROM: f64 = 12.0;

pub(super) fn draw(chart: &Chart, run: &Run) -> Option<Drawn> {
    let lines: Vec<Trace> =
        (0..chart.sources.len()).flat_map(|index| traces(chart, run, index)).collect();
    let buckets = || lines.iter().flat_map(|line| line.pieces.iter().flatten());
    let start = extreme(buckets(), |b| b.x, f64::min)?;
    let end = extreme(buckets(), |b| b.x, f64::max)?;
    let marks = chart.marks.iter().map(|mark| mark.at);
    let low = extreme(buckets(), |b| b.low, f64::min)?;
    let high = extreme(buckets(), |b| b.high, f64::max)?;
    let levels = chart.bands.iter().filter_map(|band| band.y).flatten();
    let medians: Vec<f64> = lines.iter().map(median).filter(|m| *m > 0.0).collect();
    let (median_min, median_max) =
        medians.iter().fold((f64::MAX, 0.0f64), |(a, b), m| (a.min(*m), b.max(*m)));
    let y = match chart.y {
        Unit::Celsius => Scale::between((low - 3.0).floor(), (high + 3.0).ceil()),
        _ if lines.len() > 1 && median_max > LOG_FROM * median_min && low > 0.0 => {
            Scale::log(low, high)
        }
        _ => Scale::from_zero(levels.fold(high, f64::max)),
    };
    let x = match chart.x {
        Axis::Round => Scale::between(0.5, end.max(1.0) + 0.5),
        _ => {
            let end = marks.clone().fold(end, f64::max);
            let first = marks.fold(start, f64::min);
            Scale::between(if first > EMPTY_MAX * end { first } else { first.min(0.0) }, end)
        }
    };
    let words = lines.iter().map(|line| said(chart.y, line)).collect();
    Some(Drawn::new(key(&lines), words, |narrow| form(chart, &lines, x, y, narrow)))
}

/// The legend. Lines for blocks without data share one colour, so they share an entry.
fn key(lines: &[Trace]) -> Vec<(String, String)> {
    let grey = lines.iter().filter(|line| line.unmapped).count();
    distinct(lines.iter().enumerate().map(|(i, line)| {
        let name = if line.unmapped && grey > 1 { WITHOUT_DATA } else { line.name.as_str() };
        (class(lines, i), name.to_string())
    }))
}

fn class(lines: &[Trace], index: usize) -> String {
    let (line, classes) =
        (&lines[index], Classes::new(lines.iter().map(|line| line.name.as_str())));
    if line.unmapped { "s-none".into() } else { classes.class(&line.name, index) }
}

fn form(chart: &Chart, lines: &[Trace], x: Scale, y: Scale, narrow: bool) -> Canvas {
    let mut plane = Plane::new(chart, x, y, narrow);
    plane.bands(chart);
    plane.axes(Base::Ten);
    for (index, line) in lines.iter().enumerate() {
        let class = class(lines, index);
        for piece in &line.pieces {
            let values: [fn(&Bucket) -> f64; 3] = [|b| b.low, |b| b.mid, |b| b.high];
            let [low, mid, high] = values
                .map(|value| piece.iter().map(|b| plane.place(b.x, value(b))).collect::<Vec<_>>());
            plane.canvas.area(&format!("spread {class}"), &low, &high);
            plane.canvas.path(&format!("datum line {class}"), &mid);
            if chart.x == Axis::Round {
                mid.iter().for_each(|at| plane.canvas.dot(&class, *at));
            }
        }
    }
    plane.marks(chart);
    plane.canvas
}

fn extreme<'b>(
    all: impl Iterator<Item = &'b Bucket>,
    of: fn(&Bucket) -> f64,
    pick: fn(f64, f64) -> f64,
) -> Option<f64> {
    all.map(of).reduce(pick)
}

fn median(line: &Trace) -> f64 {
    let mut values: Vec<f64> = line.pieces.iter().flatten().map(|b| b.mid).collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Describes a line in words: `fresh drive from 5.00 GB/s to 1.45 GB/s, median 1.46 GB/s`.
fn said(unit: Unit, line: &Trace) -> String {
    let mut buckets = line.pieces.iter().flatten();
    let start_value = buckets.next().map_or(0.0, |b| b.mid);
    let end_value = buckets.last().map_or(start_value, |b| b.mid);
    let [start_value, end_value, middle] =
        [start_value, end_value, median(line)].map(|v| shown(unit, v));
    format!("{} from {start_value} to {end_value}, median {middle}", line.name)
}

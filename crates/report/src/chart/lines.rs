//! Line charts of series: the median of each bucket, with a band from minimum to maximum.

use record::{Axis, Chart, Run, Unit};

use super::canvas::Canvas;
use super::plane::Plane;
use super::scale::{Base, Scale, shown};
use super::trace::{Bucket, Trace, WITHOUT_DATA, traces};
use super::{Drawn, class_of};
use crate::names::distinct;

/// Lines whose medians differ by more than this factor are drawn on a logarithmic axis.
const LOG_FROM: f64 = 12.0;

pub(super) fn draw(chart: &Chart, run: &Run) -> Option<Drawn> {
    let lines: Vec<Trace> =
        (0..chart.sources.len()).flat_map(|index| traces(chart, run, index)).collect();
    let all = || lines.iter().flat_map(|line| line.pieces.iter().flatten());
    let (first, last) = (extreme(all(), |b| b.x, f64::min)?, extreme(all(), |b| b.x, f64::max)?);
    let marks = chart.marks.iter().map(|mark| mark.at);
    let (low, high) = (extreme(all(), |b| b.low, f64::min)?, extreme(all(), |b| b.high, f64::max)?);
    let levels = chart.bands.iter().filter_map(|band| band.y).flatten();
    let medians: Vec<f64> = lines.iter().map(median).filter(|m| *m > 0.0).collect();
    let (least, most) = medians.iter().fold((f64::MAX, 0.0f64), |(a, b), m| (a.min(*m), b.max(*m)));
    let y = match chart.y {
        Unit::Celsius => Scale::between((low - 3.0).floor(), (high + 3.0).ceil()),
        _ if lines.len() > 1 && most > LOG_FROM * least && low > 0.0 => Scale::log(low, high),
        _ => Scale::from_zero(levels.fold(high, f64::max)),
    };
    let x = match chart.x {
        Axis::Round => Scale::between(0.5, last.max(1.0) + 0.5),
        _ => Scale::between(0.0f64.min(first), marks.fold(last, f64::max)),
    };
    let said = lines.iter().map(|line| said(chart.y, line)).collect();
    Some(Drawn::of(key(&lines), said, |narrow| form(chart, &lines, x, y, narrow)))
}

/// The legend. Lines for blocks without data share one colour, so they share an entry.
fn key(lines: &[Trace]) -> Vec<(String, String)> {
    let grey = lines.iter().filter(|line| line.unmapped).count();
    distinct(lines.iter().enumerate().map(|(i, line)| {
        let name = if line.unmapped && grey > 1 { WITHOUT_DATA } else { line.name.as_str() };
        (class(line, i), name.to_string())
    }))
}

fn class(line: &Trace, index: usize) -> String {
    if line.unmapped { "s-none".into() } else { class_of(&line.name, index) }
}

fn form(chart: &Chart, lines: &[Trace], x: Scale, y: Scale, narrow: bool) -> Canvas {
    let mut plane = Plane::new(chart, x, y, narrow);
    plane.bands(chart);
    plane.axes(Base::Ten);
    for (index, line) in lines.iter().enumerate() {
        let class = class(line, index);
        for piece in &line.pieces {
            let of = |value: fn(&Bucket) -> f64| -> Vec<[f64; 2]> {
                piece.iter().map(|b| plane.at(b.x, value(b))).collect()
            };
            let (low, mid, high) = (of(|b| b.low), of(|b| b.mid), of(|b| b.high));
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
    let mut all = line.pieces.iter().flatten();
    let first = all.next().map_or(0.0, |b| b.mid);
    let last = all.last().map_or(first, |b| b.mid);
    let [first, last, middle] = [first, last, median(line)].map(|v| shown(unit, v));
    format!("{} from {first} to {last}, median {middle}", line.name)
}

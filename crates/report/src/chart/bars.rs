//! Horizontal bars with whiskers: the name, the bar, and the value at its end. On a phone, the name
//! is above its bar.

use record::{Chart, Run, Unit};

use super::canvas::{Anchor, CHAR, Canvas, extent};
use super::scale::{Scale, shown};
use super::{ChartValue, Classes, Drawn, NARROW, WIDE, figure_of, group_of, label_of};

/// Height of a bar and of the gap to the next one; more between groups.
const BAR: f64 = 16.0;
const GAP: f64 = 6.0;
const GROUP_GAP: f64 = 10.0;

/// Width of the value at the end of a bar.
const VALUE: f64 = 96.0;

/// Height of a line of text.
const LINE: f64 = 18.0;

/// Maximum width of names on a desktop.
const NAMES_MAX: f64 = 330.0;

struct Bar {
    group: String,
    label: String,
    class: String,
    figure: ChartValue,
}

pub(super) fn draw(chart: &Chart, run: &Run) -> Option<Drawn> {
    let grouped = chart.groups.iter().any(|group| !group.is_empty());
    let mut names: Vec<String> = Vec::new();
    let mut bars = Vec::new();
    let labels: Vec<String> = (0..chart.sources.len()).map(|i| label_of(chart, i)).collect();
    let classes = Classes::new(labels.iter().map(String::as_str));
    for (index, source) in chart.sources.iter().enumerate() {
        let figure = run.metric(source).and_then(|m| figure_of(m, chart.y, 0.0));
        let Some(figure) = figure else { continue };
        let label = labels[index].clone();
        let color = names.iter().position(|name| *name == label).unwrap_or(names.len());
        if color == names.len() {
            names.push(label.clone());
        }
        let class = classes.class(&label, if grouped { color } else { 0 });
        bars.push(Bar { group: group_of(chart, index).to_string(), label, class, figure });
    }
    if bars.is_empty() {
        return None;
    }
    let levels = chart.bands.iter().filter_map(|band| Some(band.y?[1]));
    let ends = bars.iter().map(|bar| bar.figure.high.unwrap_or(0.0).max(bar.figure.value));
    let value_max = ends.chain(levels).fold(0.0, f64::max);
    let scale = Scale::from_zero(value_max);
    let key = if grouped {
        let names = names.iter().enumerate();
        names.map(|(i, name)| (classes.class(name, i), name.clone())).collect()
    } else {
        Vec::new()
    };
    let words = bars.iter().map(|bar| {
        let name = [bar.group.as_str(), bar.label.as_str()].into_iter().filter(|n| !n.is_empty());
        let name = name.collect::<Vec<_>>().join(" ");
        format!("{name} {}", shown(chart.y, bar.figure.value))
    });
    let words = words.collect();
    Some(Drawn::new(key, words, |narrow| form(chart, &bars, &scale, grouped, narrow)))
}

fn form(chart: &Chart, bars: &[Bar], scale: &Scale, grouped: bool, narrow: bool) -> Canvas {
    let width = if narrow { NARROW } else { WIDE };
    let name = |bar: &Bar| if grouped { bar.group.clone() } else { bar.label.clone() };
    let widest = bars.iter().map(|bar| name(bar).chars().count()).max().unwrap_or(0) as f64 * CHAR;
    let names_width = if narrow { 0.0 } else { (widest + 14.0).min(NAMES_MAX) };
    let levels: Vec<_> =
        chart.bands.iter().filter_map(|b| Some((b.label.as_str(), b.y?[1]))).collect();
    let room = width - names_width - VALUE;
    let place = |value: f64| names_width + scale.share(value).clamp(0.0, 1.0) * room;
    let rows = rows(
        levels
            .iter()
            .map(|(label, value)| extent(width, "label", place(*value), Anchor::Middle, label)),
    );
    let row_count = rows.iter().map(|row| row + 1).max().unwrap_or(0);
    let top = if levels.is_empty() { 2.0 } else { LINE * row_count as f64 };
    // Positions first, because they determine the height of the drawing.
    let (mut y, mut places, mut headings) = (top, Vec::new(), Vec::new());
    for (index, bar) in bars.iter().enumerate() {
        let is_first = index == 0 || !grouped || bars[index - 1].group != bar.group;
        if is_first && index > 0 {
            y += if grouped { GROUP_GAP } else { 0.0 };
        }
        if is_first && narrow && !name(bar).is_empty() {
            headings.push((y + LINE / 2.0, name(bar)));
            y += LINE;
        } else if is_first {
            let count =
                bars[index..].iter().take_while(|b| grouped && b.group == bar.group).count();
            let lower = count.max(1) as f64 * (BAR + GAP) - GAP;
            headings.push((y + lower / 2.0, name(bar)));
        }
        places.push(y);
        y += BAR + GAP;
    }
    let mut canvas = Canvas::new(width, y + 4.0);
    for ((label, value), row) in levels.into_iter().zip(rows) {
        let label_y = top - LINE * (row as f64 + 1.0) + 8.0;
        canvas.line("level", [place(value), label_y + 6.0], [place(value), y]);
        canvas.text("label", [place(value), label_y], Anchor::Middle, label);
    }
    for (y, name) in headings {
        if narrow {
            canvas.text("name", [0.0, y], Anchor::Start, &name)
        } else {
            canvas.text("name", [names_width - 12.0, y], Anchor::End, &name)
        }
    }
    for (bar, y) in bars.iter().zip(places) {
        one(&mut canvas, chart.y, bar, y, &place);
    }
    if !narrow {
        canvas.line("axis", [names_width, top - 2.0], [names_width, y]);
    }
    canvas
}

/// The row of each label above the bars, counted from below, so that none covers another.
fn rows(extents: impl Iterator<Item = [f64; 2]>) -> Vec<usize> {
    let (mut rows, mut extents_placed): (Vec<usize>, Vec<[f64; 2]>) = Default::default();
    for [left, right] in extents {
        let row = (0..).find(|row| {
            let mut neighbours =
                rows.iter().zip(&extents_placed).filter(|(other, _)| *other == row);
            neighbours.all(|(_, [from, to])| right <= *from || left >= *to)
        });
        rows.push(row.unwrap_or(0));
        extents_placed.push([left, right]);
    }
    rows
}

fn one(canvas: &mut Canvas, unit: Unit, bar: &Bar, y: f64, at: &impl Fn(f64) -> f64) {
    let ChartValue { value, low, high } = bar.figure;
    let (start, end_x, middle) = (at(0.0), at(value), y + BAR / 2.0);
    canvas.rect(&format!("datum {}", bar.class), [start, y], [(end_x - start).max(1.0), BAR]);
    let mut end = end_x;
    if let (Some(low), Some(high)) = (low, high) {
        let [low, high] = [at(low), at(high)];
        canvas.line("whisker", [low, middle], [high, middle]);
        for x in [low, high] {
            canvas.line("whisker", [x, middle - 4.0], [x, middle + 4.0]);
        }
        end = end.max(high);
    }
    canvas.text("value", [end + 7.0, middle], Anchor::Start, &shown(unit, value));
}

//! A heat map: rows are groups, columns are labels, and colours show the logarithm of the value.

use record::{Chart, Run, Unit};

use super::canvas::{Anchor, CHAR, Canvas};
use super::scale::{count, horizontal, shown, unit_of_axis};
use super::{Drawn, NARROW, WIDE, figure_of, group_of, label_of};

/// Height of a row, and of the headings.
const ROW: f64 = 27.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 24.0;

/// Maximum width of a column: a map of seven columns need not fill a desktop page.
const COLUMN_MAX: f64 = 118.0;

struct HeatMap {
    rows: Vec<String>,
    columns: Vec<String>,
    cells: Vec<(usize, usize, f64)>,
}

pub(super) fn draw(chart: &Chart, run: &Run) -> Option<Drawn> {
    let mut map = HeatMap { rows: Vec::new(), columns: Vec::new(), cells: Vec::new() };
    for (index, source) in chart.sources.iter().enumerate() {
        let figure = run.metric(source).and_then(|m| figure_of(m, chart.y, 0.0));
        let Some(figure) = figure else { continue };
        let row = entry(&mut map.rows, group_of(chart, index));
        let column = entry(&mut map.columns, &label_of(chart, index));
        map.cells.push((row, column, figure.value));
    }
    if map.cells.is_empty() {
        return None;
    }
    let words = map.cells.iter().map(|(row, column, value)| {
        format!("{} {} {}", map.rows[*row], map.columns[*column], shown(chart.y, *value))
    });
    let words = words.collect();
    Some(Drawn::new(Vec::new(), words, |narrow| form(chart, &map, narrow)))
}

/// The index of a name, which is added if new.
fn entry(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_string());
        names.len() - 1
    })
}

fn form(chart: &Chart, map: &HeatMap, narrow: bool) -> Canvas {
    let width = if narrow { NARROW } else { WIDE };
    let widest = map.rows.iter().map(|row| row.chars().count()).max().unwrap_or(0);
    let names_width = widest as f64 * CHAR + 10.0;
    let column_width = ((width - names_width) / map.columns.len() as f64).min(COLUMN_MAX);
    let bottom = TOP + ROW * map.rows.len() as f64;
    let mut canvas = Canvas::new(width, bottom + BOTTOM);
    for (index, column) in map.columns.iter().enumerate() {
        // On a phone, only a number fits; the axis title names the quantity.
        let is_room = column.chars().count() as f64 * CHAR <= column_width;
        let words = if is_room { column } else { column.split(' ').next().unwrap_or(column) };
        let middle = names_width + (index as f64 + 0.5) * column_width;
        canvas.text("tick", [middle, TOP - 12.0], Anchor::Middle, words);
    }
    for (index, row) in map.rows.iter().enumerate() {
        let y = TOP + (index as f64 + 0.5) * ROW;
        canvas.text("name", [names_width - 8.0, y], Anchor::End, row);
    }
    let values = map.cells.iter().map(|cell| cell.2).filter(|v| *v > 0.0);
    let (value_min, value_max) = values.fold((f64::MAX, 0.0f64), |(a, b), v| (a.min(v), b.max(v)));
    let (divisor, unit) = unit_of_axis(chart.y, value_max.max(f64::MIN_POSITIVE) / 20.0);
    for &(row, column, value) in &map.cells {
        let share = if value_max > value_min && value > 0.0 {
            libm::log(value / value_min) / libm::log(value_max / value_min)
        } else {
            0.0
        };
        let corner = [names_width + column as f64 * column_width, TOP + row as f64 * ROW];
        canvas.cell(share, corner, [column_width - 2.0, ROW - 2.0]);
        let words = match chart.y {
            Unit::Iops | Unit::Number => count(value),
            _ => count(value / divisor),
        };
        let middle = [corner[0] + column_width / 2.0 - 1.0, corner[1] + ROW / 2.0 - 1.0];
        canvas.text("value", middle, Anchor::Middle, &words);
    }
    let (_, title) = horizontal(&chart.x, 1.0);
    let title = [title.as_str(), unit].into_iter().filter(|t| !t.is_empty());
    let title = title.collect::<Vec<_>>().join("; cells in ");
    canvas.text("title", [names_width, bottom + 12.0], Anchor::Start, &title);
    canvas
}

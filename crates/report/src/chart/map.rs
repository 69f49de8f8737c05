//! Maps: a strip along the axis, whose parts are divided into what is as expected and what is not.

use record::{Chart, Column, Run};
use workload::units::decimal;

use super::Drawn;
use super::canvas::Canvas;
use super::plane::Plane;
use super::scale::{Base, Scale};

/// The colours of the columns: the expected one is green.
const CLASSES: [&str; 4] = ["s2", "s1", "s4", "s3"];

/// A part of the axis and the shares of its columns.
struct Part {
    start: f64,
    end: f64,
    shares: Vec<f64>,
}

pub(super) fn draw(chart: &Chart, run: &Run) -> Option<Drawn> {
    let (mut names, mut parts): (Vec<String>, Vec<Part>) = Default::default();
    for series in run.series.iter().filter(|series| chart.sources.contains(&series.name)) {
        let columns: Vec<&Column> = series.columns.iter().filter(|c| c.unit == chart.y).collect();
        names = columns.iter().map(|column| column.name.clone()).collect();
        let (starts, ends) = (series.column("position")?, series.column("end")?);
        for (row, (start, end)) in starts.values.iter().zip(&ends.values).enumerate() {
            let (Some(start), Some(end)) = (*start, *end) else { continue };
            let shares = columns.iter().map(|column| column.values[row].unwrap_or(0.0)).collect();
            parts.push(Part { start, end, shares });
        }
    }
    let end = parts.iter().map(|part| part.end).reduce(f64::max)?;
    let x = Scale::between(0.0, end);
    let key = names.iter().enumerate().map(|(index, name)| (class(index), name.clone()));
    Some(Drawn::new(key.collect(), words(&names, &parts), |narrow| form(chart, &parts, x, narrow)))
}

fn class(column: usize) -> String {
    CLASSES[column % CLASSES.len()].to_string()
}

/// Adjacent parts that mostly have the same column, as one: `as written from 0 B to 705 MB`.
fn words(names: &[String], parts: &[Part]) -> Vec<String> {
    let mut ranges: Vec<(usize, f64, f64)> = Vec::new();
    for part in parts {
        let largest = part.shares.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        let column = largest.map_or(0, |(column, _)| column);
        match ranges.last_mut() {
            Some((same, _, end)) if *same == column && *end == part.start => *end = part.end,
            _ => ranges.push((column, part.start, part.end)),
        }
    }
    let ranges = ranges.into_iter().map(|(column, start, end)| {
        let [start, end] = [start, end].map(|bytes| decimal(bytes as u64));
        format!("{} from {start} to {end}", names[column])
    });
    ranges.collect()
}

fn form(chart: &Chart, parts: &[Part], x: Scale, narrow: bool) -> Canvas {
    let mut plane = Plane::new(chart, x, Scale::between(0.0, 1.0), narrow);
    plane.horizontal_axis(Base::Ten);
    for part in parts {
        let mut filled = 0.0;
        for (column, share) in part.shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            let [left, bottom] = plane.place(part.start, filled);
            filled += share;
            let [right, top] = plane.place(part.end, filled);
            let class = format!("datum part {}", class(column));
            plane.canvas.rect(&class, [left, top], [right - left, bottom - top]);
        }
    }
    plane.bands(chart);
    plane.marks(chart);
    plane.canvas
}

#[cfg(test)]
mod tests {
    use record::{Axis, Series, Target, Unit};

    use super::*;

    #[test]
    fn every_part_is_drawn_where_it_is_and_adjacent_ones_are_said_as_one() {
        let mut run = Run::new("fake", Target::default());
        let mut series = Series::new("map", 0, 0);
        let rows = [(0.0, 1.0), (1e9, 0.75), (2e9, 0.0)];
        for (row, (start, kept)) in (1..).zip(rows) {
            let columns = [
                ("as written", Unit::Share, Some(kept)),
                ("lost", Unit::Share, Some(1.0 - kept)),
                ("position", Unit::Bytes, Some(start)),
                ("end", Unit::Bytes, Some(start + 1e9)),
            ];
            series.push(row, &columns);
        }
        run.series.push(series);
        let chart = Chart::map("What came back", Axis::Address, Unit::Share).source("map", "share");
        let drawn = draw(&chart, &run).expect("it has data");
        assert_eq!(drawn.said, "as written from 0 B to 2.00 GB; lost from 2.00 GB to 3.00 GB");
        let svg = drawn.wide.into_string();
        assert_eq!(svg.matches("\"datum part s2\"").count(), 2);
        assert_eq!(
            svg.matches("\"datum part s1\"").count(),
            2,
            "a quarter of the second, all of the third"
        );
        assert_eq!(drawn.key.len(), 2);
        assert!(draw(&chart, &Run::new("fake", Target::default())).is_none());
    }
}

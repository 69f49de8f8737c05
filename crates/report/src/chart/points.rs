//! Points with whiskers, joined within each group, or with fitted lines.

use record::{Axis, Chart, FittedLine, Run, Unit};

use super::canvas::Canvas;
use super::plane::Plane;
use super::scale::{self, Base, Scale, shown};
use super::{ChartValue, Classes, Drawn, figure_of, group_of};

/// Values that span more than this factor are drawn on a logarithmic axis. The smallest tenth does
/// not count: near zero, mere noise spans any factor.
const LOG_FROM: f64 = 12.0;

/// The axis of a share reaches this far at least, so that a hundredth is drawn as the little it is.
const SHARE_END_MIN: f64 = 0.1;

struct PointGroup {
    name: String,
    class: String,
    points: Vec<(f64, ChartValue)>,
}

pub(super) fn draw(chart: &Chart, run: &Run) -> Option<Drawn> {
    let mut groups: Vec<PointGroup> = Vec::new();
    let classes = Classes::new(chart.groups.iter().map(String::as_str));
    for (index, (source, place)) in chart.sources.iter().zip(&chart.places).enumerate() {
        let figure = run.metric(source).and_then(|m| figure_of(m, chart.y, *place));
        let Some(figure) = figure else { continue };
        let name = group_of(chart, index);
        let number = groups.iter().position(|group| group.name == name).unwrap_or_else(|| {
            let class = classes.class(name, groups.len());
            groups.push(PointGroup { name: name.into(), class, points: Vec::new() });
            groups.len() - 1
        });
        groups[number].points.push((*place, figure));
    }
    groups.iter_mut().for_each(|group| group.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    let points: Vec<&(f64, ChartValue)> = groups.iter().flat_map(|group| &group.points).collect();
    let (start, end) = bounds(points.iter().map(|(place, _)| *place))?;
    let values = points.iter().flat_map(|(_, value)| [value.low, value.high, Some(value.value)]);
    let levels = chart.bands.iter().filter_map(|band| band.y).flatten();
    let (low, high) = bounds(values.flatten().chain(levels))?;
    let mut values: Vec<f64> = points.iter().map(|(_, value)| value.value).collect();
    values.sort_unstable_by(f64::total_cmp);
    let (value_low, value_high) = (values[values.len() / 10], *values.last()?);
    // A fitted line is straight only on linear axes.
    let is_fitted = !chart.fits.is_empty();
    let y = match chart.y {
        Unit::Share => Scale::from_zero(high.max(SHARE_END_MIN)),
        _ if value_high > LOG_FROM * value_low && low > 0.0 && !is_fitted => Scale::log(low, high),
        _ => Scale::from_zero(high),
    };
    let spans = base(&chart.x) == Base::Two || end > LOG_FROM * start;
    let x = if start > 0.0 && spans && !is_fitted {
        Scale::log(start, end)
    } else {
        Scale::from_zero(end)
    };
    let key = groups.iter().map(|g| (g.class.clone(), g.name.clone())).collect();
    let words = groups.iter().flat_map(|group| {
        let name = if group.name.is_empty() { String::new() } else { format!("{} ", group.name) };
        let points = group.points.iter().map(move |(at, figure)| {
            format!("{name}{} {}", scale::tick(&chart.x, *at), shown(chart.y, figure.value))
        });
        points.collect::<Vec<_>>()
    });
    let words = words.collect();
    Some(Drawn::new(key, words, |narrow| form(chart, &groups, x, y, narrow)))
}

fn base(axis: &Axis) -> Base {
    match axis {
        Axis::BlockSize | Axis::WorkingSet | Axis::Offset | Axis::QueueDepth => Base::Two,
        _ => Base::Ten,
    }
}

fn bounds(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |ends, v| match ends {
        None => Some((v, v)),
        Some((low, high)) => Some((f64::min(low, v), f64::max(high, v))),
    })
}

fn form(chart: &Chart, groups: &[PointGroup], x: Scale, y: Scale, narrow: bool) -> Canvas {
    let mut plane = Plane::new(chart, x, y, narrow);
    plane.bands(chart);
    plane.axes(base(&chart.x));
    let classes = Classes::new(chart.groups.iter().map(String::as_str));
    for (index, fit) in chart.fits.iter().enumerate() {
        let line = [0.0, 1.0].map(|share| on_fit(&plane, fit, share));
        plane.canvas.path(&format!("fit {}", classes.class(&fit.label, index)), &line);
    }
    for group in groups {
        let places: Vec<[f64; 2]> =
            group.points.iter().map(|(at, figure)| plane.place(*at, figure.value)).collect();
        if chart.fits.is_empty() {
            plane.canvas.path(&format!("line {}", group.class), &places);
        }
        for ((at, figure), place) in group.points.iter().zip(&places) {
            if let (Some(low), Some(high)) = (figure.low, figure.high) {
                plane.canvas.line("whisker", plane.place(*at, low), plane.place(*at, high));
            }
            plane.canvas.dot(&format!("datum {}", group.class), *place);
        }
    }
    plane.marks(chart);
    plane.canvas
}

/// The point of a fitted line at a fraction of the axis.
fn on_fit(plane: &Plane, fit: &FittedLine, share: f64) -> [f64; 2] {
    let x = plane.x.value(share);
    plane.place(x, fit.at_zero + fit.slope * x)
}

#[cfg(test)]
mod tests {
    use record::{Metric, Target};

    use super::*;

    #[test]
    fn a_small_share_is_drawn_low() {
        let mut run = Run::new("authentic", Target::default());
        run.metrics.push(Metric::single("m", Unit::Share, 0.004));
        let chart = Chart::points("Waits", Axis::WorkingSet, Unit::Share).point("", "m", 1e6);
        let svg = draw(&chart, &run).expect("it has data").wide.into_string();
        assert!(svg.contains(">10</text>"), "the axis ends beyond a tenth: {svg}");
    }

    #[test]
    fn the_equivalent_text_names_the_groups() {
        let mut run = Run::new("depth", Target::default());
        let rates = [("r1", 15_300.0), ("r32", 185_000.0), ("w1", 79_400.0)];
        run.metrics.extend(rates.map(|(name, rate)| Metric::single(name, Unit::Iops, rate)));
        let of = |reads: &str, writes: &str| {
            let chart = Chart::points("Rates", Axis::QueueDepth, Unit::Iops);
            let chart = chart.joined(reads, [("r1", 1.0), ("r32", 32.0)]).point(writes, "w1", 1.0);
            draw(&chart, &run).expect("it has data").said
        };
        let both = "reads 1 15.3k IOPS; reads 32 185k IOPS; writes 1 79.4k IOPS";
        assert_eq!(of("reads", "writes"), both);
        assert_eq!(of("", ""), "1 15.3k IOPS; 1 79.4k IOPS; 32 185k IOPS");
    }
}

//! Figures of many runs over the calendar, with marks where the firmware changed. Unlike the charts
//! of an answer, it is drawn from several records.

use jiff::Timestamp;
use maud::Markup;
use record::{Axis, Chart, Mark, Unit};

use super::canvas::Canvas;
use super::plane::Plane;
use super::scale::{Scale, shown};
use super::{Classes, Drawn};

/// Values that span more than this factor are drawn on a logarithmic axis.
const LOG_FROM: f64 = 12.0;

/// Points of a line from which they are neither joined nor get whiskers, which would cover them.
const CROWD: usize = 200;

/// Half the side of a point in a crowd, pixels.
const SPECK: f64 = 1.2;

/// Free share of the axis at both ends.
const MARGIN: f64 = 0.02;

const HOUR: f64 = 3600.0;
const DAY: f64 = 24.0 * HOUR;

/// Steps between ticks, seconds.
const STEPS: [f64; 13] = [
    60.0,
    300.0,
    900.0,
    HOUR,
    4.0 * HOUR,
    12.0 * HOUR,
    DAY,
    2.0 * DAY,
    7.0 * DAY,
    14.0 * DAY,
    30.0 * DAY,
    91.0 * DAY,
    365.0 * DAY,
];

/// A figure of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistoryPoint {
    /// Start of the run, seconds since 1970.
    pub seconds: f64,
    pub value: f64,
    /// The interval of the value.
    pub interval: Option<[f64; 2]>,
}

/// One quantity over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryLine {
    pub name: String,
    /// In order of time.
    pub points: Vec<HistoryPoint>,
}

/// Quantities of one unit over time.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    pub title: String,
    pub unit: Unit,
    pub lines: Vec<HistoryLine>,
    /// Changes, in seconds since 1970.
    pub marks: Vec<Mark>,
}

impl History {
    /// The chart; `None` without a point.
    pub fn figure(&self) -> Option<Markup> {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let seconds: Vec<f64> = points().map(|point| point.seconds).collect();
        let (start, end) = ends(&seconds)?;
        let values = points().flat_map(|p| {
            let [low, high] = p.interval.unwrap_or([p.value; 2]);
            [p.value, low, high]
        });
        let (low, high) = ends(&values.collect::<Vec<_>>())?;
        let is_wide = high > LOG_FROM * low && low > 0.0;
        let y = if is_wide { Scale::log(low, high) } else { Scale::from_zero(high) };
        let margin = (MARGIN * (end - start)).max(STEPS[0]);
        let x = Scale::between(start - margin, end + margin);
        let classes = Classes::new(self.lines.iter().map(|line| line.name.as_str()));
        let key = self.lines.iter().enumerate();
        let key = key.map(|(index, line)| (classes.class(&line.name, index), line.name.clone()));
        let key: Vec<(String, String)> = key.collect();
        let words = self.lines.iter().map(|line| in_words(self.unit, line)).collect();
        let drawing = Drawn::new(key.clone(), words, |narrow| {
            self.form(&key, Plane::new(&self.chart(), x, y, narrow))
        });
        Some(drawing.figure(&self.title))
    }

    /// The chart that the plane knows: its unit and its marks.
    fn chart(&self) -> Chart {
        let chart = Chart::points(&self.title, Axis::Time, self.unit);
        Chart { marks: self.marks.clone(), ..chart }
    }

    fn form(&self, key: &[(String, String)], mut plane: Plane) -> Canvas {
        plane.vertical_axis();
        let ticks = ticks(&plane);
        plane.horizontal_ticks(&ticks);
        for (line, (class, _)) in self.lines.iter().zip(key) {
            draw(&mut plane, line, class);
        }
        plane.marks(&self.chart());
        plane.canvas
    }
}

fn draw(plane: &mut Plane, line: &HistoryLine, class: &str) {
    let places: Vec<[f64; 2]> =
        line.points.iter().map(|point| plane.place(point.seconds, point.value)).collect();
    if places.len() >= CROWD {
        for [x, y] in places {
            let side = 2.0 * SPECK;
            plane.canvas.rect(&format!("datum {class}"), [x - SPECK, y - SPECK], [side, side]);
        }
        return;
    }
    plane.canvas.path(&format!("line {class}"), &places);
    for (point, place) in line.points.iter().zip(places) {
        if let Some(ends) = point.interval {
            let [low, high] = ends.map(|value| plane.place(point.seconds, value));
            plane.canvas.line("whisker", low, high);
        }
        plane.canvas.dot(&format!("datum {class}"), place);
    }
}

/// Round times that fit the width, with their labels, in UTC.
fn ticks(plane: &Plane) -> Vec<(f64, String)> {
    let [start, end] = [0.0, 1.0].map(|share| plane.x.value(share));
    let least = (end - start) / plane.labels_across() as f64;
    let step = STEPS.into_iter().find(|step| *step >= least);
    let step = step.unwrap_or((least / STEPS[12]).ceil() * STEPS[12]);
    let first = (start / step).ceil();
    let times = (0..).map(|i| (first + f64::from(i)) * step).take_while(|time| *time <= end);
    times.filter_map(|time| Some((time, label(time, step)?))).collect()
}

fn label(seconds: f64, step: f64) -> Option<String> {
    let time = Timestamp::from_second(seconds as i64).ok()?;
    let format = if step >= DAY { "%Y-%m-%d" } else { "%m-%d %H:%M" };
    Some(time.strftime(format).to_string())
}

/// `sequential reads: 12 runs, from 3.40 GB/s to 3.38 GB/s`.
fn in_words(unit: Unit, line: &HistoryLine) -> String {
    let ends = [line.points.first(), line.points.last()];
    let [first, last] = ends.map(|point| point.map_or(0.0, |point| point.value));
    let [first, last] = [first, last].map(|value| shown(unit, value));
    format!("{}: {} runs, from {first} to {last}", line.name, line.points.len())
}

fn ends(values: &[f64]) -> Option<(f64, f64)> {
    let finite = values.iter().copied().filter(|value| value.is_finite());
    finite.fold(None, |ends, value| match ends {
        None => Some((value, value)),
        Some((low, high)) => Some((low.min(value), high.max(value))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(runs: usize) -> History {
        let points = (0..runs).map(|i| HistoryPoint {
            seconds: 1.79e9 + i as f64 * DAY,
            value: 3.4e9,
            interval: Some([3.3e9, 3.5e9]),
        });
        History {
            title: "quick".into(),
            unit: Unit::BytesPerSecond,
            lines: vec![HistoryLine { name: "reads".into(), points: points.collect() }],
            marks: vec![Mark { label: "FW2".into(), at: 1.79e9 + DAY, low: None, high: None }],
        }
    }

    #[test]
    fn a_history_has_dates_marks_and_words() {
        assert!(history(0).figure().is_none());
        let few = history(3).figure().expect("a chart").into_string();
        assert!(few.contains(">2026-09-23<") && few.contains(">FW2<"), "{few}");
        assert!(few.contains("reads: 3 runs, from 3.40 GB/s to 3.40 GB/s"), "{few}");
        assert_eq!(few.matches("<circle").count(), 2 * 3, "both forms");
        assert_eq!(history(CROWD).figure().expect("a chart").0.matches("whisker").count(), 0);
    }

    #[test]
    fn ticks_fit_any_span() {
        for runs in [1, 2, 5000] {
            let figure = history(runs).figure().expect("a chart").into_string();
            let ticks = figure.matches("class=\"tick\"").count();
            assert!((3..40).contains(&ticks), "{runs} runs: {ticks} ticks");
        }
    }
}

//! The plane of a chart with two axes: grid, ticks, titles, marks and bands.

use record::{Axis, Chart, ChartKind, Unit};

use super::canvas::{Anchor, Canvas, extent};
use super::scale::{self, Base, Scale};
use super::{NARROW, WIDE};

/// Margins for ticks and titles, pixels.
const LEFT: f64 = 52.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 44.0;
/// Height of a label.
const LABEL: f64 = 16.0;
/// Room for a value or a time below the plot, pixels.
const LABEL_ACROSS: f64 = 96.0;
/// Rows in which a label looks for space.
const ROWS: u32 = 8;

/// Height of a plot, of a temperature plot that accompanies another, and of a strip.
const HEIGHT: f64 = 260.0;
const HEIGHT_OF_TEMPERATURE: f64 = 110.0;
const HEIGHT_OF_MAP: f64 = 60.0;

/// A plane with its scales.
pub(super) struct Plane {
    pub(super) canvas: Canvas,
    pub(super) x: Scale,
    pub(super) y: Scale,
    axis: Axis,
    unit: Unit,
    narrow: bool,
    is_map: bool,
}

impl Plane {
    pub(super) fn new(chart: &Chart, x: Scale, y: Scale, narrow: bool) -> Plane {
        let height = match (&chart.kind, chart.y) {
            (ChartKind::Map, _) => HEIGHT_OF_MAP,
            (_, Unit::Celsius) => HEIGHT_OF_TEMPERATURE,
            _ => HEIGHT,
        };
        let width = if narrow { NARROW } else { WIDE };
        let canvas = Canvas::new(width, TOP + height + BOTTOM);
        let is_map = chart.kind == ChartKind::Map;
        Plane { canvas, x, y, axis: chart.x.clone(), unit: chart.y, narrow, is_map }
    }

    /// Width of the plot, pixels.
    pub(super) fn across(&self) -> f64 {
        self.canvas.width - LEFT - RIGHT
    }

    /// How many labels of values or times fit below the plot; at least two.
    pub(super) fn labels_across(&self) -> usize {
        (self.across() / LABEL_ACROSS).floor().max(2.0) as usize
    }

    fn down(&self) -> f64 {
        self.canvas.height - TOP - BOTTOM
    }

    /// The position of a point in pixels, clamped to the plot.
    pub(super) fn place(&self, x: f64, y: f64) -> [f64; 2] {
        let [x, y] = [self.x.share(x), self.y.share(y)].map(|share| share.clamp(0.0, 1.0));
        [LEFT + x * self.across(), TOP + (1.0 - y) * self.down()]
    }

    /// Draws grid, ticks and titles.
    pub(super) fn axes(&mut self, base: Base) {
        self.vertical_axis();
        self.horizontal_axis(base);
    }

    /// Draws the grid, ticks and unit of the vertical axis alone.
    pub(super) fn vertical_axis(&mut self) {
        let ticks = self.vertical_ticks();
        self.draw_vertical(ticks);
    }

    /// The same where things are counted, in whole numbers.
    pub(super) fn count_axis(&mut self) {
        let mut ticks = self.vertical_ticks();
        ticks.retain(|tick| tick.fract() == 0.0);
        self.draw_vertical(ticks);
    }

    fn vertical_ticks(&self) -> Vec<f64> {
        self.y.ticks(if self.down() < 150.0 { 3 } else { 5 }, Base::Ten)
    }

    fn draw_vertical(&mut self, ticks: Vec<f64>) {
        let right = self.canvas.width - RIGHT;
        let (divisor, unit) = scale::unit_of_axis(self.unit, self.y.value(1.0) / 1.08);
        for tick in ticks {
            let y = self.place(0.0, tick)[1];
            self.canvas.line("grid", [LEFT, y], [right, y]);
            let words = match self.unit {
                Unit::Iops => scale::count(tick),
                _ => scale::plain(tick / divisor),
            };
            self.canvas.text("tick", [LEFT - 8.0, y], Anchor::End, &words);
        }
        self.canvas.text("title", [0.0, 9.0], Anchor::Start, unit);
    }

    /// Draws the grid, ticks and title of the horizontal axis alone.
    pub(super) fn horizontal_axis(&mut self, base: Base) {
        let bottom = self.canvas.height - BOTTOM;
        let (divisor, title) = scale::horizontal(&self.axis, self.x.value(1.0) / 1.3);
        let ticks_max = (self.across() / if self.narrow { 62.0 } else { 84.0 }) as usize;
        let scaled = self.x;
        for tick in ticks_of(&scaled, divisor, ticks_max, base, &self.axis) {
            let x = self.place(tick, 0.0)[0];
            self.canvas.line("grid", [x, TOP], [x, bottom]);
            let words = scale::tick(&self.axis, tick / divisor);
            self.canvas.text("tick", [x, bottom + 14.0], Anchor::Middle, &words);
        }
        let middle = LEFT + self.across() / 2.0;
        self.canvas.text("title", [middle, bottom + 33.0], Anchor::Middle, &title);
    }

    /// Draws the grid of the horizontal axis at these values, with their labels.
    pub(super) fn horizontal_ticks(&mut self, ticks: &[(f64, String)]) {
        let bottom = self.canvas.height - BOTTOM;
        for (value, label) in ticks {
            let x = self.place(*value, 0.0)[0];
            self.canvas.line("grid", [x, TOP], [x, bottom]);
            self.canvas.text("tick", [x, bottom + 14.0], Anchor::Middle, label);
        }
    }

    /// Draws bands and windows, below the data; those of a strip are above it and fade it.
    pub(super) fn bands(&mut self, chart: &Chart) {
        for band in &chart.bands {
            let [x0, x1] = band.x.unwrap_or([self.x.value(0.0), self.x.value(1.0)]);
            let [y0, y1] = band.y.unwrap_or([self.y.value(0.0), self.y.value(1.0)]);
            let ([left, low], [right, high]) = (self.place(x0, y0), self.place(x1, y1));
            if band.y.is_some() && y0 == y1 {
                continue;
            }
            let class = if self.is_map { "beyond" } else { "band" };
            self.canvas.rect(class, [left, high], [right - left, low - high]);
        }
    }

    /// Draws levels, marks and the labels of bands, above the data.
    pub(super) fn marks(&mut self, chart: &Chart) {
        let [right, bottom] = [self.canvas.width - RIGHT, self.canvas.height - BOTTOM];
        let drawing_width = self.canvas.width;
        let width = |label: &str| {
            let [start, end] = extent(drawing_width, "label", 0.0, Anchor::Start, label);
            end - start
        };
        for mark in &chart.marks {
            let x = self.place(mark.at, 0.0)[0];
            if let (Some(low), Some(high)) = (mark.low, mark.high) {
                let [left, right] = [self.place(low, 0.0)[0], self.place(high, 0.0)[0]];
                self.canvas.rect("band", [left, TOP], [right - left, bottom - TOP]);
            }
            // A strip has its marks above it, where a plot has the unit of its other axis.
            let top = if self.is_map { TOP - 14.0 } else { TOP + 4.0 };
            self.canvas.line("mark", [x, top - 8.0], [x, bottom]);
            let right_of = (x + 6.0, Anchor::Start);
            let left_of = (x - 6.0, Anchor::End);
            let is_room = x + 6.0 + width(&mark.label) <= right;
            let sides = if is_room { [right_of, left_of] } else { [left_of, right_of] };
            let rows = (0..ROWS).map(|row| top + LABEL * f64::from(row));
            let places = rows.flat_map(|y| sides.map(|(x, anchor)| ([x, y], anchor)));
            self.canvas.label(places, &mark.label);
        }
        for band in chart.bands.iter().filter(|band| !band.label.is_empty()) {
            let [x0, x1] = band.x.unwrap_or([self.x.value(0.0), self.x.value(1.0)]);
            let (left, right) = (self.place(x0, 0.0)[0], self.place(x1, 0.0)[0]);
            match band.y {
                Some([y0, y1]) => {
                    let y = self.place(x0, y0.max(y1))[1];
                    if y0 == y1 {
                        self.canvas.line("level", [left, y], [right, y]);
                    }
                    let label_y = if y - TOP > 30.0 { y - 9.0 } else { y + 12.0 };
                    let label_width = width(&band.label);
                    let is_inside = label_width <= right - left;
                    let (x, anchor) = if is_inside {
                        (right - 4.0, Anchor::End)
                    } else {
                        (left + 4.0, Anchor::Start)
                    };
                    // The labels of adjacent levels are side by side, or else below each other.
                    let shift_max = if is_inside { (x - label_width - left).max(0.0) } else { 0.0 };
                    let shifts = (0..4).map(|n| f64::from(n) * (label_width + 8.0));
                    let shifts = shifts.filter(move |shift| *shift <= shift_max);
                    let rows_below = (0..ROWS).map(|row| y + 12.0 + LABEL * f64::from(row));
                    let rows_above = (1..ROWS).map(|row| label_y - LABEL * f64::from(row));
                    let rows = std::iter::once(label_y).chain(rows_below).chain(rows_above);
                    let rows = rows.filter(|y| (TOP..bottom).contains(y));
                    let places = rows
                        .flat_map(|y| shifts.clone().map(move |shift| ([x - shift, y], anchor)));
                    self.canvas.label(places, &band.label);
                }
                None => {
                    let middle = ((left + right) / 2.0).max(LEFT + width(&band.label) / 2.0 + 4.0);
                    let rows = (0..ROWS).map(|row| bottom - 10.0 - LABEL * f64::from(row));
                    self.canvas.label(rows.map(|y| ([middle, y], Anchor::Middle)), &band.label);
                }
            }
        }
    }
}

/// Ticks at round values of the axis's display unit.
fn ticks_of(scale: &Scale, divisor: f64, most: usize, base: Base, axis: &Axis) -> Vec<f64> {
    let ticks = match divisor {
        1.0 => scale.ticks(most, base),
        _ => {
            let inner = Scale::between(scale.value(0.0) / divisor, scale.value(1.0) / divisor);
            inner.ticks(most, base).into_iter().map(|tick| tick * divisor).collect()
        }
    };
    ticks.into_iter().filter(|tick| *axis != Axis::Round || tick.fract() == 0.0).collect()
}

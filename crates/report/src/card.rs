//! The record as a card of 1200 x 630 for a forum or a review: drive, answer, six tiles, stamp.
//!
//! A card is a list of shapes, which becomes a self-contained SVG (no script, no picture, no link) or
//! is painted by the caller. It is public, so it contains no serial number, host name or path. Text
//! is placed by counting characters, assuming the widest of the common sans-serif fonts.

use maud::{Markup, html as markup};
use record::{Run, TargetKind, Tile, Unit};

use crate::facts::{self, StampTone};
use crate::quantity;
use crate::style::wrap;

/// Width of a card in pixels.
pub const WIDTH: usize = 1200;
/// Height of a card in pixels.
pub const HEIGHT: usize = 630;
const MARGIN: usize = 60;
/// Maximum number of tiles: two rows of three.
const TILES: usize = 6;
const TILE_HEIGHT: usize = 132;
const GAP: usize = 21;
const TILES_TOP: usize = 246;

/// Upper bound of the average width of a letter, relative to the font size.
const LETTER: f64 = 0.6;

const INK: &str = "#171b20";
const DIM: &str = "#57606b";
const LINE: &str = "#cdd3da";
const BLUE: &str = "#1f62c4";

/// A record as a card.
#[derive(Debug)]
pub struct Card {
    /// What a reader who does not see the card is told.
    label: String,
    /// From back to front.
    shapes: Vec<CardShape>,
}

/// A part of a card. Places and lengths are in pixels, from the upper left corner; colours are
/// `#rrggbb`.
#[derive(Clone, Debug, PartialEq)]
pub enum CardShape {
    /// A filled rectangle.
    Rectangle {
        /// Upper left corner.
        corner: [usize; 2],
        /// Width and height.
        size: [usize; 2],
        /// Radius of its corners.
        radius: usize,
        /// Colour.
        fill: &'static str,
    },
    /// A horizontal line.
    Line {
        /// Left and right end.
        ends: [f64; 2],
        /// Height on the card.
        y: usize,
        /// Width of the stroke.
        stroke: usize,
        /// Colour.
        ink: &'static str,
        /// Whether its ends are round.
        is_round: bool,
    },
    /// A filled circle of radius 6.
    Dot {
        /// Its centre.
        x: f64,
        /// Its centre.
        y: usize,
        /// Colour.
        fill: &'static str,
    },
    /// A line of text.
    Text(Text),
}

/// A line of text on a card.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// The words, without control characters.
    pub words: String,
    /// Its left end, or its right end if `is_flush_right`.
    pub x: usize,
    /// The base line.
    pub y: usize,
    /// Height of the font.
    pub size: usize,
    /// Colour.
    pub ink: &'static str,
    /// Whether the font is bold.
    pub is_bold: bool,
    /// Whether `x` is its right end.
    pub is_flush_right: bool,
}

impl Card {
    /// The radius of [`CardShape::Dot`].
    pub const DOT: usize = 6;

    /// The shapes, from back to front.
    pub fn shapes(&self) -> &[CardShape] {
        &self.shapes
    }

    /// The card as SVG; fonts are named, not embedded.
    pub fn svg(&self) -> String {
        let svg = markup! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } width=(WIDTH) height=(HEIGHT)
                role="img" aria-label=(self.label)
                font-family="DejaVu Sans, Verdana, Arial, sans-serif" {
                @for shape in &self.shapes { (shape.svg()) }
            }
        };
        svg.into_string()
    }
}

impl CardShape {
    fn svg(&self) -> Markup {
        match self {
            CardShape::Rectangle { corner: [x, y], size: [width, height], radius, fill } => {
                markup! {
                    rect x=(x) y=(y) width=(width) height=(height) rx=(radius) fill=(fill) {}
                }
            }
            CardShape::Line { ends: [left, right], y, stroke, ink, is_round } => markup! {
                line x1={ (format!("{left:.1}")) } x2={ (format!("{right:.1}")) } y1=(y) y2=(y)
                    stroke=(ink) stroke-width=(stroke) stroke-linecap=[is_round.then_some("round")] {}
            },
            CardShape::Dot { x, y, fill } => markup! {
                circle cx={ (format!("{x:.1}")) } cy=(y) r=(Card::DOT) fill=(fill) {}
            },
            CardShape::Text(text) => markup! {
                text x=(text.x) y=(text.y) font-size=(text.size) fill=(text.ink)
                    font-weight=[text.is_bold.then_some("bold")]
                    text-anchor=[text.is_flush_right.then_some("end")] { (text.words) }
            },
        }
    }
}

/// Draws the card of a record.
pub fn card(run: &Run) -> Card {
    let answer = run.answer.as_ref();
    let headline = answer.map_or_else(|| facts::ending(run), |answer| answer.headline.clone());
    let (name, details) = subject(run);
    let tiles: &[Tile] = answer.map_or(&[], |answer| &answer.tiles);
    let tiles = &tiles[..tiles.len().min(TILES)];
    let (tone, stamp) = stamp(run);
    let inner = WIDTH - 2 * MARGIN;
    let mut shapes = vec![
        rectangle([0, 0], [WIDTH, HEIGHT], 0, "#ffffff"),
        rectangle([0, 0], [WIDTH, 12], 0, BLUE),
        text(&name, [MARGIN, 78], size_for(&name, inner, 40), INK, true),
        text(&details, [MARGIN, 112], size_for(&details, inner, 20), DIM, false),
    ];
    for (i, line) in wrap(&headline, 62).iter().take(2).enumerate() {
        shapes.push(text(line, [MARGIN, 170 + 38 * i], size_for(line, inner, 29), INK, false));
    }
    shapes.extend((0..tiles.len()).flat_map(|i| draw(tiles, run, i, columns(tiles.len()))));
    shapes.push(text(&stamp, [MARGIN, 592], size_for(&stamp, 620, 20), tone, true));
    shapes.push(CardShape::Text(Text {
        words: emit::plain(&format!("{}, {}", by(run), facts::day(run))).into_owned(),
        x: WIDTH - MARGIN,
        y: 592,
        size: 18,
        ink: DIM,
        is_bold: false,
        is_flush_right: true,
    }));
    Card { label: emit::plain(&format!("{name}: {headline}")).into_owned(), shapes }
}

/// The drive and its details, or the target's kind if no drive is known.
fn subject(run: &Run) -> (String, String) {
    let model = run.target.drive.as_ref().and_then(facts::model);
    let simulated = run.target.kind == TargetKind::Virtual;
    let name = match (model, simulated) {
        (Some(model), _) => facts::marked(model, run),
        (None, true) => "a virtual drive".to_string(),
        (None, false) => "unknown drive".to_string(),
    };
    let details = facts::drive(run, false)
        .into_iter()
        .filter(|fact| !name.starts_with(fact.as_str()) && !fact.contains("unknown"));
    let details: Vec<String> = [run.method.clone()].into_iter().chain(details).take(5).collect();
    (name, details.join(" \u{b7} "))
}

fn by(run: &Run) -> String {
    let number = run.number.map(|number| format!(", run {number}")).unwrap_or_default();
    match &run.origin {
        Some(origin) => match origin.tool_name() {
            Some(tool) if origin.is_own_fio() => format!("imported from the output of {tool}"),
            Some(tool) => format!("measured by {tool}, not by ssdyno"),
            None => "not measured by ssdyno".to_string(),
        },
        None => {
            let simulated = run.target.kind == TargetKind::Virtual;
            let verb = if simulated { "simulated" } else { "measured" };
            format!("{verb} by ssdyno {}{number}", run.environment.ssdyno)
        }
    }
}

fn stamp(run: &Run) -> (&'static str, String) {
    let Some((tone, stamp)) = facts::stamp(run) else {
        return (DIM, String::new());
    };
    let ink = match tone {
        StampTone::Predicted => "#1f5fa8",
        StampTone::Good => "#1a6b3c",
        StampTone::Warn => "#8a5a00",
        StampTone::Bad => "#b3261e",
    };
    (ink, stamp)
}

/// Number of tiles per row, chosen so that no row has a single tile.
fn columns(tiles: usize) -> usize {
    if tiles <= 2 || tiles == 4 { 2 } else { 3 }
}

fn draw(tiles: &[Tile], run: &Run, place: usize, columns: usize) -> Vec<CardShape> {
    let tile = &tiles[place];
    let (width, height) = ((WIDTH - 2 * MARGIN - (columns - 1) * GAP) / columns, TILE_HEIGHT);
    let x = MARGIN + place % columns * (width + GAP);
    let y = TILES_TOP + place / columns * (height + GAP);
    let value = quantity::show_known(tile.unit, tile.value);
    let metric = run.metric(&tile.metric).filter(|metric| metric.low.is_some());
    let interval = metric.map(quantity::interval_words).unwrap_or_default();
    let inner = width - 40;
    let mut shapes = vec![
        rectangle([x, y], [width, height], 10, "#f5f6f8"),
        text(&tile.label, [x + 20, y + 34], size_for(&tile.label, inner, 19), DIM, false),
        text(&value, [x + 20, y + 80], size_for(&value, inner, 36), INK, true),
        text(&interval, [x + 20, y + 104], size_for(&interval, inner, 15), DIM, false),
    ];
    shapes.extend(whisker(tile, axis_end(tiles, tile.unit), [x + 20, y + height - 14], inner));
    shapes
}

/// The end of the axis shared by tiles of one unit, which makes their marks comparable.
fn axis_end(tiles: &[Tile], unit: Unit) -> f64 {
    let of_unit = tiles.iter().filter(|tile| tile.unit == unit);
    of_unit.flat_map(|tile| [tile.value, tile.high]).flatten().fold(0.0, f64::max) * 1.05
}

/// The value and its interval on an axis from 0 to `most`.
fn whisker(tile: &Tile, most: f64, [x, y]: [usize; 2], width: usize) -> Vec<CardShape> {
    let (Some(value), Some(low), Some(high)) = (tile.value, tile.low, tile.high) else {
        return Vec::new();
    };
    if low < 0.0 || most <= 0.0 {
        return Vec::new();
    }
    let place = |v: f64| x as f64 + v / most * width as f64;
    let axis = [0.0, most].map(place);
    vec![
        CardShape::Line { ends: axis, y, stroke: 2, ink: LINE, is_round: false },
        CardShape::Line { ends: [low, high].map(place), y, stroke: 5, ink: BLUE, is_round: true },
        CardShape::Dot { x: place(value), y, fill: BLUE },
    ]
}

/// The largest size up to `most` at which the text fits, but at least 8.
fn size_for(text: &str, width: usize, most: usize) -> usize {
    let letters = text.chars().count().max(1);
    let size_max = (width as f64 / (letters as f64 * LETTER)) as usize;
    size_max.clamp(8, most)
}

fn rectangle(corner: [usize; 2], size: [usize; 2], radius: usize, fill: &'static str) -> CardShape {
    CardShape::Rectangle { corner, size, radius, fill }
}

fn text(
    words: &str,
    [x, y]: [usize; 2],
    size: usize,
    ink: &'static str,
    is_bold: bool,
) -> CardShape {
    let words = emit::plain(words).into_owned();
    CardShape::Text(Text { words, x, y, size, ink, is_bold, is_flush_right: false })
}

#[cfg(test)]
mod tests {
    use record::Origin;

    use super::*;

    #[test]
    fn text_is_shrunk_to_fit() {
        assert_eq!(size_for("980 PRO", 1080, 40), 40);
        let long = "x".repeat(90);
        assert_eq!(size_for(&long, 1080, 40), 20);
        assert_eq!(size_for(&"x".repeat(10_000), 1080, 40), 8);
    }

    #[test]
    fn an_unknown_start_is_not_the_day_of_the_import() {
        let mut run = Run::elsewhere("0.1.0", "fio", origin(false));
        run.started = "2026-11-25T10:00:00Z".into();
        let unknown = card(&run).svg();
        assert!(unknown.contains("start unknown") && !unknown.contains("2026-11-25"), "{unknown}");
        run.origin = Some(origin(true));
        let known = card(&run).svg();
        assert!(known.contains(", 2026-11-25<"), "{known}");
    }

    fn origin(start_known: bool) -> Origin {
        Origin { start_known, ..Origin::imported(Some("fio"), "out.txt") }
    }

    #[test]
    fn foreign_text_stays_text() {
        let line = text("</text><script>\u{1b}", [0, 0], 10, INK, true).svg().into_string();
        assert!(line.contains("&lt;/text&gt;&lt;script&gt;") && !line.contains('\u{1b}'), "{line}");
    }
}

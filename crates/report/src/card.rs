//! The record as a card of 1200 x 630 for a forum or a review: drive, answer, six tiles, stamp.
//!
//! A self-contained SVG: no script, no picture, no link. A card is public, so it contains no serial
//! number, host name or path. Text is placed by counting characters, assuming the widest of the
//! common sans-serif fonts.

use maud::{Markup, html as markup};
use record::{Level, Run, TargetKind, Tile, Unit};

use crate::facts;
use crate::quantity;
use crate::style::wrap;

const WIDTH: usize = 1200;
const HEIGHT: usize = 630;
const MARGIN: usize = 60;
/// Maximum number of tiles: two rows of three.
const TILES: usize = 6;
const TILE_HEIGHT: usize = 132;
const GAP: usize = 21;
/// Top of the tiles.
const TILES_TOP: usize = 246;

/// Upper bound of the average width of a letter, relative to the font size.
const LETTER: f64 = 0.6;

const INK: &str = "#171b20";
const DIM: &str = "#57606b";
const LINE: &str = "#cdd3da";
const BLUE: &str = "#1f62c4";

/// The card as SVG; fonts are named, not embedded.
pub fn card(run: &Run) -> String {
    let answer = run.answer.as_ref();
    let headline = answer.map_or_else(|| facts::ending(run), |answer| answer.headline.clone());
    let (name, details) = subject(run);
    let tiles: &[Tile] = answer.map_or(&[], |answer| &answer.tiles);
    let tiles = &tiles[..tiles.len().min(TILES)];
    let (tone, stamp) = stamp(run);
    let foot = format!("{}, {}", by(run), facts::day(run));
    let right = WIDTH - MARGIN;
    let card = markup! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } width=(WIDTH) height=(HEIGHT)
            role="img" aria-label=(emit::plain(&format!("{name}: {headline}")))
            font-family="DejaVu Sans, Verdana, Arial, sans-serif" {
            rect width=(WIDTH) height=(HEIGHT) fill="#ffffff" {}
            rect width=(WIDTH) height="12" fill=(BLUE) {}
            (text(&name, MARGIN, 78, size_for(&name, right - MARGIN, 40), INK, true))
            (text(&details, MARGIN, 112, size_for(&details, right - MARGIN, 20), DIM, false))
            @for (i, line) in wrap(&headline, 62).iter().take(2).enumerate() {
                (text(line, MARGIN, 170 + 38 * i, size_for(line, right - MARGIN, 29), INK, false))
            }
            @for i in 0..tiles.len() { (draw(tiles, run, i, columns(tiles.len()))) }
            (text(&stamp, MARGIN, 592, size_for(&stamp, 620, 20), tone, true))
            text x=(right) y="592" font-size="18" fill=(DIM) text-anchor="end" { (emit::plain(&foot)) }
        }
    };
    card.into_string()
}

/// The drive and its details, or the target's kind if no drive is known.
fn subject(run: &Run) -> (String, String) {
    let model = run.target.drive.as_ref().and_then(facts::model);
    let simulated = run.target.kind == TargetKind::Virtual;
    let name = match (model, simulated) {
        (Some(model), true) => format!("{model} (virtual drive)"),
        (Some(model), false) => model,
        (None, true) => "a virtual drive".to_string(),
        (None, false) => "unknown drive".to_string(),
    };
    let shown = |fact: &String| !name.starts_with(fact.as_str()) && !fact.contains("unknown");
    let details = facts::drive(run, false).into_iter().filter(shown);
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
            let how = if simulated { "simulated" } else { "measured" };
            format!("{how} by ssdyno {}{number}", run.environment.ssdyno)
        }
    }
}

fn stamp(run: &Run) -> (&'static str, String) {
    let Some(stamp) = run.answer.as_ref().map(|answer| &answer.stamp) else {
        return (DIM, String::new());
    };
    let tone = match stamp.level() {
        Level::Note => "#1a6b3c",
        Level::Warn => "#8a5a00",
        Level::Bad | Level::Other(_) => "#b3261e",
    };
    (tone, facts::stamp(stamp))
}

/// Number of tiles per row, chosen so that no row has a single tile.
fn columns(tiles: usize) -> usize {
    if tiles <= 2 || tiles == 4 { 2 } else { 3 }
}

fn draw(tiles: &[Tile], run: &Run, place: usize, columns: usize) -> Markup {
    let tile = &tiles[place];
    let (width, height) = ((WIDTH - 2 * MARGIN - (columns - 1) * GAP) / columns, TILE_HEIGHT);
    let x = MARGIN + place % columns * (width + GAP);
    let y = TILES_TOP + place / columns * (height + GAP);
    let value = quantity::show_known(tile.unit, tile.value);
    let metric = run.metric(&tile.metric).filter(|metric| metric.low.is_some());
    let below = metric.map(quantity::interval_words).unwrap_or_default();
    let inner = width - 40;
    markup! {
        rect x=(x) y=(y) width=(width) height=(height) rx="10" fill="#f5f6f8" {}
        (text(&tile.label, x + 20, y + 34, size_for(&tile.label, inner, 19), DIM, false))
        (text(&value, x + 20, y + 80, size_for(&value, inner, 36), INK, true))
        (text(&below, x + 20, y + 104, size_for(&below, inner, 15), DIM, false))
        (whisker(tile, axis_end(tiles, tile.unit), x + 20, y + height - 14, inner))
    }
}

/// The end of the axis shared by tiles of one unit, which makes their marks comparable.
fn axis_end(tiles: &[Tile], unit: Unit) -> f64 {
    let of_unit = tiles.iter().filter(|tile| tile.unit == unit);
    of_unit.flat_map(|tile| [tile.value, tile.high]).flatten().fold(0.0, f64::max) * 1.05
}

/// The value and its interval on an axis from 0 to `most`.
fn whisker(tile: &Tile, most: f64, x: usize, y: usize, width: usize) -> Markup {
    let (Some(value), Some(low), Some(high)) = (tile.value, tile.low, tile.high) else {
        return markup! {};
    };
    if low < 0.0 || most <= 0.0 {
        return markup! {};
    }
    let place = |v: f64| format!("{:.1}", x as f64 + v / most * width as f64);
    markup! {
        line x1=(x) x2=(x + width) y1=(y) y2=(y) stroke=(LINE) stroke-width="2" {}
        line x1=(place(low)) x2=(place(high)) y1=(y) y2=(y) stroke=(BLUE) stroke-width="5" stroke-linecap="round" {}
        circle cx=(place(value)) cy=(y) r="6" fill=(BLUE) {}
    }
}

/// The largest size up to `most` at which the text fits, but at least 8.
fn size_for(text: &str, width: usize, most: usize) -> usize {
    let letters = text.chars().count().max(1);
    let fits = (width as f64 / (letters as f64 * LETTER)) as usize;
    fits.clamp(8, most)
}

fn text(text: &str, x: usize, y: usize, size: usize, ink: &str, bold: bool) -> Markup {
    markup! {
        text x=(x) y=(y) font-size=(size) fill=(ink) font-weight=[bold.then_some("bold")] {
            (emit::plain(text))
        }
    }
}

#[cfg(test)]
mod tests {
    use record::{Origin, OriginKind};

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
        let unknown = card(&run);
        assert!(unknown.contains("start unknown") && !unknown.contains("2026-11-25"), "{unknown}");
        run.origin = Some(origin(true));
        assert!(card(&run).contains(", 2026-11-25<"), "{}", card(&run));
    }

    fn origin(start_known: bool) -> Origin {
        Origin {
            kind: OriginKind::Imported,
            tool: Some("fio".into()),
            version: None,
            source: "out.txt".into(),
            place: None,
            command: None,
            title: None,
            start_known,
        }
    }

    #[test]
    fn foreign_text_stays_text() {
        let line = text("</text><script>\u{1b}", 0, 0, 10, INK, true).into_string();
        assert!(line.contains("&lt;/text&gt;&lt;script&gt;") && !line.contains('\u{1b}'), "{line}");
    }
}

//! A drawing under construction: rectangles, lines and text, in pixels from the upper left corner.

use maud::{Markup, PreEscaped, html as markup};

/// Width of a character in the small font, in pixels: an upper bound for running text.
pub(super) const CHAR: f64 = 7.9;

/// The part of a text that is at its position.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing of a given size.
pub(super) struct Canvas {
    pub(super) width: f64,
    pub(super) height: f64,
    body: String,
}

impl Canvas {
    pub(super) fn new(width: f64, height: f64) -> Canvas {
        Canvas { width, height, body: String::new() }
    }

    pub(super) fn rect(&mut self, class: &str, [x, y]: [f64; 2], [width, height]: [f64; 2]) {
        let size = format!("width=\"{:.1}\" height=\"{:.1}\"", width.max(0.0), height.max(0.0));
        self.body += &format!("<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" {size}/>");
    }

    /// A cell with a colour intensity of `share`, 0 to 1.
    pub(super) fn cell(&mut self, share: f64, [x, y]: [f64; 2], [width, height]: [f64; 2]) {
        let alpha = 0.06 + 0.5 * share.clamp(0.0, 1.0);
        let size = format!("width=\"{width:.1}\" height=\"{height:.1}\"");
        let fill = format!("fill-opacity=\"{alpha:.2}\"");
        self.body +=
            &format!("<rect class=\"datum cell\" {fill} x=\"{x:.1}\" y=\"{y:.1}\" {size}/>");
    }

    pub(super) fn line(&mut self, class: &str, from: [f64; 2], to: [f64; 2]) {
        let ends = format!("M{:.1} {:.1}L{:.1} {:.1}", from[0], from[1], to[0], to[1]);
        self.body += &format!("<path class=\"{class}\" d=\"{ends}\"/>");
    }

    /// A line through points; a lone point is a short dash.
    pub(super) fn path(&mut self, class: &str, points: &[[f64; 2]]) {
        let text = match points {
            [] => return,
            [[x, y]] => format!("M{:.1} {y:.1}h3", x - 1.5),
            _ => {
                let places = points.iter().map(|[x, y]| format!("{x:.1} {y:.1}"));
                format!("M{}", places.collect::<Vec<_>>().join("L"))
            }
        };
        self.body += &format!("<path class=\"{class}\" d=\"{text}\"/>");
    }

    /// The area between two lines with the same number of points.
    pub(super) fn area(&mut self, class: &str, low: &[[f64; 2]], high: &[[f64; 2]]) {
        let places =
            low.iter().chain(high.iter().rev()).map(|p| format!("{:.1} {:.1}", p[0], p[1]));
        let outline: Vec<String> = places.collect();
        if low.len() > 1 {
            self.body += &format!("<path class=\"{class}\" d=\"M{}Z\"/>", outline.join("L"));
        }
    }

    pub(super) fn dot(&mut self, class: &str, [x, y]: [f64; 2]) {
        self.body += &format!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>");
    }

    /// Text, vertically centred at `y`; moved horizontally if it would leave the drawing.
    pub(super) fn text(&mut self, class: &str, [x, y]: [f64; 2], anchor: Anchor, text: &str) {
        // Labels are bold.
        let char_width = if class == "label" { 1.12 * CHAR } else { CHAR };
        let width = char_width * text.chars().count() as f64;
        let (word, low, high) = match anchor {
            Anchor::Start => ("start", 0.0, self.width - width),
            Anchor::Middle => ("middle", width / 2.0, self.width - width / 2.0),
            Anchor::End => ("end", width, self.width),
        };
        let x = x.min(high).max(low.min(high.max(0.0)));
        let escaped = markup! { (emit::plain(text)) }.into_string();
        let place = format!("x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{word}\"", y + 4.0);
        self.body += &format!("<text class=\"{class}\" {place}>{escaped}</text>");
    }

    pub(super) fn finish(self, class: &str) -> Markup {
        let view = format!("0 0 {:.0} {:.0}", self.width, self.height);
        markup! {
            svg.(class) viewBox=(view) aria-hidden="true" {
                (PreEscaped(self.body))
            }
        }
    }
}

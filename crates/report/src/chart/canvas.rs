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

/// Height of a line of text, pixels.
const TEXT: f64 = 15.0;

/// A drawing of a given size.
pub(super) struct Canvas {
    pub(super) width: f64,
    pub(super) height: f64,
    body: String,
    /// The areas of its texts: left, right, top and bottom.
    texts: Vec<[f64; 4]>,
}

impl Canvas {
    pub(super) fn new(width: f64, height: f64) -> Canvas {
        Canvas { width, height, body: String::new(), texts: Vec::new() }
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
        let [left, right] = extent(self.width, class, x, anchor, text);
        self.texts.push([left, right, y - TEXT / 2.0, y + TEXT / 2.0]);
        let (word, x) = match anchor {
            Anchor::Start => ("start", left),
            Anchor::Middle => ("middle", (left + right) / 2.0),
            Anchor::End => ("end", right),
        };
        let escaped = markup! { (emit::plain(text)) }.into_string();
        let place = format!("x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{word}\"", y + 4.0);
        self.body += &format!("<text class=\"{class}\" {place}>{escaped}</text>");
    }

    /// Draws a label at the first of several places where it covers no other text; at the first one
    /// if there is none.
    pub(super) fn label(
        &mut self,
        places: impl IntoIterator<Item = ([f64; 2], Anchor)>,
        text: &str,
    ) {
        let places: Vec<_> = places.into_iter().collect();
        let free = places.iter().find(|([x, y], anchor)| {
            let [left, right] = extent(self.width, "label", *x, *anchor, text);
            let (top, bottom) = (y - TEXT / 2.0, y + TEXT / 2.0);
            self.texts.iter().all(|[from, to, upper, lower]| {
                right <= *from || left >= *to || bottom <= *upper || top >= *lower
            })
        });
        if let Some((point, anchor)) = free.or(places.first()).copied() {
            self.text("label", point, anchor, text);
        }
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

/// The left and right end of a text in a drawing of this width, moved to be inside of it.
pub(super) fn extent(width: f64, class: &str, x: f64, anchor: Anchor, text: &str) -> [f64; 2] {
    // Labels are bold.
    let char_width = if class == "label" { 1.12 * CHAR } else { CHAR };
    let text_width = char_width * text.chars().count() as f64;
    let left = match anchor {
        Anchor::Start => x,
        Anchor::Middle => x - text_width / 2.0,
        Anchor::End => x - text_width,
    };
    let left = left.min(width - text_width).max(0.0);
    [left, left + text_width]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_avoids_the_texts_that_are_there() {
        let mut canvas = Canvas::new(300.0, 100.0);
        canvas.text("tick", [150.0, 20.0], Anchor::Middle, "a tick");
        let rows = |x: f64| [20.0, 35.0, 50.0].map(|y| ([x, y], Anchor::Start));
        canvas.label(rows(140.0), "first");
        canvas.label(rows(170.0), "second");
        canvas.label(rows(0.0), "third");
        let svg = canvas.finish("wide").into_string();
        for place in ["x=\"140.0\" y=\"39.0\"", "x=\"170.0\" y=\"54.0\"", "x=\"0.0\" y=\"24.0\""] {
            assert!(svg.contains(place), "{place}: {svg}");
        }
    }
}

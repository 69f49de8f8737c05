//! Paints a card as PNG with an embedded font, because the machine may have none. Without the feature
//! `cards`, painter and font are missing and the error names it.

#[cfg(feature = "cards")]
use crate::failure::IO;
#[cfg(not(feature = "cards"))]
use crate::failure::USAGE;
use crate::failure::{Failure, Result};
use report::card::Card;

/// Paints the card at its own size.
#[cfg(feature = "cards")]
pub fn png(card: &Card) -> Result<Vec<u8>> {
    let painted = paint::png(card);
    painted.map_err(|why| Failure::new(IO, format!("the card cannot be drawn: {why}")))
}

/// Refuses: this build has no painter.
#[cfg(not(feature = "cards"))]
pub fn png(_card: &Card) -> Result<Vec<u8>> {
    let text = "this ssdyno was built without the feature 'cards' and cannot draw a PNG";
    Err(Failure::new(USAGE, text).advise("--card card.svg"))
}

#[cfg(feature = "cards")]
mod paint {
    use report::card::{Card, CardShape, HEIGHT, Text, WIDTH};
    use tiny_skia::{
        Color, FillRule, LineCap, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, Transform,
    };
    use ttf_parser::{Face, GlyphId, OutlineBuilder};

    /// How far the control points of a cubic curve that is a quarter of a circle are from its ends,
    /// in radii.
    const QUARTER: f32 = 0.552_284_8;

    /// Paints all shapes; the error says why it cannot be done.
    pub fn png(card: &Card) -> Result<Vec<u8>, String> {
        let mut canvas = Pixmap::new(WIDTH as u32, HEIGHT as u32).ok_or("it has no size")?;
        let fonts = Fonts::load()?;
        for shape in card.shapes() {
            shape_on(&mut canvas, shape, &fonts);
        }
        canvas.encode_png().map_err(|e| e.to_string())
    }

    struct Fonts {
        regular: Face<'static>,
        bold: Face<'static>,
    }

    impl Fonts {
        fn load() -> Result<Fonts, String> {
            let regular = Face::parse(dejavu::sans::regular(), 0).map_err(|e| e.to_string())?;
            let bold = Face::parse(dejavu::sans::bold(), 0).map_err(|e| e.to_string())?;
            Ok(Fonts { regular, bold })
        }
    }

    fn shape_on(canvas: &mut Pixmap, shape: &CardShape, fonts: &Fonts) {
        match shape {
            CardShape::Rectangle { corner, size, radius, fill } => {
                let [x, y, width, height] =
                    [corner[0], corner[1], size[0], size[1]].map(|n| n as f32);
                fill_path(canvas, rounded([x, y, x + width, y + height], *radius as f32), fill);
            }
            CardShape::Line { ends: [left, right], y, stroke, ink, is_round } => {
                let mut line = PathBuilder::new();
                line.move_to(*left as f32, *y as f32);
                line.line_to(*right as f32, *y as f32);
                let line_cap = if *is_round { LineCap::Round } else { LineCap::Butt };
                let stroke = Stroke { width: *stroke as f32, line_cap, ..Stroke::default() };
                if let Some(line) = line.finish() {
                    canvas.stroke_path(&line, &paint(ink), &stroke, Transform::identity(), None);
                }
            }
            CardShape::Dot { x, y, fill } => {
                let circle = PathBuilder::from_circle(*x as f32, *y as f32, Card::DOT as f32);
                fill_path(canvas, circle, fill);
            }
            CardShape::Text(text) => {
                let face = if text.is_bold { &fonts.bold } else { &fonts.regular };
                fill_path(canvas, outline(text, face), text.ink);
            }
        }
    }

    fn fill_path(canvas: &mut Pixmap, path: Option<Path>, color: &str) {
        if let Some(path) = path {
            let identity = Transform::identity();
            canvas.fill_path(&path, &paint(color), FillRule::Winding, identity, None);
        }
    }

    /// The paint of a colour `#rrggbb`.
    fn paint(color: &str) -> Paint<'static> {
        let [red, green, blue] = [1, 3, 5].map(|start| {
            let digits = color.get(start..start + 2);
            digits.and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or_default()
        });
        let mut paint = Paint::default();
        paint.set_color(Color::from_rgba8(red, green, blue, 255));
        paint
    }

    /// A rectangle whose corners have a radius.
    fn rounded([left, top, right, bottom]: [f32; 4], radius: f32) -> Option<Path> {
        if radius == 0.0 {
            return Some(PathBuilder::from_rect(Rect::from_ltrb(left, top, right, bottom)?));
        }
        let (r, c) = (radius, radius * (1.0 - QUARTER));
        let mut path = PathBuilder::new();
        path.move_to(left + r, top);
        path.line_to(right - r, top);
        path.cubic_to(right - c, top, right, top + c, right, top + r);
        path.line_to(right, bottom - r);
        path.cubic_to(right, bottom - c, right - c, bottom, right - r, bottom);
        path.line_to(left + r, bottom);
        path.cubic_to(left + c, bottom, left, bottom - c, left, bottom - r);
        path.line_to(left, top + r);
        path.cubic_to(left, top + c, left + c, top, left + r, top);
        path.close();
        path.finish()
    }

    /// The outline of a line of text, with the font's kerning. A letter that the font lacks is its
    /// empty box.
    fn outline(text: &Text, face: &Face) -> Option<Path> {
        let scale = text.size as f32 / f32::from(face.units_per_em());
        let glyphs: Vec<GlyphId> =
            text.words.chars().map(|c| face.glyph_index(c).unwrap_or_default()).collect();
        let steps = glyphs.iter().enumerate().map(|(i, &glyph)| {
            let kerning = glyphs.get(i + 1).map_or(0, |&next| kerning(face, glyph, next));
            scale
                * (f32::from(face.glyph_hor_advance(glyph).unwrap_or_default())
                    + f32::from(kerning))
        });
        let steps: Vec<f32> = steps.collect();
        let width: f32 = steps.iter().sum();
        let x = text.x as f32 - if text.is_flush_right { width } else { 0.0 };
        let mut pen = Pen { path: PathBuilder::new(), scale, x, y: text.y as f32 };
        for (&glyph, step) in glyphs.iter().zip(steps) {
            // A blank has no outline.
            face.outline_glyph(glyph, &mut pen);
            pen.x += step;
        }
        pen.path.finish()
    }

    /// By how much the distance of two neighbours differs from the first one's width, in units of
    /// the font.
    fn kerning(face: &Face, left: GlyphId, right: GlyphId) -> i16 {
        let tables = face.tables().kern.iter().flat_map(|kern| kern.subtables);
        let mut table = tables.filter(|table| table.horizontal && !table.variable);
        table.find_map(|table| table.glyphs_kerning(left, right)).unwrap_or_default()
    }

    /// Draws glyphs, whose y axis points up, at a place of the card.
    struct Pen {
        path: PathBuilder,
        scale: f32,
        x: f32,
        y: f32,
    }

    impl Pen {
        fn place(&self, x: f32, y: f32) -> (f32, f32) {
            (self.x + x * self.scale, self.y - y * self.scale)
        }
    }

    impl OutlineBuilder for Pen {
        fn move_to(&mut self, x: f32, y: f32) {
            let (x, y) = self.place(x, y);
            self.path.move_to(x, y);
        }

        fn line_to(&mut self, x: f32, y: f32) {
            let (x, y) = self.place(x, y);
            self.path.line_to(x, y);
        }

        fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
            let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
            self.path.quad_to(x1, y1, x, y);
        }

        fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
            let ((x1, y1), (x2, y2), (x, y)) =
                (self.place(x1, y1), self.place(x2, y2), self.place(x, y));
            self.path.cubic_to(x1, y1, x2, y2, x, y);
        }

        fn close(&mut self) {
            self.path.close();
        }
    }
}

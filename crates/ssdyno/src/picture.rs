//! Renders an SVG as PNG with an embedded font, because the machine may have none.

use std::sync::Arc;

use resvg::{tiny_skia, usvg};

use crate::failure::{Failure, IO, Result};

/// Renders the picture at its own size.
pub fn png(svg: &str) -> Result<Vec<u8>> {
    let failed = |why: &str| Failure::new(IO, format!("the card cannot be drawn: {why}"));
    let mut faces = usvg::fontdb::Database::new();
    faces.load_font_data(dejavu::sans::regular().to_vec());
    faces.load_font_data(dejavu::sans::bold().to_vec());
    let options = usvg::Options { fontdb: Arc::new(faces), ..usvg::Options::default() };
    let tree = usvg::Tree::from_str(svg, &options).map_err(|e| failed(&e.to_string()))?;
    let size = tree.size().to_int_size();
    let canvas = tiny_skia::Pixmap::new(size.width(), size.height());
    let mut canvas = canvas.ok_or_else(|| failed("it has no size"))?;
    resvg::render(&tree, tiny_skia::Transform::identity(), &mut canvas.as_mut());
    canvas.encode_png().map_err(|e| failed(&e.to_string()))
}

//! Renders an SVG as PNG with an embedded font, because the machine may have none. Without the
//! feature `cards`, the renderer is missing and the error names it.

use crate::failure::{Failure, Result};

/// Renders the picture at its own size.
#[cfg(feature = "cards")]
pub fn png(svg: &str) -> Result<Vec<u8>> {
    use crate::failure::IO;
    use resvg::{tiny_skia, usvg};

    let failed = |why: &str| Failure::new(IO, format!("the card cannot be drawn: {why}"));
    let mut faces = usvg::fontdb::Database::new();
    faces.load_font_data(dejavu::sans::regular().to_vec());
    faces.load_font_data(dejavu::sans::bold().to_vec());
    let options = usvg::Options { fontdb: faces.into(), ..usvg::Options::default() };
    let tree = usvg::Tree::from_str(svg, &options).map_err(|e| failed(&e.to_string()))?;
    let size = tree.size().to_int_size();
    let canvas = tiny_skia::Pixmap::new(size.width(), size.height());
    let mut canvas = canvas.ok_or_else(|| failed("it has no size"))?;
    resvg::render(&tree, tiny_skia::Transform::identity(), &mut canvas.as_mut());
    canvas.encode_png().map_err(|e| failed(&e.to_string()))
}

/// Refuses: this build has no renderer.
#[cfg(not(feature = "cards"))]
pub fn png(_svg: &str) -> Result<Vec<u8>> {
    use crate::failure::USAGE;

    let text = "this ssdyno was built without the feature 'cards' and cannot draw a PNG";
    Err(Failure::new(USAGE, text).advise("--card card.svg"))
}

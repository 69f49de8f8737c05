//! The fuzz targets of this room: documents of published experiments.

use fuzz::{Target, outcome};
use lab::replicate;

/// Every parser of this room.
pub const TARGETS: &[Target] = &[PUBLISHED];

/// Documents as files of the user's.
const PUBLISHED: Target = Target { name: "published", run: published, corpus: DOCUMENTS };

fn published(input: &[u8]) -> u64 {
    match replicate::parse("x.toml", &String::from_utf8_lossy(input)) {
        Ok(document) => 1 + document.figures.len().min(5) as u64,
        Err(error) => outcome(&error.to_string()),
    }
}

const DOCUMENTS: &[&str] = &[
    include_str!("../../../../published/004.toml"),
    include_str!("../../../../published/001.toml"),
];

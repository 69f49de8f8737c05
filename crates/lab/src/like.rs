//! The sizes of a user's files, for methods, which cannot read a directory (`--like`).

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use crate::error::{LabError, Result};

/// Maximum number of files counted; enough for any histogram.
const FILES_MAX: u64 = 1_000_000;

/// Returns the sizes of the first [`FILES_MAX`] files below a directory, each with the number of
/// files.
pub(crate) fn sizes(directory: &Path) -> Result<Vec<(u64, u64)>> {
    let mut sizes = BTreeMap::new();
    let mut count = 0;
    walk(directory, &mut |bytes| {
        *sizes.entry(bytes).or_insert(0u64) += 1;
        count += 1;
        if count < FILES_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    if sizes.is_empty() {
        let text = format!("--like {}: no files found", directory.display());
        return Err(LabError::usage(text));
    }
    Ok(sizes.into_iter().collect())
}

/// Passes the size of every file below a directory to `see`, until it breaks off. Does not follow
/// links, and skips directories that cannot be read, except the first.
fn walk(directory: &Path, see: &mut dyn FnMut(u64) -> ControlFlow<()>) -> Result<()> {
    let mut directories = vec![directory.to_path_buf()];
    while let Some(next) = directories.pop() {
        let entries = match fs::read_dir(&next) {
            Ok(entries) => entries,
            Err(error) if next == directory => {
                let text = format!("--like {}: {error}", directory.display());
                let advice = "a readable directory, or sizes and counts such as 4k:1000,2M:50";
                return Err(LabError::usage(text).advise(advice));
            }
            Err(_) => continue,
        };
        for entry in entries.flatten() {
            // The metadata of a link itself, not of its target.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                directories.push(entry.path());
            } else if metadata.is_file() && see(metadata.len()).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_counted_by_size_and_links_are_not_followed() {
        let place = tempfile::tempdir().expect("a directory");
        let below = place.path().join("below");
        fs::create_dir(&below).expect("made");
        for (name, bytes) in [("a", 10), ("b", 10), ("below/c", 7), ("below/d", 0)] {
            fs::write(place.path().join(name), vec![0; bytes]).expect("written");
        }
        std::os::unix::fs::symlink(place.path(), below.join("loop")).expect("linked");
        assert_eq!(sizes(place.path()).expect("readable"), [(0, 1), (7, 1), (10, 2)]);
        assert!(sizes(&place.path().join("none")).is_err());
        let mut seen = 0;
        let mut two = |_: u64| {
            seen += 1;
            if seen < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        walk(place.path(), &mut two).expect("readable");
        assert_eq!(seen, 2, "the walk ends at the limit");
    }
}

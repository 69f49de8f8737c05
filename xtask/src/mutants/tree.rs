//! The copy of the project for a room's mutants: `target/mutants/ROOM`.
//!
//! It has a separate build, so that a second run starts warm, and an interrupted run leaves its
//! mutant there, not in the project.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::run::{output, program, root};

/// Updates the copy. Unchanged files keep their times, so that cargo does not rebuild them.
pub fn copy(room: &str) -> Result<PathBuf> {
    let tree = root().join("target/mutants").join(room);
    let files = files()?;
    for file in &files {
        update(&root().join(file), &tree.join(file)).with_context(|| file.display().to_string())?;
    }
    remove_others(&tree.join("crates"), &tree, &files)?;
    Ok(tree)
}

/// All files of the project that are not ignored, relative to its root.
fn files() -> Result<BTreeSet<PathBuf>> {
    let arguments = ["ls-files", "--cached", "--others", "--exclude-standard"];
    let said = output(&mut program("git", &arguments))?;
    let there = said.lines().map(PathBuf::from).filter(|file| root().join(file).is_file());
    Ok(there.collect())
}

fn update(from: &Path, to: &Path) -> Result<()> {
    let bytes = fs::read(from)?;
    if fs::read(to).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    fs::create_dir_all(to.parent().context("a directory")?)?;
    fs::write(to, bytes)?;
    Ok(())
}

/// Removes sources that no longer exist in the project, because cargo would build them.
fn remove_others(dir: &Path, tree: &Path, files: &BTreeSet<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let path = entry?.path();
        let name = path.strip_prefix(tree).context("a path in the tree")?.to_path_buf();
        if path.is_dir() && files.iter().any(|file| file.starts_with(&name)) {
            remove_others(&path, tree, files)?;
        } else if path.is_dir() {
            fs::remove_dir_all(&path)?;
        } else if !files.contains(&name) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

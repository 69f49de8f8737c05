//! Archives that depend on their content only: sorted, owned by root, dated like the sources.
//!
//! Written by GNU tar and gzip, which Debian always has.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::Dist;
use crate::run::{output, program};

/// Packs the entries of a directory as a tar archive.
pub fn tar(dist: &Dist, dir: &Path, to: &Path) -> Result<()> {
    let mut entries: Vec<String> = Vec::new();
    for entry in fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        entries.push(entry?.file_name().to_string_lossy().into_owned());
    }
    entries.sort();
    let mut tar = program("tar", &["--format=ustar", "--sort=name", "--numeric-owner"]);
    tar.args(["--owner=0", "--group=0", "--mode=u=rwX,go=rX"]);
    tar.arg(format!("--mtime=@{}", dist.epoch)).arg("-C").arg(dir).arg("-cf").arg(to);
    output(tar.args(entries)).map(drop)
}

/// Compresses a file as `FILE.gz`, without name and date.
pub fn gzip(file: &Path) -> Result<()> {
    output(&mut program("gzip", &["-9nf", &file.to_string_lossy()])).map(drop)
}

/// SHA-256 of a file, in hexadecimal.
pub fn sha256(file: &Path) -> Result<String> {
    let said = output(&mut program("sha256sum", &[&file.to_string_lossy()]))?;
    Ok(said.split_whitespace().next().unwrap_or_default().to_string())
}

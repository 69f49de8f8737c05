//! `cargo xtask dist`: what is handed to users, in `target/dist`.
//!
//! A static binary, because a benchmark is carried to machines that one does not want to install
//! anything on; manual pages and completions, made by the binary itself; and all of it as a Debian
//! package. Each is checked as it will be used before this says that it is done.

mod deb;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::run::{cargo, metadata, output, program, root};

/// The shells with completions.
pub const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// What was built.
pub struct Dist {
    /// Where it lies.
    pub dir: PathBuf,
    /// Of the workspace.
    pub version: String,
}

impl Dist {
    /// The static binary.
    pub fn binary(&self) -> PathBuf {
        self.dir.join("ssdyno")
    }

    /// The directory of manual pages.
    pub fn man(&self) -> PathBuf {
        self.dir.join("man")
    }

    /// The completions of a shell.
    pub fn completions(&self, shell: &str) -> PathBuf {
        self.dir.join("completions").join(format!("ssdyno.{shell}"))
    }
}

/// Builds everything and says where it is.
pub fn run() -> Result<ExitCode> {
    let metadata = metadata()?;
    let target = metadata["target_directory"].as_str().context("cargo metadata")?;
    let target = Path::new(target);
    let dist = Dist { dir: target.join("dist"), version: version(&metadata)? };
    let built = build(target)?;
    ensure!(is_static(&fs::read(&built)?), "{} needs a loader: not static", built.display());
    fs::create_dir_all(dist.dir.join("completions"))?;
    fs::copy(&built, dist.binary()).with_context(|| built.display().to_string())?;
    let version = output(&mut program(dist.binary(), &["--version"]))?;
    ensure!(version.trim() == format!("ssdyno {}", dist.version), "it says it is {version}");
    write_manuals(&dist)?;
    tell(&dist.binary())?;
    tell(&deb::make(&dist)?)?;
    Ok(ExitCode::SUCCESS)
}

/// The version in the manifest of the command.
fn version(metadata: &Value) -> Result<String> {
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let command = packages.find(|package| package["name"] == "ssdyno");
    let version = command.and_then(|package| package["version"].as_str());
    Ok(version.context("cargo metadata names no version of ssdyno")?.to_string())
}

fn build(target: &Path) -> Result<PathBuf> {
    let about = output(&mut program("rustc", &["-vV"]))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc -vV")?;
    // A place of its own: cargo would fill `target/dist` with what the profile of that name needs.
    let place = target.join("static");
    // With a target named, the flag is not for procedural macros, which must not be static.
    let arguments = ["build", "-q", "--profile=dist", "-p=ssdyno", "--target", host];
    let mut build = cargo(&arguments);
    build.arg("--target-dir").arg(&place).env("RUSTFLAGS", "-Ctarget-feature=+crt-static");
    output(&mut build)?;
    Ok(place.join(host).join("dist/ssdyno"))
}

fn write_manuals(dist: &Dist) -> Result<()> {
    let man = dist.man();
    // Pages of commands that are no more must not stay.
    if man.exists() {
        fs::remove_dir_all(&man)?;
    }
    output(&mut program(dist.binary(), &["man", &man.to_string_lossy()]))?;
    ensure!(man.join("ssdyno.1").exists(), "ssdyno man wrote no ssdyno.1");
    for shell in SHELLS {
        let text = output(&mut program(dist.binary(), &["completions", shell]))?;
        fs::write(dist.completions(shell), text)?;
    }
    Ok(())
}

/// No entry of its program header names a loader (elf(5), `PT_INTERP`); 64-bit files only.
fn is_static(elf: &[u8]) -> bool {
    const PT_INTERP: u32 = 3;
    let field = |at: usize, bytes: usize| -> Option<usize> {
        let raw = elf.get(at..at + bytes)?.iter().rev();
        Some(raw.fold(0, |n, &byte| n << 8 | usize::from(byte)))
    };
    let headers = || {
        let (start, size, count) = (field(0x20, 8)?, field(0x36, 2)?, field(0x38, 2)?);
        (0..count).map(|i| field(start + i * size, 4)).collect::<Option<Vec<_>>>()
    };
    let kinds = headers().unwrap_or_default();
    elf.starts_with(b"\x7fELF\x02\x01")
        && !kinds.is_empty()
        && !kinds.contains(&(PT_INTERP as usize))
}

fn tell(file: &Path) -> Result<()> {
    let mb = fs::metadata(file)?.len() as f64 / 1e6;
    println!("{:>6.1} MB  {}", mb, file.strip_prefix(root()).unwrap_or(file).display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn static_is_told_from_dynamic() {
        let elf = |kinds: &[u32]| {
            let mut bytes = vec![0; 64 + 56 * kinds.len()];
            bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
            bytes[0x20] = 64;
            bytes[0x36] = 56;
            bytes[0x38] = kinds.len() as u8;
            for (i, kind) in kinds.iter().enumerate() {
                bytes[64 + 56 * i..][..4].copy_from_slice(&kind.to_le_bytes());
            }
            bytes
        };
        assert!(is_static(&elf(&[6, 1, 1])));
        assert!(!is_static(&elf(&[6, 3, 1])));
        assert!(!is_static(&elf(&[])));
        assert!(!is_static(b"#!/bin/sh\n"));
    }
}

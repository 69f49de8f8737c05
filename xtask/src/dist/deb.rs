//! The Debian package: the installed tree, packed by `dpkg-deb`.
//!
//! `dpkg-deb` instead of debhelper, which needs a source package and several hundred megabytes of
//! tools. This module meets the other requirements of the policy manual: compressed manual pages
//! and changelog, a copyright file, plain permissions, root as owner of everything.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::{Dist, PROGRAMS, SHELLS};
use crate::run::{output, program};

/// Debian's directories for completions.
fn completions_place(shell: &str) -> &'static str {
    match shell {
        "bash" => "usr/share/bash-completion/completions/ssdyno",
        "zsh" => "usr/share/zsh/vendor-completions/_ssdyno",
        _ => "usr/share/fish/vendor_completions.d/ssdyno.fish",
    }
}

/// Creates and checks the package; returns its path.
pub fn make(dist: &Dist) -> Result<PathBuf> {
    let deb = dist.dir.join(format!("ssdyno_{}_{}.deb", dist.version, dist.target.debian));
    pack(dist, &dist.version, &deb)?;
    check(dist, &deb)?;
    Ok(deb)
}

/// Packs the distribution under a version.
pub fn pack(dist: &Dist, version: &str, deb: &Path) -> Result<()> {
    let tree = dist.scratch("deb")?;
    fill(dist, &tree)?;
    let control = control(version, dist.target.debian, kilobytes(&tree)?);
    put(&tree, "DEBIAN/control", control, 0o644)?;
    plain_directories(&tree)?;
    let (from, to) = (tree.to_string_lossy(), deb.to_string_lossy());
    // One thread: xz's output depends on their number.
    let words = ["--root-owner-group", "--threads-max=1", "-Zxz", "--build", &from, &to];
    // dpkg-deb dates no file later than this.
    output(program("dpkg-deb", &words).env("SOURCE_DATE_EPOCH", dist.epoch.to_string()))?;
    fs::remove_dir_all(&tree).map_err(Into::into)
}

fn fill(dist: &Dist, tree: &Path) -> Result<()> {
    for name in PROGRAMS {
        put(tree, &format!("usr/bin/{name}"), &fs::read(dist.program(name))?, 0o755)?;
    }
    for page in fs::read_dir(dist.man())? {
        let page = page?;
        let place = format!("usr/share/man/man1/{}", page.file_name().to_string_lossy());
        put_compressed(tree, &place, &fs::read(page.path())?)?;
    }
    for shell in SHELLS {
        put(tree, completions_place(shell), &fs::read(dist.completions(shell))?, 0o644)?;
    }
    let doc = "usr/share/doc/ssdyno";
    put_compressed(
        tree,
        &format!("{doc}/changelog"),
        &fs::read(dist.source.join("CHANGELOG.md"))?,
    )?;
    put(tree, &format!("{doc}/copyright"), copyright(&dist.source)?, 0o644)?;
    let licenses = fs::read(dist.licenses())?;
    put_compressed(tree, &format!("{doc}/THIRD-PARTY-LICENSES"), &licenses)?;
    let overrides = "# On purpose: it is carried to machines where nothing should be installed.\n\
                ssdyno: statically-linked-binary\n";
    put(tree, "usr/share/lintian/overrides/ssdyno", overrides, 0o644)
}

fn control(version: &str, architecture: &str, kilobytes: u64) -> String {
    format!(
        "Package: ssdyno
Version: {version}
Architecture: {architecture}
Maintainer: The ssdyno developers <noreply@ssdyno.invalid>
Installed-Size: {kilobytes}
Section: utils
Priority: optional
Description: dynamometer for flash storage
 Measures what an NVMe drive, an SSD, an SD card or a USB stick really does,
 says why, and whether that number can be believed: past the page cache, with
 intervals from repeated runs, and with every doubt named.
 .
 Every run is kept as a record that can be shown, compared and exported.
"
    )
}

/// The licenses in Debian's machine-readable format; both texts are in the source tree.
fn copyright(source: &Path) -> Result<String> {
    let mit = fs::read_to_string(source.join("LICENSE-MIT")).context("LICENSE-MIT")?;
    let holder = mit.lines().find(|line| line.starts_with("Copyright"));
    let holder = holder.context("LICENSE-MIT: no line 'Copyright ...'")?;
    let holder = holder.trim_start_matches("Copyright").trim_start().trim_start_matches("(c)");
    let terms = mit.lines().skip_while(|line| !line.starts_with("Permission"));
    let terms = terms.map(|line| if line.is_empty() { " .".into() } else { format!(" {line}") });
    let terms = terms.collect::<Vec<_>>().join("\n");
    Ok(format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: ssdyno

Files: *
Copyright: {holder}
License: Expat or Apache-2.0

License: Expat
{terms}

License: Apache-2.0
 On Debian systems the full text is in /usr/share/common-licenses/Apache-2.0.
",
        holder = holder.trim()
    ))
}

fn put(tree: &Path, place: &str, content: impl AsRef<[u8]>, mode: u32) -> Result<()> {
    let file = tree.join(place);
    fs::create_dir_all(file.parent().unwrap_or(tree))?;
    fs::write(&file, content).with_context(|| file.display().to_string())?;
    fs::set_permissions(&file, fs::Permissions::from_mode(mode))?;
    Ok(())
}

/// Compresses as Debian requires: at the maximum level and without a timestamp, so that equal input
/// gives an equal package.
fn put_compressed(tree: &Path, place: &str, content: &[u8]) -> Result<()> {
    put(tree, place, content, 0o644)?;
    super::archive::gzip(&tree.join(place))
}

/// The size in KiB of a file or directory on a disk with 4 KiB blocks.
fn kilobytes(path: &Path) -> Result<u64> {
    if !path.is_dir() {
        return Ok(fs::metadata(path)?.len().div_ceil(4096) * 4);
    }
    let inside = fs::read_dir(path)?.map(|entry| kilobytes(&entry?.path()));
    Ok(4 + inside.sum::<Result<u64>>()?)
}

/// Sets directory permissions independent of the caller's umask.
fn plain_directories(dir: &Path) -> Result<()> {
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            plain_directories(&path)?;
        }
    }
    Ok(())
}

/// Unpacks the package like an installation and starts the binaries.
fn check(dist: &Dist, deb: &Path) -> Result<()> {
    let path = deb.to_string_lossy();
    let contents = output(&mut program("dpkg-deb", &["--contents", &path]))?;
    let shells = SHELLS.map(completions_place);
    for place in ["usr/share/man/man1/ssdyno.1.gz", "usr/share/doc/ssdyno/copyright"]
        .into_iter()
        .chain(shells)
    {
        ensure!(contents.contains(&format!("./{place}\n")), "{path} lacks {place}");
    }
    let stranger = contents.lines().find(|line| !line.contains(" root/root "));
    ensure!(stranger.is_none(), "{path}: not owned by root: {stranger:?}");
    let unpacked = dist.scratch("unpacked")?;
    output(&mut program("dpkg-deb", &["--extract", &path, &unpacked.to_string_lossy()]))?;
    let versions = PROGRAMS.map(|name| {
        let binary = unpacked.join("usr/bin").join(name);
        output(&mut dist.target.program(&binary, &["--version"]))
    });
    fs::remove_dir_all(&unpacked)?;
    for version in versions {
        ensure!(version?.contains(&dist.version), "{path}: a binary is another version");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dpkg_accepts_the_control_file() {
        let dir = tempfile::tempdir().expect("a directory");
        put(dir.path(), "DEBIAN/control", control("1.2.3", "amd64", 42), 0o644).expect("written");
        put(dir.path(), "usr/bin/ssdyno", "#!/bin/sh\n", 0o755).expect("written");
        assert_eq!(kilobytes(&dir.path().join("usr")).ok(), Some(12));
        if crate::run::find("dpkg-deb").is_none() {
            return println!("skipped: no dpkg-deb on this machine");
        }
        plain_directories(dir.path()).expect("plain");
        let deb = dir.path().with_extension("deb");
        let (from, to) = (dir.path().to_string_lossy(), deb.to_string_lossy());
        output(&mut program("dpkg-deb", &["--root-owner-group", "--build", &from, &to]))
            .expect("packed");
        let version = output(&mut program("dpkg-deb", &["--field", &to, "Version"]));
        fs::remove_file(deb).expect("removed");
        assert_eq!(version.expect("read").trim(), "1.2.3");
    }
}

//! fio's source as Debian's next release has it, for fio's own tests: downloaded below target/ with a
//! list of packages of its own, so that nothing of this machine's changes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::run::{find, output, program, root};

/// Debian's suite whose fio is the newest that is about to be released.
const SUITE: &str = "testing";

/// The source's directory; downloads it if necessary.
pub fn place() -> Result<PathBuf> {
    let dir = root().join("target/fio-source");
    if let Some(place) = unpacked(&dir)? {
        return Ok(place);
    }
    ensure!(
        find("apt-get").is_some(),
        "no apt-get on this machine: name a checkout of fio's source"
    );
    for part in ["lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(dir.join(part))?;
    }
    fs::write(dir.join("sources"), format!("deb-src {} {SUITE} main\n", mirror()?))?;
    apt(&dir, &["update"])?;
    apt(&dir, &["source", "--tar-only", "--download-only", "fio"])?;
    let archive = entries(&dir)?.into_iter().find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("fio_") && name.contains(".orig.tar.") && !name.ends_with(".asc")
    });
    let archive = archive.context("apt-get downloaded no source of fio")?;
    let words = ["--extract", "--file", &archive.to_string_lossy()];
    output(program("tar", &words).current_dir(&dir))?;
    unpacked(&dir)?.context("fio's source has no t/jobs")
}

/// The directory with fio's tests, if it is there.
fn unpacked(dir: &Path) -> Result<Option<PathBuf>> {
    let entries = if dir.is_dir() { entries(dir)? } else { Vec::new() };
    Ok(entries.into_iter().find(|path| path.join("t/jobs").is_dir()))
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).with_context(|| dir.display().to_string())?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

/// The address from which this machine has its packages.
fn mirror() -> Result<String> {
    let format = "$(REPO_URI) $(RELEASE)";
    let words = ["indextargets", "--format", format, "Created-By: Packages"];
    let text = output(&mut program("apt-get", &words))?;
    let repositories = text.lines().filter_map(|line| line.split_once(' '));
    // Security updates and backports are apart.
    let mut whole = repositories.filter(|(_, release)| !release.contains('-'));
    let (address, _) = whole.next().context("apt-get knows no repository of Debian")?;
    Ok(address.to_string())
}

/// Runs apt-get with the list of packages in this directory only.
fn apt(dir: &Path, words: &[&str]) -> Result<String> {
    let place = |part: &str| dir.join(part).display().to_string();
    let options = [
        format!("Dir::Etc::SourceList={}", place("sources")),
        "Dir::Etc::SourceParts=/dev/null".into(),
        format!("Dir::State::Lists={}", place("lists")),
        format!("Dir::Cache={}", place("cache")),
    ];
    let mut command = program("apt-get", &["-qq"]);
    command.args(options.iter().flat_map(|option| ["-o", option])).args(words);
    output(command.current_dir(dir))
}

//! What the binary takes from elsewhere, judged by cargo-deny with the lists of `deny.toml`.
//!
//! Licences, origins and duplicates depend on the sources alone; a check that fails ends the build.
//! Known vulnerabilities are in a database on the network; without it, the answer says so.

use anyhow::{Context, Result};

use super::Dist;
use crate::run::{capture, cargo, output};

/// The versions that `deny.toml` is written for.
const VERSIONS: &str = "^0.20";

/// Checks the crates of a distribution; returns what was checked.
pub fn check(dist: &Dist) -> Result<String> {
    install()?;
    // Also the crates of other systems, which no build here has asked for.
    output(cargo(&["fetch", "--locked"]).current_dir(&dist.source)).context("cargo fetch")?;
    let deny = |arguments: &[&str]| {
        let mut command = cargo(&["deny"]);
        command.args(arguments).current_dir(&dist.source);
        command
    };
    // No graph: it has hundreds of lines for a crate that everybody uses.
    let checks = ["--offline", "check", "--hide-inclusion-graph"];
    output(deny(&checks).args(["licenses", "sources", "bans"])).context("cargo deny")?;
    // By git: cargo cannot ask for the database alone. An older copy is as good as none.
    let (has_database, said) = capture(&mut deny(&["fetch", "db"]))?;
    if !has_database {
        let why = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        return Ok(format!("licences, origins, duplicates; vulnerabilities not checked: {why}"));
    }
    output(deny(&checks).arg("advisories")).context("cargo deny: known vulnerabilities")?;
    Ok("licences, origins, duplicates, known vulnerabilities".into())
}

/// Builds cargo-deny if it is missing, as the Debian packages are installed.
fn install() -> Result<()> {
    let (is_installed, _) = capture(&mut cargo(&["deny", "--version"]))?;
    if !is_installed {
        let words = ["install", "--quiet", "--locked", "--version", VERSIONS, "cargo-deny"];
        output(&mut cargo(&words)).context("--check needs cargo-deny")?;
    }
    Ok(())
}

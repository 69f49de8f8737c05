//! The project's own rules beyond the compiler's, checked on every source file.
//!
//! - A crate imports only crates below it (`floors.rs`), and no two files of a crate import each
//!   other, except parent and child (`circles.rs`).
//! - No new name of a kind that is hard to read (`names/limits.rs`).
//! - Only what is marked as Linux's names something of Linux (`portable.rs`).
//! - Crates of others come from crates.io under accepted licences; none is in the binary twice
//!   (`supply.rs`).
//! - A file opens with a `//!` header and has at most 600 lines.
//! - `unsafe` occurs only in files named `sys.rs` or below a directory `sys`.
//! - Nothing is unfinished: no `todo`, `dbg` or similar, no ignored tests.
//! - No text contains the path of a home directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::run::root;
use crate::source::{code_of, has_word};
use crate::{circles, floors, names, portable, supply};

const LINES_MAX: usize = 600;

/// Macros that mark unfinished work.
const UNFINISHED: [&str; 3] = ["todo", "dbg", "unimplemented"];

/// Parents of home directories.
const HOMES: [&str; 3] = ["/home", "/root", "/Users"];

/// Directories with third-party or generated files.
const NOT_OURS: [&str; 6] =
    ["target", "vendor", "snapshots", "node_modules", "corpus", "artifacts"];

/// `cargo xtask tidy`.
pub fn run() -> Result<ExitCode> {
    let findings = findings()?;
    findings.iter().for_each(|finding| println!("{finding}"));
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// All violations, one line each.
pub fn findings() -> Result<Vec<String>> {
    let mut findings = floors::findings()?;
    findings.extend(names::findings()?);
    findings.extend(supply::findings()?);
    let files = files()?;
    findings.extend(rules_of_rooms(&files)?);
    for file in files {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let name = file.strip_prefix(root()).unwrap_or(&file);
        findings.extend(judge(name, &text));
    }
    Ok(findings)
}

/// All text files of the project, sorted.
fn files() -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    walk(&root(), &mut files)?;
    files.sort();
    Ok(files)
}

/// Import cycles between the files of each crate, and what not every system has.
fn rules_of_rooms(files: &[PathBuf]) -> Result<Vec<String>> {
    let mut rooms: BTreeMap<PathBuf, Vec<(PathBuf, String)>> = BTreeMap::new();
    for file in files.iter().filter(|file| has_ending(file, "rs")) {
        let name = file.strip_prefix(root()).unwrap_or(file);
        let Some(src) = name.ancestors().find(|dir| dir.ends_with("src")) else { continue };
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let below = name.strip_prefix(src).unwrap_or(name).to_path_buf();
        // Programs next to a library are separate crates.
        if !below.starts_with("bin") {
            rooms.entry(src.to_path_buf()).or_default().push((below, text));
        }
    }
    let found = rooms.iter().flat_map(|(src, files)| {
        let src = src.display().to_string();
        [circles::findings(&src, files), portable::findings(&src, files)].concat()
    });
    Ok(found.collect())
}

/// Adds all text files of the project below the directory.
fn walk(dir: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            let ours = !NOT_OURS.contains(&name.as_str());
            if ours && !name.starts_with('.') && !name.starts_with("target-") {
                walk(&path, files)?;
            }
        } else if ["rs", "toml", "md", "sql", "json", "sh"].iter().any(|e| has_ending(&path, e)) {
            files.push(path);
        }
    }
    Ok(())
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|e| e == ending)
}

fn judge(file: &Path, text: &str) -> Vec<String> {
    let name = file.display();
    let mut findings = Vec::new();
    let numbered = || text.lines().enumerate().map(|(i, line)| (i + 1, line));
    for (n, line) in numbered().filter(|(_, line)| names_a_home(line)) {
        findings.push(format!("{name}:{n}: names a home directory: {}", line.trim()));
    }
    if !has_ending(file, "rs") {
        return findings;
    }
    if !text.starts_with("//!") {
        findings.push(format!("{name}: does not open with a //! header"));
    }
    let lines = text.lines().count();
    if lines > LINES_MAX {
        findings.push(format!("{name}: {lines} lines, {LINES_MAX} at most"));
    }
    let sys = file.iter().any(|part| part == "sys" || part == "sys.rs");
    for (n, line) in numbered() {
        let code = code_of(line);
        if !sys && has_word(&code, "unsafe") {
            findings.push(format!("{name}:{n}: unsafe outside sys"));
        }
        let ignored = code.contains("#[") && has_word(&code, "ignore");
        if ignored || UNFINISHED.iter().any(|name| code.contains(&format!("{name}!("))) {
            findings.push(format!("{name}:{n}: unfinished: {}", line.trim()));
        }
    }
    findings
}

/// Whether a line names a path below one of [`HOMES`]: every machine has the directories alone.
fn names_a_home(line: &str) -> bool {
    let inside = |rest: &str| {
        rest.strip_prefix('/').is_some_and(|name| name.starts_with(char::is_alphanumeric))
    };
    HOMES.iter().any(|home| {
        line.match_indices(home).any(|(at, _)| {
            let begins =
                !line[..at].ends_with(|c: char| c.is_alphanumeric() || "/_-.~$}".contains(c));
            begins && inside(&line[at + home.len()..])
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings_of(file: &str, text: &str) -> usize {
        judge(Path::new(file), text).len()
    }

    #[test]
    fn violations_are_found() {
        for text in [
            "fn x() {}",
            "//! x\nunsafe { x() }",
            "//! x\nfn f() { todo!() }",
            "//! x\n#[ignore]\nfn f() {}",
            "//! x\n#[test]#[ignore = \"slow\"]",
            &format!("//! x\nconst A: &str = \"{}/ann/x\";", HOMES[0]),
            &format!("//! see {}/notes", HOMES[1]),
            &format!("//! x\n{}", "\n".repeat(LINES_MAX)),
        ] {
            assert_eq!(findings_of("crates/a/src/b.rs", text), 1, "{text}");
        }
        assert_eq!(findings_of("docs/x.md", &format!("kept in {}/ann", HOMES[2])), 1);
    }

    #[test]
    fn lookalikes_are_accepted() {
        for text in [
            "//! x\n#![forbid(unsafe_code)]",
            "//! x\n// unsafe things are in sys",
            "//! x\nlet word = \"unsafe\"; let quote = '\"'; // unsafe",
            "//! x\nlet mount = \"/home\"; let other = \"/var/home/x\";",
            "//! x\nlet ignore = 1;",
        ] {
            assert_eq!(findings_of("crates/a/src/b.rs", text), 0, "{text}");
        }
        for file in ["crates/a/src/sys.rs", "crates/a/src/sys/ring.rs"] {
            assert_eq!(findings_of(file, "//! x\nunsafe { x() }"), 0);
        }
    }
}

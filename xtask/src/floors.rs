//! The import rule: a crate may import only crates on lower floors.
//!
//! ARCHITECTURE.md lists the rooms from the ground up. This check reads that list, so that it
//! exists only once. Tests must also follow the rule.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::run::{rooms, root};

/// Lower rooms that a room must not import: rules, script, methods, fio and compat access a drive only
/// through the rig, and the command reaches everything that measures through `lab`.
const HIDDEN: &[(&str, &[&str])] = &[
    ("rules", &["engine", "model", "drive"]),
    ("script", &["engine", "model", "drive"]),
    ("methods", &["engine", "model", "drive"]),
    ("compat", &["engine", "model", "drive"]),
    ("fio", &["engine", "model", "drive"]),
    ("ssdyno", &["engine", "model", "rules", "script", "methods"]),
];

/// Rooms for tests only.
const FOR_TESTS: &[&str] = &["fuzz"];

/// A room and its import; `room` is empty for no import.
struct Import {
    from: String,
    room: String,
    for_tests: bool,
}

/// All imports of a higher or forbidden room.
pub fn findings() -> Result<Vec<String>> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md"))
        .context("ARCHITECTURE.md, which lists the floors")?;
    let floors = floors(&text)?;
    let imports = imports()?;
    let mut findings: Vec<_> = imports.iter().filter_map(|i| judge(&floors, i)).collect();
    // A room missing from the list is reported once per import.
    findings.dedup();
    Ok(findings)
}

/// The names in the table of rooms, ground first: the rows ``| `name` | ...`` below `| room |`.
fn floors(architecture: &str) -> Result<Vec<String>> {
    let table = architecture.lines().skip_while(|line| !line.starts_with("| room |")).skip(2);
    let rooms = table.map_while(|line| line.strip_prefix("| `")?.split_once('`'));
    let floors: Vec<_> = rooms.map(|(name, _)| name.to_string()).collect();
    if floors.is_empty() {
        bail!("ARCHITECTURE.md: no table of rooms, with a head '| room | ...'");
    }
    Ok(floors)
}

fn judge(floors: &[String], import: &Import) -> Option<String> {
    let (from, to) = (import.from.as_str(), import.room.as_str());
    let floor = |name: &str| floors.iter().position(|room| room == name);
    let Some(here) = floor(from) else {
        return Some(format!("crates/{from}: not in the list of rooms in ARCHITECTURE.md"));
    };
    if floor(to)? >= here {
        return Some(format!("crates/{from}: imports {to}, which is not below it"));
    }
    if FOR_TESTS.contains(&to) && !import.for_tests {
        return Some(format!("crates/{from}: imports {to} outside its tests"));
    }
    let hidden = HIDDEN.iter().any(|(room, hidden)| *room == from && hidden.contains(&to));
    hidden.then(|| format!("crates/{from}: must not know {to}"))
}

/// All imports, from the manifests. Each room also has an empty import, so that a room without
/// imports is also looked up in the list.
fn imports() -> Result<Vec<Import>> {
    let mut imports = Vec::new();
    for (from, package) in rooms()? {
        // xtask may import any room.
        if from == "xtask" {
            continue;
        }
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        imports.extend(dependencies.filter_map(|dependency| {
            let directory = Path::new(dependency["path"].as_str()?).file_name()?;
            let room = directory.to_str()?.to_string();
            Some(Import { from: from.clone(), room, for_tests: dependency["kind"] == "dev" })
        }));
        imports.push(Import { from, room: String::new(), for_tests: false });
    }
    Ok(imports)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Rooms

| room | what |
|---|---|
| `fuzz` | what |
| `record` | what |
| `model` | what |
| `engine` | what |
| `methods` | what |

| `other` | table |
";

    #[test]
    fn the_whole_list_is_read() {
        assert_eq!(floors(TEXT).expect("a list"), ["fuzz", "record", "model", "engine", "methods"]);
        assert!(floors("nothing").is_err());
    }

    #[test]
    fn imports_go_down() {
        let floors = floors(TEXT).expect("a list");
        let judged = |from: &str, to: &str, for_tests| {
            judge(&floors, &Import { from: from.into(), room: to.into(), for_tests })
        };
        let bad = |from: &str, to: &str| judged(from, to, false);
        assert_eq!(bad("engine", "model"), None);
        assert_eq!(bad("engine", ""), None);
        assert!(bad("model", "engine").is_some_and(|text| text.contains("not below")));
        assert!(bad("methods", "engine").is_some_and(|text| text.contains("must not know")));
        assert!(bad("record", "fuzz").is_some_and(|text| text.contains("outside its tests")));
        assert_eq!(judged("record", "fuzz", true), None);
        assert!(bad("attic", "").is_some_and(|text| text.contains("not in the list")));
    }
}

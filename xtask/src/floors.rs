//! Which room may import which: a crate sees only crates of the floors below it.
//!
//! ARCHITECTURE.md lists the rooms from the ground up, and that list is the law: nothing is said
//! twice. Tests are held to it, too.

use std::fs;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::run::{metadata, root};

/// Rooms that know a drive only through the rig, so that none knows real from virtual.
const BLIND: &[(&str, &[&str])] = &[("methods", &["engine", "model", "drive"])];

/// Every import that goes up, or to a room that is not to be known.
pub fn findings() -> Result<Vec<String>> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md"))
        .context("ARCHITECTURE.md, which lists the floors")?;
    let floors = floors(&text)?;
    let imports = imports()?;
    let mut findings: Vec<_> =
        imports.iter().filter_map(|(from, to)| judge(&floors, from, to)).collect();
    // A room that is not in the list is found with each of its imports.
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

fn judge(floors: &[String], from: &str, to: &str) -> Option<String> {
    let floor = |name: &str| floors.iter().position(|room| room == name);
    let Some(here) = floor(from) else {
        return Some(format!("crates/{from}: not in the list of rooms in ARCHITECTURE.md"));
    };
    if floor(to)? >= here {
        return Some(format!("crates/{from}: imports {to}, which is not below it"));
    }
    let hidden = BLIND.iter().any(|(room, hidden)| *room == from && hidden.contains(&to));
    hidden.then(|| format!("crates/{from}: must not know {to}"))
}

/// Pairs of a room and what it imports, from the manifests as cargo reads them. Each room also has
/// a pair with no import, so that one without any is looked up in the list as well.
fn imports() -> Result<Vec<(String, String)>> {
    let metadata = metadata()?;
    let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_string();
    let mut pairs = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let from = name(package);
        // The chores are no room.
        if from == "xtask" {
            continue;
        }
        let imports = package["dependencies"].as_array().into_iter().flatten();
        let local = imports.filter(|import| import["path"].is_string()).map(name);
        pairs.extend(local.chain([String::new()]).map(|to| (from.clone(), to)));
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Rooms

| room | what |
|---|---|
| `record` | what |
| `model` | what |
| `engine` | what |
| `methods` | what |

| `other` | table |
";

    #[test]
    fn the_list_is_read_up_to_its_end() {
        assert_eq!(floors(TEXT).expect("a list"), ["record", "model", "engine", "methods"]);
        assert!(floors("nothing").is_err());
    }

    #[test]
    fn imports_go_down() {
        let floors = floors(TEXT).expect("a list");
        let bad = |from: &str, to: &str| judge(&floors, from, to);
        assert_eq!(bad("engine", "model"), None);
        assert_eq!(bad("engine", ""), None);
        assert!(bad("model", "engine").is_some_and(|text| text.contains("not below")));
        assert!(bad("methods", "engine").is_some_and(|text| text.contains("must not know")));
        assert!(bad("attic", "").is_some_and(|text| text.contains("not in the list")));
    }
}

//! The crates that the project takes from elsewhere: their licences, sources and versions.
//!
//! Read from `cargo metadata`, which asks nobody. Every crate of the workspace must come from a
//! registry and under a licence that `deny.toml` accepts, and no other crate may be in the binary in
//! two versions. The list of crates in a binary is also that of `dist`: for its bill of materials and
//! licence texts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::run::{cargo, output};

/// The lists of `deny.toml`, which cargo-deny reads, too.
#[derive(Debug)]
struct Accepted {
    /// Licences; one of the alternatives that a crate offers must be among them.
    licenses: Vec<String>,
    /// Sources, as `cargo metadata` names them.
    registries: Vec<String>,
    /// Crates that may be in the binary in two versions.
    twice: Vec<String>,
}

impl Accepted {
    fn read(dir: &Path) -> Result<Accepted> {
        let text = fs::read_to_string(dir.join("deny.toml")).context("deny.toml")?;
        let lists: toml::Table = toml::from_str(&text).context("deny.toml")?;
        let list = |table: &str, key: &str| -> Result<Vec<String>> {
            let list = lists.get(table).and_then(|table| table.get(key)?.as_array());
            let list = list.with_context(|| format!("deny.toml: no list {key} in {table}"))?;
            let word = |value: &toml::Value| {
                let name = value.as_str().or_else(|| value.get("crate")?.as_str());
                name.unwrap_or_default().to_string()
            };
            Ok(list.iter().map(word).collect())
        };
        let registries = list("sources", "allow-registry")?;
        Ok(Accepted {
            licenses: list("licenses", "allow")?,
            registries: registries.iter().map(|address| format!("registry+{address}")).collect(),
            twice: list("bans", "skip")?,
        })
    }

    /// Whether each part of `(A OR B) AND C` has an accepted alternative; deeper nesting is rejected.
    fn has_license(&self, license: &str) -> bool {
        license.split(" AND ").all(|part| {
            let part = part.trim_start_matches('(').trim_end_matches(')');
            part.split(" OR ").any(|name| self.licenses.iter().any(|license| license == name))
        })
    }
}

/// The target whose crates `tidy` checks.
const CHECKED: &str = "x86_64-unknown-linux-gnu";

/// The crates of the programs in a distribution.
pub const SHIPPED: [&str; 2] = ["ssdyno", "web"];

/// A crate.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// Its key in the graph of cargo.
    pub id: String,
    /// Name on crates.io.
    pub name: String,
    /// Version.
    pub version: String,
    /// Licence in SPDX's terms; empty if it states none.
    pub license: String,
    /// Where cargo took it from; `None` for a crate of the workspace.
    pub source: Option<String>,
    /// Its directory.
    pub dir: PathBuf,
    /// The keys of the crates that it links.
    pub links: Vec<String>,
}

/// The crates of the workspace and what they use on a target, and the graph between them.
#[derive(Debug)]
pub struct Supply {
    components: BTreeMap<String, Component>,
}

impl Supply {
    /// Reads the crates of the workspace in `dir` for a target.
    pub fn read(dir: &Path, triple: &str) -> Result<Supply> {
        let arguments = ["metadata", "--locked", "--format-version=1", "--filter-platform", triple];
        let text = output(cargo(&arguments).current_dir(dir))?;
        let json = text.lines().find(|line| line.starts_with('{')).context("cargo metadata")?;
        Supply::parse(&serde_json::from_str(json).context("cargo metadata")?)
    }

    fn parse(metadata: &Value) -> Result<Supply> {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let mut links = BTreeMap::new();
        for node in list(&metadata["resolve"]["nodes"]) {
            let linked = |dep: &Value| list(&dep["dep_kinds"]).iter().any(|k| k["kind"].is_null());
            let deps = list(&node["deps"]);
            let ids = deps.iter().filter(|dep| linked(dep)).map(|dep| text(&dep["pkg"]));
            links.insert(text(&node["id"]), ids.collect::<Vec<_>>());
        }
        let packages = list(&metadata["packages"]);
        let macros: BTreeSet<String> =
            packages.iter().filter(|p| is_macro(p)).map(|p| text(&p["id"])).collect();
        let component = |package: &Value| {
            let id = text(&package["id"]);
            let mut links = links.remove(&id).unwrap_or_default();
            // A procedural macro runs in the compiler.
            links.retain(|id| !macros.contains(id));
            let manifest = PathBuf::from(text(&package["manifest_path"]));
            let component = Component {
                id: id.clone(),
                name: text(&package["name"]),
                version: text(&package["version"]),
                license: text(&package["license"]).replace(" / ", " OR ").replace('/', " OR "),
                source: package["source"].as_str().map(str::to_string),
                dir: manifest.parent().unwrap_or(&manifest).to_path_buf(),
                links,
            };
            (id, component)
        };
        Ok(Supply { components: packages.iter().map(component).collect() })
    }

    /// The crates in the binary of the crate `root`, sorted by name and version, `root` included.
    pub fn shipped(&self, roots: &[&str]) -> Result<Vec<&Component>> {
        let (mut reached, mut queue) = (BTreeSet::new(), Vec::new());
        for root in roots {
            let start = self.components.values().find(|c| c.name == *root && c.source.is_none());
            let start = start.with_context(|| format!("no crate {root} in the workspace"))?;
            queue.push(start.id.as_str());
        }
        while let Some(id) = queue.pop() {
            if reached.insert(id) {
                let component =
                    self.components.get(id).with_context(|| format!("no crate {id}"))?;
                queue.extend(component.links.iter().map(String::as_str));
            }
        }
        let mut shipped: Vec<_> =
            reached.iter().filter_map(|id| self.components.get(*id)).collect();
        shipped.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        Ok(shipped)
    }

    fn findings(&self, accepted: &Accepted) -> Result<Vec<String>> {
        let mut findings = Vec::new();
        for component in self.components.values() {
            let Component { name, version, license, .. } = component;
            if !accepted.has_license(license) {
                findings.push(format!("Cargo.lock: {name} {version}: licence '{license}'"));
            }
            let is_foreign = |source: &&String| !accepted.registries.contains(source);
            if let Some(source) = component.source.as_ref().filter(is_foreign) {
                findings.push(format!("Cargo.lock: {name} {version}: comes from {source}"));
            }
        }
        for pair in self.shipped(&SHIPPED)?.windows(2) {
            if pair[0].name == pair[1].name && !accepted.twice.contains(&pair[0].name) {
                let (name, one, other) = (&pair[0].name, &pair[0].version, &pair[1].version);
                findings.push(format!("Cargo.lock: {name} is in the binary as {one} and {other}"));
            }
        }
        Ok(findings)
    }
}

/// All crates with an unaccepted licence or source, and those that the binary holds twice.
pub fn findings() -> Result<Vec<String>> {
    let root = crate::run::root();
    Supply::read(&root, CHECKED)?.findings(&Accepted::read(&root)?)
}

fn is_macro(package: &Value) -> bool {
    let targets = package["targets"].as_array().into_iter().flatten();
    targets.flat_map(|target| target["kind"].as_array()).flatten().any(|kind| kind == "proc-macro")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(
        name: &str,
        version: &str,
        license: &str,
        source: Option<&str>,
        kind: &str,
    ) -> Value {
        json!({"id": format!("{name}@{version}"), "name": name, "version": version,
            "license": license, "source": source, "manifest_path": format!("/x/{name}/Cargo.toml"),
            "targets": [{"kind": [kind]}]})
    }

    fn accepted() -> Accepted {
        Accepted::read(&crate::run::root()).expect("the lists")
    }

    fn supply() -> Supply {
        let normal = |id: &str| json!({"pkg": id, "dep_kinds": [{"kind": null}]});
        let dev = |id: &str| json!({"pkg": id, "dep_kinds": [{"kind": "dev"}]});
        let lists = accepted();
        let registry = Some(lists.registries[0].as_str());
        let metadata = json!({
            "packages": [
                package("ssdyno", "0.1.0", "MIT OR Apache-2.0", None, "bin"),
                package("web", "0.1.0", "MIT OR Apache-2.0", None, "bin"),
                package("a", "1.0.0", "MIT", registry, "lib"),
                package("a", "2.0.0", "Apache-2.0/MIT", registry, "lib"),
                package("derive", "1.0.0", "MIT", registry, "proc-macro"),
                package("b", "1.0.0", "GPL-3.0", registry, "lib"),
                package("c", "1.0.0", "MIT", Some("git+x"), "lib"),
            ],
            "resolve": {"nodes": [
                {"id": "ssdyno@0.1.0",
                 "deps": [normal("a@1.0.0"), normal("derive@1.0.0"), dev("b@1.0.0")]},
                {"id": "a@1.0.0", "deps": [normal("a@2.0.0")]},
                {"id": "derive@1.0.0", "deps": [normal("c@1.0.0")]},
            ]},
        });
        Supply::parse(&metadata).expect("parsed")
    }

    #[test]
    fn macros_and_tests_are_not_in_the_binary() {
        let supply = supply();
        let shipped = supply.shipped(&["ssdyno"]).expect("a graph");
        let names: Vec<_> = shipped.iter().map(|c| format!("{} {}", c.name, c.version)).collect();
        assert_eq!(names, ["a 1.0.0", "a 2.0.0", "ssdyno 0.1.0"]);
    }

    #[test]
    fn licences_sources_and_duplicates_are_found() {
        let findings = supply().findings(&accepted()).expect("a graph");
        assert_eq!(
            findings,
            [
                "Cargo.lock: b 1.0.0: licence 'GPL-3.0'",
                "Cargo.lock: c 1.0.0: comes from git+x",
                "Cargo.lock: a is in the binary as 1.0.0 and 2.0.0",
            ]
        );
    }

    #[test]
    fn one_of_the_alternatives_must_be_accepted() {
        for license in ["MIT", "GPL-2.0 OR MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"] {
            assert!(accepted().has_license(license), "{license}");
        }
        for license in ["", "GPL-3.0", "MIT AND GPL-2.0", "LGPL-2.1 OR GPL-2.0"] {
            assert!(!accepted().has_license(license), "{license}");
        }
    }
}

//! What is in the binary: a bill of materials, and the licences of others that it must carry.
//!
//! The bill is in CycloneDX's JSON format, version 1.5: a component for each crate and for what is
//! no crate, with their licences and, from Cargo.lock, the hashes of their archives. It has no
//! serial number and the date of the sources, so that equal sources give an equal file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Dist;
use crate::supply::{Component, SHIPPED, Supply};

/// A part of the binary that is no crate.
struct Part {
    /// In the bill of materials.
    name: &'static str,
    /// In SPDX's terms.
    license: &'static str,
    /// In the list of licences.
    note: &'static str,
}

/// Parts of the binary that are no crates.
const OTHERS: [Part; 4] = [
    Part {
        name: "glibc",
        license: "LGPL-2.1-or-later",
        note: "ssdyno's sources are public, so that it can be linked with another version",
    },
    Part { name: "rust-std", license: "MIT OR Apache-2.0", note: "Rust's standard library" },
    Part { name: "sqlite", license: "blessing", note: "in the public domain" },
    Part { name: "uplot", license: "MIT", note: "draws the charts of a page" },
];

/// The licence of the GNU C library; Debian has it on each machine.
const LGPL: &str = "/usr/share/common-licenses/LGPL-2.1";

/// Writes the bill of materials.
pub fn write_bill(dist: &Dist, to: &Path) -> Result<()> {
    let supply = Supply::read(&dist.source, dist.target.triple)?;
    let shipped = supply.shipped(&SHIPPED)?;
    let lock = dist.source.join("Cargo.lock");
    let lock = fs::read_to_string(&lock).with_context(|| lock.display().to_string())?;
    let bill = bill(&shipped, &checksums(&lock)?, &dist.date()?);
    let text = serde_json::to_string_pretty(&bill)? + "\n";
    fs::write(to, text).with_context(|| to.display().to_string())
}

fn bill(shipped: &[&Component], checksums: &BTreeMap<String, String>, date: &str) -> Value {
    let described = |component: &&Component| describe(component, checksums);
    let (root, parts): (Vec<_>, Vec<_>) = shipped.iter().partition(|c| c.name == "ssdyno");
    let mut components: Vec<Value> = parts.iter().map(&described).collect();
    components.extend(OTHERS.map(|part| {
        json!({"type": "library", "bom-ref": part.name, "name": part.name,
            "licenses": [{"expression": part.license}]})
    }));
    let mut dependencies: Vec<Value> = Vec::new();
    for component in shipped {
        // A crate linked for tests only is not part of the binary.
        let ids = component.links.iter().filter_map(|id| shipped.iter().find(|c| c.id == *id));
        let mut on: Vec<String> = ids.map(|c| reference(c)).collect();
        if component.name == "ssdyno" {
            on.extend(OTHERS.map(|part| part.name.to_string()));
        }
        on.sort();
        dependencies.push(json!({"ref": reference(component), "dependsOn": on}));
    }
    let mut root: Value = root.first().map(described).unwrap_or_default();
    root["type"] = json!("application");
    json!({"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"timestamp": date, "component": root},
        "components": components, "dependencies": dependencies})
}

fn describe(component: &Component, checksums: &BTreeMap<String, String>) -> Value {
    let mut described = json!({"type": "library", "bom-ref": reference(component),
        "name": component.name, "version": component.version,
        "licenses": [{"expression": component.license}]});
    if component.source.is_some() {
        described["purl"] = json!(reference(component));
    }
    if let Some(sum) = checksums.get(&format!("{} {}", component.name, component.version)) {
        described["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
    }
    described
}

/// The component's name in the bill: its address as a package URL, or the name of a room, which has
/// no address.
fn reference(component: &Component) -> String {
    let version = component.version.replace('+', "%2B");
    let scheme = if component.source.is_some() { "pkg:cargo/" } else { "" };
    format!("{scheme}{}@{version}", component.name)
}

/// The checksums in Cargo.lock, by name and version.
fn checksums(lock: &str) -> Result<BTreeMap<String, String>> {
    let lock: toml::Table = toml::from_str(lock).context("Cargo.lock")?;
    let packages = lock.get("package").and_then(|list| list.as_array()).into_iter().flatten();
    Ok(packages
        .filter_map(|package| {
            let text = |key: &str| package.get(key)?.as_str();
            let key = format!("{} {}", text("name")?, text("version")?);
            Some((key, text("checksum")?.to_string()))
        })
        .collect())
}

/// The licences of what is in the binary: which part has which, and every text once.
pub fn licenses(dist: &Dist) -> Result<String> {
    let supply = Supply::read(&dist.source, dist.target.triple)?;
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut list = String::from(
        "ssdyno contains the parts below. The licence texts that they come with follow the list.\n\n",
    );
    for part in &OTHERS {
        list += &format!("{}: {} ({})\n", part.name, part.license, part.note);
    }
    for (part, path) in other_license_files(dist)? {
        texts.entry(text(&path)?).or_default().push(part.into());
    }
    for component in supply.shipped(&SHIPPED)?.iter().filter(|c| c.source.is_some()) {
        let line = format!("{} {}", component.name, component.version);
        list += &format!("{line}: {}\n", component.license);
        for path in license_files(&component.dir)? {
            texts.entry(text(&path)?).or_default().push(line.clone());
        }
    }
    let mut sections: Vec<_> = texts.into_iter().collect();
    sections.sort_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    for (text, parts) in sections {
        list += &format!("\n{}\n{}:\n\n{}\n", "-".repeat(78), parts.join(", "), text.trim_end());
    }
    Ok(list)
}

/// The licence texts of the parts that are no crates. Rust's own is the MIT licence's, which its
/// crates come with, and SQLite has none.
fn other_license_files(dist: &Dist) -> Result<Vec<(&'static str, PathBuf)>> {
    let mut files = vec![("glibc", PathBuf::from(LGPL))];
    files.push(("glibc", dist.target.libc_copyright()));
    let uplot = dist.source.join("crates/report/vendor/uplot");
    files.extend(license_files(&uplot)?.into_iter().map(|path| ("uplot", path)));
    Ok(files)
}

/// The licence files in a crate, also those of what it carries, sorted; not those of its tests.
fn license_files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        let begins = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT", "UNLICENSE"];
        if path.is_dir() && name != "TESTS" {
            files.extend(license_files(&path)?);
        } else if path.is_file() && begins.iter().any(|word| name.starts_with(word)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn text(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
    Ok(String::from_utf8_lossy(&bytes).replace("\r\n", "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(name: &str, source: Option<&str>, links: &[&str]) -> Component {
        Component {
            id: name.into(),
            name: name.into(),
            version: "1.0.0".into(),
            license: "MIT".into(),
            source: source.map(str::to_string),
            dir: name.into(),
            links: links.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn a_bill_lists_each_part_with_its_hash_and_what_it_links() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"12ab\"\n";
        let root = component("ssdyno", None, &["a", "absent"]);
        let part = component("a", Some("registry"), &[]);
        let sums = checksums(lock).expect("parsed");
        let bill = bill(&[&part, &root], &sums, "2026-01-01T00:00:00Z");
        assert_eq!(bill["metadata"]["component"]["name"], "ssdyno");
        assert_eq!(bill["components"][0]["hashes"][0]["content"], "12ab");
        assert_eq!(bill["components"][0]["purl"], "pkg:cargo/a@1.0.0");
        assert_eq!(bill["metadata"]["component"]["purl"], Value::Null, "a room has no address");
        assert_eq!(
            bill["dependencies"][1]["dependsOn"],
            json!(["glibc", "pkg:cargo/a@1.0.0", "rust-std", "sqlite", "uplot"])
        );
    }
}

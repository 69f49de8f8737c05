//! What is in the binary: a bill of materials, and the licences of others that it must carry.
//!
//! The bill is in CycloneDX's JSON format, version 1.5: a component for each crate, SQLite and the
//! C library, with their licences and, from Cargo.lock, the hashes of their archives. It has no
//! serial number and the date of the sources, so that equal sources give an equal file.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Dist;
use crate::supply::{Component, Supply};

/// Parts of the binary that are no crates, with their licences.
const OTHERS: [(&str, &str); 3] =
    [("glibc", "LGPL-2.1-or-later"), ("sqlite", "blessing"), ("uplot", "MIT")];

/// Writes the bill of materials.
pub fn write_bill(dist: &Dist, to: &Path) -> Result<()> {
    let supply = Supply::read(&dist.source, dist.target.triple)?;
    let shipped = supply.shipped("ssdyno")?;
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
    components.extend(OTHERS.map(|(name, license)| {
        json!({"type": "library", "bom-ref": name, "name": name,
            "licenses": [{"license": {"id": license}}]})
    }));
    let mut dependencies: Vec<Value> = Vec::new();
    for component in shipped {
        // A crate linked for tests only is not part of the binary.
        let ids = component.links.iter().filter_map(|id| shipped.iter().find(|c| c.id == *id));
        let mut on: Vec<String> = ids.map(|c| purl(c)).collect();
        if component.name == "ssdyno" {
            on.extend(OTHERS.map(|(name, _)| name.to_string()));
        }
        on.sort();
        dependencies.push(json!({"ref": purl(component), "dependsOn": on}));
    }
    let mut root: Value = root.first().map(described).unwrap_or_default();
    root["type"] = json!("application");
    json!({"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"timestamp": date, "component": root},
        "components": components, "dependencies": dependencies})
}

fn describe(component: &Component, checksums: &BTreeMap<String, String>) -> Value {
    let purl = purl(component);
    let mut described = json!({"type": "library", "bom-ref": purl, "name": component.name,
        "version": component.version, "licenses": [{"expression": component.license}],
        "purl": purl});
    if let Some(sum) = checksums.get(&format!("{} {}", component.name, component.version)) {
        described["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
    }
    described
}

/// The component's address as a package URL.
fn purl(component: &Component) -> String {
    format!("pkg:cargo/{}@{}", component.name, component.version.replace('+', "%2B"))
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

/// The licences of the crates in the binary: which crate has which, and every text once.
pub fn licenses(dist: &Dist) -> Result<String> {
    let supply = Supply::read(&dist.source, dist.target.triple)?;
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut list = String::from(
        "ssdyno contains the crates below, SQLite (in the public domain), uPlot (MIT) and the\n\
         GNU C library (LGPL-2.1-or-later; ssdyno's sources are public, so that it can be linked\n\
         with another version). The licence texts that the crates come with follow the list.\n\n",
    );
    for component in supply.shipped("ssdyno")?.iter().filter(|c| c.source.is_some()) {
        let line = format!("{} {}", component.name, component.version);
        list += &format!("{line}: {}\n", component.license);
        for text in license_files(&component.dir)? {
            texts.entry(text).or_default().push(line.clone());
        }
    }
    let mut sections: Vec<_> = texts.into_iter().collect();
    sections.sort_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    for (text, crates) in sections {
        list += &format!("\n{}\n{}:\n\n{}\n", "-".repeat(78), crates.join(", "), text.trim_end());
    }
    Ok(list)
}

/// The texts of the licence files in a crate's directory, sorted by file name.
fn license_files(dir: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        let begins = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT", "UNLICENSE"];
        if path.is_file() && begins.iter().any(|word| name.starts_with(word)) {
            files.push(path);
        }
    }
    files.sort();
    let text = |path| Ok(String::from_utf8_lossy(&fs::read(path)?).replace("\r\n", "\n"));
    files.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(name: &str, links: &[&str]) -> Component {
        Component {
            id: name.into(),
            name: name.into(),
            version: "1.0.0".into(),
            license: "MIT".into(),
            source: None,
            dir: name.into(),
            links: links.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn a_bill_lists_each_part_with_its_hash_and_what_it_links() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"12ab\"\n";
        let (root, part) = (component("ssdyno", &["a", "absent"]), component("a", &[]));
        let sums = checksums(lock).expect("parsed");
        let bill = bill(&[&part, &root], &sums, "2026-01-01T00:00:00Z");
        assert_eq!(bill["metadata"]["component"]["name"], "ssdyno");
        assert_eq!(bill["components"][0]["hashes"][0]["content"], "12ab");
        assert_eq!(
            bill["dependencies"][1]["dependsOn"],
            json!(["glibc", "pkg:cargo/a@1.0.0", "sqlite", "uplot"])
        );
    }
}

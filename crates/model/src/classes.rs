//! Classes of drives: a controller generation with its flash, map and bus, for presets and for drives
//! without a preset.
//!
//! The files of `drives/classes/`, included at build time. They have the format of drives. A
//! description with `class = "NAME"` has the parameters of the class wherever it gives none; those
//! count as `class`, whatever their origin in the class. Lists (links, throttle steps) are taken
//! whole.

use toml::{Table, Value};

use crate::nearest::meant;
use crate::spec::DriveSpec;

/// A class's name and file content.
macro_rules! class {
    ($name:literal) => {
        ($name, include_str!(concat!("../drives/classes/", $name, ".toml")))
    };
}

/// Names and file contents.
pub const CLASSES: &[(&str, &str)] = &[
    class!("au-flash"),
    class!("emmc"),
    class!("pcie3-4ch"),
    class!("pcie3-4ch-hmb"),
    class!("pcie3-8ch"),
    class!("pcie4-4ch-hmb"),
    class!("pcie4-8ch"),
    class!("sata-mlc"),
    class!("sata-tlc"),
    class!("sd-a1"),
    class!("sd-uhs"),
];

/// Entries of a class that describe it and no drive.
const OWN: [&str; 4] = ["name", "model", "about", "class"];

/// Completes a description, whose text is `text`, with the parameters of its class.
pub(crate) fn inherit(spec: DriveSpec, text: &str) -> Result<DriveSpec, String> {
    if spec.class.is_empty() {
        return Ok(spec);
    }
    let Some((name, class)) = CLASSES.iter().find(|(name, _)| *name == spec.class) else {
        let suggestion = meant(&spec.class, CLASSES.iter().map(|(name, _)| *name));
        return Err(format!("no class '{}'{suggestion}", spec.class));
    };
    let parse = |text: &str| text.parse::<Table>().map_err(|e| e.to_string());
    let mut class = parse(class)?;
    class.retain(|key, _| !OWN.contains(&key));
    class.iter_mut().for_each(|(_, value)| mark(value, name));
    overlay(&mut class, parse(text)?);
    DriveSpec::from_table(&class).map_err(|e| e.to_string())
}

/// Marks every figure as one of the class.
fn mark(value: &mut Value, class: &str) {
    match value {
        Value::Table(figure) if figure.contains_key("value") => {
            let source = figure.get("source").and_then(Value::as_str).unwrap_or("a guess");
            let source = format!("class {class}: {source}");
            figure.insert("from".into(), "class".into());
            figure.insert("source".into(), source.into());
        }
        Value::Table(section) => section.iter_mut().for_each(|(_, value)| mark(value, class)),
        Value::Array(items) if items.iter().all(Value::is_table) => {
            items.iter_mut().for_each(|value| mark(value, class));
        }
        Value::Array(_) => {}
        bare => {
            let mut figure = Table::new();
            figure.insert("value".into(), bare.clone());
            figure.insert("from".into(), "class".into());
            figure.insert("source".into(), format!("class {class}: a guess").into());
            *bare = Value::Table(figure);
        }
    }
}

/// Replaces the entries of `under` by those of `over`; sections are merged, figures are not.
fn overlay(under: &mut Table, over: Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above))
                if !below.contains_key("value") && !above.contains_key("value") =>
            {
                overlay(below, above);
            }
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

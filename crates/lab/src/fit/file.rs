//! Writes the description of a virtual drive as a TOML file, with the source of every figure.
//! `DriveSpec::parse` reads the text back unchanged.

use std::fmt::Write as _;

use model::{DriveSpec, FigureLine};
use serde_json::Value;

/// The first line of the file, by which an earlier fit is recognised.
pub const HEAD: &str = "# Fitted by ssdyno drives fit\n";

/// Beginning of a line with the identifier of a run that the drive was fitted to. A comment, because a
/// description does not depend on it.
const RUN: &str = "# run ";

/// The text of the file of a drive that was fitted to the runs with these identifiers.
pub fn fitted_text(spec: &DriveSpec, runs: &[String]) -> String {
    let runs: String = runs.iter().map(|id| format!("{RUN}{id}\n")).collect();
    let text = text(spec);
    let rest = text.strip_prefix(HEAD).unwrap_or(&text);
    format!("{HEAD}{runs}{rest}")
}

/// The identifiers of the runs that a file was fitted to; none for any other file.
pub fn fitted_runs(text: &str) -> Vec<String> {
    let Some(rest) = text.strip_prefix(HEAD) else { return Vec::new() };
    let lines = rest.lines().map_while(|line| line.strip_prefix(RUN));
    lines.map(str::to_string).collect()
}

/// The text of the file.
pub fn text(spec: &DriveSpec) -> String {
    let mut text = format!("{HEAD}name = {}\n", quoted(&spec.name));
    text += &format!("model = {}\nabout = {}\n", quoted(&spec.model), quoted(&spec.about));
    if !spec.class.is_empty() {
        text += &format!("class = {}\n", quoted(&spec.class));
    }
    text += &format!("formats = {:?}\n", spec.formats);
    let figures = spec.figures();
    // In TOML, keys without a section must precede the first section.
    let (bare, sectioned): (Vec<_>, Vec<_>) = figures.iter().partition(|f| !f.key.contains('.'));
    for figure in bare {
        text += &line(&figure.key, figure);
    }
    let mut current = String::new();
    for figure in sectioned {
        let (section, key) = figure.key.rsplit_once('.').unwrap_or(("", &figure.key));
        if section != current {
            let _ = writeln!(text, "\n{}", heading(section));
            current = section.to_string();
        }
        text += &line(key, figure);
    }
    text
}

/// `[nand]`, or `[[link]]` for `link.0`.
fn heading(section: &str) -> String {
    match section.rsplit_once('.') {
        Some((list, number)) if number.parse::<usize>().is_ok() => format!("[[{list}]]"),
        _ => format!("[{section}]"),
    }
}

/// A string of TOML: one of JSON, except that DEL must be escaped.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

fn line(key: &str, figure: &FigureLine) -> String {
    let bare = figure.value.parse::<f64>().is_ok() || figure.value.parse::<bool>().is_ok();
    let value = if bare { figure.value.clone() } else { quoted(&figure.value) };
    let (origin, source) = (quoted(&figure.from), quoted(&figure.source));
    format!("{key} = {{ value = {value}, from = {origin}, source = {source} }}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_survives_a_round_trip() {
        for name in DriveSpec::presets() {
            let spec = DriveSpec::preset(name).expect("known");
            let again = DriveSpec::parse("again.toml", &text(&spec));
            assert_eq!(again.as_ref(), Ok(&spec), "{name}");
        }
    }

    #[test]
    fn a_fitted_file_names_its_runs_and_no_other_does() {
        let spec = DriveSpec::preset("sd-class2").expect("known");
        let runs = ["01ABC".to_string(), "01DEF".to_string()];
        let fitted = fitted_text(&spec, &runs);
        assert_eq!(fitted_runs(&fitted), runs);
        assert_eq!(DriveSpec::parse("again.toml", &fitted).as_ref(), Ok(&spec));
        assert!(fitted_runs(&text(&spec)).is_empty());
        assert!(fitted_runs("# run 01ABC\n").is_empty());
    }

    #[test]
    fn any_character_survives_a_round_trip() {
        let mut spec = DriveSpec::preset("sd-class2").expect("known");
        spec.about = "/mnt/Cafe\u{301} \u{200b}\u{7f}\0\u{1b}\t\n\"\\'".into();
        spec.model = "\u{301}\0".into();
        assert_eq!(DriveSpec::parse("again.toml", &text(&spec)).as_ref(), Ok(&spec));
    }
}

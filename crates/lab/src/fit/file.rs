//! Writes the description of a virtual drive as a TOML file, with the source of every figure.
//! `DriveSpec::parse` reads the text back unchanged.

use std::fmt::Write as _;

use model::{DriveSpec, FigureLine};
use serde_json::Value;

use super::notes::{FitNotes, HEAD};

/// The text of the file of a drive that was fitted to runs.
pub(super) fn fitted_text(spec: &DriveSpec, notes: &FitNotes) -> String {
    let text = text(spec);
    let rest = text.strip_prefix(HEAD).unwrap_or(&text);
    format!("{HEAD}{}{rest}", notes.text())
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
        let runs = vec!["01ABC".to_string(), "01DEF".to_string()];
        let notes = FitNotes { runs, ..FitNotes::default() };
        let fitted = fitted_text(&spec, &notes);
        assert_eq!(FitNotes::parse(&fitted), Some(notes));
        assert_eq!(DriveSpec::parse("again.toml", &fitted).as_ref(), Ok(&spec));
        assert_eq!(FitNotes::parse(&text(&spec)), None);
    }

    #[test]
    fn any_character_survives_a_round_trip() {
        let mut spec = DriveSpec::preset("sd-class2").expect("known");
        spec.about = "/mnt/Cafe\u{301} \u{200b}\u{7f}\0\u{1b}\t\n\"\\'".into();
        spec.model = "\u{301}\0".into();
        assert_eq!(DriveSpec::parse("again.toml", &text(&spec)).as_ref(), Ok(&spec));
    }
}

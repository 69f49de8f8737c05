//! `xtask/survivors.toml`: mutants that no test catches, each with the reason why it does not
//! matter.
//!
//! An entry identifies its mutant by file, change and source line, not by line number, so that it
//! stays valid if code above it moves. An entry without an existing mutant is reported as stale.

use std::fs;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::run::root;

/// A mutant, anywhere in its file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Survivor {
    /// `FILE: CHANGE`, in the words of cargo-mutants.
    pub mutant: String,
    /// The changed source line, trimmed.
    pub line: String,
}

impl Survivor {
    /// The changed file, relative to the project root.
    pub fn file(&self) -> &str {
        self.mutant.split_once(": ").map_or("", |(file, _)| file)
    }
}

#[derive(Debug, Deserialize)]
struct Entry {
    #[serde(flatten)]
    survivor: Survivor,
    why: String,
}

/// The list.
#[derive(Debug, Default, Deserialize)]
pub struct Listed {
    #[serde(default)]
    survivor: Vec<Entry>,
}

impl Listed {
    /// Reads the list of the repository.
    pub fn read() -> Result<Listed> {
        let path = root().join("xtask/survivors.toml");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        toml::from_str(&text).with_context(|| path.display().to_string())
    }

    /// The reason why a survivor does not matter; `None` if it is not listed.
    pub fn why(&self, survivor: &Survivor) -> Option<&str> {
        self.survivor.iter().find(|entry| entry.survivor == *survivor).map(|e| e.why.as_str())
    }

    /// Entries of a room whose mutants no longer exist.
    pub fn stale<'a>(
        &self,
        room: &str,
        mutants: impl Iterator<Item = &'a Survivor> + Clone,
    ) -> Vec<Survivor> {
        let dir = format!("crates/{room}/");
        let of_room = self.survivor.iter().map(|entry| &entry.survivor);
        let of_room = of_room.filter(|survivor| survivor.mutant.starts_with(&dir));
        of_room.filter(|one| !mutants.clone().any(|other| other == *one)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_of_the_list_has_a_reason() {
        let listed = Listed::read().expect("the list");
        for entry in &listed.survivor {
            assert!(entry.why.len() > 20, "{}: {}", entry.survivor.mutant, entry.why);
        }
    }

    #[test]
    fn an_entry_is_found_by_file_change_and_line() {
        let text = "[[survivor]]\nmutant = 'crates/a/src/b.rs: replace + with - in f'\n\
                    line = 'x + 1'\nwhy = 'rounding'\n";
        let listed: Listed = toml::from_str(text).expect("read");
        let mutant = "crates/a/src/b.rs: replace + with - in f".to_string();
        let (here, elsewhere) = (
            Survivor { mutant: mutant.clone(), line: "x + 1".into() },
            Survivor { mutant, line: "y + 1".into() },
        );
        assert_eq!(listed.why(&here), Some("rounding"));
        assert_eq!(listed.why(&elsewhere), None);
        assert_eq!(listed.stale("a", [&here].into_iter()), []);
        assert_eq!(listed.stale("a", [&elsewhere].into_iter()), [here]);
        assert_eq!(listed.stale("c", [].into_iter()), []);
    }
}

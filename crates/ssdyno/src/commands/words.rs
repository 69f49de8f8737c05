//! Separates ssdyno's own options from those of another tool.
//!
//! `ssdyno fio` and `ssdyno iozone` accept the options of fio and iozone. ssdyno's own options
//! begin with two dashes and are removed before the others are parsed.

use std::slice::Iter;

use crate::failure::{Failure, Result, USAGE};

/// A word that may be one of ssdyno's options: `--name`, `--name=value`, or `--name value`.
pub struct OptionWord<'w, 'i> {
    /// The part before the `=`.
    pub name: &'w str,
    joined: Option<&'w str>,
    rest: &'i mut Iter<'w, String>,
}

impl OptionWord<'_, '_> {
    /// Returns its value: the part after the `=`, or the next word.
    pub fn value(&mut self) -> Result<String> {
        let value = self.joined.map(str::to_string).or_else(|| self.rest.next().cloned());
        value.ok_or_else(|| Failure::new(USAGE, format!("{} needs a value", self.name)))
    }
}

/// Passes each word to `ours`, which returns whether it consumed the word. Returns the other words.
pub fn split(
    words: &[String],
    mut ours: impl FnMut(&mut OptionWord<'_, '_>) -> Result<bool>,
) -> Result<Vec<String>> {
    let (mut words, mut remaining) = (words.iter(), Vec::new());
    while let Some(word) = words.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), None),
        };
        if !ours(&mut OptionWord { name, joined: value, rest: &mut words })? {
            remaining.push(word.clone());
        }
    }
    Ok(remaining)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_attached_or_follow() {
        let words = ["--a=1", "-x", "--a", "2", "--b=3"].map(String::from);
        let mut values = Vec::new();
        let left = split(&words, |word| {
            let ours = word.name == "--a";
            if ours {
                values.push(word.value()?);
            }
            Ok(ours)
        });
        assert_eq!(left.expect("split"), ["-x", "--b=3"]);
        assert_eq!(values, ["1", "2"]);
        let missing = split(&["--a".to_string()], |word| word.value().map(|_| true));
        assert_eq!(missing.expect_err("no value").text(), "--a needs a value");
    }
}

//! Our own words among those of another tool.
//!
//! `ssdyno fio` and `ssdyno iozone` take the words of fio and iozone; ours, which all begin with two
//! dashes, are taken out before those are read.

use std::slice::Iter;

use crate::failure::{Failure, Result, USAGE};

/// A word of ours, maybe: `--name`, `--name=value`, or `--name value`.
pub struct Word<'w, 'i> {
    /// What stands before the `=`.
    pub name: &'w str,
    joined: Option<&'w str>,
    behind: &'i mut Iter<'w, String>,
}

impl Word<'_, '_> {
    /// Its value, joined to it or the word behind.
    pub fn value(&mut self) -> Result<String> {
        let given = self.joined.map(str::to_string).or_else(|| self.behind.next().cloned());
        given.ok_or_else(|| Failure::new(USAGE, format!("{} needs a value", self.name)))
    }
}

/// Shows each word to `ours`, which says whether it took it. Gives the words that were left.
pub fn split(
    words: &[String],
    mut ours: impl FnMut(&mut Word<'_, '_>) -> Result<bool>,
) -> Result<Vec<String>> {
    let (mut words, mut left) = (words.iter(), Vec::new());
    while let Some(word) = words.next() {
        let (name, joined) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), None),
        };
        if !ours(&mut Word { name, joined, behind: &mut words })? {
            left.push(word.clone());
        }
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_joined_or_behind() {
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

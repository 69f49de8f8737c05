//! A document on a drive of the user's: the author's own steps, a record for each.
//!
//! A step is a method, or a line of fio's from the document with another file: a scratch file in the
//! directory, or the device itself.

use std::time::Duration;

use serde::Deserialize;

use crate::watcher::Recorded;

/// A step of the document's author.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its name.
    pub id: String,
    /// The method or the fio line.
    #[serde(flatten)]
    pub run: Run,
}

/// The work of a step.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Run {
    /// A method of ssdyno's.
    Method(String),
    /// Words of fio's, as printed except for misprints.
    Fio(String),
}

/// A step that was run.
#[derive(Debug)]
pub struct Done {
    /// Its name.
    pub step: String,
    /// Its record.
    pub recorded: Recorded,
}

/// Words of fio's with another file, and with the size and time that the user asked for.
pub fn fio_words(
    words: &str,
    file: &str,
    size: Option<u64>,
    time: Option<Duration>,
) -> Vec<String> {
    let replaced = ["filename", "directory"].into_iter().chain(size.map(|_| "size"));
    let replaced: Vec<_> = replaced.map(|name| format!("--{name}=")).collect();
    let kept = |word: &&str| !replaced.iter().any(|prefix| word.starts_with(prefix.as_str()));
    let mut words: Vec<String> = words.split_whitespace().filter(kept).map(String::from).collect();
    words.push(format!("--filename={}", file.replace(':', "\\:")));
    words.extend(size.map(|bytes| format!("--size={bytes}")));
    words.extend(time.map(|time| format!("--runtime={}ms", time.as_millis().max(1))));
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replicate::document;

    #[test]
    fn methods_and_figures_of_the_steps_exist() {
        for name in document::names() {
            let document = document::document(name).unwrap_or_else(|e| panic!("{e}"));
            for step in &document.here {
                if let Run::Method(name) = &step.run {
                    assert!(methods::find(name).is_ok(), "{name}");
                }
            }
            for figure in &document.beside {
                let step = document.here.iter().find(|step| step.id == figure.step);
                assert!(step.is_some(), "{name}: {figure:?}");
            }
        }
    }

    #[test]
    fn file_size_and_time_are_replaced() {
        let words = "--name=x --filename=/dev/sda --size=1g --rw=read";
        let own = fio_words(words, "/a:b", Some(4096), Some(Duration::from_secs(2)));
        let expected =
            ["--name=x", "--rw=read", "--filename=/a\\:b", "--size=4096", "--runtime=2000ms"];
        assert_eq!(own, expected);
        let own = fio_words(words, "f", None, None);
        assert_eq!(own, ["--name=x", "--size=1g", "--rw=read", "--filename=f"]);
    }
}

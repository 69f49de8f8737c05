//! An experiment of a document for `ssdyno replicate`, as a job: a virtual drive, and a method or steps.
//!
//! Like every job, it is data. The host writes the document from its parts, none of which names a file
//! or a program.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::words::{check_method, check_target, check_word, is_printable};

/// Signs that values may have besides letters and digits: of sizes, shares, lists.
const VALUE_SIGNS: &str = " .,:%+-_";

/// Keys of an experiment in a document that are for its readers only.
const FOR_READERS: [&str; 2] = ["assumed", "fitted"];

/// An experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobExperiment {
    /// Its name in the document.
    pub id: String,
    /// A preset, with overrides as in `sim:NAME?key=value`.
    pub drive: String,
    /// Its method; without one, it has steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Options of the method.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// Its steps, by the names of the document: `name` and `io`, `idle`, `discard`, `partition`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<BTreeMap<String, String>>,
}

/// A document as `ssdyno replicate` reads it.
#[derive(Serialize)]
struct WrittenDocument<'a> {
    title: &'a str,
    about: &'a str,
    experiment: [&'a JobExperiment; 1],
    figure: [&'a str; 0],
}

/// The experiments of a document.
#[derive(Deserialize)]
struct DocumentExperiments {
    experiment: Vec<toml::Table>,
}

/// The experiments in the text of a document, in its order; its figures are not for agents.
pub fn experiments_in(document: &str) -> Result<Vec<JobExperiment>, toml::de::Error> {
    let document: DocumentExperiments = toml::from_str(document)?;
    let experiments = document.experiment.into_iter().map(|mut table| {
        table.retain(|key, _| !FOR_READERS.contains(&key));
        table.try_into()
    });
    experiments.collect()
}

impl JobExperiment {
    /// The virtual drive as a target.
    pub fn target(&self) -> String {
        format!("sim:{}", self.drive)
    }

    /// Checks every word.
    pub fn check(&self) -> Result<(), String> {
        if !is_printable(&self.id) {
            return Err("an experiment without a name".into());
        }
        if self.method.is_some() != self.steps.is_empty() {
            let id = emit::plain(&self.id);
            return Err(format!("experiment {id} needs either a method or steps"));
        }
        check_target(&self.target())?;
        self.method.as_deref().map_or(Ok(()), check_method)?;
        for (name, value) in &self.options {
            check_word("option", name, "-_")?;
            check_value(name, value)?;
        }
        for (name, value) in self.steps.iter().flatten() {
            check_word("step", name, "-_")?;
            // Options of `io` name no file; slashes are in its mixes and bursts.
            if name == "io" && is_text(value) {
                continue;
            }
            check_value(name, value)?;
        }
        Ok(())
    }

    /// The document that has this experiment only.
    pub fn document(&self) -> Result<String, String> {
        let document =
            WrittenDocument { title: &self.id, about: "", experiment: [self], figure: [] };
        toml::to_string(&document).map_err(|error| error.to_string())
    }
}

fn check_value(name: &str, value: &str) -> Result<(), String> {
    let is_plain = value.chars().all(|c| c.is_ascii_alphanumeric() || VALUE_SIGNS.contains(c));
    if is_plain && is_text(value) && !value.contains(".toml") {
        return Ok(());
    }
    Err(format!("{name} '{}' is not a value", emit::plain(value)))
}

fn is_text(value: &str) -> bool {
    !value.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "
[[experiment]]
id = 'fill, then read'
drive = 'sd-class2?host=pi5'
assumed = 'a reason for readers'
steps = [
  { name = 'fill', io = '--rw write --bs 1M --coverage 1' },
  { idle = '10m' },
  { discard = 'half', size = '2GB' },
  { name = 'r', io = '--rw randrw --hot 20/80' },
]
[[experiment]]
id = 'rounds'
drive = 'x'
method = 'snia-iops'
options = { size = '4GiB' }
";

    fn experiments() -> Vec<JobExperiment> {
        experiments_in(TEXT).expect("a document")
    }

    #[test]
    fn its_document_has_the_same_experiment_and_nothing_for_readers() {
        for experiment in experiments() {
            assert_eq!(experiment.check(), Ok(()));
            let text = experiment.document().expect("a document");
            assert_eq!(experiments_in(&text), Ok(vec![experiment]));
            assert!(!text.contains("reason"), "{text}");
        }
    }

    #[test]
    fn a_misspelt_key_and_an_experiment_without_work_are_refused() {
        let error = experiments_in(&TEXT.replace("steps =", "step =")).expect_err("misspelt");
        assert!(error.to_string().contains("unknown field `step`"), "{error}");
        let [steps, method] = experiments().try_into().expect("two");
        let neither = JobExperiment { steps: Vec::new(), ..steps.clone() };
        let both = JobExperiment { method: method.method, ..steps };
        for experiment in [neither, both] {
            let error = experiment.check().expect_err("no work, or two");
            assert!(error.contains("either a method or steps"), "{error}");
        }
    }

    #[test]
    fn what_names_a_file_or_a_program_is_refused() {
        let [steps, method] = experiments().try_into().expect("two");
        let with_drive = |drive: &str| JobExperiment { drive: drive.into(), ..steps.clone() };
        for drive in ["./own.toml", "/x", "a\nb"] {
            assert!(with_drive(drive).check().is_err(), "{drive}");
        }
        for name in ["command", "iometer", "restore", "-h"] {
            let experiment = JobExperiment { method: Some(name.into()), ..method.clone() };
            assert!(experiment.check().is_err(), "{name}");
        }
        for (name, value) in [("size", "/etc/x"), ("file", "x.toml"), ("a b", "1"), ("x", "a\nb")] {
            let parts = BTreeMap::from([(name.to_string(), value.to_string())]);
            let with_options = JobExperiment { options: parts.clone(), ..method.clone() };
            let with_steps = JobExperiment { steps: vec![parts], ..steps.clone() };
            assert!(with_options.check().is_err() && with_steps.check().is_err(), "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_words_make_no_other_document(id in "\\PC{0,30}", io in "\\PC{0,60}", name in "\\PC{0,20}") {
            let step = BTreeMap::from([("name".into(), name), ("io".into(), io)]);
            let [first, _] = experiments().try_into().expect("two");
            let experiment = JobExperiment { id, steps: vec![step], ..first };
            if experiment.check().is_ok() {
                let text = experiment.document().expect("a document");
                prop_assert_eq!(experiments_in(&text), Ok(vec![experiment]));
            }
        }
    }
}

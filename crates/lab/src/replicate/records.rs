//! Experiments that were run elsewhere: by other machines, each with a part of a document.
//!
//! The record of an experiment has a tag with its identity. So records of other documents can be among
//! them, and an experiment that was edited since does not take the record of its former self.

use std::collections::BTreeMap;
use std::path::PathBuf;

use record::{Labels, Run};
use sha2::{Digest, Sha256};

use super::document::{Document, Experiment};
use super::repeated::Done;
use crate::error::{LabError, Result};
use crate::import;

/// Missing experiments that an error names.
const NAMED_MAX: usize = 5;

impl Experiment {
    /// The tag of its record.
    pub const TAG: &str = "experiment";

    /// Its name, and a hash of what it does.
    pub fn identity(&self) -> String {
        let Experiment { id, drive, method, options, steps, .. } = self;
        let deeds = format!("{drive} {method:?} {options:?} {steps:?}");
        let hash = Sha256::digest(deeds.as_bytes());
        let digits: String = hash[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{id}.{digits}")
    }

    /// The identity of the experiment whose record this is.
    pub fn identity_in(run: &Run) -> Option<&str> {
        run.tags().find(|(name, _)| *name == Experiment::TAG).map(|(_, identity)| identity)
    }
}

/// The experiments whose name contains `only`, from files and directories of records. Fails if one of
/// them is missing.
pub fn from_records(
    document: &Document,
    only: Option<&str>,
    paths: &[PathBuf],
) -> Result<Vec<Done>> {
    let experiments = document.chosen(only)?;
    let mut runs: BTreeMap<String, Run> = BTreeMap::new();
    import::read(&import::expand(paths)?, None, None, &Labels::default(), &mut |imported| {
        let run = imported.document.run();
        if let Some(identity) = Experiment::identity_in(run).filter(|_| run.complete) {
            runs.insert(identity.to_string(), run.clone());
        }
        Ok(())
    })?;
    let (mut complete, mut missing) = (Vec::new(), Vec::new());
    for experiment in &experiments {
        match runs.remove(&experiment.identity()) {
            Some(run) => {
                complete.push(Done { experiment: experiment.id.clone(), run, page: None });
            }
            None => missing.push(&*experiment.id),
        }
    }
    if missing.is_empty() {
        return Ok(complete);
    }
    let ending = if missing.len() > NAMED_MAX { ", ..." } else { "" };
    let names = missing[..missing.len().min(NAMED_MAX)].join(", ");
    let counts = format!("{} of {} experiments", missing.len(), experiments.len());
    Err(LabError::usage(format!("no record there of {counts}: {names}{ending}"))
        .advise("ssdyno replicate DOCUMENT --out DIR, with the same file"))
}

#[cfg(test)]
mod tests {
    use record::Target;
    use store::Store;

    use super::*;
    use crate::replicate::parse;

    fn document(bytes: &str) -> Document {
        let text = format!(
            "title = 'a'\nabout = ''\nfigure = []\n[[experiment]]\nid = 'x'\ndrive = 'sd-class2'\n\
             steps = [{{ name = 'w', io = '--rw write --bs {bytes}' }}]\n"
        );
        parse("a.toml", &text).expect("a document")
    }

    #[test]
    fn an_edited_experiment_does_not_take_the_record_of_its_former_self() {
        let (first, edited) = (document("4k"), document("8k"));
        let identities = [&first, &edited].map(|document| document.experiments[0].identity());
        assert!(identities[0] != identities[1] && identities[0].starts_with("x."));
        let place = tempfile::tempdir().expect("a directory");
        let tags = [(Experiment::TAG.to_string(), identities[0].clone())].into();
        let run = Run {
            id: store::new_id().expect("random"),
            labels: Some(Labels { tags, ..Labels::default() }),
            complete: true,
            started: "2026-11-24T00:00:00Z".into(),
            ..Run::new("replicate", Target::default())
        };
        let mut store = Store::open(Some(&place.path().join("s.sqlite"))).expect("a store");
        let number = store.begin(&run).expect("kept");
        store.finish(&Run { number: Some(number), ..run }).expect("kept");
        let text = store.document(number).expect("kept").text().expect("as JSON");
        let file = place.path().join("x.json");
        std::fs::write(&file, text + "\n").expect("written");
        let paths = [file];
        let experiments = from_records(&first, None, &paths).expect("its record");
        assert_eq!(experiments[0].experiment, "x");
        let error = from_records(&edited, None, &paths).map(drop).expect_err("another experiment");
        assert!(error.to_string().contains("no record there of 1 of 1 experiments: x"), "{error}");
    }
}

//! Finds records from elsewhere that a document's questions need: the newest of each in the store.

use std::path::Path;

use super::document::Document;
use super::repeated::Done;
use crate::error::Result;
use crate::keeper::{self, Wanted};

/// The imported records, as completed experiments.
pub fn imported(document: &Document, store: &Path) -> Result<Vec<Done>> {
    let mut experiments = Vec::new();
    for import in &document.imports {
        let (target, title) = (import.target.clone(), import.run.clone());
        let runs = keeper::records(Some(store), Wanted::Newest { target, title })?;
        let experiment = &import.id;
        let runs = runs.into_iter();
        experiments.extend(runs.map(|run| Done {
            experiment: experiment.clone(),
            run,
            page: None,
        }));
    }
    Ok(experiments)
}

#[cfg(test)]
mod tests {
    use record::Run;
    use store::Store;

    use super::*;
    use crate::replicate::{Repeated, document};

    /// Rows as printed on the serial port of a bare machine.
    fn table(run: &str, ns: [u32; 3]) -> String {
        let sizes = ["4KiB", "64KiB", "512KiB"].into_iter().zip(ns);
        let rows = sizes.map(|(size, ns)| {
            format!("{run},io,nvme:SSDYNO-BARE,command-{size},ns,{ns},,,1,{ns}\n")
        });
        let heading = "run,method,target,metric,unit,value,low,high,n,samples\n";
        heading.to_string() + &rows.collect::<String>()
    }

    #[test]
    fn the_newest_record_of_the_machine_answers_and_without_one_the_command_is_shown() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("s.sqlite");
        let mut store = Store::open(Some(&path)).expect("a store");
        let document = document::document("001").expect("it is there");
        let said = || {
            let done = imported(&document, &path).expect("a store");
            Repeated::new("001", &document, &done).json().expect("as JSON")
        };
        let (none, found) = (said(), |text: &str| said()["answers"][0]["answer"] == text);
        assert_eq!(none["answers"].as_array().map(Vec::len), Some(0));
        let how = none["unanswered"][0]["how"].as_str().expect("the command");
        assert!(how.contains("cargo xtask bare"), "{how}");
        let question = &document.questions[0];
        let mut import = |text: String| {
            for run in compat::import::results(&text, 1, None).expect("a table") {
                let (id, started) =
                    (store::new_id().expect("random"), "2026-11-24T00:00:00Z".into());
                let run = Run { id, started, ..run };
                let number = store.begin(&run).expect("kept");
                store.finish(&Run { number: Some(number), ..run }).expect("kept");
            }
        };
        import(table("bare-x86_64", [100, 200, 400]));
        assert_eq!(said(), none, "a record of another machine");
        import(table("bare-aarch64", [100, 200, 400]));
        assert!(found(&question.differs), "{}", said());
        import(table("bare-aarch64", [109, 109, 110]));
        assert!(found(&question.same), "{}", said());
        assert_eq!(said()["unanswered"].as_array().map(Vec::len), Some(0));
    }
}

//! The record of a virtual run without what differs between two executions of it: its time, the machine,
//! and the words of the command line that say where the record goes.
//!
//! What remains follows from the drive's description, the method, its options, the seed and the version of
//! ssdyno, provided that the store had no earlier run. The id follows from it, too, so that the same run
//! gives the same record, with the same hash, on every machine and in every part of a job array.

use record::{Document, Environment, Run, TargetKind};

use crate::error::{LabError, Result};
use crate::replicate::Experiment;
use crate::work::REPLICATE;

/// The start of such a record, which has no time of its own.
const START: &str = "1970-01-01T00:00:00Z";

/// The reproducible form of a record of a virtual drive.
pub fn reproducible(run: Run) -> Result<Run> {
    assert!(run.target.kind == TargetKind::Virtual, "only virtual drives repeat bit for bit");
    let command = command(&run);
    let Environment { ssdyno, backend, clock, .. } = run.environment;
    let mut run = Run {
        id: String::new(),
        number: None,
        started: START.into(),
        seconds: None,
        environment: Environment { ssdyno, backend, clock, ..Environment::default() },
        ..run
    };
    if let Some(plan) = &mut run.plan {
        plan.command = command;
    }
    let document = Document::from_run(run.clone()).and_then(|document| document.hash());
    let hash = document.map_err(|error| LabError::usage(format!("the record: {error}")))?;
    run.id = store::id_of(0, &hash.0);
    Ok(run)
}

/// The command line that makes this record; of an experiment, without the file of its document.
fn command(run: &Run) -> Vec<String> {
    if let (true, Some(identity)) = (run.method == REPLICATE.name, Experiment::identity_in(run)) {
        let id = identity.rsplit_once('.').map_or(identity, |(id, _)| id);
        return vec!["ssdyno".into(), "replicate".into(), format!("--only={id}")];
    }
    let mut words =
        ["ssdyno", "run", &run.target.spec, "-m", &run.method].map(String::from).to_vec();
    words.extend(run.seed.map(|seed| format!("--seed={seed}")));
    let options = run.options.iter().flatten();
    words.extend(options.map(|(name, value)| {
        if value.is_empty() { format!("--{name}") } else { format!("--{name}={value}") }
    }));
    words
}

#[cfg(test)]
mod tests {
    use record::{Labels, Target};

    use super::*;

    #[test]
    fn two_executions_give_one_record() {
        let target =
            Target { spec: "sim:x".into(), kind: TargetKind::Virtual, ..Target::default() };
        let mut first = Run { seed: Some(7), ..Run::new("quick", target) };
        first.options = Some([("time".to_string(), "1s".to_string())].into());
        let mut second = first.clone();
        (first.id, first.started) = ("A".into(), "2026-01-01T00:00:00Z".into());
        (second.seconds, second.environment.host) = (Some(2.0), Some("other".into()));
        let [first, second] = [first, second].map(|run| reproducible(run).expect("plain data"));
        assert_eq!(first, second);
        assert_eq!(first.id.len(), 26);
        assert_eq!(command(&first).join(" "), "ssdyno run sim:x -m quick --seed=7 --time=1s");
        let tags = [(Experiment::TAG.to_string(), "qd1.x.0123456789ab".to_string())].into();
        let experiment = Run {
            method: REPLICATE.name.into(),
            labels: Some(Labels { tags, ..Labels::default() }),
            ..first
        };
        assert_eq!(command(&experiment).join(" "), "ssdyno replicate --only=qd1.x");
    }
}

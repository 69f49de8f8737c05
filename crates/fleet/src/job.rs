//! What a hub may ask of a host: one run of a method on a target that the host serves, or an experiment on
//! a virtual drive.
//!
//! A job is data, not a command line: the host builds the words, from a fixed list of options, none of
//! which names a file or a program. A hub in the wrong hands can waste a host's time and read its
//! drives, nothing else; for a destruction see `grant`.

use std::collections::BTreeMap;
use std::path::Path;

use record::parse_tag;
use serde::{Deserialize, Serialize};

use crate::experiment::JobExperiment;
use crate::words::{VIRTUAL, check_method, check_target, check_word, is_printable};

/// Options that a job may have: those of every method, without files.
const OPTIONS: [&str; 4] = ["replicates", "seed", "size", "time"];

/// Maximum size of a job, bytes.
pub const JOB_BYTES_MAX: usize = 16 << 10;

/// The method of jobs with an experiment.
pub const REPLICATE: &str = "replicate";

/// A run that the hub asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetJob {
    /// Unique among all jobs.
    pub id: String,
    /// The target, in the words of the host: `/dev/sdb`, `sim:NAME`.
    pub target: String,
    /// The method.
    pub method: String,
    /// Options of the run, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// Tags for its record.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// An experiment instead of a run of the method, on its own virtual drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<JobExperiment>,
    /// The serial number of a drive to be overwritten. It asks; a grant on the host permits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destroy: Option<String>,
}

impl FleetJob {
    /// Reads and checks a job.
    pub fn parse(bytes: &[u8]) -> Result<FleetJob, String> {
        if bytes.len() > JOB_BYTES_MAX {
            return Err(format!("a job of {} bytes; {JOB_BYTES_MAX} at most", bytes.len()));
        }
        let job: FleetJob = serde_json::from_slice(bytes).map_err(|e| format!("not a job: {e}"))?;
        job.check()?;
        Ok(job)
    }

    /// Its text.
    pub fn text(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    /// Checks every word.
    pub fn check(&self) -> Result<(), String> {
        check_word("id", &self.id, "._-")?;
        check_method(&self.method)?;
        for (name, value) in &self.options {
            if !OPTIONS.contains(&name.as_str()) {
                let text =
                    format!("no option '{name}' for a job; there are {}", OPTIONS.join(", "));
                return Err(text);
            }
            check_word(name, value, ".%")?;
        }
        for (name, value) in &self.tags {
            parse_tag(&format!("{name}={value}"))?;
        }
        check_target(&self.target)?;
        if let Some(experiment) = &self.experiment {
            experiment.check()?;
            if self.target != experiment.target() || !self.options.is_empty() {
                return Err("an experiment has its own drive and options".into());
            }
        }
        match &self.destroy {
            Some(_) if self.is_simulated() => Err("a virtual drive needs no permission".into()),
            Some(serial) if !is_printable(serial) => Err("not a serial number".into()),
            _ => Ok(()),
        }
    }

    /// Whether its target is a virtual drive, whose runs may be repeated: equal runs have equal
    /// records.
    pub fn is_simulated(&self) -> bool {
        self.target.starts_with(VIRTUAL)
    }

    /// The words after `ssdyno` for an experiment whose document is this file.
    pub fn experiment_words(&self, document: &Path) -> Vec<String> {
        let words = [REPLICATE.to_string(), document.display().to_string()].into_iter();
        words.chain(self.tag_words()).collect()
    }

    /// The words after `ssdyno` for a run, without those about output and store.
    pub fn words(&self) -> Vec<String> {
        let mut words: Vec<String> =
            ["run", &self.target, "-m", &self.method].map(String::from).to_vec();
        words.extend(self.options.iter().map(|(name, value)| format!("--{name}={value}")));
        words.extend(self.tag_words());
        words.extend(self.destroy.iter().map(|serial| format!("--destroy={serial}")));
        words
    }

    fn tag_words(&self) -> impl Iterator<Item = String> {
        self.tags.iter().map(|(name, value)| format!("--tag={name}={value}"))
    }
}

/// Whether a machine with these labels is meant: it has every wanted one.
pub fn satisfies(labels: &BTreeMap<String, String>, wanted: &BTreeMap<String, String>) -> bool {
    wanted.iter().all(|(name, value)| labels.get(name) == Some(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn job(target: &str) -> FleetJob {
        FleetJob {
            id: "a-1".into(),
            target: target.into(),
            method: "quick".into(),
            ..FleetJob::default()
        }
    }

    #[test]
    fn the_words_are_those_of_the_command() {
        let mut job = job("/dev/sdb");
        job.options.insert("seed".into(), "7".into());
        job.tags.insert("job".into(), "a-1".into());
        job.destroy = Some("S1".into());
        assert_eq!(job.check(), Ok(()));
        let words = "run /dev/sdb -m quick --seed=7 --tag=job=a-1 --destroy=S1";
        assert_eq!(job.words().join(" "), words);
    }

    #[test]
    fn what_reaches_beyond_a_drive_is_refused() {
        assert_eq!(job("sim:sd-150x?capacity=8GiB").check(), Ok(()));
        for target in ["sim:./own.toml", "sim:/x", "--html=/x", "pci:0000:01:00.0", "", "/a\nb"] {
            assert!(job(target).check().is_err(), "{target}");
        }
        for method in ["command", "restore", "-h", "quick,command", ""] {
            assert!(FleetJob { method: method.into(), ..job("/a") }.check().is_err(), "{method}");
        }
        for (name, value) in [("html", "x"), ("store", "x"), ("seed", "/x"), ("seed", "-1")] {
            let options = BTreeMap::from([(name.to_string(), value.to_string())]);
            assert!(FleetJob { options, ..job("/a") }.check().is_err(), "{name} {value}");
        }
        let simulated = FleetJob { destroy: Some("S1".into()), ..job("sim:x") };
        assert!(simulated.check().is_err());
    }

    #[test]
    fn an_experiment_has_its_own_drive() {
        let experiment = JobExperiment {
            id: "x".into(),
            drive: "sd-class2".into(),
            method: None,
            options: BTreeMap::new(),
            steps: vec![[("idle".to_string(), "1s".to_string())].into()],
        };
        let tags = BTreeMap::from([("campaign".to_string(), "c".to_string())]);
        let job = FleetJob {
            method: REPLICATE.into(),
            experiment: Some(experiment),
            tags,
            ..job("sim:sd-class2")
        };
        assert_eq!(job.check(), Ok(()));
        let again = FleetJob::parse(job.text().expect("plain data").as_bytes());
        assert_eq!(again.as_ref(), Ok(&job));
        let words = job.experiment_words(Path::new("x.toml"));
        assert_eq!(words.join(" "), "replicate x.toml --tag=campaign=c");
        for target in ["sim:usb-16k", "/dev/sdb"] {
            assert!(FleetJob { target: target.into(), ..job.clone() }.check().is_err());
        }
    }

    #[test]
    fn a_machine_is_meant_if_it_has_every_label() {
        let set = |text: &str| -> BTreeMap<String, String> {
            text.split_whitespace().map(|tag| parse_tag(tag).expect("a tag")).collect()
        };
        let labels = set("rack=1 board=mini-a");
        assert!(satisfies(&labels, &set("")) && satisfies(&labels, &set("rack=1")));
        assert!(!satisfies(&labels, &set("rack=2")) && !satisfies(&labels, &set("rack=1 fan=on")));
    }

    proptest! {
        #[test]
        fn a_job_that_is_read_has_no_word_of_its_own(text in "\\PC{0,80}", other in "\\PC{0,20}") {
            let _ = FleetJob::parse(text.as_bytes());
            let mut job = job(&text);
            job.options.insert(other.clone(), text.clone());
            job.tags.insert(other.clone(), text.clone());
            job.destroy = Some(other);
            if job.check().is_ok() {
                let words = job.words();
                let is_option = |word: &String| {
                    ["--seed=", "--size=", "--time=", "--replicates=", "--tag=", "--destroy="]
                        .iter()
                        .any(|start| word.starts_with(start))
                };
                prop_assert!(words[4..].iter().all(is_option), "{:?}", words);
            }
        }
    }
}

//! A campaign: presets, methods and seeds in a file, or the experiments of a document, as jobs for any
//! machine.
//!
//! ```toml
//! name = "coverage"
//! presets = ["sd-150x", "samsung-980-pro-1t"]
//! methods = ["quick"]
//! seeds = "1-100"
//! on = ["rack=3"]          # only machines with these labels
//! [options]
//! time = "10s"
//! ```
//!
//! The order is that of `ssdyno run PRESETS -m METHODS --seeds A-B`: by seed, by method, by preset. With
//! `document = "FILE.toml"` instead of presets, methods and seeds, each experiment of that document for
//! `ssdyno replicate` is a run. A job may be repeated, because equal runs of a virtual drive have equal
//! records.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use record::parse_tag;
use serde::Deserialize;

use crate::digits::{hex, sha256};
use crate::experiment::{JobExperiment, experiments_in};
use crate::job::{FleetJob, REPLICATE};

/// Maximum size of the file, bytes.
const BYTES_MAX: u64 = 1 << 20;

/// Maximum number of runs.
const RUNS_MAX: u64 = 1_000_000;

/// A campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Campaign {
    /// Its name, a tag of its records.
    pub name: String,
    /// Labels of the machines for it: `name=value`.
    pub on: Vec<String>,
    /// Its runs.
    pub runs: CampaignRuns,
}

/// The runs of a campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CampaignRuns {
    /// Every combination.
    Combined {
        /// Virtual drives, with or without `sim:`.
        presets: Vec<String>,
        /// Methods.
        methods: Vec<String>,
        /// First and last seed.
        seeds: (u64, u64),
        /// Options of every run.
        options: BTreeMap<String, String>,
    },
    /// The experiments of a document.
    Experiments(Vec<JobExperiment>),
}

/// A campaign as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CampaignFile {
    name: String,
    #[serde(default)]
    presets: Vec<String>,
    #[serde(default)]
    methods: Vec<String>,
    seeds: Option<String>,
    #[serde(default)]
    on: Vec<String>,
    #[serde(default)]
    options: BTreeMap<String, String>,
    document: Option<PathBuf>,
}

impl Campaign {
    /// Reads the file of a campaign, and that of its document, if it has one.
    pub fn read(path: &Path) -> Result<Campaign> {
        let directory = path.parent().unwrap_or(Path::new(""));
        let name = path.display();
        Campaign::parse(&read_text(path)?, directory).with_context(|| name.to_string())
    }

    /// Reads the text of a campaign, whose document is in or below this directory unless its path is
    /// absolute.
    pub fn parse(text: &str, directory: &Path) -> Result<Campaign> {
        let file: CampaignFile = toml::from_str(text).context("not a campaign")?;
        let campaign =
            Campaign { name: file.name.clone(), on: file.on.clone(), runs: file.runs(directory)? };
        let count = campaign.count();
        ensure!(count > 0, "a campaign without runs");
        ensure!(count <= RUNS_MAX, "a campaign of {count} runs; {RUNS_MAX} at most");
        Ok(campaign)
    }

    /// The number of its runs.
    pub fn count(&self) -> u64 {
        match &self.runs {
            CampaignRuns::Combined { presets, methods, seeds: (first, last), .. } => {
                let kinds = (presets.len() as u64).saturating_mul(methods.len() as u64);
                kinds.saturating_mul((last - first).saturating_add(1))
            }
            CampaignRuns::Experiments(experiments) => experiments.len() as u64,
        }
    }

    /// The labels of the machines for it.
    pub fn labels(&self) -> Result<BTreeMap<String, String>> {
        let tags = self.on.iter().map(|tag| parse_tag(tag).map_err(anyhow::Error::msg));
        tags.collect()
    }

    /// The beginning of the ids of its jobs: the same for the same campaign, so that asking twice asks
    /// once.
    pub fn id(&self) -> String {
        hex(&sha256(format!("{self:?}").as_bytes())[..8])
    }

    /// Its jobs, in order.
    pub fn jobs(&self) -> Result<impl Iterator<Item = FleetJob>> {
        let id = self.id();
        for number in 0..self.kinds() {
            self.job(&id, number).check().map_err(anyhow::Error::msg)?;
        }
        Ok((0..self.count()).map(move |number| self.job(&id, number)))
    }

    /// Jobs that differ in more than their seed.
    fn kinds(&self) -> u64 {
        match &self.runs {
            CampaignRuns::Combined { presets, methods, .. } => {
                presets.len() as u64 * methods.len() as u64
            }
            CampaignRuns::Experiments(experiments) => experiments.len() as u64,
        }
    }

    /// The job with this number, of a campaign with this id.
    fn job(&self, id: &str, number: u64) -> FleetJob {
        let job = FleetJob {
            id: format!("{id}-{number}"),
            tags: BTreeMap::from([("campaign".to_string(), self.name.clone())]),
            ..FleetJob::default()
        };
        match &self.runs {
            CampaignRuns::Combined { presets, methods, seeds: (first, _), options } => {
                let (seed, kind) = (first + number / self.kinds(), number % self.kinds());
                let kind = kind as usize;
                let preset = &presets[kind % presets.len()];
                let mut options = options.clone();
                options.insert("seed".into(), seed.to_string());
                FleetJob {
                    target: format!("sim:{}", preset.trim_start_matches("sim:")),
                    method: methods[kind / presets.len()].clone(),
                    options,
                    ..job
                }
            }
            CampaignRuns::Experiments(experiments) => {
                let experiment = experiments[number as usize].clone();
                FleetJob {
                    target: experiment.target(),
                    method: REPLICATE.into(),
                    experiment: Some(experiment),
                    ..job
                }
            }
        }
    }
}

impl CampaignFile {
    fn runs(self, directory: &Path) -> Result<CampaignRuns> {
        let CampaignFile { presets, methods, seeds, options, document, .. } = self;
        match (document, seeds) {
            (None, None) => bail!("a campaign needs seeds, as in seeds = '1-100', or a document"),
            (None, Some(seeds)) => Ok(CampaignRuns::Combined {
                presets,
                methods,
                seeds: parse_seeds(&seeds)?,
                options,
            }),
            (Some(document), None)
                if presets.is_empty() && methods.is_empty() && options.is_empty() =>
            {
                let path = directory.join(document);
                let experiments = experiments_in(&read_text(&path)?)
                    .with_context(|| format!("{}: not a document", path.display()))?;
                Ok(CampaignRuns::Experiments(experiments))
            }
            (Some(_), _) => {
                bail!(
                    "the experiments of a document have their drives, methods and options: \
                     no presets, methods, seeds and options beside it"
                )
            }
        }
    }
}

/// Reads a file of limited size.
fn read_text(path: &Path) -> Result<String> {
    let name = path.display();
    let mut text = String::new();
    let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
    let length = file.take(BYTES_MAX + 1).read_to_string(&mut text);
    let length = length.with_context(|| format!("cannot read {name}"))?;
    ensure!(length as u64 <= BYTES_MAX, "{name}: larger than {BYTES_MAX} bytes");
    Ok(text)
}

/// Parses `1-100`, or one seed.
fn parse_seeds(text: &str) -> Result<(u64, u64)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.trim().parse(), last.trim().parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok((first, last)),
        _ => bail!("seeds '{}': write 1-100", emit::plain(text)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "name = 'c'\npresets = ['a', 'sim:b']\nmethods = ['quick', 'cache']\n\
                        seeds = '3-4'\non = ['rack=3']\noptions = { time = '1s' }\n";

    fn parse(text: &str) -> Result<Campaign> {
        Campaign::parse(text, Path::new(""))
    }

    #[test]
    fn a_campaign_is_every_combination_in_order() {
        let campaign = parse(TEXT).expect("a campaign");
        let jobs: Vec<FleetJob> = campaign.jobs().expect("jobs").collect();
        let lines: Vec<String> = jobs.iter().map(|job| job.words()[1..].join(" ")).collect();
        assert_eq!(lines.len(), 8);
        assert_eq!(lines[0], "sim:a -m quick --seed=3 --time=1s --tag=campaign=c");
        assert_eq!(lines[1], "sim:b -m quick --seed=3 --time=1s --tag=campaign=c");
        assert_eq!(lines[7], "sim:b -m cache --seed=4 --time=1s --tag=campaign=c");
        assert_eq!(jobs[7].id, format!("{}-7", campaign.id()));
        assert_eq!(
            campaign.labels().expect("labels"),
            BTreeMap::from([("rack".into(), "3".into())])
        );
    }

    #[test]
    fn a_file_without_an_end_is_refused() {
        let error = Campaign::read(Path::new("/dev/zero")).expect_err("endless").to_string();
        assert!(error.contains("larger than"), "{error}");
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("campaign.toml");
        std::fs::write(&path, TEXT.replace("3-4", "1-200000")).expect("written");
        let campaign = Campaign::read(&path).expect("read");
        assert_eq!(campaign.jobs().expect("jobs").count(), 800_000);
    }

    #[test]
    fn each_experiment_of_a_document_is_a_run() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("campaign.toml");
        std::fs::write(&path, "name = 'c'\ndocument = 'd.toml'\n").expect("written");
        let document = "title = 't'\n[[experiment]]\nid = 'x'\ndrive = 'a'\nmethod = 'quick'\n\
                        [[experiment]]\nid = 'y'\ndrive = 'b'\nsteps = [{ idle = '1s' }]\n";
        std::fs::write(dir.path().join("d.toml"), document).expect("written");
        let campaign = Campaign::read(&path).expect("read");
        let jobs: Vec<FleetJob> = campaign.jobs().expect("jobs").collect();
        let targets: Vec<&str> = jobs.iter().map(|job| &*job.target).collect();
        assert_eq!(targets, ["sim:a", "sim:b"]);
        let edited = document.replace("'1s'", "'2s'");
        std::fs::write(dir.path().join("d.toml"), edited).expect("written");
        assert_ne!(Campaign::read(&path).expect("read").id(), campaign.id());
        for other in ["presets = ['a']", "seeds = '1'", "options = { time = '1s' }"] {
            let text = format!("name = 'c'\ndocument = 'd.toml'\n{other}\n");
            assert!(Campaign::parse(&text, dir.path()).is_err(), "{other}");
        }
        let program = document.replace("'quick'", "'command'");
        std::fs::write(dir.path().join("d.toml"), program).expect("written");
        assert!(Campaign::read(&path).expect("read").jobs().map(drop).is_err());
    }

    #[test]
    fn endless_and_empty_campaigns_are_refused() {
        for seeds in ["4-3", "x", "0-18446744073709551615", "1-", ""] {
            assert!(parse(&TEXT.replace("3-4", seeds)).is_err(), "{seeds}");
        }
        assert!(parse(&TEXT.replace("'a', 'sim:b'", "")).is_err());
        assert!(parse("colour = 'red'").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_refused_or_read(text in "\\PC{0,100}", seeds in "[0-9]{0,20}-?[0-9]{0,20}") {
            let _ = parse(&text);
            if let Ok(campaign) = parse(&TEXT.replace("3-4", &seeds)) {
                prop_assert!((1..=RUNS_MAX).contains(&campaign.count()));
            }
        }
    }
}

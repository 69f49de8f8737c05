//! A campaign: presets, methods and seeds in a file, as jobs for any machine.
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
//! The order is that of `ssdyno run PRESETS -m METHODS --seeds A-B`: by seed, by method, by preset. A job
//! may be repeated, because equal runs of a virtual drive have equal records.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use record::parse_tag;
use serde::Deserialize;

use crate::digits::{hex, sha256};
use crate::job::FleetJob;

/// Maximum size of the file, bytes.
const BYTES_MAX: u64 = 1 << 20;

/// Maximum number of runs.
const RUNS_MAX: u64 = 1_000_000;

/// A campaign.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Campaign {
    /// Its name, a tag of its records.
    pub name: String,
    /// Virtual drives, with or without `sim:`.
    pub presets: Vec<String>,
    /// Methods.
    pub methods: Vec<String>,
    /// First and last seed: `1-100`, or one.
    pub seeds: String,
    /// Labels of the machines for it: `name=value`.
    #[serde(default)]
    pub on: Vec<String>,
    /// Options of every run.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
}

impl Campaign {
    /// Reads the file of a campaign.
    pub fn read(path: &Path) -> Result<Campaign> {
        let name = path.display();
        let mut text = String::new();
        let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
        let length = file.take(BYTES_MAX + 1).read_to_string(&mut text);
        let length = length.with_context(|| format!("cannot read {name}"))?;
        ensure!(length as u64 <= BYTES_MAX, "{name}: larger than {BYTES_MAX} bytes");
        Campaign::parse(&text).with_context(|| name.to_string())
    }

    /// Reads the text of a campaign.
    pub fn parse(text: &str) -> Result<Campaign> {
        let campaign: Campaign = toml::from_str(text).context("not a campaign")?;
        let runs = campaign.runs()?;
        ensure!(runs > 0, "a campaign without a preset or a method");
        ensure!(runs <= RUNS_MAX, "a campaign of {runs} runs; {RUNS_MAX} at most");
        Ok(campaign)
    }

    /// The number of its runs.
    pub fn runs(&self) -> Result<u64> {
        let (first, last) = self.seeds()?;
        Ok(self.kinds().saturating_mul((last - first).saturating_add(1)))
    }

    /// The labels of the machines for it.
    pub fn labels(&self) -> Result<BTreeMap<String, String>> {
        let tags = self.on.iter().map(|tag| parse_tag(tag).map_err(anyhow::Error::msg));
        tags.collect()
    }

    fn seeds(&self) -> Result<(u64, u64)> {
        let (first, last) = self.seeds.split_once('-').unwrap_or((&self.seeds, &self.seeds));
        let ends = (first.trim().parse::<u64>(), last.trim().parse::<u64>());
        match ends {
            (Ok(first), Ok(last)) if first <= last => Ok((first, last)),
            _ => bail!("seeds '{}': write 1-100", emit::plain(&self.seeds)),
        }
    }

    /// The beginning of the ids of its jobs: the same for the same campaign, so that asking twice asks
    /// once.
    pub fn id(&self) -> String {
        hex(&sha256(format!("{self:?}").as_bytes())[..8])
    }

    /// Its jobs, in order.
    pub fn jobs(&self) -> Result<impl Iterator<Item = FleetJob>> {
        let ((first, _), id, kinds) = (self.seeds()?, self.id(), self.kinds());
        // The jobs of other seeds have the same words.
        for number in 0..kinds {
            self.job(&id, first, number).check().map_err(anyhow::Error::msg)?;
        }
        Ok((0..self.runs()?).map(move |number| self.job(&id, first, number)))
    }

    /// Runs of one seed.
    fn kinds(&self) -> u64 {
        (self.presets.len() as u64).saturating_mul(self.methods.len() as u64)
    }

    /// The job with this number, of a campaign with this id and first seed.
    fn job(&self, id: &str, first: u64, number: u64) -> FleetJob {
        let (seed, kind) = (first + number / self.kinds(), (number % self.kinds()) as usize);
        let preset = &self.presets[kind % self.presets.len()];
        let mut options = self.options.clone();
        options.insert("seed".into(), seed.to_string());
        FleetJob {
            id: format!("{id}-{number}"),
            target: format!("sim:{}", preset.trim_start_matches("sim:")),
            method: self.methods[kind / self.presets.len()].clone(),
            options,
            tags: BTreeMap::from([("campaign".to_string(), self.name.clone())]),
            destroy: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "name = 'c'\npresets = ['a', 'sim:b']\nmethods = ['quick', 'cache']\n\
                        seeds = '3-4'\non = ['rack=3']\noptions = { time = '1s' }\n";

    #[test]
    fn a_campaign_is_every_combination_in_order() {
        let campaign = Campaign::parse(TEXT).expect("a campaign");
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
    fn endless_and_empty_campaigns_are_refused() {
        for seeds in ["4-3", "x", "0-18446744073709551615", "1-", ""] {
            assert!(Campaign::parse(&TEXT.replace("3-4", seeds)).is_err(), "{seeds}");
        }
        assert!(Campaign::parse(&TEXT.replace("'a', 'sim:b'", "")).is_err());
        assert!(Campaign::parse("colour = 'red'").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_refused_or_read(text in "\\PC{0,100}", seeds in "[0-9]{0,20}-?[0-9]{0,20}") {
            let _ = Campaign::parse(&text);
            if let Ok(campaign) = Campaign::parse(&TEXT.replace("3-4", &seeds)) {
                let (first, last) = campaign.seeds().expect("checked");
                prop_assert!(first <= last && last - first < RUNS_MAX);
            }
        }
    }
}

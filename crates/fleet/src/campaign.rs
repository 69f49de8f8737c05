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

use anyhow::{Context, Result, bail, ensure};
use record::parse_tag;
use serde::Deserialize;

use crate::digits::{hex, sha256};
use crate::job::FleetJob;

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
    /// Reads a campaign.
    pub fn parse(text: &str) -> Result<Campaign> {
        let campaign: Campaign = toml::from_str(text).context("not a campaign")?;
        let (first, last) = campaign.seeds()?;
        let seeds = (last - first).saturating_add(1);
        let kinds = (campaign.presets.len() * campaign.methods.len()) as u64;
        let runs = kinds.saturating_mul(seeds);
        ensure!(runs > 0, "a campaign without a preset or a method");
        ensure!(runs <= RUNS_MAX, "a campaign of {runs} runs; {RUNS_MAX} at most");
        Ok(campaign)
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
    pub fn jobs(&self) -> Result<Vec<FleetJob>> {
        let ((first, last), id) = (self.seeds()?, self.id());
        let mut jobs = Vec::new();
        for seed in first..=last {
            for method in &self.methods {
                for preset in &self.presets {
                    let mut options = self.options.clone();
                    options.insert("seed".into(), seed.to_string());
                    let job = FleetJob {
                        id: format!("{id}-{}", jobs.len()),
                        target: format!("sim:{}", preset.trim_start_matches("sim:")),
                        method: method.clone(),
                        options,
                        tags: BTreeMap::from([("campaign".to_string(), self.name.clone())]),
                        destroy: None,
                    };
                    job.check().map_err(anyhow::Error::msg)?;
                    jobs.push(job);
                }
            }
        }
        Ok(jobs)
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
        let jobs = campaign.jobs().expect("jobs");
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

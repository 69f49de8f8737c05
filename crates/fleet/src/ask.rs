//! What a person asks: jobs and campaigns of the agents, questions of the central store.
//!
//! Every function returns the text for the screen.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use futures_util::TryStreamExt as _;

use crate::campaign::Campaign;
use crate::central::{Central, MetricDistribution};
use crate::config::HubConfig;
use crate::digits::hex;
use crate::envelope::inflate;
use crate::hub::{Hub, JobProgress, POOL_DELIVERIES, Presence};
use crate::job::{FleetJob, satisfies};
use crate::notice::{JOB_TAG, JobEnd};

/// The metrics of a model that are shown unless others are named: those of `quick`.
const METRICS: [&str; 4] =
    ["seq-read-1MiB-q8", "seq-write-1MiB-q8", "rand-read-4KiB-q32", "rand-write-4KiB-q32"];

/// How often the progress of a campaign is asked.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Jobs on their way to the hub at one time.
const IN_FLIGHT: usize = 256;

/// The beginning of the ids of a new job.
pub fn new_id() -> Result<String> {
    Ok(store::new_id()?.to_lowercase())
}

/// Puts a job to every machine that serves its target and has these labels. The ids of the jobs follow
/// from `id`.
pub async fn run(
    config: &HubConfig,
    id: &str,
    job: FleetJob,
    labels: &BTreeMap<String, String>,
) -> Result<String> {
    let (hub, key) = (Hub::connect(config, "ssdyno ask").await?, config.key()?);
    let agents = hub.agents().await?;
    let serves = |agent: &&Presence| {
        satisfies(&agent.labels, labels)
            && (job.is_simulated() || agent.targets.contains(&job.target))
    };
    let mut text = String::new();
    for agent in agents.iter().filter(serves) {
        let id = format!("{id}-{}", agent.machine.chars().take(8).collect::<String>());
        let mut job = FleetJob { id: id.clone(), ..job.clone() };
        job.tags.insert(JOB_TAG.into(), id.clone());
        job.check().map_err(anyhow::Error::msg)?;
        hub.ask_machine(&key, &agent.machine, &job).await?;
        text += &format!("{id}  {}\n", agent.host);
    }
    ensure!(!text.is_empty(), "no agent serves {} with these labels; try: ask agents", job.target);
    Ok(text)
}

/// Puts the jobs of a campaign that have not ended yet to any machine with its labels.
pub async fn campaign(config: &HubConfig, file: &Path) -> Result<Campaign> {
    let campaign = Campaign::read(file)?;
    let (labels, key) = (campaign.labels()?, config.key()?);
    let central = Central::connect(config.postgres()?).await?;
    let ended = measured(&central, &campaign).await?;
    let hub = Hub::connect(config, "ssdyno ask").await?;
    hub.make_pool(&labels).await?;
    let waiting = campaign.jobs()?.filter(|job| !ended.contains(&job.id));
    let (hub, key, labels) = (&hub, &key, &labels);
    let putting = futures_util::stream::iter(waiting.map(Ok))
        .try_for_each_concurrent(IN_FLIGHT, async |job| hub.ask_pool(key, labels, &job).await);
    putting.await?;
    println!("{}, {} of them measured before", counted(campaign.count(), "run"), ended.len());
    Ok(campaign)
}

/// Waits for the end of a campaign, and returns a line about it.
pub async fn wait(config: &HubConfig, campaign: &Campaign) -> Result<String> {
    let central = Central::connect(config.postgres()?).await?;
    let hub = Hub::connect(config, "ssdyno ask").await?;
    let labels = campaign.labels()?;
    let total = campaign.count() as usize;
    if let Some(text) = lack(&hub.agents().await?, &labels) {
        eprintln!("{text}");
    }
    let mut last = usize::MAX;
    loop {
        let (measured, failed) =
            (measured(&central, campaign).await?, failed(&central, campaign).await?);
        if measured.len() != last {
            last = measured.len();
            let total_runs = counted(total as u64, "run");
            eprintln!("{last} of {total_runs} measured, {} failed", failed.len());
        }
        if measured.union(&failed).count() == total {
            let tag = format!("campaign={}", campaign.name);
            let records = counted(central.hashes(Some(&tag)).await?.len() as u64, "record");
            let [total_runs, failed_runs] =
                [total, failed.len()].map(|runs| counted(runs as u64, "run"));
            ensure!(failed.is_empty(), "{failed_runs} failed; try: ask jobs --end failed");
            return Ok(format!("{total_runs} measured; the tag {tag} has {records}\n"));
        }
        let runs = hub.give_up(&labels).await?;
        let verb = if runs == 1 { "was" } else { "were" };
        ensure!(
            runs == 0,
            "{} {verb} begun {POOL_DELIVERIES} times without an end; look at the agents, then ask again",
            counted(runs, "run")
        );
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Says so if none of these agents has the labels: the runs wait for one, however long.
fn lack(agents: &[Presence], labels: &BTreeMap<String, String>) -> Option<String> {
    if agents.iter().any(|agent| satisfies(&agent.labels, labels)) {
        return None;
    }
    let labels: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let labels =
        if labels.is_empty() { String::new() } else { format!(" with {}", labels.join(" ")) };
    Some(format!("no agent{labels} was heard in the last day; the runs wait for one"))
}

/// The ids of a campaign's jobs that have a record.
async fn measured(central: &Central, campaign: &Campaign) -> Result<BTreeSet<String>> {
    ids(central, campaign, JobEnd::Measured).await
}

/// The ids of a campaign's jobs that failed everywhere so far.
async fn failed(central: &Central, campaign: &Campaign) -> Result<BTreeSet<String>> {
    let measured = measured(central, campaign).await?;
    let failed = ids(central, campaign, JobEnd::Failed).await?;
    Ok(failed.difference(&measured).cloned().collect())
}

async fn ids(central: &Central, campaign: &Campaign, end: JobEnd) -> Result<BTreeSet<String>> {
    central.ended_jobs(&format!("{}-", campaign.id()), end.name()).await
}

/// The agents, with their labels and targets.
pub async fn agents(config: &HubConfig) -> Result<String> {
    let hub = Hub::connect(config, "ssdyno ask").await?;
    let agents = hub.agents().await?;
    let rows = agents.iter().map(|agent| {
        let Presence { machine, host, labels, targets, at: time } = agent;
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        [host.clone(), machine.clone(), labels.join(" "), targets.join(" "), time.clone()]
    });
    Ok(table(["host", "machine", "labels", "targets", "last seen"], rows))
}

/// The jobs in progress, and those that have ended.
pub async fn jobs(config: &HubConfig, prefix: &str, end: Option<&str>) -> Result<String> {
    let hub = Hub::connect(config, "ssdyno ask").await?;
    let central = Central::connect(config.postgres()?).await?;
    let notices = central.notices(prefix, end).await?;
    let ended: BTreeSet<&str> = notices.iter().map(|notice| &*notice.job).collect();
    let live = hub.progress().await?;
    let live = live.iter().filter(|progress| {
        end.is_none() && progress.job.starts_with(prefix) && !ended.contains(&*progress.job)
    });
    let live = live.map(|JobProgress { job, host, text }| {
        [job.clone(), host.clone(), String::new(), "in progress".into(), text.clone()]
    });
    let ended = notices.iter().map(|notice| {
        let reason = if notice.reason.is_empty() { &notice.at } else { &notice.reason };
        [&notice.job, &notice.host, &notice.target, &notice.end, reason].map(String::clone)
    });
    Ok(table(["job", "host", "target", "", ""], live.chain(ended)))
}

/// What hosts and the collector refused.
pub async fn refusals(config: &HubConfig) -> Result<String> {
    let central = Central::connect(config.postgres()?).await?;
    let jobs = central.notices("", Some(JobEnd::Refused.name())).await?.into_iter();
    let jobs = jobs.map(|notice| [notice.host, format!("job {}", notice.job), notice.reason]);
    let letters = central.refusals().await?.into_iter().map(|refusal| {
        let host = refusal.host.unwrap_or_else(|| "unknown key".into());
        let times =
            if refusal.times > 1 { format!(" ({} times)", refusal.times) } else { String::new() };
        let hash = hex(&refusal.hash[..6.min(refusal.hash.len())]);
        [host, format!("record {hash}"), refusal.reason + &times]
    });
    Ok(table(["host", "refused", "reason"], jobs.chain(letters)))
}

/// The distribution of metrics over the runs of a model.
pub async fn model(config: &HubConfig, name: &str, metrics: &[String]) -> Result<String> {
    let central = Central::connect(config.postgres()?).await?;
    let metrics: Vec<&str> = if metrics.is_empty() {
        METRICS.to_vec()
    } else {
        metrics.iter().map(String::as_str).collect()
    };
    let distributions = central.distribution(name, &metrics).await?;
    if distributions.is_empty() {
        bail!("no runs of a model '{}' with {}", emit::plain(name), metrics.join(", "));
    }
    let rows = distributions.into_iter().map(|distribution| {
        let MetricDistribution { metric, runs, least, quantiles, greatest } = distribution;
        let mut row = vec![metric, runs.to_string(), figure(least)];
        row.extend(quantiles.into_iter().map(figure));
        row.push(figure(greatest));
        row.try_into().unwrap_or_default()
    });
    Ok(table::<9>(
        ["metric", "runs", "least", "5%", "25%", "median", "75%", "95%", "greatest"],
        rows,
    ))
}

/// Passes on every record of the central store, or those with a tag `name=value`, as the lines that
/// `ssdyno import` takes.
pub async fn export(
    config: &HubConfig,
    tag: Option<&str>,
    each: &mut dyn FnMut(&str) -> std::io::Result<()>,
) -> Result<()> {
    let central = Central::connect(config.postgres()?).await?;
    for hash in central.hashes(tag).await? {
        let packed = central.packed(&hash).await?.unwrap_or_default();
        let text = inflate(&packed).with_context(|| format!("record {}", hex(&hash)))?;
        each(&text)?;
    }
    Ok(())
}

/// The median of a metric by model and firmware.
pub async fn firmware(config: &HubConfig, metric: &str) -> Result<String> {
    let central = Central::connect(config.postgres()?).await?;
    let medians = central.medians(metric).await?;
    ensure!(!medians.is_empty(), "no run has a metric '{}'", emit::plain(metric));
    let rows = medians.into_iter().map(|row| {
        let names = [row.model, row.firmware];
        let [model, firmware] =
            names.map(|name| if name.is_empty() { "unknown".into() } else { name });
        [model, firmware, row.runs.to_string(), figure(row.median)]
    });
    Ok(table(["model", "firmware", "runs", "median"], rows))
}

/// A number of things: `1 run`, `2 runs`.
fn counted(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{s}")
}

/// A value with three digits.
fn figure(value: f64) -> String {
    let places = if value == 0.0 { 0 } else { 2 - libm::floor(libm::log10(value.abs())) as i32 };
    if places <= 0 { format!("{value:.0}") } else { format!("{value:.*}", places as usize) }
}

/// Columns of words, two spaces apart; text of others cannot control the screen.
fn table<const N: usize>(heading: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let rows = rows.map(|row| row.map(|word| emit::plain(&word).into_owned()));
    let rows: Vec<[String; N]> = std::iter::once(heading.map(String::from)).chain(rows).collect();
    let mut widths = [0; N];
    for row in &rows {
        for (width, word) in widths.iter_mut().zip(row) {
            *width = word.chars().count().max(*width);
        }
    }
    let lines = rows.iter().map(|row| {
        let words = row.iter().zip(widths).map(|(word, width)| format!("{word:width$}"));
        words.collect::<Vec<_>>().join("  ").trim_end().to_string() + "\n"
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_wait_for_an_agent_are_told() {
        let labels = BTreeMap::from([("rack".to_string(), "3".to_string())]);
        let agent = Presence { labels: labels.clone(), ..Presence::default() };
        assert_eq!(lack(&[agent.clone(), Presence::default()], &labels), None);
        let text = lack(&[Presence::default()], &labels).expect("none has it");
        assert!(text.starts_with("no agent with rack=3 was heard"), "{text}");
        assert_eq!(lack(&[agent], &BTreeMap::new()), None);
        assert!(lack(&[], &BTreeMap::new()).expect("none").starts_with("no agent was"));
    }

    #[test]
    fn a_table_has_columns_and_no_control_characters() {
        let rows = [["a", "b\u{1b}[31m"], ["longer", ""]].map(|row| row.map(String::from));
        let text = table(["x", "y"], rows.into_iter());
        assert_eq!(text.lines().count(), 3);
        assert!(text.starts_with("x       y\n") && !text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn one_thing_is_no_plural() {
        assert_eq!([0, 1, 2].map(|n| counted(n, "run")), ["0 runs", "1 run", "2 runs"]);
    }

    #[test]
    fn figures_have_three_digits() {
        let figures = [0.0, 12_345.6, 1.2345, 0.012_345, -7.0].map(figure);
        assert_eq!(figures, ["0", "12346", "1.23", "0.0123", "-7.00"]);
    }
}

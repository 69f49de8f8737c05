//! One job, from its arrival to its notice.
//!
//! A job on a real drive is written down, taken from the hub, and then begun: it can be lost between two
//! of these steps, but never begin twice. A run of a virtual drive is taken from the hub only when its
//! record has arrived at PostgreSQL; until then another agent may repeat it, with the same record.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use async_nats::jetstream::{AckKind, Message};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::{Agent, AgentOptions};
use crate::child::{self, ChildOutput};
use crate::experiment::JobExperiment;
use crate::grant::Grants;
use crate::hub::{JobProgress, LIVE_JOBS, POOL_WAIT};
use crate::hub_key::{ANY_MACHINE, open_job};
use crate::job::FleetJob;
use crate::ledger::{Acceptance, Allowance};
use crate::notice::{JobEnd, Notice};

/// How often this host tells that it got jobs which its hub had not signed.
const FORGERY_EVERY: Duration = Duration::from_secs(60);

/// How often the hub hears that a run goes on.
const STILL_EVERY: Duration = Duration::from_secs(POOL_WAIT.as_secs() / 3);

impl Agent {
    /// Tells of the jobs that were open when an earlier agent ended.
    pub(super) fn tell_interrupted(&self) -> Result<()> {
        let jobs = self.ledger.borrow().open_jobs()?;
        for job in jobs {
            let notice = self.notice(&job, JobEnd::Interrupted);
            self.ledger.borrow_mut().end(&notice.because("the agent ended during the job"))?;
        }
        Ok(())
    }

    fn notice(&self, job: &FleetJob, end: JobEnd) -> Notice {
        Notice {
            job: job.id.clone(),
            machine: self.machine.clone(),
            at: Timestamp::now().to_string(),
            target: job.target.clone(),
            end,
            reason: String::new(),
            record: None,
        }
    }

    /// Ends a job with a notice in the outbox.
    fn end(&self, notice: &Notice) {
        if let Err(error) = self.ledger.borrow_mut().end(notice) {
            eprintln!("ssdyno-fleet: job {}: {error:#}", notice.job);
        }
        self.mail.notify_one();
    }

    /// Takes a job of this machine.
    pub(super) async fn take_machine_job(&self, message: &Message) {
        let job = match open_job(&self.hub_key, &self.machine, &message.payload) {
            Ok(job) => job,
            Err(why) => {
                self.tell_forgery(&why);
                let _ = message.ack().await;
                return;
            }
        };
        let acceptance = self.ledger.borrow().accept(&job);
        match acceptance {
            Ok(Acceptance::New) => {}
            // Unheard, it would keep the next one waiting.
            Ok(Acceptance::Repeated) => return drop(message.ack().await),
            Err(_) => return,
        }
        // The hub gives it only once, whether it hears this or not.
        let _ = message.double_ack().await;
        let _alone = self.floor.write().await;
        let notice = match self.permit(&job).await {
            Err(why) => self.notice(&job, JobEnd::Refused).because(&why),
            Ok(()) => self.measure(&job).await.unwrap_or_else(|error| {
                self.notice(&job, JobEnd::Failed).because(&format!("{error:#}"))
            }),
        };
        self.end(&notice);
    }

    /// Tells of a job that is none of the hub's, now and then: whoever sends many of them fills no outbox.
    fn tell_forgery(&self, why: &str) {
        let last = self.forgery_told.get();
        if last.is_none_or(|last| last.elapsed() >= FORGERY_EVERY) {
            self.forgery_told.set(Some(Instant::now()));
            let job = FleetJob { id: "unreadable".into(), ..FleetJob::default() };
            self.end(&self.notice(&job, JobEnd::Refused).because(why));
        }
    }

    /// Checks whether this host serves the target, and permits the destruction if one is asked for.
    async fn permit(&self, job: &FleetJob) -> Result<(), String> {
        let AgentOptions { targets, grants, .. } = &self.options;
        if job.experiment.is_some() {
            return Err("an experiment is for any machine, not for this one".into());
        }
        if job.is_simulated() {
            return Ok(());
        }
        if !targets.contains(&job.target) {
            return Err(format!("this host does not serve {}", emit::plain(&job.target)));
        }
        let Some(serial) = &job.destroy else { return self.check_plan(job).await };
        let today = TimeZone::UTC.to_datetime(Timestamp::now()).date();
        let grants = Grants::read(grants)?;
        let daily_bytes = grants.permit(serial, today)?.bytes_a_day;
        let plan = self.plan(job).await.map_err(|error| format!("{error:#}"))?;
        let bytes = plan["write_bytes_max"].as_u64().ok_or("its plan has no bound")?;
        let allowance =
            self.ledger.borrow_mut().take(&today.to_string(), serial, bytes, daily_bytes);
        match allowance.map_err(|error| format!("{error:#}"))? {
            Allowance::Within => Ok(()),
            Allowance::Exceeded { spent } => Err(format!(
                "the job writes up to {bytes} bytes; the grant for drive {serial} is \
                 {daily_bytes} a day, {spent} of them are spent"
            )),
        }
    }

    /// Refuses what overwrites a drive, if only to put its content back: no hub asks for that without a
    /// grant.
    async fn check_plan(&self, job: &FleetJob) -> Result<(), String> {
        let plan = self.plan(job).await.map_err(|error| format!("{error:#}"))?;
        match plan["safety"].as_str() {
            Some("reads" | "scratch") => Ok(()),
            _ => Err(format!("{} writes to the drive; a job must ask for that", job.method)),
        }
    }

    /// The plan of the command, which also asks its guard.
    async fn plan(&self, job: &FleetJob) -> Result<Value> {
        let mut words = job.words();
        words.extend(["--dry-run", "--json"].map(String::from));
        words.push(self.store_word());
        let output = child::run(&self.options.command, &words, &mut |_| ()).await?;
        anyhow::ensure!(output.code == Some(0), "{}", output.messages);
        serde_json::from_str(&output.last_line).context("the plan")
    }

    /// Runs a job of this machine; its record is in the store afterwards.
    async fn measure(&self, job: &FleetJob) -> Result<Notice> {
        let mut words = job.words();
        words.extend(["--events", "--quiet"].map(String::from));
        words.push(self.store_word());
        let output = self.run_child(job, &words).await?;
        let number = serde_json::from_str::<Value>(&output.last_line).ok();
        let number = number.and_then(|record| record["number"].as_i64());
        self.ending(job, &output, number)
    }

    fn store_word(&self) -> String {
        format!("--store={}", self.options.store.display())
    }

    /// The notice of a job whose command has ended.
    fn ending(&self, job: &FleetJob, output: &ChildOutput, number: Option<i64>) -> Result<Notice> {
        let end = if output.is_success() { JobEnd::Measured } else { JobEnd::Failed };
        let reason = if output.is_success() { "" } else { &output.messages };
        let record = number.map(|number| {
            self.store.borrow().document(number)?.hash().map_err(anyhow::Error::from)
        });
        let record = record.transpose()?.map(|hash| hash.to_string());
        Ok(Notice { record, ..self.notice(job, end).because(reason) })
    }

    /// Runs the command and says what it does.
    async fn run_child(&self, job: &FleetJob, words: &[String]) -> Result<ChildOutput> {
        let (steps, mut step) = tokio::sync::watch::channel(String::new());
        let saying = async {
            while step.changed().await.is_ok() {
                let text = step.borrow_and_update().clone();
                let host = self.options.host.clone();
                let progress = JobProgress { job: job.id.clone(), host, text };
                let _ = self
                    .hub
                    .say(format!("{LIVE_JOBS}.{}.{}", self.machine, job.id), &progress)
                    .await;
            }
        };
        let running = async {
            let mut tell = |line: &str| {
                let event = step_of(line);
                event.into_iter().for_each(|text| drop(steps.send(text)));
            };
            let output = child::run(&self.options.command, words, &mut tell).await;
            drop(steps);
            output
        };
        tokio::join!(running, saying).0
    }

    /// Takes a run of a virtual drive.
    pub(super) async fn take_pool_job(&self, message: &Message) {
        let job = match open_job(&self.hub_key, ANY_MACHINE, &message.payload) {
            Ok(job) if job.is_simulated() => job,
            // Nobody could run it.
            _ => return drop(message.ack().await),
        };
        let shared = self.floor.read().await;
        let working = self.simulate(&job);
        let notice = keep_saying(message, working).await;
        drop(shared);
        let notice = notice.unwrap_or_else(|error| {
            self.notice(&job, JobEnd::Failed).because(&format!("{error:#}"))
        });
        let hash = notice.record.as_deref().and_then(crate::digits::unhex::<32>);
        self.end(&notice);
        if keep_saying(message, self.wait_for(hash)).await {
            let _ = message.double_ack().await;
        }
    }

    /// Waits until PostgreSQL has a record, if there is one. Returns whether it has, or the record is refused:
    /// then another agent may run the job.
    async fn wait_for(&self, hash: Option<[u8; 32]>) -> bool {
        let Some(hash) = hash else { return true };
        loop {
            let arrival = self.arrivals.notified();
            if self.ledger.borrow().is_acknowledged(&hash).unwrap_or(false) {
                return true;
            }
            if self.outbox.borrow().is_refused(&hash) {
                return false;
            }
            arrival.await;
        }
    }

    /// Runs a virtual drive into a file of its own, and imports the record.
    async fn simulate(&self, job: &FleetJob) -> Result<Notice> {
        let place = Draft::make(&self.options.store)?;
        let mut words = match &job.experiment {
            Some(experiment) => job.experiment_words(&place.write_document(experiment)?),
            None => job.words(),
        };
        words.extend(["--quiet".to_string(), format!("--out={}", place.0.display())]);
        let output = self.run_child(job, &words).await?;
        if !output.is_success() {
            return self.ending(job, &output, None);
        }
        let place_word = place.0.display().to_string();
        let words = ["import".to_string(), place_word, "--json".to_string(), self.store_word()];
        let imported = child::run(&self.options.command, &words, &mut |_| ()).await?;
        anyhow::ensure!(imported.code == Some(0), "{}", imported.messages);
        let record: Value = serde_json::from_str(&imported.last_line).context("the record")?;
        self.ending(job, &output, record["number"].as_i64())
    }
}

/// Does some work while the hub hears that it goes on.
async fn keep_saying<T>(message: &Message, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        match tokio::time::timeout(STILL_EVERY, &mut work).await {
            Ok(result) => return result,
            // Unheard, the run goes to another agent, which does no harm.
            Err(_) => drop(message.ack_with(AckKind::Progress).await),
        }
    }
}

/// The step that a line of events begins, in words.
fn step_of(line: &str) -> Option<String> {
    if !line.starts_with("{\"event\":\"step\"") {
        return None;
    }
    let event: Value = serde_json::from_str(line).ok()?;
    Some(event["name"].as_str()?.to_string())
}

/// The beginning of the extension of drafts.
const DRAFT: &str = "draft-";

/// A directory for the record of one run, removed with it.
struct Draft(PathBuf);

impl Draft {
    /// Makes the directory beside the store. Its name is new: the same job may run here twice at one time.
    fn make(store: &Path) -> Result<Draft> {
        let place = store.with_extension(format!("{DRAFT}{}", store::new_id()?));
        std::fs::create_dir(&place).with_context(|| format!("cannot make {}", place.display()))?;
        Ok(Draft(place))
    }

    /// Writes the document of an experiment; hidden, it is not imported as a record.
    fn write_document(&self, experiment: &JobExperiment) -> Result<PathBuf> {
        let file = self.0.join(".experiment.toml");
        let text = experiment.document().map_err(anyhow::Error::msg)?;
        std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(file)
    }
}

/// Removes what a killed agent left beside its store.
pub(super) fn remove_drafts(store: &Path) {
    let (Some(place), Some(stem)) = (store.parent(), store.file_stem()) else { return };
    let start = format!("{}.{DRAFT}", stem.to_string_lossy());
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&start) {
            // It is only in the way.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // What stays is removed when the agent starts again.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

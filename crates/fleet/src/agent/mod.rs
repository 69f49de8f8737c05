//! The agent of a machine: it takes jobs, has them run by the command, and empties the outbox.
//!
//! Everything happens on one thread; a job waits for its child, a letter for its reply. Being offline for
//! any time is normal: jobs end, records are stored, and the outbox waits.
//!
//! A job on a real drive has the machine to itself: drives share processor, memory and bus, and a run
//! beside another is no measure of either. Runs of virtual drives share it among themselves.

mod post;
mod work;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::PullConsumer;
use futures_util::StreamExt as _;
use jiff::Timestamp;
use store::Store;
use tokio::sync::{Notify, RwLock};
use tokio::task::LocalSet;

pub use crate::child::command;
use crate::config::HubConfig;
use crate::digits::unhex;
use crate::hub::{Hub, LIVE_AGENTS, Presence};
use crate::key::{AgentKey, Enrolment};
use crate::ledger::Ledger;
use crate::outbox::Outbox;

/// How often an agent says that it is there, and looks for new pools.
const PRESENCE_EVERY: Duration = Duration::from_secs(10);

/// Pause before a hub that does not answer is asked again.
const RETRY: Duration = Duration::from_secs(2);

/// How long a request for a job waits at the hub.
const JOB_WAIT: Duration = Duration::from_secs(20);

/// Notices that wait for the collector when no more jobs are taken: a hub that asks without hearing answers
/// does not fill this host's disk.
const NOTICES_MAX: i64 = 1000;

/// How an agent works.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// How to reach the hub.
    pub hub: HubConfig,
    /// The store of this machine.
    pub store: PathBuf,
    /// The command `ssdyno`.
    pub command: PathBuf,
    /// The file with its key.
    pub key: PathBuf,
    /// The name of this machine.
    pub host: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The targets that it serves, besides virtual drives.
    pub targets: Vec<String>,
    /// The file with the permissions to destroy.
    pub grants: PathBuf,
    /// Runs of virtual drives at one time.
    pub slots: usize,
}

/// An agent at work. Its parts are borrowed between two waits only.
struct Agent {
    options: AgentOptions,
    hub: Hub,
    hub_key: [u8; 32],
    key: AgentKey,
    machine: String,
    store: RefCell<Store>,
    ledger: RefCell<Ledger>,
    outbox: RefCell<Outbox>,
    /// There is something to send.
    mail: Notify,
    /// Letters have arrived, or were refused.
    arrivals: Notify,
    /// Held for writing by a job on a real drive, for reading by runs of virtual drives.
    floor: RwLock<()>,
    /// When this host last told of a job that its hub had not signed.
    forgery_told: Cell<Option<Instant>>,
}

/// The line by which the hub knows the agent of a store.
pub fn enrolment(store: &Path, key: &Path, host: &str) -> Result<Enrolment> {
    let store = Store::open(Some(store))?;
    let key = AgentKey::open(key)?.public();
    Ok(Enrolment { key, machine: machine_id(&store)?, host: host.to_string() })
}

fn machine_id(store: &Store) -> Result<String> {
    store.machine_id().context("the id of this machine cannot be written beside its store")
}

/// The lock of the only agent of a store: another would tell of its open jobs as interrupted. The kernel
/// releases it whatever ends the process.
#[cfg(target_os = "linux")]
fn lock(options: &AgentOptions) -> Result<File> {
    use rustix::fs::{FlockOperation, flock};
    let path = options.store.with_extension("agent");
    let problem = || format!("cannot open {}", path.display());
    let file = File::options().create(true).append(true).open(&path).with_context(problem)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)
        .with_context(|| format!("{}: this store has an agent", path.display()))?;
    Ok(file)
}

/// Works until the program ends.
pub async fn run(options: AgentOptions) -> Result<()> {
    let store = Store::open(Some(&options.store))?;
    let _lock = lock(&options)?;
    let hub_key = options.hub.hub_key.as_deref().and_then(unhex::<32>);
    let machine = machine_id(&store)?;
    work::remove_drafts(&options.store);
    let agent = Rc::new(Agent {
        hub: Hub::stay_as(&options.hub, &machine).await?,
        hub_key: hub_key
            .context("the file names no 'hub_key'; try: the one that `enrol` prints")?,
        key: AgentKey::open(&options.key)?,
        machine,
        ledger: RefCell::new(Ledger::open(&options.store)?),
        store: RefCell::new(store),
        outbox: RefCell::default(),
        mail: Notify::new(),
        arrivals: Notify::new(),
        floor: RwLock::new(()),
        forgery_told: Cell::default(),
        options,
    });
    agent.tell_interrupted()?;
    let tasks = LocalSet::new();
    tasks.spawn_local(Rc::clone(&agent).send_letters());
    tasks.spawn_local(Rc::clone(&agent).be_present());
    tasks.spawn_local(Rc::clone(&agent).serve_machine());
    tasks.spawn_local(Rc::clone(&agent).serve_pools());
    println!("serving as {} ({})", emit::plain(&agent.options.host), agent.machine);
    tasks.await;
    Ok(())
}

impl Agent {
    /// Says what it is, now and then.
    async fn be_present(self: Rc<Agent>) {
        loop {
            let AgentOptions { host, labels, targets, .. } = &self.options;
            let presence = Presence {
                machine: self.machine.clone(),
                host: host.clone(),
                labels: labels.clone(),
                targets: targets.clone(),
                at: Timestamp::now().to_string(),
            };
            let subject = format!("{LIVE_AGENTS}.{}", self.machine);
            // Nobody hears it while the hub is away.
            let _ = self.hub.say(subject, &presence).await;
            tokio::time::sleep(PRESENCE_EVERY).await;
        }
    }

    /// Takes the jobs of this machine, one at a time.
    async fn serve_machine(self: Rc<Agent>) {
        loop {
            match self.hub.machine_jobs(&self.machine).await {
                Ok(jobs) => {
                    while let Ok(message) = next_job(&jobs).await {
                        if let Some(message) = message {
                            self.take_machine_job(&message).await;
                        }
                        self.wait_for_room().await;
                    }
                }
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        }
    }

    /// Waits while too many notices wait.
    async fn wait_for_room(&self) {
        while self.ledger.borrow().notice_count().is_ok_and(|count| count >= NOTICES_MAX) {
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Takes runs of every pool whose labels this machine has.
    async fn serve_pools(self: Rc<Agent>) {
        let mut serving = BTreeSet::new();
        loop {
            for (name, labels) in self.hub.pools().await.unwrap_or_default() {
                if crate::job::satisfies(&self.options.labels, &labels)
                    && serving.insert(name.clone())
                {
                    for _ in 0..self.options.slots {
                        tokio::task::spawn_local(Rc::clone(&self).serve_pool(name.clone()));
                    }
                }
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    async fn serve_pool(self: Rc<Agent>, name: String) {
        loop {
            match self.hub.pool_jobs(&name).await {
                Ok(jobs) => {
                    while let Ok(message) = next_job(&jobs).await {
                        if let Some(message) = message {
                            self.take_pool_job(&message).await;
                        }
                        self.wait_for_room().await;
                    }
                }
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        }
    }
}

/// The next job; `None` if there was none for a while, an error if the hub or the consumer is gone.
async fn next_job(jobs: &PullConsumer) -> Result<Option<Message>> {
    let batch = jobs.batch().max_messages(1).expires(JOB_WAIT);
    let mut batch = batch.messages().await?;
    match batch.next().await {
        Some(message) => Ok(Some(message.map_err(|e| anyhow::anyhow!("{e}"))?)),
        None => Ok(None),
    }
}

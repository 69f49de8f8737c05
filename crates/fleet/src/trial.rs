//! `up` and `down`: everything on this machine, for a trial.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use futures_util::StreamExt as _;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use crate::agent;
use crate::central::Central;
use crate::hub::{Hub, LIVE_AGENTS};
use crate::members::enrol;
use crate::private;
use crate::servers::{ServerProcess, Servers};

/// Longest wait for the agent to be heard.
const START_MAX: Duration = Duration::from_secs(30);

/// The processes of a trial, in the order in which they started.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Processes {
    process: Vec<ServerProcess>,
}

/// The directory of a trial unless another is named.
pub fn default_directory() -> Result<PathBuf> {
    if rustix::process::geteuid().is_root() {
        return Ok(PathBuf::from("/var/lib/ssdyno-fleet"));
    }
    let state = emit::user_directory("XDG_STATE_HOME", ".local/state");
    Ok(state.context("this user has no home; try: --directory DIR")?.join("ssdyno/fleet"))
}

/// Starts both servers, a collector and an agent, and returns what a person needs to know.
pub async fn up(directory: &Path, command: &Path, host: &str) -> Result<String> {
    let place = directory.display();
    ensure!(!directory.exists(), "{place} exists; try: ssdyno-fleet down --directory {place}");
    let servers = Servers::create(directory)?;
    let mut processes = Processes::default();
    let result = start(&servers, directory, command, host, &mut processes).await;
    if let Err(error) = result {
        // Its own error would hide the first.
        let _ = end(directory, processes);
        return Err(error);
    }
    let [nats, postgres] = servers.ports();
    Ok(format!(
        "NATS on 127.0.0.1:{nats}, PostgreSQL on 127.0.0.1:{postgres}, a collector, and an agent\n\
         that measures virtual drives; its records are in {place}/runs.sqlite\n\n\
         ssdyno-fleet ask --hub {place}/hub.toml agents\n\
         ssdyno-fleet down --directory {place}     ends all of it, and removes the directory\n"
    ))
}

async fn start(
    servers: &Servers,
    directory: &Path,
    command: &Path,
    host: &str,
    processes: &mut Processes,
) -> Result<()> {
    let (hub, agent) = (directory.join("hub.toml"), directory.join("agent.toml"));
    let config = servers.hub();
    config.write(&hub)?;
    processes.add(servers.start_postgres()?, directory)?;
    processes.add(servers.start_nats()?, directory)?;
    let central = Central::connect(config.postgres()?).await?;
    central.make_tables().await?;
    let (store, key) = (directory.join("runs.sqlite"), directory.join("agent.key"));
    enrol(&config, &agent::enrolment(&store, &key, host)?).await?.write(&agent)?;
    let connection = Hub::connect(&config, "ssdyno up").await?;
    let mut presence = connection.client.subscribe(format!("{LIVE_AGENTS}.>")).await?;
    connection.client.flush().await?;
    connection.make_streams().await?;
    let program = std::env::current_exe()?;
    let mut collector = Command::new(&program);
    collector.arg("collect").arg("--hub").arg(&hub);
    processes.add(ServerProcess::start(collector, &directory.join("collect.log"))?, directory)?;
    let mut worker = Command::new(&program);
    worker.arg("agent").arg("--hub").arg(&agent).arg("--store").arg(&store);
    worker.arg("--key").arg(&key).arg("--command").arg(command).args(["--host", host]);
    processes.add(ServerProcess::start(worker, &directory.join("agent.log"))?, directory)?;
    match tokio::time::timeout(START_MAX, presence.next()).await {
        Ok(Some(_)) => Ok(()),
        _ => bail!("the agent does not answer: {}", directory.join("agent.log").display()),
    }
}

impl Processes {
    /// Notes a process at once, so that `down` ends it whatever happens next.
    fn add(&mut self, process: ServerProcess, directory: &Path) -> Result<()> {
        self.process.push(process);
        let text = toml::to_string(self).context("the processes")?;
        private::write(&directory.join("processes.toml"), text.as_bytes())
    }
}

/// Ends everything that [`up`] started, and removes its directory.
pub fn down(directory: &Path) -> Result<()> {
    let place = directory.display();
    ensure!(directory.join("servers.toml").is_file(), "{place}: no trial here");
    Servers::open(directory)?;
    // Nothing has started yet if it is missing.
    let list = directory.join("processes.toml");
    let text = if list.exists() { private::read(&list)? } else { String::new() };
    end(directory, toml::from_str(&text).context("processes.toml")?)
}

fn end(directory: &Path, processes: Processes) -> Result<()> {
    for process in processes.process.iter().rev() {
        // Not INT, which whatever a script starts in the background ignores. PostgreSQL waits for its
        // clients: those of the trial end before it.
        process.end(Signal::TERM)?;
    }
    Servers::open(directory)?.remove()
}

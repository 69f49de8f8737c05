//! Whether every record arrives exactly once, whatever is lost on the way.
//!
//! `losses SECONDS AGENTS SEED`: agents as processes on the loopback, whose stores get records at random
//! moments, while NATS, PostgreSQL, the collector and agents are killed or stopped for a while, and the
//! links between them are held up or cut. A tenth of the agents begin with the records and notices of a day
//! without a hub, on a clock of that day. At the end everything runs again, and the central store must have
//! each record of every store once, with its metrics once, and each notice once. Prints a table.

mod link;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fleet::central::Central;
use fleet::config::HubConfig;
use fleet::ledger::Ledger;
use fleet::notice::{JobEnd, Notice};
use fleet::servers::{self, ServerProcess, Servers};
use fleet::{agent, members};
use record::{Document, Metric, Run, Target, TargetKind, Unit};
use rustix::process::Signal;
use store::Store;

use crate::link::{Link, LinkState};

/// Metrics of a record.
const METRICS: u32 = 10;

/// Records, and notices, of an agent that was offline for a day, on the clock of that day.
const DAY: u64 = 200;
const DAY_NOTICES: u64 = 20;
const YESTERDAY: &str = "2026-11-28T10:00:00Z";

/// Longest time for the outboxes to empty at the end.
const SETTLE_MAX: Duration = Duration::from_secs(300);

/// Numbers from a seed (splitmix64).
struct Draws(u64);

impl Draws {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

/// A host: its store, and the process of its agent while it has one.
struct Host {
    name: String,
    directory: PathBuf,
    file: PathBuf,
    machine: String,
    store: Store,
    process: Option<ServerProcess>,
    hashes: BTreeSet<Vec<u8>>,
}

/// Everything on the loopback.
struct Bench {
    place: PathBuf,
    servers: Servers,
    nats: Option<ServerProcess>,
    postgres: Option<ServerProcess>,
    collector: Option<ServerProcess>,
    hosts: Vec<Host>,
    /// To NATS: from a third of the agents each, and from the collector; to PostgreSQL: from the collector.
    links: Vec<Link>,
    draws: Draws,
    losses: [u64; 7],
    notices: u64,
}

/// Links of the agents.
const AGENT_LINKS: usize = 3;

const LOST: [&str; 7] = [
    "NATS killed",
    "PostgreSQL killed",
    "collector killed",
    "agent killed",
    "stopped for 1 to 5 s",
    "link held up",
    "link cut",
];

fn main() -> Result<ExitCode> {
    let numbers: Vec<u64> =
        std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let [seconds, agents, seed] = numbers[..] else {
        anyhow::bail!("usage: losses SECONDS AGENTS SEED");
    };
    if let Some(remedy) = servers::missing() {
        println!("skipped: {remedy}");
        return Ok(ExitCode::SUCCESS);
    }
    let place = std::env::temp_dir().join(format!("ssdyno-{}", store::new_id()?));
    let mut bench = Bench::create(place, seed)?;
    let result = bench.begin(agents).and_then(|()| bench.run(Duration::from_secs(seconds)));
    bench.end();
    let text = result?;
    print!("{text}");
    Ok(ExitCode::SUCCESS)
}

impl Bench {
    fn create(place: PathBuf, seed: u64) -> Result<Bench> {
        let servers = Servers::create(&place)?;
        let [nats, postgres] = servers.ports();
        let targets = [nats; AGENT_LINKS + 1].into_iter().chain([postgres]);
        Ok(Bench {
            servers,
            links: targets.map(Link::to).collect::<Result<_>>()?,
            nats: None,
            postgres: None,
            collector: None,
            hosts: Vec::new(),
            draws: Draws(seed),
            losses: [0; 7],
            notices: 0,
            place,
        })
    }

    /// Starts everything.
    fn begin(&mut self, agents: u64) -> Result<()> {
        let words = self.servers.hub();
        let [.., to_nats, to_postgres] = &self.links[..] else { anyhow::bail!("no links") };
        let [old, new] =
            [self.servers.ports()[1], to_postgres.port()].map(|port| format!("port={port} "));
        let collector = HubConfig {
            nats: address(to_nats),
            postgres: Some(words.postgres()?.replace(&old, &new)),
            ..words.clone()
        };
        collector.write(&self.place.join("hub.toml"))?;
        self.restart()?;
        ask(async { Central::connect(words.postgres()?).await?.make_tables().await })?;
        for number in 0..agents {
            let mut host = Host::make(&self.place, number)?;
            let enrolment = agent::enrolment(&host.file, &host.directory.join("key"), &host.name)?;
            let config = ask(members::enrol(&words, &enrolment))?;
            let link = &self.links[number as usize % AGENT_LINKS];
            let config = HubConfig { nats: address(link), ..config };
            config.write(&host.directory.join("agent.toml"))?;
            if number % 10 == 9 {
                // Yesterday, without a hub.
                (0..DAY).try_for_each(|_| host.measure(YESTERDAY))?;
                self.notices += host.notice_jobs()?;
            } else {
                host.start()?;
            }
            self.hosts.push(host);
        }
        Ok(())
    }

    /// Starts what does not run.
    fn restart(&mut self) -> Result<()> {
        if self.postgres.is_none() {
            // A killed PostgreSQL leaves processes that end by themselves.
            let begin = Instant::now();
            self.postgres = loop {
                match self.servers.start_postgres() {
                    Ok(process) => break Some(process),
                    Err(error) if begin.elapsed() > Duration::from_secs(20) => return Err(error),
                    Err(_) => thread::sleep(Duration::from_millis(200)),
                }
            };
        }
        if self.nats.is_none() {
            self.nats = Some(self.servers.start_nats()?);
        }
        if self.collector.is_none() {
            let mut collector = Command::new(program("ssdyno-fleet")?);
            collector.arg("collect").arg("--hub").arg(self.place.join("hub.toml"));
            self.collector =
                Some(ServerProcess::start(collector, &self.place.join("collect.log"))?);
        }
        Ok(())
    }

    fn run(&mut self, time: Duration) -> Result<String> {
        let begin = Instant::now();
        let mut count = 0u64;
        while begin.elapsed() < time {
            for _ in 0..self.draws.below(6) {
                let host = self.draws.below(self.hosts.len() as u64) as usize;
                self.hosts[host].measure("2026-11-29T10:00:00Z")?;
                count += 1;
            }
            self.lose()?;
            thread::sleep(Duration::from_millis(100 + self.draws.below(400)));
        }
        self.links.iter().for_each(|link| link.set(LinkState::Whole));
        self.restart()?;
        self.hosts.iter_mut().filter(|host| host.process.is_none()).try_for_each(Host::start)?;
        let end = Instant::now();
        let expected: BTreeSet<Vec<u8>> =
            self.hosts.iter().flat_map(|host| host.hashes.iter().cloned()).collect();
        loop {
            let hashes = self.central()?;
            if hashes.len() == expected.len() {
                ensure!(hashes.into_iter().collect::<BTreeSet<_>>() == expected, "other records");
                break;
            }
            ensure!(
                end.elapsed() < SETTLE_MAX,
                "{} of {} records arrived",
                hashes.len(),
                expected.len()
            );
            thread::sleep(Duration::from_secs(1));
        }
        let words = self.servers.hub();
        let metrics =
            ask(async { Central::connect(words.postgres()?).await?.metric_count().await })?;
        ensure!(metrics as usize == expected.len() * METRICS as usize, "{metrics} metrics");
        let notices =
            ask(async { Central::connect(words.postgres()?).await?.notices("", None).await })?;
        ensure!(notices.len() as u64 == self.notices, "{} notices", notices.len());
        Ok(self.table(time, count, expected.len(), end.elapsed()))
    }

    fn table(&self, time: Duration, count: u64, records: usize, settling: Duration) -> String {
        let losses: Vec<String> = LOST
            .iter()
            .zip(self.losses)
            .map(|(name, times)| format!("{name} {times} times"))
            .collect();
        format!(
            "{} agents for {} s: {}.\n\n{records} records ({count} during the losses, the others from a day \
             without a hub, with {} notices): each arrived exactly once, the last {:.0} s after the losses \
             ended.\n",
            self.hosts.len(),
            time.as_secs(),
            losses.join(", "),
            self.notices,
            settling.as_secs_f64()
        )
    }

    fn central(&self) -> Result<Vec<Vec<u8>>> {
        let words = self.servers.hub();
        ask(async { Central::connect(words.postgres()?).await?.hashes(None).await })
    }

    /// Loses something, or brings back what was lost.
    fn lose(&mut self) -> Result<()> {
        let host = self.draws.below(self.hosts.len() as u64) as usize;
        let link = self.draws.below(self.links.len() as u64) as usize;
        match self.draws.below(16) {
            0 => self.losses[0] += kill(&mut self.nats)?,
            1 => self.losses[1] += kill(&mut self.postgres)?,
            2 => self.losses[2] += kill(&mut self.collector)?,
            3 | 4 => self.losses[3] += kill(&mut self.hosts[host].process)?,
            5 => {
                let parts = [&self.nats, &self.collector, &self.hosts[host].process];
                let part = *parts[self.draws.below(3) as usize];
                if let Some(process) = part {
                    process.send(Signal::STOP)?;
                    thread::sleep(Duration::from_millis(1000 + self.draws.below(4000)));
                    process.send(Signal::CONT)?;
                    self.losses[4] += 1;
                }
            }
            6 | 7 => self.restart()?,
            state @ (8 | 9) => {
                let states = [LinkState::Stalled, LinkState::Cut];
                self.links[link].set(states[state as usize - 8]);
                self.losses[state as usize - 3] += 1;
            }
            10 | 11 => {
                let broken = self.links.iter().find(|link| !link.is_whole());
                broken.into_iter().for_each(|link| link.set(LinkState::Whole));
            }
            _ => {
                let mut ended = self.hosts.iter_mut().filter(|host| host.process.is_none());
                ended.next().map_or(Ok(()), Host::start)?;
            }
        }
        Ok(())
    }

    fn end(&mut self) {
        let agents = self.hosts.iter_mut().map(|host| &mut host.process);
        let all = agents.chain([&mut self.collector, &mut self.nats]);
        all.for_each(|process| drop(kill(process)));
        if let Some(postgres) = self.postgres.take() {
            let _ = postgres.end(Signal::INT);
        }
        let _ = std::fs::remove_dir_all(&self.place);
    }
}

/// The address of NATS by a link.
fn address(link: &Link) -> String {
    format!("nats://127.0.0.1:{}", link.port())
}

fn kill(process: &mut Option<ServerProcess>) -> Result<u64> {
    let Some(process) = process.take() else { return Ok(0) };
    process.end(Signal::KILL)?;
    Ok(1)
}

fn ask<T>(question: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(question)
}

/// A program in the directory above this example's.
fn program(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let place = own.parent().and_then(Path::parent).context("the directory of programs")?;
    Ok(place.join(name))
}

impl Host {
    fn make(place: &Path, number: u64) -> Result<Host> {
        let name = format!("host-{number}");
        let directory = place.join(&name);
        std::fs::create_dir(&directory)?;
        let file = directory.join("runs.sqlite");
        let store = Store::open(Some(&file))?;
        let machine = store.machine_id().context("an id")?;
        Ok(Host { name, directory, file, machine, store, process: None, hashes: BTreeSet::new() })
    }

    fn start(&mut self) -> Result<()> {
        let mut agent = Command::new(program("ssdyno-fleet")?);
        agent.arg("agent").arg("--store").arg(&self.file);
        agent.arg("--key").arg(self.directory.join("key")).args(["--host", &self.name]);
        agent.arg("--hub").arg(self.directory.join("agent.toml"));
        self.process = Some(ServerProcess::start(agent, &self.directory.join("agent.log"))?);
        Ok(())
    }

    /// Adds the notices of a day.
    fn notice_jobs(&self) -> Result<u64> {
        let mut ledger = Ledger::open(&self.file)?;
        for number in 0..DAY_NOTICES {
            ledger.end(&Notice {
                job: format!("{}-{number}", self.name),
                machine: self.machine.clone(),
                at: YESTERDAY.into(),
                target: "/dev/x".into(),
                end: JobEnd::Refused,
                reason: "this host grants nothing".into(),
                record: None,
            })?;
        }
        Ok(DAY_NOTICES)
    }

    /// Adds the record of a run of this host.
    fn measure(&mut self, start: &str) -> Result<()> {
        let target = Target { kind: TargetKind::Device, ..Target::default() };
        let mut run = Run::new("quick", target);
        (run.id, run.started) = (store::new_id()?, start.into());
        run.environment.machine_id = Some(self.machine.clone());
        let number = self.store.begin(&run)?;
        run.metrics = (0..METRICS)
            .map(|m| Metric::single(format!("m{m}"), Unit::Iops, f64::from(m)))
            .collect();
        run.complete = true;
        self.store.finish(&run)?;
        let document: Document = self.store.document(number)?;
        self.hashes.insert(document.hash()?.0.to_vec());
        Ok(())
    }
}

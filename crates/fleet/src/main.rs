//! `ssdyno-fleet`: many machines. Results go to stdout, failures to stderr.

#![forbid(unsafe_code)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use fleet::agent::{self, AgentOptions};
use fleet::config::HubConfig;
use fleet::job::FleetJob;
use fleet::key::Enrolment;
use fleet::{ask, collect, members, publish, trial};
use record::parse_tag;

/// Many machines: agents measure, a collector gathers their records.
#[derive(Debug, Parser)]
#[command(name = "ssdyno-fleet", version, disable_help_subcommand = true, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Start NATS, PostgreSQL, a collector and an agent on this machine, for a trial
    Up {
        /// Directory for everything
        #[arg(long, value_name = "DIR")]
        directory: Option<PathBuf>,
        /// The command ssdyno [default: beside this program, or in the search path]
        #[arg(long, value_name = "FILE")]
        command: Option<PathBuf>,
    },
    /// End what `up` started, and remove its directory
    Down {
        /// Directory of the trial
        #[arg(long, value_name = "DIR")]
        directory: Option<PathBuf>,
    },
    /// Measure what the hub asks for, and send the records of this machine
    Agent(AgentArgs),
    /// Print the line by which the hub knows this machine's key, which is made if it is missing
    Key(KeyArgs),
    /// Let a key sign for its machine: the words that `key` printed there. Prints the file for its agent
    Enrol {
        #[command(flatten)]
        hub: HubArgs,
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// Take the right to sign and to connect from a machine, by its name or id
    Revoke {
        #[command(flatten)]
        hub: HubArgs,
        machine: String,
    },
    /// Write the records of all agents to PostgreSQL
    Collect {
        #[command(flatten)]
        hub: HubArgs,
        /// Also write this file once a day, as `parquet` does
        #[arg(long, value_name = "FILE")]
        parquet: Option<PathBuf>,
    },
    /// Write the metrics of all records to a Parquet file; a store beside it keeps the records
    Parquet {
        #[command(flatten)]
        hub: HubArgs,
        file: PathBuf,
        /// The command ssdyno [default: beside this program, or in the search path]
        #[arg(long, value_name = "FILE")]
        command: Option<PathBuf>,
    },
    /// Put jobs and questions
    Ask(AskArgs),
}

#[derive(Debug, Args)]
struct HubArgs {
    /// File with the addresses and passwords of the hub, mode 600
    #[arg(long, value_name = "FILE", default_value = "/etc/ssdyno/hub.toml")]
    hub: PathBuf,
}

#[derive(Debug, Args)]
struct KeyArgs {
    /// File of the records [default: in the XDG data directory]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// File of the key [default: beside the records]
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Name of this machine [default: its host name]
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
}

#[derive(Debug, Args)]
struct AgentArgs {
    /// File that `enrol` printed for this machine, mode 600
    #[arg(long, value_name = "FILE", default_value = "/etc/ssdyno/agent.toml")]
    hub: PathBuf,
    #[command(flatten)]
    own: KeyArgs,
    /// The command ssdyno [default: beside this program, or in the search path]
    #[arg(long, value_name = "FILE")]
    command: Option<PathBuf>,
    /// A label by which jobs find this machine, as in board=mini-a; can be repeated
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = parse_tag)]
    labels: Vec<(String, String)>,
    /// A device or directory for jobs, besides virtual drives; can be repeated
    #[arg(long = "target", value_name = "TARGET")]
    targets: Vec<String>,
    /// File of root's with the permissions to destroy
    #[arg(long, value_name = "FILE", default_value = fleet::grant::GRANTS)]
    grants: PathBuf,
    /// Runs of virtual drives at one time [default: one a processor]
    #[arg(long, value_name = "N")]
    slots: Option<usize>,
}

#[derive(Debug, Args)]
#[command(
    subcommand_precedence_over_arg = true,
    after_help = "\
Examples:
  ssdyno-fleet ask campaign.toml --wait
  ssdyno-fleet ask run /dev/sdb -m quick --on board=mini-a
  ssdyno-fleet ask run /dev/sdb -m sustain --destroy S6Z1NJ0W   its host must grant it
  ssdyno-fleet ask model 'X1 Pro'
  ssdyno-fleet ask firmware rand-read-4KiB-q32"
)]
struct AskArgs {
    /// File with the addresses and passwords of the hub, mode 600
    #[arg(long, value_name = "FILE", default_value = "/etc/ssdyno/hub.toml", global = true)]
    hub: PathBuf,
    /// Spread the runs of a campaign, a TOML file, over the agents
    campaign: Option<PathBuf>,
    /// Wait until every run has its record in the central store
    #[arg(long, requires = "campaign")]
    wait: bool,
    #[command(subcommand)]
    question: Option<Question>,
}

#[derive(Debug, Subcommand)]
enum Question {
    /// Measure a target on every machine that serves it
    Run {
        target: String,
        #[arg(long, short, default_value = "quick")]
        method: String,
        /// Only machines with this label; can be repeated
        #[arg(long = "on", value_name = "NAME=VALUE", value_parser = parse_tag)]
        labels: Vec<(String, String)>,
        /// seed, size, time or replicates, as in time=10s; can be repeated
        #[arg(long = "option", value_name = "NAME=VALUE", value_parser = parse_tag)]
        options: Vec<(String, String)>,
        /// A tag for the records; can be repeated
        #[arg(long = "tag", value_name = "NAME=VALUE", value_parser = parse_tag)]
        tags: Vec<(String, String)>,
        /// Ask to overwrite the drive with this serial number: its own host must permit it
        #[arg(long, value_name = "SERIAL")]
        destroy: Option<String>,
    },
    /// The agents
    Agents,
    /// Jobs in progress, and what became of the others
    Jobs {
        /// Start of their ids
        #[arg(default_value = "")]
        prefix: String,
        /// Only jobs that ended like this: measured, failed, refused, interrupted
        #[arg(long, value_name = "END")]
        end: Option<String>,
    },
    /// What hosts and the collector refused
    Refusals,
    /// The distribution of figures over all runs of a model
    Model {
        name: String,
        /// A metric; can be repeated [default: the rates of quick]
        #[arg(long = "metric", value_name = "NAME")]
        metrics: Vec<String>,
    },
    /// The median of a metric by model and firmware
    Firmware { metric: String },
    /// Print the records as JSON lines, for `ssdyno import -`
    Export {
        /// Only records with this tag
        #[arg(long, value_name = "NAME=VALUE", value_parser = parse_tag)]
        tag: Option<(String, String)>,
    },
}

/// A failure of the hub, of a file, or of the command line.
const FAILED: u8 = 4;

fn main() -> ExitCode {
    let task = Arguments::parse().task;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result =
        runtime.map_err(anyhow::Error::from).and_then(|runtime| runtime.block_on(run(task)));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ssdyno-fleet: {}", emit::plain(&emit::one_line(&format!("{error:#}"))));
            ExitCode::from(FAILED)
        }
    }
}

async fn run(task: Task) -> Result<()> {
    match task {
        Task::Up { directory, command } => {
            let directory = directory.map_or_else(trial::default_directory, Ok)?;
            let command = command.unwrap_or_else(agent::command);
            print(&trial::up(&directory, &command, &host_name()).await?);
            Ok(())
        }
        Task::Down { directory } => {
            trial::down(&directory.map_or_else(trial::default_directory, Ok)?)
        }
        Task::Agent(arguments) => agent::run(arguments.options()?).await,
        Task::Key(arguments) => {
            let store = arguments.store()?;
            let line = agent::enrolment(&store, &arguments.key(&store), &arguments.host())?;
            println!("{line}");
            Ok(())
        }
        Task::Enrol { hub, words } => {
            let enrolment: Enrolment = words.join(" ").parse().map_err(anyhow::Error::msg)?;
            let file = members::enrol(&HubConfig::read(&hub.hub)?, &enrolment).await?;
            print(&file.text()?);
            Ok(())
        }
        Task::Revoke { hub, machine } => {
            print(&members::revoke(&HubConfig::read(&hub.hub)?, &machine).await?);
            Ok(())
        }
        Task::Collect { hub, parquet } => {
            let config = HubConfig::read(&hub.hub)?;
            if let Some(file) = parquet {
                tokio::spawn(publish::write_nightly(hub.hub, file));
            }
            collect::run(&config).await
        }
        Task::Parquet { hub, file, command } => {
            let command = command.unwrap_or_else(agent::command);
            publish::write(&HubConfig::read(&hub.hub)?, &command, &file).await
        }
        Task::Ask(arguments) => put(arguments).await,
    }
}

async fn put(arguments: AskArgs) -> Result<()> {
    let hub = HubConfig::read(&arguments.hub)?;
    let text = match arguments.question {
        None => {
            let file = arguments.campaign.context("ask what? try: ssdyno-fleet ask --help")?;
            let campaign = ask::campaign(&hub, &file).await?;
            if arguments.wait { ask::wait(&hub, &campaign).await? } else { String::new() }
        }
        Some(Question::Run { target, method, labels, options, tags, destroy }) => {
            let job = FleetJob {
                id: String::new(),
                target,
                method,
                options: options.into_iter().collect(),
                tags: tags.into_iter().collect(),
                destroy,
                experiment: None,
            };
            ask::run(&hub, &ask::new_id()?, job, &labels.into_iter().collect()).await?
        }
        Some(Question::Agents) => ask::agents(&hub).await?,
        Some(Question::Jobs { prefix, end }) => ask::jobs(&hub, &prefix, end.as_deref()).await?,
        Some(Question::Refusals) => ask::refusals(&hub).await?,
        Some(Question::Model { name, metrics }) => ask::model(&hub, &name, &metrics).await?,
        Some(Question::Firmware { metric }) => ask::firmware(&hub, &metric).await?,
        Some(Question::Export { tag }) => {
            let tag = tag.map(|(name, value)| format!("{name}={value}"));
            let mut output = std::io::stdout().lock();
            ask::export(&hub, tag.as_deref(), &mut |line| writeln!(output, "{line}")).await?;
            String::new()
        }
    };
    print(&text);
    Ok(())
}

fn print(text: &str) {
    print!("{}", emit::screen(text));
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.split_whitespace().next().unwrap_or("unknown");
    name.to_string()
}

impl KeyArgs {
    fn store(&self) -> Result<PathBuf> {
        let store = self.store.clone().map_or_else(store::default_path, Ok)?;
        // The command and this program may have different working directories.
        Ok(std::path::absolute(store)?)
    }

    fn key(&self, store: &Path) -> PathBuf {
        self.key.clone().unwrap_or_else(|| store.with_extension("key"))
    }

    fn host(&self) -> String {
        self.host.clone().unwrap_or_else(host_name)
    }
}

impl AgentArgs {
    fn options(self) -> Result<AgentOptions> {
        let store = self.own.store()?;
        let slots = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(AgentOptions {
            hub: HubConfig::read(&self.hub)?,
            key: self.own.key(&store),
            store,
            command: self.command.unwrap_or_else(agent::command),
            host: self.own.host(),
            labels: self.labels.into_iter().collect(),
            targets: self.targets,
            grants: self.grants,
            slots: self.slots.unwrap_or(slots),
        })
    }
}

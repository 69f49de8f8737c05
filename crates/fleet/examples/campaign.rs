//! Whether a campaign over several agents gives the records of one process.
//!
//! `campaign RUNS`: so many runs of two virtual drives over four agents on the loopback, one of which is
//! killed while they run, and the same runs by one process of the command. Both must have equal sets of
//! hashes of records. Prints a line.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use fleet::central::Central;
use fleet::config::HubConfig;
use fleet::servers::{self, ServerProcess};
use fleet::{agent, members};
use record::Document;
use rustix::process::Signal;

/// Agents besides that of the trial.
const AGENTS: usize = 3;

/// The presets of the runs.
const PRESETS: [&str; 2] = ["sd-class2", "usb-16k"];

fn main() -> Result<ExitCode> {
    let runs = std::env::args().nth(1).and_then(|word| word.parse::<u64>().ok());
    let seeds = runs.context("usage: campaign RUNS")? / PRESETS.len() as u64;
    if let Some(remedy) = servers::missing() {
        println!("skipped: {remedy}");
        return Ok(ExitCode::SUCCESS);
    }
    let place = std::env::temp_dir().join(format!("ssdyno-{}", store::new_id()?));
    let result = measure(&place, seeds);
    let down = fleet(&["down", "--directory", &word(&place)]);
    print!("{}", result?);
    down?;
    Ok(ExitCode::SUCCESS)
}

fn measure(place: &Path, seeds: u64) -> Result<String> {
    fleet(&["up", "--directory", &word(place)])?;
    let config = HubConfig::read(&place.join("hub.toml"))?;
    let mut agents = Vec::new();
    for number in 0..AGENTS {
        agents.push(start_agent(&config, &place.join(format!("agent-{number}")))?);
    }
    let result = compare(place, seeds, &config, &agents);
    agents.iter().try_for_each(|agent| agent.end(Signal::TERM))?;
    result
}

fn compare(
    place: &Path,
    seeds: u64,
    config: &HubConfig,
    agents: &[ServerProcess],
) -> Result<String> {
    let file = place.join("campaign.toml");
    std::fs::write(
        &file,
        format!(
            "name = 'bench'\npresets = {PRESETS:?}\nmethods = ['quick']\nseeds = '1-{seeds}'\n\
             options = {{ time = '1s' }}\n"
        ),
    )?;
    let runs = seeds as usize * PRESETS.len();
    let begin = Instant::now();
    let hub = word(&place.join("hub.toml"));
    fleet(&["ask", "--hub", &hub, &word(&file)])?;
    // It has taken runs by then, and some have arrived.
    while hashes(config)?.len() < runs / 4 {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    agents[0].end(Signal::KILL)?;
    fleet(&["ask", "--hub", &hub, &word(&file), "--wait"])?;
    let seconds = begin.elapsed().as_secs_f64();
    let central: BTreeSet<Vec<u8>> = hashes(config)?.into_iter().collect();
    let begin = Instant::now();
    let alone = alone(&place.join("out"), seeds)?;
    ensure!(central == alone, "{} and {} records, which differ", central.len(), alone.len());
    ensure!(alone.len() == runs, "{} records for {runs} runs", alone.len());
    Ok(format!(
        "A campaign of {runs} runs over {} agents, one of them killed on the way: the records of one process, \
         bit for bit; {seconds:.0} s, alone {:.0} s.\n",
        AGENTS + 1,
        begin.elapsed().as_secs_f64()
    ))
}

fn start_agent(hub: &HubConfig, directory: &Path) -> Result<ServerProcess> {
    std::fs::create_dir(directory)?;
    let [store, key, file] = ["runs.sqlite", "key", "agent.toml"].map(|name| directory.join(name));
    let enrolment = agent::enrolment(&store, &key, "host")?;
    ask(members::enrol(hub, &enrolment))?.write(&file)?;
    let mut agent = Command::new(program("ssdyno-fleet")?);
    agent.arg("agent").arg("--hub").arg(&file).arg("--store").arg(&store).arg("--key").arg(&key);
    agent.arg("--command").arg(program("ssdyno")?).args(["--slots", "1"]);
    ServerProcess::start(agent, &directory.join("agent.log"))
}

/// The hashes of the records of one process with the same runs.
fn alone(out: &Path, seeds: u64) -> Result<BTreeSet<Vec<u8>>> {
    let mut command = Command::new(program("ssdyno")?);
    command.arg("run").args(PRESETS.map(|preset| format!("sim:{preset}")));
    command.args(["-m", "quick", "--time", "1s", "--tag", "campaign=bench", "--quiet"]);
    command.args(["--seeds", &format!("1-{seeds}")]).arg("--out").arg(out);
    ensure!(command.status()?.success(), "the runs of one process failed");
    let records = std::fs::read_dir(out)?.map(|file| {
        let text = std::fs::read_to_string(file?.path())?;
        Ok(Document::parse(&text)?.hash()?.0.to_vec())
    });
    records.collect()
}

fn hashes(config: &HubConfig) -> Result<Vec<Vec<u8>>> {
    ask(async { Central::connect(config.postgres()?).await?.hashes(Some("campaign=bench")).await })
}

fn fleet(words: &[&str]) -> Result<()> {
    let output = Command::new(program("ssdyno-fleet")?).args(words).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "ssdyno-fleet {}: {errors}", words.join(" "));
    Ok(())
}

fn ask<T>(question: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(question)
}

fn word(path: &Path) -> String {
    path.display().to_string()
}

/// A program in the directory above this example's.
fn program(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let place = own.parent().and_then(Path::parent).context("the directory of programs")?;
    Ok(place.join(name))
}

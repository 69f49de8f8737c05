//! How fast the central store takes records and answers: on a PostgreSQL of its own on the loopback.
//!
//! `questions RUNS LETTERS`: so many signed letters with histograms through the collector's checks,
//! then so many runs of 60 metrics (of 20 models with 5 firmwares each) written directly, and the
//! time of each question about them. Prints a table, and fails if a goal is missed.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use fleet::central::{ArrivedRecord, Central};
use fleet::collect::{Collector, Posted};
use fleet::envelope::{Envelope, LetterKind};
use fleet::key::{AgentKey, Enrolment};
use fleet::servers::{self, Servers};
use record::{
    Document, DriveIdentity, Histogram, LatencyProfile, Metric, Run, Target, TargetKind, Unit,
};
use rustix::process::Signal;

/// Metrics of a run.
const METRICS: u32 = 60;

/// Runs of a transaction.
const BATCH: u64 = 256;

/// Repetitions of a question; the median counts.
const REPEATS: usize = 9;

const MACHINE: &str = "00112233445566778899aabbccddeeff";

/// Goals: records per second, milliseconds.
const RATE: f64 = 2000.0;
const MODEL_MS: f64 = 50.0;
const FIRMWARE_MS: f64 = 500.0;

fn main() -> Result<ExitCode> {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<u64>());
    let (Some(runs), Some(letters)) = (numbers.next(), numbers.next()) else {
        anyhow::bail!("usage: questions RUNS LETTERS");
    };
    let (runs, letters) = (runs?, letters?);
    if let Some(remedy) = servers::missing() {
        println!("skipped: {remedy}");
        return Ok(ExitCode::SUCCESS);
    }
    let place = std::env::temp_dir().join(format!("ssdyno-{}", store::new_id()?));
    let servers = Servers::create(&place)?;
    let postgres = servers.start_postgres()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(measure(servers.hub().postgres()?, runs, letters));
    postgres.end(Signal::INT)?;
    servers.remove()?;
    let (met, text) = result?;
    print!("{text}");
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn measure(words: &str, runs: u64, letters: u64) -> Result<(bool, String)> {
    let mut table = Table::default();
    let central = Central::connect(words).await?;
    central.make_tables().await?;
    let key = AgentKey::from_secret(&[1; 32]);
    let enrolment = Enrolment { key: key.public(), machine: MACHINE.into(), host: "lab".into() };
    central.enrol(&enrolment).await?;
    let envelopes: Vec<Vec<u8>> =
        (0..letters).map(|i| envelope(&key, runs + i, true)).collect::<Result<_>>()?;
    let bytes = envelopes.iter().map(Vec::len).sum::<usize>() as f64 / letters.max(1) as f64;
    let mut collector = Collector::connect(words).await?;
    let begin = Instant::now();
    for batch in envelopes.chunks(BATCH as usize) {
        let batch: Vec<Posted<'_>> =
            batch.iter().map(|bytes| Posted { sender: MACHINE, bytes }).collect();
        collector.collect(&batch).await?;
    }
    let rate = letters as f64 / begin.elapsed().as_secs_f64();
    table.row(
        &format!("signed letters of {:.1} kB, checked and committed", bytes / 1e3),
        rate,
        "/s",
        None,
    );
    let mut central = Central::connect(words).await?;
    let mut busy = 0.0;
    for first in (0..runs).step_by(BATCH as usize) {
        let records = (first..runs.min(first + BATCH)).map(arrived).collect::<Result<Vec<_>>>()?;
        let begin = Instant::now();
        central.insert(&records.iter().collect::<Vec<_>>(), &[]).await?;
        busy += begin.elapsed().as_secs_f64();
    }
    table.row(
        "records of 60 metrics into PostgreSQL",
        runs as f64 / busy,
        "/s",
        Some((RATE, false)),
    );
    central.settle().await?;
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..REPEATS {
        let begin = Instant::now();
        central.distribution("X3 1TB", &["metric-7"]).await?;
        times[0].push(begin.elapsed().as_secs_f64() * 1e3);
        let begin = Instant::now();
        central.medians("metric-7").await?;
        times[1].push(begin.elapsed().as_secs_f64() * 1e3);
    }
    let [model, firmware] = times.map(median);
    table.row("the distribution of a figure over a model", model, " ms", Some((MODEL_MS, true)));
    table.row("its median by model and firmware", firmware, " ms", Some((FIRMWARE_MS, true)));
    let text = format!(
        "{runs} runs of {METRICS} metrics.\n\n| | measured | goal |\n|---|---|---|\n{}",
        table.text
    );
    Ok((!table.is_missed, text))
}

#[derive(Default)]
struct Table {
    text: String,
    is_missed: bool,
}

impl Table {
    /// Adds a figure, with the goal that it must not exceed (`true`) or fall below.
    fn row(&mut self, name: &str, value: f64, unit: &str, goal: Option<(f64, bool)>) {
        let goal_text = goal.map_or(String::new(), |(goal, is_limit)| {
            let is_met = if is_limit { value <= goal } else { value >= goal };
            self.is_missed |= !is_met;
            format!("{goal}{unit}, {}", if is_met { "met" } else { "MISSED" })
        });
        self.text += &format!("| {name} | {value:.1}{unit} | {goal_text} |\n");
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The record of run `i`, on one of 20 models with 5 firmwares each.
fn document(i: u64, is_long: bool) -> Result<Document> {
    let drive = DriveIdentity {
        model: Some(format!("X{} 1TB", i % 20)),
        firmware: Some(format!("FW{}", i / 20 % 5)),
        serial: Some(format!("S{}", i % 250)),
        ..DriveIdentity::default()
    };
    let target = Target {
        kind: TargetKind::Device,
        spec: "/dev/sdb".into(),
        drive: Some(drive),
        ..Target::default()
    };
    let mut run = Run { complete: true, ..Run::new("quick", target) };
    (run.id, run.started) = (format!("01F{i:023}"), "2026-11-29T10:00:00Z".into());
    run.environment.machine_id = Some(MACHINE.into());
    let factor = 1.0 + (i % 997) as f64 * 1e-4;
    run.metrics = (0..METRICS)
        .map(|m| Metric::single(format!("metric-{m}"), Unit::Iops, 1000.0 * factor + f64::from(m)))
        .collect();
    if is_long {
        // Shorter than those of `quick`, whose letters have 35 kB.
        let mut service = Histogram::default();
        (0..4000).for_each(|n| service.record(50_000 + (n * n + i) % 9_000_000));
        run.latencies = ["read", "write"]
            .map(|op| LatencyProfile::new("rand-4KiB-q32", op, service.clone()))
            .to_vec();
    }
    Ok(Document::from_run(run)?)
}

fn envelope(key: &AgentKey, i: u64, is_long: bool) -> Result<Vec<u8>> {
    let document = document(i, is_long)?;
    let (hash, text) = (document.hash()?.0, document.text()?);
    Ok(Envelope::seal(key, LetterKind::Record, hash, &text).to_bytes())
}

fn arrived(i: u64) -> Result<ArrivedRecord> {
    let document = document(i, false)?;
    let hash = document.hash().context("a hash")?.0;
    // The size of the text does not matter to the questions.
    Ok(ArrivedRecord { hash, key: [0; 32], document: Box::new(document), packed: vec![0; 2000] })
}

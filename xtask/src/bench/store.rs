//! `cargo xtask bench store [--runs N | --tiny]`: a store of 100,000 runs, and the time of each
//! command that searches it.
//!
//! The runs are copies of one `quick` record, measured by this benchmark, that differ in ID, start,
//! drive, host and values. They are piped into `ssdyno import`, like the records of a fleet.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::places::Bench;
use super::results::{self, median};
use super::tools;
use crate::run::{output, program};

/// Number of runs at which the goals apply.
const RUNS: u64 = 100_000;
/// Number of runs in a test of the benchmark itself.
const RUNS_TINY: u64 = 200;
/// Number of different drives among the runs.
const DRIVES: u64 = 250;
const REPEATS: usize = 9;

const MEMORY_MAX: f64 = 200.0;
const BYTES_MAX: f64 = 40_000.0;

/// The commands, each with its maximum time in milliseconds.
const COMMANDS: [(&[&str], f64); 6] = [
    (&["runs"], 50.0),
    (&["runs", "--drive", "SER0007"], 50.0),
    (&["runs", "--method", "quick", "--since", "2026-01-01"], 50.0),
    (&["show", "last"], 50.0),
    (&["show", "1"], 50.0),
    (&["compare", "last", "1"], 100.0),
];

/// Creates the store and measures.
pub fn run(words: &[&str]) -> Result<ExitCode> {
    let (runs, keep) = match words {
        [] => (RUNS, true),
        ["--tiny"] => (RUNS_TINY, false),
        ["--runs", n] => (n.parse().context("--runs needs a number")?, false),
        _ => bail!("usage: cargo xtask bench store [--runs N | --tiny]"),
    };
    let binary = tools::build()?;
    let bench = Bench::new()?;
    let record = quick(&binary, &bench, keep)?;
    let store = bench.path("runs.sqlite");
    let (seconds, peak_mb) = fill(&binary, &store, &record, runs)?;
    let bytes = std::fs::metadata(&store)?.len() as f64 / runs as f64;
    let mut text = format!(
        "{runs} runs, each a varied `quick` record of {} of JSON. Imported in {seconds:.0} s ({:.1} \
         ms per run).\n\n| | measured | goal |\n|---|---|---|\n",
        kb(record.to_string().len() as f64),
        seconds * 1e3 / runs as f64
    );
    let mut missed = 0;
    let mut row = |name: &str, value: f64, unit: &str, most: f64| {
        missed += u32::from(value > most);
        text += &format!("| {name} | {value:.1} {unit} | {most:.0} {unit} |\n");
    };
    row("size of a run", bytes / 1e3, "kB", BYTES_MAX / 1e3);
    row("memory of the import", peak_mb, "MB", MEMORY_MAX);
    for (arguments, most) in COMMANDS {
        let name = format!("`ssdyno {}`", arguments.join(" "));
        row(&name, milliseconds(&binary, &store, arguments)?, "ms", most);
    }
    println!("{text}");
    if keep {
        results::write("store", "cargo xtask bench store", &text)?;
    }
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn kb(bytes: f64) -> String {
    format!("{:.0} kB", bytes / 1e3)
}

/// A record of `quick`: on the disk if `real`, otherwise on a virtual drive, to save time.
fn quick(binary: &Path, bench: &Bench, real: bool) -> Result<Value> {
    let store = bench.path("one.sqlite").display().to_string();
    let directory = bench.path("").display().to_string();
    let target = if real { directory.as_str() } else { "sim:cm4-emmc-32" };
    output(&mut program(binary, &["run", target, "-m", "quick", "--quiet", "--store", &store]))?;
    let said = output(&mut program(binary, &["export", "--store", &store]))?;
    serde_json::from_str(&said).context("an export")
}

/// Changes the record to that of run `i`.
fn varied(record: &mut Value, i: u64) {
    let factor = 1.0 + (i % 997) as f64 * 1e-4;
    let drive = i % DRIVES;
    record["id"] = format!("01STORE{i:019}").into();
    let (day, second) = (1 + i / 86_400 % 28, i % 86_400);
    let time = [second / 3600, second / 60 % 60, second % 60].map(|n| format!("{n:02}")).join(":");
    record["started"] = format!("2026-10-{day:02}T{time}.000+00:00").into();
    record["environment"]["host"] = format!("host-{}", i % 40).into();
    record["environment"]["machine_id"] = format!("{:032x}", i % 40).into();
    let identity = &mut record["target"]["drive"];
    if identity.is_null() {
        *identity = json!({ "name": "sda", "bus": "sata", "ram": false, "health": {} });
    }
    identity["vendor"] = "ACME".into();
    identity["model"] = format!("X{} 1TB", drive % 20).into();
    identity["serial"] = format!("SER{drive:04}QX").into();
    for metric in record["metrics"].as_array_mut().into_iter().flatten() {
        for field in ["value", "low", "high"] {
            if let Some(value) = metric[field].as_f64() {
                metric[field] = (value * factor).into();
            }
        }
        for sample in metric["samples"].as_array_mut().into_iter().flatten() {
            if let Some(value) = sample.as_f64() {
                *sample = (value * factor).into();
            }
        }
    }
}

/// Imports the runs; returns the seconds, and the import's peak memory in MB.
fn fill(binary: &Path, store: &Path, record: &Value, runs: u64) -> Result<(f64, f64)> {
    let arguments = ["import", "-", "--store", &store.display().to_string()];
    let mut command = program(binary, &arguments);
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    let mut input = BufWriter::new(child.stdin.take().context("a pipe")?);
    // The series and histograms do not change: only the rest is serialised again.
    let mut head = record.clone();
    let mut long = String::new();
    for part in ["series", "latencies"] {
        let value = head.as_object_mut().and_then(|members| members.remove(part));
        long += &format!(",\"{part}\":{}", value.unwrap_or_default());
    }
    let mut peak_mb = 0.0f64;
    for i in 0..runs {
        let mut head = head.clone();
        varied(&mut head, i);
        let text = head.to_string();
        let open = text.strip_suffix('}').context("an object")?;
        writeln!(input, "{open}{long}}}").context("the import ended early")?;
        if i % 64 == 0 {
            peak_mb = peak_mb.max(peak(&child));
        }
    }
    input.flush()?;
    peak_mb = peak_mb.max(peak(&child));
    drop(input);
    if !child.wait()?.success() {
        bail!("the import failed");
    }
    Ok((begun.elapsed().as_secs_f64(), peak_mb))
}

/// Peak memory of the process so far, MB; 0 if the system does not report it.
fn peak(child: &Child) -> f64 {
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let text = std::fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.unwrap_or(0.0) * 1024.0 / 1e6
}

/// The median time of a command from start to end.
fn milliseconds(binary: &Path, store: &Path, arguments: &[&str]) -> Result<f64> {
    let store = store.display().to_string();
    let arguments = [arguments, &["--store", &store]].concat();
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let begun = Instant::now();
        output(&mut program(binary, &arguments))?;
        times.push(begun.elapsed().max(Duration::from_nanos(1)).as_secs_f64() * 1e3);
    }
    Ok(median(times))
}

//! `cargo xtask bench engine`: ssdyno compared with this machine's fio, the pace of open loops, the
//! stall test, and the time to the first I/O.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};

use super::goals::{CASES, Case, CaseTarget};
use super::pairs::{FioPairs, in_turn};
use super::places::{Bench, Loop, warm};
use super::results::median;
use super::tools::{Sample, build, fio, fio_sample, metric, ours, sample};
use super::{Effort, Outcome, stall, word};
use crate::run::{find, output, program};

/// Sizes of the files and of the loop device, MiB. The cached file is small: copying from a large
/// file waits for memory, which costs every tool the same and hides the cost of the tools.
const FILE_MIB: u64 = 1024;
const CACHED_MIB: u64 = 16;
const LOOP_MIB: u64 = 512;

/// Rates at which the pace of the null backend is compared with the schedule, operations per
/// second.
const RATES: [u32; 4] = [1_000, 100_000, 300_000, 500_000];

/// Maximum relative error of the pace.
const RATE_OFF_MAX: f64 = 0.002;

/// Maximum time from process start to the first I/O, milliseconds.
const FIRST_IO_MS_MAX: f64 = 20.0;

struct Grounds {
    binary: PathBuf,
    bench: Bench,
    file: PathBuf,
    cached: PathBuf,
    ring: Option<Loop>,
}

/// Runs all parts.
pub fn run(effort: Effort) -> Result<Outcome> {
    let binary = build()?;
    let bench = Bench::new()?;
    let file = bench.file("file", FILE_MIB)?;
    let ring = Loop::new(LOOP_MIB).map_err(|e| println!("skipped: no loop device: {e:#}")).ok();
    let cached = bench.file("cached", CACHED_MIB)?;
    let grounds = Grounds { binary, bench, file, cached, ring };
    let mut text = String::new();
    for part in [against_fio, pace, first_io, stalled] {
        text += &part(&grounds, effort)?;
    }
    Ok(Outcome::of_table(text))
}

fn against_fio(grounds: &Grounds, effort: Effort) -> Result<String> {
    if find("fio").is_none() {
        return Ok("skipped: no fio on this machine\n\n".into());
    }
    let version = output(&mut program("fio", &["--version"]))?;
    let mut text = format!(
        "Against {}: {} interleaved pairs of {} s each; 4 KiB random reads unless stated otherwise.\n{}",
        version.trim(),
        effort.pairs(),
        effort.seconds,
        FioPairs::HEAD
    );
    for case in &CASES {
        match target(grounds, case.place) {
            Some(target) => text += &row(grounds, case, &target, effort)?,
            None => writeln!(text, "| {} | skipped: no loop device |||||||", case.name)?,
        }
    }
    Ok(text + "\n")
}

fn target(grounds: &Grounds, place: CaseTarget) -> Option<String> {
    match place {
        CaseTarget::Null => Some("null:".to_string()),
        CaseTarget::Cached => Some(grounds.cached.display().to_string()),
        CaseTarget::Disk => Some(grounds.file.display().to_string()),
        CaseTarget::Loop => grounds.ring.as_ref().map(|ring| ring.device.clone()),
    }
}

fn row(grounds: &Grounds, case: &Case, target: &str, effort: Effort) -> Result<String> {
    let mut pairs = FioPairs::default();
    for pair in 0..effort.pairs() {
        if case.place == CaseTarget::Cached {
            warm(&grounds.cached)?;
        }
        let fio = || fio_run(case, target, effort);
        let (theirs, ours) = in_turn(pair, fio, || our_run(grounds, case, target, effort))?;
        pairs.push(&ours, &theirs);
    }
    Ok(pairs.row(case.name, case.rate_min, case.cpu_max))
}

fn our_run(grounds: &Grounds, case: &Case, target: &str, effort: Effort) -> Result<Sample> {
    let time = format!("{}s", effort.seconds);
    let mut words = vec![target, "--time", &time];
    words.extend(case.ours);
    sample(&ours(&grounds.binary, &grounds.bench.path("store.sqlite"), &words)?)
}

fn fio_run(case: &Case, target: &str, effort: Effort) -> Result<Sample> {
    let time = format!("--runtime={}", effort.seconds);
    let (file, size) = match case.place {
        CaseTarget::Null => ("--filename=bench".to_string(), "--size=1g"),
        _ => (format!("--filename={target}"), "--size=100%"),
    };
    let mut words = vec![file.as_str(), &time, "--time_based", "--norandommap", size];
    if !case.fio.iter().any(|w| w.starts_with("--rw")) {
        words.extend(["--rw=randread", "--bs=4k"]);
    }
    words.extend(case.fio);
    fio_sample(&fio(&words)?)
}

fn pace(grounds: &Grounds, effort: Effort) -> Result<String> {
    let mut text = format!(
        "Pace of an open loop on the null backend, mean of {} runs; goal: error of at most {:.1}% \
         up to 300,000/s.\n\n| requested | fixed | error | Poisson | error |\n|---|---|---|---|---|\n",
        effort.repeats,
        RATE_OFF_MAX * 100.0
    );
    for rate in RATES {
        let mut cells = String::new();
        for words in [&[][..], &["--poisson"]] {
            let got = paced(grounds, rate, words, effort)?;
            let off = got / f64::from(rate) - 1.0;
            // The count of a Poisson process has a spread of its square root: below a million, it
            // is inconclusive.
            let sure = words.is_empty() || rate * effort.seconds >= 200_000;
            let mark = if !sure || off.abs() <= RATE_OFF_MAX { "" } else { " MISSED" };
            write!(cells, " {got:.0} | {:+.3}%{mark} |", off * 100.0)?;
        }
        writeln!(text, "| {rate} |{cells}")?;
    }
    Ok(text + "\n")
}

fn paced(grounds: &Grounds, rate: u32, words: &[&str], effort: Effort) -> Result<f64> {
    let (time, asked) = (format!("{}s", effort.seconds), rate.to_string());
    let mut sum = 0.0;
    for run in 0..effort.repeats {
        let seed = (run + 1).to_string();
        let fixed = ["null:", "--time", &time, "--rate", &asked, "--seed", &seed, "--depth", "64"];
        let words: Vec<&str> = fixed.into_iter().chain(words.iter().copied()).collect();
        let record = ours(&grounds.binary, &grounds.bench.path("store.sqlite"), &words)?;
        sum += metric(&record, "iops")?;
    }
    Ok(sum / effort.repeats as f64)
}

/// From process start to the event that the workload has started. fio has no such event, so its
/// whole process with one read is compared with ours.
fn first_io(grounds: &Grounds, effort: Effort) -> Result<String> {
    let file = grounds.file.display().to_string();
    let (mut begun, mut mine, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..effort.repeats {
        let start = Instant::now();
        begun.push(one_read(grounds, &file, start)?);
        mine.push(milliseconds(start));
        if find("fio").is_some() {
            let (start, words) = (Instant::now(), format!("--filename={file}"));
            fio(&[&words, "--number_ios=1", "--rw=randread"])?;
            theirs.push(milliseconds(start));
        }
    }
    let begun = median(begun);
    let goal = word(begun <= FIRST_IO_MS_MAX);
    let theirs = if theirs.is_empty() { "-".into() } else { format!("{:.0} ms", median(theirs)) };
    Ok(format!(
        "Process start to first I/O: {begun:.1} ms (goal <= {FIRST_IO_MS_MAX} ms: {goal}). A complete \
         run with one read, stored record and written report: {:.0} ms; fio's: {theirs}.\n\n",
        median(mine)
    ))
}

/// Runs one read; returns the milliseconds from `start` to the event that its workload started.
fn one_read(grounds: &Grounds, file: &str, start: Instant) -> Result<f64> {
    let store = grounds.bench.path("store.sqlite").display().to_string();
    let mut child = Command::new(&grounds.binary)
        .args(["io", file, "--ops", "1", "--json", "--events", "--store", &store])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("no output")?);
    let mut line = String::new();
    lines.read_line(&mut line)?;
    let begun = milliseconds(start);
    lines.read_to_string(&mut line)?;
    child.wait()?;
    Ok(begun)
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

fn stalled(grounds: &Grounds, effort: Effort) -> Result<String> {
    stall::run(&grounds.binary, &grounds.bench, effort)
}

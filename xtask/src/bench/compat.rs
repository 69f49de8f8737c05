//! `cargo xtask bench compat`: `ssdyno fio` against fio, with the same options.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::pairs::{FioPairs, in_turn};
use super::places::{Bench, warm};
use super::tools::{build, fio, fio_sample};
use super::{Effort, Outcome};
use crate::run::{find, output, program};

/// File sizes, MiB. The cached file is small, so that copying does not wait for memory.
const DISK_MIB: u64 = 512;
const CACHED_MIB: u64 = 16;

/// A job for both tools.
struct Case {
    name: &'static str,
    words: &'static [&'static str],
    /// Whether the file is in the page cache.
    cached: bool,
    /// Minimum rate relative to fio.
    rate: f64,
    /// Maximum processor time per operation relative to fio.
    cpu_max: Option<f64>,
}

const CASES: [Case; 4] = [
    Case {
        name: "disk, O_DIRECT, randread 4k, io_uring depth 8",
        words: &["--rw=randread", "--bs=4k", "--direct=1", "--ioengine=io_uring", "--iodepth=8"],
        cached: false,
        rate: 0.98,
        cpu_max: Some(0.85),
    },
    Case {
        name: "disk, O_DIRECT, read 1m, libaio depth 4",
        words: &["--rw=read", "--bs=1m", "--direct=1", "--ioengine=libaio", "--iodepth=4"],
        cached: false,
        rate: 0.98,
        cpu_max: None,
    },
    Case {
        name: "cached, randread 4k, psync",
        words: &["--rw=randread", "--bs=4k", "--ioengine=psync", "--invalidate=0"],
        cached: true,
        rate: 1.20,
        cpu_max: Some(0.80),
    },
    Case {
        name: "cached, randread 4k, io_uring depth 1",
        words: &["--rw=randread", "--bs=4k", "--ioengine=io_uring", "--invalidate=0"],
        cached: true,
        rate: 1.20,
        cpu_max: Some(0.85),
    },
];

/// Runs all cases.
pub fn run(effort: Effort) -> Result<Outcome> {
    if find("fio").is_none() {
        return Ok(Outcome::Skipped("no fio on this machine".into()));
    }
    let binary = build()?;
    let bench = Bench::new()?;
    let disk = bench.file("disk", DISK_MIB)?;
    let cached = bench.file("cached", CACHED_MIB)?;
    let version = output(&mut program("fio", &["--version"]))?;
    let mut text = format!(
        "`ssdyno fio` against {}, with the same options: {} interleaved pairs of {} s each.\n{}",
        version.trim(),
        effort.pairs(),
        effort.seconds,
        FioPairs::HEAD
    );
    for case in &CASES {
        let file = if case.cached { &cached } else { &disk };
        text += &row(case, &binary, file, &bench, effort)?;
    }
    Ok(Outcome::of_table(text))
}

fn row(case: &Case, binary: &Path, file: &Path, bench: &Bench, effort: Effort) -> Result<String> {
    let (name, time) = (format!("--filename={}", file.display()), effort.seconds.to_string());
    let time = format!("--runtime={time}");
    let mut words = vec![name.as_str(), "--size=100%", "--time_based", "--norandommap", &time];
    words.extend(case.words);
    let store = bench.path("store.sqlite").display().to_string();
    let mut pairs = FioPairs::default();
    for pair in 0..effort.pairs() {
        if case.cached {
            warm(file)?;
        }
        let (theirs, ours) = in_turn(
            pair,
            || fio_sample(&fio(&words)?),
            || fio_sample(&ours(binary, &store, &words)?),
        )?;
        pairs.push(&ours, &theirs);
    }
    Ok(pairs.row(case.name, case.rate, case.cpu_max))
}

/// Runs ssdyno with fio's options once; returns the only job of its JSON.
fn ours(binary: &Path, store: &str, words: &[&str]) -> Result<Value> {
    let store = format!("--store={store}");
    let fixed = ["fio", &store, "--name=bench", "--output-format=json", "--thread"];
    let all: Vec<&str> = fixed.into_iter().chain(words.iter().copied()).collect();
    let said = output(&mut program(binary, &all))?;
    let json: Value =
        serde_json::from_str(&said).with_context(|| format!("ssdyno said: {said}"))?;
    Ok(json["jobs"][0].clone())
}

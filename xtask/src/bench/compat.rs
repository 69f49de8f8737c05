//! `cargo xtask bench compat`: `ssdyno fio` against fio, with the same options.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::places::{Bench, warm};
use super::results::median;
use super::tools::{Sample, build, fio, fio_sample};
use super::{Effort, Outcome, word};
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
    cpu_max: f64,
}

const CASES: [Case; 4] = [
    Case {
        name: "disk, O_DIRECT, randread 4k, io_uring depth 8",
        words: &["--rw=randread", "--bs=4k", "--direct=1", "--ioengine=io_uring", "--iodepth=8"],
        cached: false,
        rate: 0.98,
        cpu_max: 0.85,
    },
    Case {
        name: "disk, O_DIRECT, read 1m, libaio depth 4",
        words: &["--rw=read", "--bs=1m", "--direct=1", "--ioengine=libaio", "--iodepth=4"],
        cached: false,
        rate: 0.98,
        cpu_max: f64::INFINITY,
    },
    Case {
        name: "cached, randread 4k, psync",
        words: &["--rw=randread", "--bs=4k", "--ioengine=psync", "--invalidate=0"],
        cached: true,
        rate: 1.20,
        cpu_max: 0.80,
    },
    Case {
        name: "cached, randread 4k, io_uring depth 1",
        words: &["--rw=randread", "--bs=4k", "--ioengine=io_uring", "--invalidate=0"],
        cached: true,
        rate: 1.20,
        cpu_max: 0.85,
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
        "`ssdyno fio` against {}, with the same options: {} interleaved runs of {} s each.\n\n\
         | job | ours IOPS | fio IOPS | ratio | goal | ours CPU/IO | fio CPU/IO | ratio | goal |\n\
         |---|---|---|---|---|---|---|---|---|\n",
        version.trim(),
        effort.repeats,
        effort.seconds
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
    let (mut mine, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..effort.repeats {
        if case.cached {
            warm(file)?;
        }
        mine.push(fio_sample(&ours(binary, &store, &words)?)?);
        theirs.push(fio_sample(&fio(&words)?)?);
    }
    let iops = |samples: &[Sample]| median(samples.iter().map(|s| s.iops).collect());
    let cpu = |samples: &[Sample]| samples.iter().map(|s| s.cpu_ns).fold(f64::MAX, f64::min);
    let (rate, cost) = (iops(&mine) / iops(&theirs), cpu(&mine) / cpu(&theirs));
    let cpu_goal = match case.cpu_max {
        max if max.is_finite() => format!("<= {max:.2} {}", word(cost <= max)),
        _ => "-".to_string(),
    };
    Ok(format!(
        "| {} | {:.0} | {:.0} | {rate:.2} | >= {:.2} {} | {:.0} ns | {:.0} ns | {cost:.2} | {cpu_goal} |\n",
        case.name,
        iops(&mine),
        iops(&theirs),
        case.rate,
        word(rate >= case.rate),
        cpu(&mine),
        cpu(&theirs),
    ))
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

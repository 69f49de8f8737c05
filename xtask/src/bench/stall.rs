//! The stall test: a file system is frozen for one second while 1,000 writes per second are due.
//!
//! The true response times follow from the schedule: a write due during the freeze completes at its
//! end. The slowest 1% of `n` writes are those due in the first part of the freeze, so the 99th
//! percentile of the response is the length of the freeze minus the time in which `n / 100` writes
//! are due. A tool that starts its clock at the actual issue sees almost nothing of the freeze.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

use super::places::{Bench, Loop};
use super::tools::metric;
use super::{Effort, results::median, word};
use crate::run::{output, program};

const RATE: f64 = 1000.0;
const SECONDS: f64 = 5.0;
const FREEZE: Duration = Duration::from_secs(1);
/// Maximum relative error of the response time's 99th percentile.
const OFF_MAX: f64 = 0.02;

struct Stall {
    truth_ms: f64,
    response_ms: f64,
    service_ms: f64,
}

/// Runs the test on the backends `uring`, `aio` and `psync`.
pub fn run(binary: &Path, bench: &Bench, effort: Effort) -> Result<String> {
    let mounted = Loop::new(256).and_then(|ring| ring.mounted(bench.path("mount")));
    let (_ring, mount) = match mounted {
        Ok(mounted) => mounted,
        Err(error) => return Ok(format!("skipped the stall test: {error:#}\n\n")),
    };
    let mut text = format!(
        "Stall test: 1,000 writes/s for 5 s on ext4 over a loop device, frozen for 1 s; medians of \
         {} runs; goal: response p99 within {:.0}% of the true value by \
         the schedule.\n\n\
         | backend | true p99 | response p99 | error | service p99 |\n|---|---|---|---|---|\n",
        effort.repeats,
        OFF_MAX * 100.0
    );
    for backend in ["uring", "aio", "psync"] {
        let stalls: Result<Vec<Stall>> =
            (0..effort.repeats).map(|_| stall(binary, bench, &mount, backend)).collect();
        let stalls = stalls?;
        let of = |part: fn(&Stall) -> f64| median(stalls.iter().map(part).collect());
        let off = median(stalls.iter().map(|s| s.response_ms / s.truth_ms - 1.0).collect());
        let mark = word(off.abs() <= OFF_MAX);
        text += &format!(
            "| {backend} | {:.1} ms | {:.1} ms | {:+.2}% {mark} | {:.3} ms |\n",
            of(|s| s.truth_ms),
            of(|s| s.response_ms),
            off * 100.0,
            of(|s| s.service_ms),
        );
    }
    Ok(text + "\n")
}

fn stall(binary: &Path, bench: &Bench, mount: &Path, backend: &str) -> Result<Stall> {
    let mut child = Command::new(binary)
        .args(["io", &mount.display().to_string(), "--rw", "randwrite", "--size", "32MiB"])
        .args([
            "--rate",
            "1000",
            "--time",
            "5s",
            "--depth",
            "64",
            "--backend",
            backend,
            "--no-flush",
        ])
        .args(["--json", "--events", "--store", &bench.path("store.sqlite").display().to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("no output")?);
    wait_for_begin(&mut lines)?;
    sleep(Duration::from_secs(1));
    let held = freeze(mount);
    let mut rest = String::new();
    lines.read_to_string(&mut rest)?;
    child.wait()?;
    let held_ms = held?;
    let record: Value =
        serde_json::from_str(rest.lines().rfind(|l| l.contains("schema")).unwrap_or_default())?;
    // The slowest 1% were due in the first 50 ms of the freeze.
    let slowest_ms = SECONDS * RATE / 100.0 / RATE * 1000.0;
    let ms = |name: &str| metric(&record, name).map(|ns| ns / 1e6);
    Ok(Stall {
        truth_ms: held_ms - slowest_ms,
        response_ms: ms("response.p99")?,
        service_ms: ms("service.p99")?,
    })
}

/// Reads events until the first interval of the workload itself.
fn wait_for_begin(lines: &mut impl BufRead) -> Result<()> {
    let mut line = String::new();
    loop {
        line.clear();
        if lines.read_line(&mut line)? == 0 {
            anyhow::bail!("ssdyno ended before its workload started");
        }
        let event: Value = serde_json::from_str(&line)?;
        if event["event"] == "interval" && event["workload"] == "io" {
            return Ok(());
        }
    }
}

/// Freezes the file system for a second and returns the milliseconds for which it accepted no
/// write: from the start of the freezing call, which first stops writes and then waits for dirty
/// data, to the end of the thawing call.
fn freeze(mount: &Path) -> Result<f64> {
    let mount = mount.display().to_string();
    let frozen = Instant::now();
    output(&mut program("fsfreeze", &["--freeze", &mount]))?;
    sleep(FREEZE.saturating_sub(frozen.elapsed()));
    output(&mut program("fsfreeze", &["--unfreeze", &mount]))?;
    Ok(frozen.elapsed().as_secs_f64() * 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_ends_with_the_first_interval_of_the_workload_itself() {
        let events = "{\"event\":\"step\",\"name\":\"io\"}\n\
                      {\"event\":\"interval\",\"workload\":\"fill\"}\n\
                      {\"event\":\"interval\",\"workload\":\"io\"}\nrest\n";
        let mut lines = events.as_bytes();
        wait_for_begin(&mut lines).expect("begins");
        assert_eq!(lines, b"rest\n");
        assert!(wait_for_begin(&mut &b""[..]).is_err());
    }
}

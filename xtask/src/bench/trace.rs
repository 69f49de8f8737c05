//! `cargo xtask bench trace`: what following requests in the kernel costs: the same reads with and
//! without the kernel's trace, alternately.
//!
//! The trace's programs run where requests are issued and where they complete. The processor time is
//! that of the issuing thread, with those interrupts that happened to meet it.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;

use super::pairs::{Pairs, in_turn};
use super::places::{Bench, Loop};
use super::results::median;
use super::tools::{Sample, build, metric, ours, sample};
use super::{Effort, Outcome};

/// Minimum rate with the trace, relative to that without.
const RATE_MIN: f64 = 0.97;

/// Depths of 4 KiB random reads: one at a time, all of which are followed, and the highest rate that
/// each target reaches.
const DEPTHS: [&str; 2] = ["1", "32"];

const DISK_MIB: u64 = 512;
const LOOP_MIB: u64 = 256;

/// Reads a file on the machine's disk, and a loop device over memory where one can be made.
pub fn run(effort: Effort) -> Result<Outcome> {
    let (binary, bench) = (build()?, Bench::new()?);
    let disk = bench.file("disk", DISK_MIB)?.display().to_string();
    let device = Loop::new(LOOP_MIB);
    let targets = [("disk", Some(&disk)), ("loop device", device.as_ref().ok().map(|d| &d.device))];
    let mut text = format!(
        "4 KiB random reads with the trace and without, {} interleaved pairs of {} s each. A ratio is \
         the median of the pairs' ratios, with its interval.\n\n\
         | target | depth | traced IOPS | IOPS | ratio | goal | traced CPU/IO | CPU/IO |\n\
         |---|---|---|---|---|---|---|---|\n",
        effort.pairs(),
        effort.seconds
    );
    for (name, target) in targets {
        let Some(target) = target else {
            writeln!(text, "| {name} | skipped: needs root | | | | | | |")?;
            continue;
        };
        for depth in DEPTHS {
            let store = bench.path("store.sqlite");
            let reads = |trace| reads(&binary, &store, target, depth, trace, effort.seconds);
            if metric(&reads("on")?.1, "time-held").is_err() {
                return Ok(Outcome::Skipped("this kernel permits no trace".into()));
            }
            let (mut rates, mut times) = (Pairs::default(), Pairs::default());
            for pair in 0..effort.pairs() {
                let (without, with) = in_turn(pair, || reads("off"), || reads("on"))?;
                rates.push(with.0.iops, without.0.iops);
                times.push(with.0.cpu_ns, without.0.cpu_ns);
            }
            let [traced, untraced, traced_ns, untraced_ns] =
                [rates.ours.clone(), rates.theirs.clone(), times.ours, times.theirs].map(median);
            writeln!(
                text,
                "| {name} | {depth} | {traced:.0} | {untraced:.0} | {} | {} | {traced_ns:.0} ns | \
                 {untraced_ns:.0} ns |",
                rates.cell(),
                rates.at_least(RATE_MIN)
            )?;
        }
    }
    Ok(Outcome::of_table(text))
}

/// Reads for so many seconds; returns the rate and the record.
fn reads(
    binary: &Path,
    store: &Path,
    target: &str,
    depth: &str,
    trace: &str,
    seconds: u32,
) -> Result<(Sample, serde_json::Value)> {
    let time = format!("{seconds}s");
    let words = ["--rw", "randread", "--bs", "4k", "--depth", depth, "--time", &time];
    let record = ours(binary, store, &[&[target], &words[..], &["--where", trace]].concat())?;
    Ok((sample(&record)?, record))
}

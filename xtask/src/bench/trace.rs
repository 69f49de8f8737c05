//! `cargo xtask bench trace`: what following requests in the kernel costs: the same reads of a file on
//! the machine's disk with and without the kernel's trace, alternately.
//!
//! A disk's rate wanders by more than the trace costs, but little from one fifth of a second to the next:
//! many short pairs narrow the interval more than few long ones.
//!
//! The trace's programs run where requests are issued and where they complete. The processor time is
//! that of the issuing thread, with those interrupts that happened to meet it.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use super::pairs::{Pairs, in_turn};
use super::places::Bench;
use super::results::median;
use super::tools::{build, metric, ours, sample};
use super::{Effort, Outcome, word};

/// Minimum rate with the trace, relative to that without.
const RATE_MIN: f64 = 0.97;

/// Depths of 4 KiB random reads: one at a time, all of which are followed, and about the highest rate.
const DEPTHS: [&str; 2] = ["1", "32"];

const DISK_MIB: u64 = 512;

/// Pairs per depth.
const PAIRS: usize = 600;

/// Time of a run.
const TIME: &str = "200ms";

/// Minimum share of the traced runs that are divided; with fewer, the ratio would be that of runs without
/// a trace.
const DIVIDED_MIN: f64 = 0.99;

/// Runs the pairs of each depth.
pub fn run(effort: Effort) -> Result<Outcome> {
    let (binary, bench) = (build()?, Bench::new()?);
    let (file, store) = (bench.file("disk", DISK_MIB)?, bench.path("store.sqlite"));
    let pairs = if effort.is_whole() { PAIRS } else { effort.repeats };
    let mut text = format!(
        "4 KiB random reads with the trace and without, {pairs} interleaved pairs of {TIME} each. A \
         ratio is the median of the pairs' ratios, with its interval. A traced run is divided if the \
         trace was attached and lost few completions; if over 1% are not, the ratio says nothing.\n\n\
         | depth | divided | judging | traced IOPS | IOPS | ratio | goal | traced CPU/IO | CPU/IO |\n\
         |---|---|---|---|---|---|---|---|---|\n"
    );
    for depth in DEPTHS {
        let (mut rates, mut times) = (Pairs::default(), Pairs::default());
        let mut divided = 0;
        let reads = |trace| reads(&binary, &store, &file, [depth, trace]);
        for pair in 0..pairs {
            let (without, with) = in_turn(pair, || reads("off"), || reads("on"))?;
            let samples = [sample(&with)?, sample(&without)?];
            rates.push(samples[0].iops, samples[1].iops);
            times.push(samples[0].cpu_ns, samples[1].cpu_ns);
            divided += usize::from(metric(&with, "time-held").is_ok());
        }
        if divided == 0 {
            return Ok(Outcome::Skipped("the kernel permits no trace of this disk".into()));
        }
        let [traced, untraced, traced_ns, untraced_ns] =
            [rates.ours.clone(), rates.theirs.clone(), times.ours, times.theirs].map(median);
        writeln!(
            text,
            "| {depth} | {divided} of {pairs} | {} | {traced:.0} | {untraced:.0} | {} | {} \
             | {traced_ns:.0} ns | {untraced_ns:.0} ns |",
            word(divided as f64 >= DIVIDED_MIN * pairs as f64),
            rates.cell(),
            rates.at_least(RATE_MIN)
        )?;
    }
    Ok(Outcome::of_table(text))
}

/// Reads a file at a depth, with the trace on or off; returns the record.
fn reads(binary: &Path, store: &Path, file: &Path, [depth, trace]: [&str; 2]) -> Result<Value> {
    let file = file.display().to_string();
    let words = [&file, "--rw", "randread", "--bs", "4k", "--depth", depth, "--time", TIME];
    ours(binary, store, &[&words[..], &["--where", trace]].concat())
}

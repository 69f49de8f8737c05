//! `cargo xtask bench pci`: an NVMe drive with and without the kernel, alternately, in the guest.
//!
//! QEMU emulates the processor and the drive, so the ratio compares the work per operation, not the
//! speed of a real drive. The kernel's side uses the fastest of several ways, fio's polled io_uring
//! among them. Processor and drive are emulated on one core each: on a shared core, a polling
//! driver would take time from its own drive. Each figure still includes the time of the emulated
//! drive, which at 64 KiB mostly copies data. A second drive therefore transfers no data.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};

use super::{Effort, Outcome, results, tools, word};
use crate::guest;

/// Cases, and the maximum time per operation through `pci:`, relative to the kernel's.
const CASES: [(&str, &str, f64); 3] = [
    ("nvme-4KiB-q1", "4 KiB, depth 1", 1.0 / 2.0),
    ("nvme-64KiB-q16", "64 KiB, depth 16", 1.0 / 3.0),
    ("null-64KiB-q16", "64 KiB, depth 16, no data", 1.0 / 3.0),
];

const SCRIPT: &str = "guest/benches/pci.sh";

/// Runs the guest and compares the medians of the rounds.
pub fn run(_effort: Effort) -> Result<Outcome> {
    if let Some(why) = guest::missing_for(SCRIPT)? {
        return Ok(Outcome::Skipped(why));
    }
    let said = guest::script(SCRIPT, Some(&tools::build()?))?;
    let figures = figures(&said);
    let mut table = String::from(
        "| random reads | kernel, IOPS | without it, IOPS | time per operation | goal | |\n|---|---|---|---|---|---|\n",
    );
    for (case, name, goal) in CASES {
        let ways = figures.get(case).with_context(|| format!("no figure of {case}:\n{said}"))?;
        let medians = ways.iter().map(|(way, all)| (way.as_str(), results::median(all.clone())));
        let (ours, kernel): (Vec<_>, Vec<_>) = medians.partition(|(way, _)| *way == "pci");
        let best = kernel.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let (Some((_, ours)), Some((way, kernel))) = (ours.first(), best) else {
            ensure!(false, "not every way has a figure:\n{said}");
            continue;
        };
        let share = kernel / ours;
        writeln!(
            table,
            "| {name} | {kernel:.0} ({way}) | {ours:.0} | {share:.2} of the kernel's | <= {goal:.2} | {} |",
            word(share <= goal)
        )?;
    }
    Ok(Outcome::of_table(table))
}

/// IOPS of all runs, by case and way.
fn figures(said: &str) -> BTreeMap<String, BTreeMap<String, Vec<f64>>> {
    let mut found: BTreeMap<String, BTreeMap<String, Vec<f64>>> = BTreeMap::new();
    for line in said.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["figure", case, way, iops] = words[..]
            && let Ok(iops) = iops.parse()
        {
            found.entry(case.into()).or_default().entry(way.into()).or_default().push(iops);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_between_other_lines() {
        let said = "ok       bind: exit 0\nfigure 4KiB-q1 pci 100.5\nfigure 4KiB-q1 pci 99.5\nfigure x y z\n";
        let found = figures(said);
        assert_eq!(found["4KiB-q1"]["pci"], [100.5, 99.5]);
        assert_eq!(found.len(), 1);
    }
}

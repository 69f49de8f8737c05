//! Tests every policy at every over-provisioning: write amplification against the closed forms, and
//! ten random drive writes without a stall. `matrix amplification` and `matrix endurance` print a
//! Markdown table and exit with 1 if a goal is missed. A full run takes minutes. The argument
//! `tiny` selects the smallest sizes; a number selects superblocks of that many pages.

#[path = "../tests/it/common/mod.rs"]
mod common;

use std::process::ExitCode;

use common::oracle::{Pages, closed};
use common::written::{POLICIES, Written};
use model::ftl::collect::Policy;

/// Tolerated relative deviation from the closed form.
const TOLERANCE: f64 = 0.01;

/// Pages per superblock, and number of superblocks: so many that their number hardly matters.
const SIZES: [(u32, u32); 3] = [(128, 8192), (1024, 2048), (16_384, 200)];

/// Capacity and mapping unit. The state of a drive and the time for ten drive writes grow with the
/// number of mapping units, so larger drives have coarser units, half a million to a million in
/// all.
const DRIVES: [(&str, &str); 3] = [("4GiB", "8192"), ("64GiB", "131072"), ("1TiB", "1048576")];

fn main() -> ExitCode {
    let tiny = std::env::args().any(|word| word == "tiny");
    let only = std::env::args().find_map(|word| word.parse().ok());
    let endured = std::env::args().any(|word| word == "endurance");
    let off = if endured { endurance(tiny) } else { amplification(tiny, only) };
    println!("\n{off} cases miss their goal.");
    if off == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn amplification(tiny: bool, only: Option<u32>) -> usize {
    println!(
        "Write amplification of uniform random writes, measured over two drive writes after three"
    );
    println!("(over forty for 1 or 2 choices among few superblocks), and its deviation from the");
    println!("closed form (goal: within {:.0}%).\n", TOLERANCE * 100.0);
    println!("| policy | pages per superblock | OP 7% | OP 15% | OP 28% | OP 50% |");
    println!("|---|---|---|---|---|---|");
    let policies = [1, 2, 10].map(Policy::Choices);
    let sizes = &SIZES[..if tiny { 1 } else { SIZES.len() }];
    let mut missed = 0;
    for policy in [Policy::Greedy, Policy::Fifo].into_iter().chain(policies) {
        for &(pages, blocks) in sizes.iter().filter(|size| only.is_none_or(|only| only == size.0)) {
            print!("| {} | {pages} |", String::from(policy));
            for op in [0.07, 0.15, 0.28, 0.5] {
                let measured = if scatters(policy, blocks) { 40.0 } else { 2.0 };
                let found = Pages::new(policy, 1.0 + op, pages, blocks).uniform_over(measured);
                let form = closed(policy, 1.0 + op, pages).expect("all of these have one");
                let off = found / form - 1.0;
                let mark = if off.abs() > TOLERANCE { " MISSED" } else { "" };
                missed += usize::from(!mark.is_empty());
                print!(" {found:.3} ({:+.2}%){mark} |", off * 100.0);
            }
            println!();
        }
    }
    missed
}

/// Whether two drive writes are too few: with one or two choices among a few hundred superblocks,
/// measurement windows differ by a percent or two.
fn scatters(policy: Policy, blocks: u32) -> bool {
    matches!(policy, Policy::Choices(1 | 2)) && blocks < 1000
}

fn endurance(tiny: bool) -> usize {
    println!(
        "\nTen drive writes of random mapping units with full timing: the longest command, and the"
    );
    println!("write amplification over all ten (goal: no refusal, no command above 3 s).\n");
    println!("| drive | mapping unit | policy | OP 2% | OP 7% | OP 15% | OP 28% | OP 50% |");
    println!("|---|---|---|---|---|---|---|---|");
    let drives = &DRIVES[..if tiny { 1 } else { DRIVES.len() }];
    let mut problems = 0;
    for &(capacity, unit) in drives {
        for policy in POLICIES {
            print!("| {capacity} | {unit} | {policy} |");
            for op in ["0.02", "0.07", "0.15", "0.28", "0.5"] {
                let written = Written::measure(capacity, unit, op, policy);
                let problem = written.problem().map(|p| format!(" {p}")).unwrap_or_default();
                problems += usize::from(!problem.is_empty());
                let ms = written.longest_ns as f64 / 1e6;
                print!(" {ms:.0} ms, {:.2}{problem} |", written.amplification);
            }
            println!();
        }
    }
    problems
}

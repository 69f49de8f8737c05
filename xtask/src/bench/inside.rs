//! `cargo xtask bench inside`: how often the methods that look inside a drive report its true
//! structure, and how often a wrong one.
//!
//! The figures come from the test `error_rates` of `lab`: virtual drives with known internals, 20
//! specimens and sessions of each. It fails above one false answer in 100.

use anyhow::{Result, ensure};

use super::{Effort, Outcome};
use crate::run::{capture, cargo};

/// Notes below the table.
const NOTES: &str = "Each run uses another specimen in another session, with the variation of a virtual \
    drive that a user names, and another seed of the method. A class of `sdclass` is right if the cards 5% \
    below and 5% above its bound are both graded correctly; `wear` is right if exactly the injected blocks \
    are found, under their names, and, on a card that dies, if that is detected and its static data are \
    intact; `curve` is right if its knee is within 5% of the operations that the model completes with a \
    full queue.\n\n\
    `geometry` on the USB stick: crossing a page adds nothing to a read, because the bridge starts its \
    turn-around of 2.04 ms with the first page, and the second is sensed meanwhile. No page is right, any \
    page is false; erase block and open blocks must be found. Until 2026-11-22 this was the case \
    \"4 MiB, 6 open\", undetermined in 20 of 20; that case is now a variation of `sd-class2`, as intended.\n\n\
    `period and zone` is right if the period of slow writes is the erase block and the FAT zone has its size; if any \
    order is good anywhere, any zone is false.\n\n\
    Before 2026-11-23 the drives of this table did not vary. With variation, `power` was undetermined in 11 \
    of 60 at first: one delayed read among three. It now repeats short rests that disagree.\n";

/// Runs the test.
pub fn run(effort: Effort) -> Result<Outcome> {
    // With `--workspace`, cargo reuses the builds of the test suite.
    let test = ["test", "-q", "-p", "lab", "--test", "it", "error_rates", "--", "--nocapture"];
    let mut command = cargo(&test);
    command.env("SSDYNO_SEEDS", if effort.is_whole() { "20" } else { "1" });
    let (kept, text) = capture(&mut command)?;
    let table: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    ensure!(!table.is_empty(), "the test printed no table:\n{text}");
    Ok(Outcome::Ran { met: kept, text: format!("{}\n\n{NOTES}", table.join("\n")) })
}

//! `cargo xtask bench stacks`: 300 answers on random stacks in the guest, with one member in use. The
//! guard's answers are tried with writes, which the guest can afford: see `guest/tests/stacks.sh`,
//! which the suite runs with 20 answers. The seed is new each time and printed; `SSDYNO_SEED`
//! repeats one.

use anyhow::{Context, Result};

use super::{Effort, Outcome};
use crate::guest;

/// The scripts of all answers, and of the number in the suite.
const SCRIPTS: [&str; 2] = ["guest/benches/many-stacks.sh", "guest/tests/stacks.sh"];

/// Runs the guest; a wrong answer is an error with the stack that led to it.
pub fn run(effort: Effort) -> Result<Outcome> {
    let script = SCRIPTS[usize::from(!effort.is_whole())];
    if let Some(why) = guest::missing_for(script)? {
        return Ok(Outcome::Skipped(why));
    }
    let said = guest::script(script, None)?;
    let line = said.lines().find_map(|line| line.split_once("figure: "));
    let (_, figure) = line.with_context(|| format!("no figure:\n{said}"))?;
    Ok(Outcome::Ran { met: !said.contains("not ok"), text: format!("{figure}\n") })
}

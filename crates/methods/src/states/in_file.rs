//! `states` in a file: random writes to its first part, while the rest is written and while it is
//! freed.
//!
//! Only the rest changes its state, because random writes to freed blocks would measure how the file
//! system allocates them. Freed blocks reach the drive as a discard only on some mounts, or with
//! `--fstrim`, so the answer never says what a discard restores.

use record::MetricKey;
use rig::Preparation;
use workload::{Region, Workload};

use super::{RANDOM_SHARE_MAX, random};
use rules::ReachedState::{self, FileDeleted, Filled};
use script::whole::Whole;
use script::{Opt, Result, Round, Session};

/// Share of the file that the random writes go to.
const WRITTEN_SHARE: f64 = 0.25;

/// Rounds, each with both states.
const ROUNDS: u32 = 2;

/// Times that the file is written: the first fill, another of the rest, and the random writes.
pub(super) const PASSES: f64 =
    1.0 + (1.0 - WRITTEN_SHARE) + 2.0 * ROUNDS as f64 * RANDOM_SHARE_MAX * WRITTEN_SHARE;

/// `--fstrim`.
pub(super) static FSTRIM: Opt<bool> = Opt::switch(
    "fstrim",
    "in a directory: also trims all free space of its file system, when the file is freed",
);

/// What a file hides.
const HIDDEN: &str = "the rest of the drive keeps its state, and freed blocks reach it as a discard \
                      only if the file system sends one";

/// Measures random writes from both states, in alternation.
pub(super) fn run(session: &mut Session<'_>, whole: &Whole, trims: bool) -> Result<()> {
    session.note_file(whole, HIDDEN);
    let large = u64::from(whole.test_region.large);
    let target = Region::first((WRITTEN_SHARE * whole.bytes() as f64) as u64 / large * large);
    let rest = Region { start: target.bytes, bytes: whole.bytes() - target.bytes };
    session.fill_region(whole, "fill", whole.test_region.region())?;
    let mut rates = [Vec::new(), Vec::new()];
    session.rounds(ROUNDS, None, |session, round| {
        if round > 0 {
            session.fill_region(whole, "fill", rest)?;
        }
        rates[0].push(measured(session, &writes(whole, Filled, target), round)?);
        session.discard(whole, "free", rest)?;
        if trims {
            session.prepare("fstrim", Preparation::TrimFree)?;
        }
        rates[1].push(measured(session, &writes(whole, FileDeleted, target), round)?);
        for (state, rates) in [Filled, FileDeleted].into_iter().zip(&rates) {
            session.put_rates(MetricKey::parse(state.name()), rates);
        }
        session.checkpoint();
        Ok(Round::Again)
    })?;
    Ok(())
}

/// Random writes in this state.
fn writes(whole: &Whole, state: ReachedState, region: Region) -> Workload {
    let mut w = random(whole, state.name());
    w.region = region;
    w.stop.bytes = Some((RANDOM_SHARE_MAX * region.bytes as f64) as u64);
    w
}

/// Measures a replicate, with its time series, and returns bytes per second.
fn measured(session: &mut Session<'_>, w: &Workload, round: u32) -> Result<f64> {
    let w = script::TestRegion::replicate(w, round);
    Ok(session.measure_over_time(&w, round)?.average().unwrap_or(0.0))
}

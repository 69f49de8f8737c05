//! A phase: cells that leave the drive in the state in which they find it, round after round in the
//! same order.
//!
//! On some drives random writes halve the rate of later sequential reads, and freshly written data
//! reads several times as fast as rested data. Cells that alternate would mix such states; a fixed
//! order of phases keeps each figure in one of them.

use record::{Finding, FindingKind, Level};

use crate::cell::Drift;
use crate::{Cell, Patience, Result, Round, Session};

/// No round is begun that would end later than this multiple of the planned time ...
const PATIENCE: f64 = 1.5;

/// ... but this many are run, for the sake of a range.
const ROUNDS_MIN: u32 = 2;

/// Rounds of a phase.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// Their number.
    pub most: u32,
    /// Whether a slow drive gets all of them.
    pub all: bool,
}

/// The rounds of a phase.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Their number.
    pub rounds: u32,
    /// Whether a rate fell over them.
    pub fell: bool,
}

/// Runs the cells. A drive much slower than planned gets fewer rounds. Rates that drift are noted.
pub fn run(session: &mut Session<'_>, rounds: Rounds, cells: &mut [Cell]) -> Result<Run> {
    let round_seconds: f64 = cells.iter().map(Cell::seconds).sum();
    let seconds = PATIENCE * round_seconds * f64::from(rounds.most);
    let patience = Patience { rounds_min: ROUNDS_MIN, seconds };
    let run =
        session.rounds(rounds.most, (!rounds.all).then_some(patience), |session, round| {
            cells.iter_mut().try_for_each(|cell| cell.run(session, round))?;
            Ok(Round::Again)
        })?;
    session.checkpoint();
    let drifts: Vec<Drift> = cells.iter().flat_map(Cell::drifts).collect();
    if !drifts.is_empty() && !session.plans() {
        let words = drifts.iter().map(Drift::in_words).collect::<Vec<_>>().join("; ");
        let text = format!("over {run} rounds, {words}: the value depends on their number");
        let finding = Finding::new(FindingKind::NotSteady, Level::Note, text);
        let finding = drifts.iter().flat_map(Drift::evidence).fold(finding, Finding::with);
        session.note(finding.advise("-m sustain shows sustained rates"));
    }
    Ok(Run { rounds: run, fell: drifts.iter().any(Drift::falls) })
}

/// The note about phases that were too slow for all rounds; none if all of them ran.
pub fn note_cut(session: &mut Session<'_>, most: u32, run: &[(&str, Run)]) {
    let cut = run.iter().filter(|(_, run)| run.rounds < most);
    let cut: Vec<String> =
        cut.map(|(name, run)| format!("{} of {most} replicates of {name}", run.rounds)).collect();
    if !cut.is_empty() {
        let text = format!("the drive is slow: only {} ran", cut.join(", "));
        session.note(Finding::new(FindingKind::RoundsCut, Level::Note, text));
    }
}

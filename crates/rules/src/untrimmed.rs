//! UNTRIMMED and DISCARD RESTORES: is a drive slower when all its blocks are mapped, and does a
//! discard make it as fast as a fresh drive?
//!
//! The states after a discard are replicates of one claim (as fast as fresh); the states without
//! one are replicates of the other (slower than fresh). Their scatter gives the intervals.

use record::{Unit, VerdictKind};
use workload::units::throughput;

use super::rule::{Role, Rule};
use super::{Ruling, percent};

/// A full drive below this share of the fresh rate is slowed by being full.
const SLOWED_BELOW: f64 = 0.85;

/// A drive is restored if it reaches this share of the fresh rate.
const RESTORED_FROM: f64 = 0.9;

/// A drive is not restored if it does not exceed this multiple of the full drive's rate.
const UNCHANGED_TO: f64 = 1.15;

/// A drive state in which `states` measures random writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReachedState {
    /// Everything discarded.
    Fresh,
    /// Written once sequentially.
    Filled,
    /// Filled, then its partition deleted, which unmaps no block.
    PartitionDeleted,
    /// Filled, then its only file deleted with discard.
    FileDeleted,
    /// Filled, then formatted with discard.
    Formatted,
    /// Written at random, then discarded.
    UsedDiscarded,
}

impl ReachedState {
    /// Name of the random writes in this state.
    pub const fn name(self) -> &'static str {
        match self {
            ReachedState::Fresh => "states-fresh",
            ReachedState::Filled => "states-filled",
            ReachedState::PartitionDeleted => "states-partition-deleted",
            ReachedState::FileDeleted => "states-file-deleted",
            ReachedState::Formatted => "states-formatted",
            ReachedState::UsedDiscarded => "states-used-discarded",
        }
    }
}

/// Rates of random writes by state, bytes per second.
#[derive(Clone, Debug, Default)]
pub struct States {
    fresh: Option<f64>,
    full: Vec<f64>,
    discarded: Vec<f64>,
}

impl States {
    /// Adds the rate of random writes in a state.
    pub fn add(&mut self, state: ReachedState, rate: f64) {
        use ReachedState::{
            FileDeleted, Filled, Formatted, Fresh, PartitionDeleted, UsedDiscarded,
        };
        match state {
            Fresh => self.fresh = Some(rate),
            Filled | PartitionDeleted => self.full.push(rate),
            FileDeleted | Formatted | UsedDiscarded => self.discarded.push(rate),
        }
    }
}

pub static UNTRIMMED: Rule = Rule {
    role: Role::Claim,
    overridden_by: &[],
    judge: |facts| facts.checks.get().map(untrimmed).into_iter().collect(),
};

pub static RESTORED: Rule = Rule {
    role: Role::Claim,
    overridden_by: &[],
    judge: |facts| facts.checks.get().map(restored).into_iter().collect(),
};

/// Judges whether a full drive is slower.
pub fn untrimmed(seen: &States) -> Ruling {
    let Some((fresh, full)) = against(seen.fresh, &seen.full) else {
        return Ruling::unknown("Whether a full drive is slower is unknown: it was not measured.");
    };
    let ruling = match (full.is_slow(), full.is_fast()) {
        (true, _) => Ruling::yes(
            VerdictKind::Untrimmed,
            format!(
                "With all blocks mapped, random writes fall to {} of the {} of a fresh drive: data \
                 deleted without a discard still slow it down.",
                full.words(),
                throughput(fresh)
            ),
        ),
        (_, true) => Ruling::no(
            VerdictKind::FullIsFast,
            format!("Random writes to a full drive reach {} of the fresh rate.", full.words()),
        ),
        _ => Ruling::unknown(format!(
            "Whether a full drive is slower is unknown: its states give {} of the fresh rate.",
            full.words()
        )),
    };
    full.evidence(ruling, "full / fresh")
}

/// Judges whether a discard restores the speed.
pub fn restored(seen: &States) -> Ruling {
    let discarded_and_full =
        against(seen.fresh, &seen.discarded).zip(against(seen.fresh, &seen.full));
    let Some(((_, back), (_, full))) = discarded_and_full else {
        return Ruling::unknown(
            "Whether discard restores the drive is unknown: it was not measured.",
        );
    };
    let ruling = if full.is_fast() {
        Ruling::unknown("There was nothing for discard to restore: the full drive was not slower.")
    } else if !full.is_slow() || back.spans(full.ratio, RESTORED_FROM) {
        Ruling::unknown(format!(
            "Whether discard restores the drive is unknown: {} of the fresh rate after it, {} \
             without it.",
            back.words(),
            full.words()
        ))
    } else if back.ratio >= RESTORED_FROM {
        let text = format!(
            "Discarding helps: random writes return to {} of the fresh rate.",
            back.words()
        );
        Ruling::yes(VerdictKind::DiscardRestores, text)
    } else if back.ratio <= full.ratio * UNCHANGED_TO {
        let text = format!(
            "Discarding does not help: random writes stay at {} of the fresh rate.",
            back.words()
        );
        Ruling::no(VerdictKind::DiscardDoesNotRestore, text)
    } else {
        let text = format!(
            "Discarding helps in part: random writes return to {} of the fresh rate.",
            back.words()
        );
        Ruling::yes(VerdictKind::DiscardRestoresPartly, text)
    };
    back.evidence(full.evidence(ruling, "full / fresh"), "discarded / fresh")
}

/// Rates relative to the fresh drive.
struct Share {
    ratio: f64,
    interval: Option<(f64, f64)>,
    /// The slowest replicate.
    least: f64,
}

impl Share {
    /// Whether the rate is below the limit, and lower than fresh by more than chance.
    fn is_slow(&self) -> bool {
        self.ratio < SLOWED_BELOW && self.interval.is_none_or(|(_, high)| high < 1.0)
    }

    /// Whether every replicate is fast.
    fn is_fast(&self) -> bool {
        self.least >= SLOWED_BELOW
    }

    /// Whether the interval contains both shares.
    fn spans(&self, a: f64, b: f64) -> bool {
        self.interval.is_some_and(|(low, high)| low <= a && high >= b)
    }

    fn words(&self) -> String {
        match self.interval {
            Some((low, high)) => {
                format!("{} [{}, {}]", percent(self.ratio), percent(low), percent(high))
            }
            None => percent(self.ratio),
        }
    }

    fn evidence(&self, ruling: Ruling, name: &str) -> Ruling {
        ruling.with(name, self.ratio, Unit::Number)
    }
}

fn against(fresh: Option<f64>, rates: &[f64]) -> Option<(f64, Share)> {
    let fresh = fresh.filter(|&f| f > 0.0)?;
    let ratios: Vec<f64> = rates.iter().map(|r| r / fresh).collect();
    let e = analysis::estimate(&ratios);
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    Some((fresh, Share { ratio: e.value?, interval: e.low.zip(e.high), least }))
}

#[cfg(test)]
mod tests {
    use super::super::Answer;
    use super::*;

    use ReachedState::{FileDeleted, Filled, Formatted, Fresh, PartitionDeleted, UsedDiscarded};

    const FULL: [ReachedState; 2] = [Filled, PartitionDeleted];
    const DISCARDED: [ReachedState; 3] = [FileDeleted, Formatted, UsedDiscarded];

    fn states(fresh: f64, full: f64, discarded: [f64; 3]) -> States {
        let mut states = States::default();
        states.add(Fresh, fresh);
        FULL.into_iter().for_each(|state| states.add(state, full));
        DISCARDED.into_iter().zip(discarded).for_each(|(state, rate)| states.add(state, rate));
        states
    }

    #[test]
    fn the_experiment_is_a_yes_to_both() {
        let m225 = states(11.8e6, 2.5e6, [11.8e6, 11.7e6, 11.9e6]);
        assert_eq!(untrimmed(&m225).verdict.kind.name(), "UNTRIMMED");
        let ruling = restored(&m225);
        assert_eq!(ruling.verdict.kind.name(), "DISCARD RESTORES");
        assert!(
            ruling.verdict.text.starts_with("Discarding helps: random writes return to 100% ["),
            "{}",
            ruling.verdict.text
        );
    }

    #[test]
    fn chance_differences_are_not_claimed() {
        let mut states = States::default();
        let rates = [(Fresh, 34.2), (Filled, 20.0), (PartitionDeleted, 4.0)];
        rates.into_iter().for_each(|(state, rate)| states.add(state, rate));
        let rates = DISCARDED.into_iter().zip([40.0, 4.0, 10.0]);
        rates.for_each(|(state, rate)| states.add(state, rate));
        assert_eq!(untrimmed(&states).answer, Answer::Unknown);
        assert_eq!(restored(&states).answer, Answer::Unknown);
        // The full drive is slower; the effect of a discard is inconclusive.
        let scattered = self::states(34.2, 4.0, [40.0, 2.0, 10.0]);
        assert_eq!(untrimmed(&scattered).answer, Answer::Yes);
        assert_eq!(restored(&scattered).answer, Answer::Unknown);
    }

    #[test]
    fn partly_no_and_nothing_to_restore() {
        assert_eq!(
            restored(&states(10.0, 2.0, [5.0; 3])).verdict.kind.name(),
            "DISCARD RESTORES PARTLY"
        );
        assert_eq!(restored(&states(10.0, 2.0, [2.1; 3])).answer, Answer::No);
        let even = states(10.0, 9.5, [10.0; 3]);
        assert_eq!(
            (untrimmed(&even).answer, restored(&even).answer),
            (Answer::No, Answer::Unknown)
        );
        assert_eq!(restored(&States::default()).answer, Answer::Unknown);
        assert_eq!(untrimmed(&States::default()).answer, Answer::Unknown);
    }
}

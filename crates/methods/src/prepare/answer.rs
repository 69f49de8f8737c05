//! The answer of `prepare`: the state of the drive.

use super::TRIMMED;
use record::{Answer, Better, Metric, State, capitalised};
use script::Outcome;
use script::draft::Draft;
use workload::units::decimal;

/// The answer of `prepare`: the state of the drive.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "What state is the drive in?");
    let trimmed = draft
        .value(TRIMMED)
        .map(|bytes| format!("Free space discarded: {}", decimal(bytes as u64)));
    let state = match out.state_after {
        State::Fresh => "The drive is fresh: everything is discarded",
        State::Filled => "The drive is full: every block was written once, sequentially",
        State::Used => "The drive is used: every block was overwritten in random order",
        State::Trimmed => "The drive is trimmed: used, then everything discarded",
        State::Unknown | State::Other(_) => "The state of the drive is unknown",
    };
    let sentence = trimmed.unwrap_or_else(|| state.to_string());
    let figures: Vec<&Metric> = out.metrics.iter().collect();
    let draft = figures.iter().fold(draft, |draft, metric| {
        draft.tile(&capitalised(&metric.key().in_words()), *metric, Better::Neither)
    });
    draft.say(sentence, None)
}

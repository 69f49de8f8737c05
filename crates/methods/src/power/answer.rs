//! The answer of `power`: whether the drive sleeps, and what waking costs.

use super::verdict::words;
use super::{AWAKE, RESTS, SLEEP, WAKE, key};
use record::{Answer, Axis, Better, Chart, MetricKey, Unit, VerdictKind};
use script::Outcome;
use script::draft::Draft;
use workload::units::latency;

/// The answer: whether the drive sleeps, and the cost of waking.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "Does the drive fall asleep, and what does waking cost?");
    let awake = draft.value(AWAKE)?;
    let rests = RESTS.into_iter().map(|rest| (rest, key(rest)));
    let rests: Vec<(f64, MetricKey)> = rests.filter(|(_, k)| draft.find(k).is_some()).collect();
    let (longest, last) = rests.last()?;
    let sentence = match (draft.value(WAKE), draft.find(SLEEP)) {
        (Some(wake), Some(sleep)) if sleep.low == Some(0.0) => format!(
            "Asleep within {} of rest: waking adds {} to a read of {}.",
            words(sleep.high.unwrap_or(0.0) / 1e9),
            latency(wake),
            latency(awake)
        ),
        (Some(wake), Some(sleep)) => format!(
            "Asleep after {} of rest: waking adds {} to a read of {}.",
            words(sleep.high.unwrap_or(0.0) / 1e9),
            latency(wake),
            latency(awake)
        ),
        _ if draft.concluded(&VerdictKind::NoPowerState) => {
            format!("No sign of sleep after rests of up to {}.", words(*longest))
        }
        _ => {
            "Undetermined: first reads take longer, but the drive may not be the cause.".to_string()
        }
    };
    let chart = Chart::points("First read after a rest", Axis::Rest, Unit::Nanoseconds)
        .joined("", rests.iter().map(|(rest, k)| (k, *rest)));
    let draft = draft
        .tile("Awake", AWAKE, Better::Lower)
        .tile("Waking adds", WAKE, Better::Lower)
        .tile("Sleeps after", SLEEP, Better::Neither)
        .tile("First read after the longest rest", last, Better::Lower);
    let short = key(0.1);
    // In a short run, this is the longest rest.
    let draft = if *last == short {
        draft
    } else {
        draft.tile("First read after 100 ms", short, Better::Lower)
    };
    draft.chart(chart).say(sentence, None)
}

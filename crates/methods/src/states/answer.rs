//! The answer of `states`: what use costs, and what a discard gives back.

use super::PASSES;
use record::{Answer, Axis, Better, Chart, MetricKey, Unit};
use rules::ReachedState::{
    self, FileDeleted, Filled, Formatted, Fresh, PartitionDeleted, UsedDiscarded,
};
use script::Outcome;
use script::draft::{Draft, rate};
use script::whole::FILE_BYTES;

/// Differences below this share count as none in a sentence: three random passes over the same
/// drive differ by that much (guess).
const SAME: f64 = 0.1;

/// States, in the order of the experiment (`states.rs`).
const STATES: [(ReachedState, &str); 6] = [
    (Fresh, "fresh"),
    (Filled, "full"),
    (PartitionDeleted, "partition deleted"),
    (FileDeleted, "file deleted"),
    (Formatted, "formatted"),
    (UsedDiscarded, "used, discarded"),
];

/// The answer of `states`: the slowdown from use, and the share of it that a discard reverses.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "How does use slow the drive, and what does a discard restore?");
    let [fresh, full, back] = [Fresh, Filled, UsedDiscarded].map(|state| draft.value(key(state)));
    let sequential = draft.value(pass("write", "fresh"));
    let in_file = draft.value(FILE_BYTES).is_some();
    let sentence = match (fresh, full, sequential) {
        (None, Some(full), _) if in_file => {
            let freed = draft.value(key(FileDeleted));
            let freed = freed.map(|freed| format!(", {} once most of it is freed", rate(freed)));
            format!(
                "Beside a full file, random writes reach {}{}",
                rate(full),
                freed.unwrap_or_default()
            )
        }
        (Some(fresh), Some(full), _) if full < (1.0 - SAME) * fresh => {
            format!("When full, random writes fall from {} to {}", rate(fresh), rate(full))
        }
        (Some(_), Some(full), _) => format!("Random writes reach {}, full or fresh", rate(full)),
        (None, Some(full), _) => format!("When full, random writes reach {}", rate(full)),
        (.., Some(sequential)) => {
            format!("When fresh, sequential writes reach {}", rate(sequential))
        }
        _ => return None,
    };
    let restored = fresh.zip(full).zip(back).and_then(|((fresh, full), back)| {
        let loss = fresh - full;
        let share = (back - full) / loss;
        let words = match share {
            _ if loss < SAME * fresh => return None,
            s if s > 1.0 - SAME => "; a discard restores all of it.".to_string(),
            s if s < SAME => "; a discard restores nothing.".to_string(),
            s => format!("; a discard restores {:.0}% of it.", 100.0 * s),
        };
        Some(words)
    });
    let bars = Chart::bars("Random writes from each state", Unit::BytesPerSecond)
        .sources(STATES.map(|(state, label)| (state.name(), label)));
    let draft = draft
        .tile("Fresh", key(Fresh), Better::Higher)
        .tile("Full", key(Filled), Better::Higher)
        .tile("Used, then discarded", key(UsedDiscarded), Better::Higher)
        .tile("Sequential reads, fresh", pass("read", "fresh"), Better::Higher)
        .tile("Sequential reads, used", pass("read", "used"), Better::Higher)
        .tile("Sequential writes, fresh", pass("write", "fresh"), Better::Higher);
    let draft = if in_file { draft.tile("Freed", key(FileDeleted), Better::Higher) } else { draft };
    draft
        .chart(bars)
        .chart_of_column(profile("Sequential writes by address", "write"))
        .chart_of_column(profile("Sequential reads by address", "read"))
        .say(sentence, restored)
}

fn profile(title: &str, op: &str) -> Chart {
    let states = ["fresh", "used", "restored"];
    Chart::lines(title, Axis::Address, Unit::BytesPerSecond)
        .sources(states.map(|state| (pass(op, state), state)))
}

/// A sequential pass in a state.
fn pass(op: &str, state: &str) -> MetricKey {
    PASSES.member(&[&op, &state])
}

/// The random writes in a state.
fn key(state: ReachedState) -> MetricKey {
    MetricKey::parse(state.name())
}

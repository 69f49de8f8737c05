//! The answer of `states`: what use costs, and what a discard gives back.

use record::{Answer, Axis, Better, Chart, Unit};
use script::Outcome;
use script::draft::{Draft, rate};

/// Differences below this share count as none in a sentence: three random passes over the same
/// drive differ by that much (guess).
const SAME: f64 = 0.1;

/// States, in the order of the experiment (`states.rs`).
const STATES: [(&str, &str); 6] = [
    ("states-fresh", "fresh"),
    ("states-filled", "full"),
    ("states-partition-deleted", "partition deleted"),
    ("states-file-deleted", "file deleted"),
    ("states-formatted", "formatted"),
    ("states-used-discarded", "used, discarded"),
];

/// The answer of `states`: the slowdown from use, and the share of it that a discard reverses.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "How does use slow the drive, and what does a discard restore?");
    let [fresh, full, back] =
        ["states-fresh", "states-filled", "states-used-discarded"].map(|key| draft.value(key));
    let written = draft.value("states-write-fresh");
    let sentence = match (fresh, full, written) {
        (Some(fresh), Some(full), _) if full < (1.0 - SAME) * fresh => {
            format!("When full, random writes fall from {} to {}", rate(fresh), rate(full))
        }
        (Some(_), Some(full), _) => format!("Random writes reach {}, full or fresh", rate(full)),
        (None, Some(full), _) => format!("When full, random writes reach {}", rate(full)),
        (.., Some(written)) => format!("When fresh, sequential writes reach {}", rate(written)),
        _ => return None,
    };
    let restored = fresh.zip(full).zip(back).and_then(|((fresh, full), back)| {
        let lost = fresh - full;
        let share = (back - full) / lost;
        let words = match share {
            _ if lost < SAME * fresh => return None,
            s if s > 1.0 - SAME => "; a discard restores all of it.".to_string(),
            s if s < SAME => "; a discard restores nothing.".to_string(),
            s => format!("; a discard restores {:.0}% of it.", 100.0 * s),
        };
        Some(words)
    });
    let bars = Chart::bars("Random writes from each state", Unit::BytesPerSecond).sources(STATES);
    let profile = |title: &str, op: &str| {
        let states = ["fresh", "used", "restored"];
        Chart::lines(title, Axis::Address, Unit::BytesPerSecond)
            .sources(states.map(|state| (format!("states-{op}-{state}"), state)))
    };
    let draft = draft
        .tile("Fresh", "states-fresh", Better::Higher)
        .tile("Full", "states-filled", Better::Higher)
        .tile("Used, then discarded", "states-used-discarded", Better::Higher)
        .tile("Sequential reads, fresh", "states-read-fresh", Better::Higher)
        .tile("Sequential reads, used", "states-read-used", Better::Higher)
        .tile("Sequential writes, fresh", "states-write-fresh", Better::Higher);
    draft
        .chart(bars)
        .chart_of_column(profile("Sequential writes by address", "write"))
        .chart_of_column(profile("Sequential reads by address", "read"))
        .say(sentence, restored)
}
